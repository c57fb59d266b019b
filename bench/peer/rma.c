/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put, get and p between PE 0 and its partner.
 */
#include <shmem.h>
#include "shmem_peer.h"

static void put(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_putmem(run->dest, run->local, run->nbytes, run->other);
        shmem_quiet();
    }
}

static void get(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_getmem(run->local, run->dest, run->nbytes, run->other);
}

static void put_window(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            shmem_putmem_nbi(run->dest, run->local, run->nbytes, run->other);
        shmem_quiet();
    }
}

static void get_window(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            shmem_getmem_nbi(run->local, run->dest, run->nbytes, run->other);
        shmem_quiet();
    }
}

static void p(struct peer_run *run, uint64_t n_ops)
{
    long *dest = (long *)(void *)run->dest;

    for (uint64_t i = 0; i < n_ops; i++)
        shmem_long_p(dest, (long)i, run->other);
    shmem_quiet();
}

static void put_rate(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_putmem_nbi(run->dest, run->local, run->nbytes, run->other);
    shmem_quiet();
}

static void get_rate(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        shmem_getmem_nbi(run->local, run->dest, run->nbytes, run->other);
    shmem_quiet();
}

const struct peer_bench peer_rma[] = {
    {.name = "put-latency",
     .group = "rma",
     .what = "shmem_putmem + shmem_quiet",
     .sized = true,
     .origin = put,
     .raw_origin = raw_put},
    {.name = "get-latency",
     .group = "rma",
     .what = "shmem_getmem",
     .sized = true,
     .origin = get,
     .raw_origin = raw_get},
    {.name = "put-bandwidth",
     .group = "rma",
     .what = "a window of shmem_putmem_nbi + shmem_quiet",
     .metric = PEER_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .origin = put_window,
     .raw_origin = raw_put_window},
    {.name = "get-bandwidth",
     .group = "rma",
     .what = "a window of shmem_getmem_nbi + shmem_quiet",
     .metric = PEER_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .origin = get_window,
     .raw_origin = raw_get_window},
    {.name = "put-bibw",
     .group = "rma",
     .what = "put-bandwidth of both PEs at a time, together",
     .metric = PEER_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .messages = 2,
     .origin = put_window,
     .target = put_window,
     .raw_origin = raw_put_window,
     .raw_target = raw_put_window},
    {.name = "p",
     .group = "rma",
     .what = "shmem_long_p back to back, one shmem_quiet a sample",
     .min_ops = 1000,
     .origin = p,
     .raw_origin = raw_p},
    {.name = "put-rate",
     .group = "rma",
     .what = "shmem_putmem_nbi of 8 bytes back to back, one shmem_quiet a sample",
     .metric = PEER_RATE,
     .min_ops = 1000,
     .origin = put_rate,
     .raw_origin = raw_rate},
    {.name = "get-rate",
     .group = "rma",
     .what = "shmem_getmem_nbi of 8 bytes back to back, one shmem_quiet a sample",
     .metric = PEER_RATE,
     .min_ops = 1000,
     .origin = get_rate,
     .raw_origin = raw_get_rate},
    {.name = NULL},
};
