/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that start operations themselves through shmemx_device.h; handle_ops.h describes them.
 * The code uses no CUDA headers. make_ptx.sh makes handle.ptx from it, which is checked in.
 */
#include <shmemx_device.h>

#include "handle_ops.h"

#define KERNEL extern "C" __attribute__((global)) void

/* Any grid of one dimension, the same on all PEs: puts, gets, atomics, signals, waits. */
KERNEL stp_test_handle(shmemx_device_handle_t handle, struct ops_part *parts, uint64_t *total,
                       struct ops_result *results, uint64_t rounds)
{
    struct ops_block ops =
        ops_begin(&handle, parts, results, stp_dev_block_number(), stp_dev_nctaid_x());

    ops_run(&ops, total, rounds);
}

/* One block: barriers. */
KERNEL stp_test_handle_barrier(shmemx_device_handle_t handle, uint64_t *word,
                               struct ops_result *result, uint64_t rounds)
{
    struct ops_block ops = ops_begin(&handle, 0, result, 0, 1);

    ops_barrier(&ops, word, rounds);
}

/* One thread: a word of PE pe, by its address there or whatever else. */
KERNEL stp_test_handle_p(shmemx_device_handle_t handle, uint64_t *word, uint64_t value, uint64_t pe)
{
    shmemx_dev_uint64_p(&handle, word, value, (int)pe);
    shmemx_dev_quiet(&handle);
}

/* One thread, without a handle: adds to a word beside whoever else does. */
KERNEL stp_test_handle_add(uint64_t *word, const uint64_t *stop, uint64_t limit)
{
    ops_add(word, stop, limit);
}
