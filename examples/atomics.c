/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic operations: the PEs share 1000 tasks by a counter on PE 0. A PE that is fast gets more of
 * them, and no task is done twice.
 *
 *     oshcc atomics.c -o atomics && oshrun -n 4 ./atomics
 */
#include <shmem.h>

#include <stdio.h>

#define TASKS 1000

static long next_task; /* on PE 0: number of the next task that nobody has taken */
static long n_done;    /* on PE 0: number of finished tasks */
static long slowest;   /* on PE 0: the largest result of a task */

static long do_task(long task)
{
    long steps = 0;

    for (long n = task + 1; n != 1; steps++)
        n = n % 2 != 0 ? 3 * n + 1 : n / 2;
    return steps;
}

/* Stores the larger of the two values on PE 0, although other PEs change it at the same time. */
static void set_maximum(long *value, long candidate)
{
    long seen = shmem_long_atomic_fetch(value, 0);

    while (candidate > seen) {
        long before = shmem_long_atomic_compare_swap(value, seen, candidate, 0);
        if (before == seen) return; /* nobody changed the value between the two calls */
        seen = before;
    }
}

int main(void)
{
    long mine = 0;

    shmem_init();
    for (;;) {
        long task = shmem_long_atomic_fetch_inc(&next_task, 0); /* returns the old value */
        if (task >= TASKS) break;
        set_maximum(&slowest, do_task(task));
        shmem_long_atomic_inc(&n_done, 0); /* has no result, so it need not wait for PE 0 */
        mine++;
    }
    shmem_barrier_all(); /* completes the atomics of all PEs */

    printf("PE %d did %ld tasks\n", shmem_my_pe(), mine);
    if (shmem_my_pe() == 0) printf("%ld tasks done, the longest took %ld steps\n", n_done, slowest);
    shmem_finalize();
    return 0;
}
