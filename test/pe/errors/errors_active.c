/* SPDX-License-Identifier: BSD-3-Clause */
/* Active sets: arguments that are out of range, then work arrays that are not as they should be. */
#include "errors.h"

static void misuse_active_start(void)
{
    shmem_barrier(-1, 0, 1, sync_words);
}

static void misuse_active_start_high(void)
{
    shmem_sync(pe_n, 0, 1, sync_words);
}

static void misuse_active_stride(void)
{
    shmem_fcollect32(block, block + 1, 1, 0, -1, 1, sync_words);
}

static void misuse_active_stride_high(void)
{
    shmem_sync(0, 40, 2, sync_words);
}

static void misuse_active_size(void)
{
    shmem_collect64(block, block + 1, 1, pe_me, 0, 0, sync_words);
}

static void misuse_active_beyond(void)
{
    shmem_alltoall64(block, block + 1, 1, 0, 0, pe_n + 1, sync_words);
}

static void misuse_active_member(void)
{
    shmem_barrier(0, 0, pe_n - 1, sync_words);
}

static void misuse_active_root(void)
{
    shmem_broadcast64(block, block + 1, 1, pe_n, 0, 0, pe_n, sync_words);
}

static void misuse_active_nreduce(void)
{
    shmem_long_sum_to_all(block, block + 1, -1, 0, 0, pe_n, NULL, sync_words);
}

static void misuse_active_alltoalls(void)
{
    shmem_alltoalls32(block, block + 1, 1, 0, 1, 0, 0, pe_n, sync_words);
}

static void misuse_active_dirty(void)
{
    memset(sync_words, 0x3c, sizeof(sync_words));
    shmem_sync(0, 0, pe_n, sync_words);
}

/* Only the element that another PE writes to, and only on the last PE, which nobody writes to. */
static void misuse_active_dirty_first(void)
{
    sync_words[0] = 12345;
    shmem_sync(pe_n - 1, 0, 1, sync_words);
}

static void misuse_active_private(void)
{
    long *private_heap = calloc(SHMEM_SYNC_SIZE, sizeof(long));

    shmem_barrier(0, 0, pe_n, private_heap);
}

static void misuse_active_null(void)
{
    shmem_barrier(0, 0, pe_n, NULL);
}

static void misuse_active_unaligned(void)
{
    shmem_barrier(0, 0, pe_n, (long *)((char *)block + 4));
}

static void misuse_active_freed(void)
{
    long *gone = shmem_calloc(SHMEM_SYNC_SIZE, sizeof(long));

    shmem_sync(0, 0, pe_n, gone);
    shmem_free(gone);
    shmem_sync(0, 0, pe_n, gone);
}

/* The last PE means itself and every second one; the others, all. For three PEs or more. */
static void misuse_active_differ(void)
{
    if (pe_me < pe_n - 1)
        shmem_sync(0, 0, pe_n, sync_words);
    else
        shmem_sync((pe_n - 1) % 2, 1, (pe_n + 1) / 2, sync_words);
}

static const struct misuse misuses[] = {
    {"active_start", misuse_active_start, false},
    {"active_start_high", misuse_active_start_high, false},
    {"active_stride", misuse_active_stride, false},
    {"active_stride_high", misuse_active_stride_high, false},
    {"active_size", misuse_active_size, false},
    {"active_beyond", misuse_active_beyond, false},
    {"active_member", misuse_active_member, false},
    {"active_root", misuse_active_root, true},
    {"active_nreduce", misuse_active_nreduce, true},
    {"active_alltoalls", misuse_active_alltoalls, true},
    {"active_dirty", misuse_active_dirty, true},
    {"active_dirty_first", misuse_active_dirty_first, false},
    {"active_private", misuse_active_private, true},
    {"active_null", misuse_active_null, true},
    {"active_unaligned", misuse_active_unaligned, true},
    {"active_freed", misuse_active_freed, true},
    {"active_differ", misuse_active_differ, true},
    {NULL, NULL, false},
};

const struct chapter chapter_active = {misuses, chapter_begin};
