/* SPDX-License-Identifier: BSD-3-Clause */
/* PE numbers, addresses and operators of puts, gets, atomics and signals. */
#include "errors.h"

static void misuse_pe_high(void)
{
    shmem_long_p(&global_word, 1, pe_n);
}

static void misuse_pe_negative(void)
{
    shmem_putmem(block, &global_word, 8, -1);
}

static void misuse_get_pe(void)
{
    shmem_long_g(block, pe_n + 1000);
}

static void misuse_amo_pe(void)
{
    shmem_long_atomic_fetch_add(block, 1, pe_n);
}

static void misuse_signal_pe(void)
{
    shmem_signal_set((uint64_t *)block, 1, -7);
}

static void misuse_put_stack(void)
{
    long on_stack = 0;

    shmem_long_put(&on_stack, block, 1, peer);
}

static void misuse_get_malloc(void)
{
    long *private_heap = calloc(8, 8), got;

    shmem_long_get(&got, private_heap, 1, peer);
}

static void misuse_put_null(void)
{
    shmem_putmem(NULL, block, 8, peer);
}

static void misuse_amo_stack(void)
{
    int on_stack = 0;

    shmem_int_atomic_inc(&on_stack, peer);
}

static void misuse_signal_malloc(void)
{
    uint64_t *private_heap = calloc(8, 8);

    shmem_putmem_signal(block, &global_word, 8, private_heap, 1, SHMEM_SIGNAL_SET, peer);
}

static void misuse_unaligned_amo(void)
{
    shmem_long_atomic_inc((long *)((char *)block + 1), peer);
}

static void misuse_beyond_block(void)
{
    static long source[100];

    shmem_long_put(block, source, 100, peer);
}

static void misuse_beyond_space(void)
{
    shmem_getmem(block, block, (size_t)1 << 45, peer);
}

static void misuse_freed_block(void)
{
    long *gone = shmem_malloc(1000);

    shmem_free(gone);
    shmem_long_p(gone, 1, peer);
}

static void misuse_overflow(void)
{
    shmem_long_put(block, &global_word, SIZE_MAX / 4, peer);
}

static void misuse_signal_beyond(void)
{
    static char source[1 << 16];

    shmem_putmem_signal(block, source, sizeof(source), (uint64_t *)block + 8, 1, SHMEM_SIGNAL_SET,
                        peer);
}

static void misuse_bad_sig_op(void)
{
    shmem_putmem_signal(block, &global_word, 8, (uint64_t *)(block + 2), 1, 77, peer);
}

static void misuse_bad_stride(void)
{
    shmem_long_iput(block, &global_word, 0, 1, 2, peer);
}

static const struct misuse misuses[] = {
    {"pe_high", misuse_pe_high, false},
    {"pe_negative", misuse_pe_negative, false},
    {"get_pe", misuse_get_pe, false},
    {"amo_pe", misuse_amo_pe, false},
    {"signal_pe", misuse_signal_pe, false},
    {"put_stack", misuse_put_stack, false},
    {"get_malloc", misuse_get_malloc, false},
    {"put_null", misuse_put_null, false},
    {"amo_stack", misuse_amo_stack, false},
    {"signal_malloc", misuse_signal_malloc, false},
    {"unaligned_amo", misuse_unaligned_amo, false},
    {"beyond_block", misuse_beyond_block, false},
    {"beyond_space", misuse_beyond_space, false},
    {"freed_block", misuse_freed_block, true},
    {"overflow", misuse_overflow, false},
    {"signal_beyond", misuse_signal_beyond, false},
    {"bad_sig_op", misuse_bad_sig_op, false},
    {"bad_stride", misuse_bad_stride, false},
    {NULL, NULL, false},
};

const struct chapter chapter_rma = {misuses, chapter_begin};
