/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI counterparts of the benches, with the same harness: its needs met by MPI-3, one-sided
 * transfers in a window that is locked for the whole run, and collectives. There is no raw side:
 * MPI has no shmem_ptr for such windows.
 */
#include "peer.h"

#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char peer_program[] = "peer-bench-mpi";
const bool peer_has_paths = false;

static struct {
    MPI_Win window; /* over dest */
} mpi;

/* ---- the library --------------------------------------------------------------- */

void peer_begin(struct peer_run *run)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &run->me);
    MPI_Comm_size(MPI_COMM_WORLD, &run->n_pes);
}

void peer_library_name(char *name, size_t len)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major, minor;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    for (char *c = version; *c != '\0'; c++)
        if (*c == '\t') *c = ' ';
    MPI_Get_version(&major, &minor);
    snprintf(name, len, "%.180s (MPI %d.%d)", version, major, minor);
}

void peer_abort(void)
{
    fprintf(stderr, "%s: no memory: lower --sizes\n", peer_program);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

void peer_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

void peer_share(void *data, size_t nbytes)
{
    MPI_Bcast(data, (int)nbytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

void peer_gather(const void *mine, size_t nbytes, void *all)
{
    MPI_Allgather(mine, (int)nbytes, MPI_BYTE, all, (int)nbytes, MPI_BYTE, MPI_COMM_WORLD);
}

int peer_memory(struct peer_run *run)
{
    size_t need = run->max_nbytes > run->max_coll ? run->max_nbytes : run->max_coll;

    MPI_Win_allocate((MPI_Aint)need, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &run->dest, &mpi.window);
    need = (need + 4095) & ~(size_t)4095;
    run->source = aligned_alloc(4096, need);
    run->local = aligned_alloc(4096, need);
    if (run->dest == NULL || run->source == NULL || run->local == NULL) return -1;
    memset(run->dest, 0, run->max_nbytes > run->max_coll ? run->max_nbytes : run->max_coll);
    memset(run->source, 0, need);
    memset(run->local, 0, need);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, mpi.window);
    return 0;
}

void peer_finish(struct peer_run *run)
{
    MPI_Win_unlock_all(mpi.window);
    MPI_Win_free(&mpi.window);
    free(run->source);
    free(run->local);
    MPI_Finalize();
}

/* ---- one-sided ------------------------------------------------------------------- */

static void start_put(struct peer_run *run)
{
    int n = (int)run->nbytes;

    MPI_Put(run->local, n, MPI_BYTE, run->other, 0, n, MPI_BYTE, mpi.window);
}

static void start_get(struct peer_run *run)
{
    int n = (int)run->nbytes;

    MPI_Get(run->local, n, MPI_BYTE, run->other, 0, n, MPI_BYTE, mpi.window);
}

static void put(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            start_put(run);
        MPI_Win_flush(run->other, mpi.window);
    }
}

static void get(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            start_get(run);
        MPI_Win_flush(run->other, mpi.window);
    }
}

static void put_rate(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        start_put(run);
    MPI_Win_flush(run->other, mpi.window);
}

static void get_rate(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        start_get(run);
    MPI_Win_flush(run->other, mpi.window);
}

static void fetch_add(struct peer_run *run, uint64_t n_ops)
{
    static const int64_t one = 1;
    int64_t seen;

    for (uint64_t i = 0; i < n_ops; i++) {
        MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, run->other, 0, MPI_SUM, mpi.window);
        MPI_Win_flush(run->other, mpi.window);
    }
}

static void add(struct peer_run *run, uint64_t n_ops)
{
    static const int64_t one = 1;

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Accumulate(&one, 1, MPI_INT64_T, run->other, 0, 1, MPI_INT64_T, MPI_SUM, mpi.window);
    MPI_Win_flush(run->other, mpi.window);
}

static void swap(struct peer_run *run, uint64_t n_ops)
{
    int64_t seen;

    for (uint64_t i = 0; i < n_ops; i++) {
        int64_t mine = (int64_t)i;

        MPI_Fetch_and_op(&mine, &seen, MPI_INT64_T, run->other, 0, MPI_REPLACE, mpi.window);
        MPI_Win_flush(run->other, mpi.window);
    }
}

/* Each one succeeds but perhaps the first. */
static void compare_swap(struct peer_run *run, uint64_t n_ops)
{
    static int64_t seen;

    for (uint64_t i = 0; i < n_ops; i++) {
        int64_t next = seen + 1, old;

        MPI_Compare_and_swap(&next, &seen, &old, MPI_INT64_T, run->other, 0, mpi.window);
        MPI_Win_flush(run->other, mpi.window);
        seen = old == seen ? next : old;
    }
}

