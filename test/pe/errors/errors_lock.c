/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks. */
#include "errors.h"

#include <pthread.h>

static void misuse_lock_stack(void)
{
    long on_stack = 0;

    shmem_set_lock(&on_stack);
}

static void misuse_lock_unaligned(void)
{
    (void)shmem_test_lock((long *)((char *)block + 4));
}

static void misuse_lock_twice(void)
{
    shmem_set_lock(block);
    shmem_set_lock(block);
}

static long dirty_lock = -1, dirty_test_lock = 0x12345;

static void misuse_lock_dirty(void)
{
    shmem_set_lock(&dirty_lock);
}

static void misuse_lock_dirty_test(void)
{
    (void)shmem_test_lock(&dirty_test_lock);
}

static void misuse_clear_free(void)
{
    shmem_clear_lock(block);
}

static char bulk[1 << 20], private_bulk[1 << 20];
static atomic_int n_clearing;

static void *clear_with_the_other(void *arg)
{
    (void)arg;
    atomic_fetch_add(&n_clearing, 1);
    while (atomic_load(&n_clearing) < 2)
        continue;
    shmem_clear_lock(block);
    return NULL;
}

/* One of them has to be told. On a fabric both are in the call while the bulk is on its way. */
static void misuse_clear_at_once(void)
{
    pthread_t other;
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    shmem_set_lock(block);
    PE_REQUIRE(pthread_create(&other, NULL, clear_with_the_other, NULL) == 0, "no thread");
    for (int i = 0; i < 8; i++)
        shmem_putmem_nbi(bulk, private_bulk, sizeof(bulk), peer);
    clear_with_the_other(NULL);
    pthread_join(other, NULL);
}

static const struct misuse misuses[] = {
    {"lock_stack", misuse_lock_stack, false},
    {"lock_unaligned", misuse_lock_unaligned, false},
    {"lock_twice", misuse_lock_twice, false},
    {"lock_dirty", misuse_lock_dirty, false},
    {"lock_dirty_test", misuse_lock_dirty_test, false},
    {"clear_free", misuse_clear_free, false},
    {"clear_at_once", misuse_clear_at_once, false},
    {NULL, NULL, false},
};

const struct chapter chapter_lock = {misuses, chapter_begin};
