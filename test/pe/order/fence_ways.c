/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that a fence orders operations that take two ways to one PE of the node (OpenSHMEM 1.6,
 * section 9.12): data that the fabric carries, to globals that are not shared because the process
 * had a thread before the library was loaded, and a flag in the heap, which the CPU stores. A PE
 * that sees the flag must see the data. Uses PEs 0 and 1, and skips unless they share the heap and
 * no globals.
 */
#include <pthread.h>
#include <unistd.h>

#include "pe_test.h"

enum { WORDS = 1 << 19, ROUNDS = 20 };

static long data[WORDS];

static void *stay(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void start_thread(void)
{
    pthread_t thread;

    (void)pthread_create(&thread, NULL, stay, NULL);
}

/* Runs before the constructors of shared libraries. */
static void (*before_all)(void) __attribute__((used, section(".preinit_array"))) = start_thread;

static void send_round(long *source, long *flag, long round)
{
    for (size_t i = 0; i < WORDS; i++)
        source[i] = round;
    shmem_long_put_nbi(data, source, WORDS, 1);
    shmem_fence();
    shmem_long_p(flag, round, 1);
    shmem_quiet();
}

/* From the end: what comes last is looked at first. */
static void check_round(long *flag, long round)
{
    size_t i = WORDS - 1;

    shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    while (i > 0 && data[i] == round)
        i--;
    PE_CHECK(
        data[i] == round,
        "round %ld: the flag is here, but word %zu is %ld: fence did not order the put before the "
        "flag",
        round, i, data[i]);
}

int main(void)
{
    long *flag, *source = pe_private(WORDS * sizeof(*source));

    pe_test_begin();
    flag = shmem_calloc(1, sizeof(*flag));
    if (pe_me < 2 && shmem_ptr(flag, pe_me ^ 1) == NULL) pe_test_skip("PEs 0 and 1 are apart");
    if (pe_me < 2 && shmem_ptr(data, pe_me ^ 1) != NULL) pe_test_skip("globals are shared");
    for (long round = 1; round <= ROUNDS && pe_me < 2 && !pe_skipped; round++) {
        if (pe_me == 0) send_round(source, flag, round);
        if (pe_me == 1) check_round(flag, round);
        if (pe_me == 1) shmem_long_p(flag, round, 0);
        if (pe_me == 0) shmem_long_wait_until(flag, SHMEM_CMP_GE, round);
    }
    free(source);
    return pe_test_end();
}