/* ---- messages and collectives ------------------------------------------------------- */

static void send_token(struct peer_run *run)
{
    MPI_Send(&run->token, 1, MPI_LONG, run->other, 0, MPI_COMM_WORLD);
}

static void receive_token(struct peer_run *run)
{
    MPI_Recv(&run->token, 1, MPI_LONG, run->other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ping(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        send_token(run);
        receive_token(run);
    }
}

static void pong(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        receive_token(run);
        send_token(run);
    }
}

static void barrier(struct peer_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast(struct peer_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        int root = (int)(run->n_calls++ % (uint64_t)run->n_pes);

        MPI_Bcast(run->source, (int)run->nbytes, MPI_BYTE, root, MPI_COMM_WORLD);
    }
}

static void reduce(struct peer_run *run, uint64_t n_ops)
{
    int n = (int)(run->nbytes / sizeof(double));

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Allreduce(run->source, run->local, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void fcollect(struct peer_run *run, uint64_t n_ops)
{
    int n = (int)run->nbytes;

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Allgather(run->source, n, MPI_BYTE, run->local, n, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(struct peer_run *run, uint64_t n_ops)
{
    int n = (int)run->nbytes;

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Alltoall(run->source, n, MPI_BYTE, run->local, n, MPI_BYTE, MPI_COMM_WORLD);
}

static const struct peer_bench benches[] = {
    {.name = "put-latency",
     .group = "rma",
     .what = "MPI_Put + MPI_Win_flush",
     .sized = true,
     .origin = put},
    {.name = "get-latency",
     .group = "rma",
     .what = "MPI_Get + MPI_Win_flush",
     .sized = true,
     .origin = get},
    {.name = "put-bandwidth",
     .group = "rma",
     .what = "a window of MPI_Put + MPI_Win_flush",
     .metric = PEER_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .origin = put},
    {.name = "get-bandwidth",
     .group = "rma",
     .what = "a window of MPI_Get + MPI_Win_flush",
     .metric = PEER_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .origin = get},
    {.name = "put-bibw",
     .group = "rma",
     .what = "put-bandwidth of both processes at a time, together",
     .metric = PEER_BANDWIDTH,
     .sized = true,
     .windowed = true,
     .messages = 2,
     .origin = put,
     .target = put},
    {.name = "put-rate",
     .group = "rma",
     .what = "MPI_Put of 8 bytes back to back, one MPI_Win_flush a sample",
     .metric = PEER_RATE,
     .min_ops = 1000,
     .origin = put_rate},
    {.name = "get-rate",
     .group = "rma",
     .what = "MPI_Get of 8 bytes back to back, one MPI_Win_flush a sample",
     .metric = PEER_RATE,
     .min_ops = 1000,
     .origin = get_rate},
    {.name = "atomic-fetch-add",
     .group = "amo",
     .what = "MPI_Fetch_and_op with MPI_SUM + MPI_Win_flush",
     .origin = fetch_add},
    {.name = "atomic-add",
     .group = "amo",
     .what = "MPI_Accumulate with MPI_SUM back to back, one MPI_Win_flush a sample",
     .min_ops = 1000,
     .origin = add},
    {.name = "atomic-swap",
     .group = "amo",
     .what = "MPI_Fetch_and_op with MPI_REPLACE + MPI_Win_flush",
     .origin = swap},
    {.name = "atomic-cswap",
     .group = "amo",
     .what = "MPI_Compare_and_swap + MPI_Win_flush",
     .origin = compare_swap},
    {.name = "flag-round-trip",
     .group = "sync",
     .what = "8-byte message there and back: MPI_Send + MPI_Recv",
     .origin = ping,
     .target = pong},
    {.name = "barrier", .group = "sync", .what = "MPI_Barrier", .all_pes = true, .origin = barrier},
    {.name = "broadcast",
     .group = "coll",
     .what = "MPI_Bcast, roots in turn",
     .sized = true,
     .all_pes = true,
     .origin = broadcast},
    {.name = "reduce",
     .group = "coll",
     .what = "MPI_Allreduce of doubles with MPI_SUM",
     .sized = true,
     .all_pes = true,
     .origin = reduce},
    {.name = "fcollect",
     .group = "coll",
     .what = "MPI_Allgather",
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = fcollect},
    {.name = "alltoall",
     .group = "coll",
     .what = "MPI_Alltoall",
     .sized = true,
     .all_pes = true,
     .blocks = true,
     .origin = alltoall},
    {.name = NULL},
};

const struct peer_bench *const peer_tables[] = {benches, NULL};
