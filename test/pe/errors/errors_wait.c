/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits and tests. */
#include "errors.h"

static void misuse_bad_cmp(void)
{
    shmem_long_wait_until(block, 99, 0);
}

static void misuse_wait_stack(void)
{
    long on_stack = 0;

    shmem_long_wait_until(&on_stack, SHMEM_CMP_EQ, 0);
}

static void misuse_wait_null(void)
{
    shmem_int_wait_until(NULL, SHMEM_CMP_EQ, 0);
}

static void misuse_test_stack(void)
{
    short on_stack = 0;

    (void)shmem_short_test(&on_stack, SHMEM_CMP_EQ, 0);
}

static void misuse_wait_beyond(void)
{
    shmem_long_wait_until_all(block, 100, NULL, SHMEM_CMP_NE, 99);
}

static void misuse_some_stack(void)
{
    size_t on_stack[2] = {0}, indices[2];

    (void)shmem_size_test_some(on_stack, 2, indices, NULL, SHMEM_CMP_EQ, 0);
}

static void misuse_any_vector_stack(void)
{
    long on_stack[2] = {0};

    (void)shmem_long_wait_until_any_vector(on_stack, 2, NULL, SHMEM_CMP_EQ, on_stack);
}

static void misuse_signal_wait_stack(void)
{
    uint64_t on_stack = 0;

    (void)shmem_signal_wait_until(&on_stack, SHMEM_CMP_EQ, 0);
}

static const struct misuse misuses[] = {
    {"bad_cmp", misuse_bad_cmp, false},
    {"wait_stack", misuse_wait_stack, false},
    {"wait_null", misuse_wait_null, false},
    {"test_stack", misuse_test_stack, false},
    {"wait_beyond", misuse_wait_beyond, false},
    {"some_stack", misuse_some_stack, false},
    {"any_vector_stack", misuse_any_vector_stack, false},
    {"signal_wait_stack", misuse_signal_wait_stack, false},
    {NULL, NULL, false},
};

const struct chapter chapter_wait = {misuses, chapter_begin};
