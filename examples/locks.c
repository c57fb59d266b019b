/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributed locks: all PEs add entries to one table on PE 0, one PE at a time.
 *
 *     oshcc locks.c -o locks && oshrun -n 4 ./locks
 */
#include <shmem.h>

#include <stdio.h>

#define MAX_ENTRIES 4096
#define ROUNDS 10

static long lock; /* symmetric and 0 at first; the same variable names the lock on all PEs */
static struct {
    int length;
    int entries[MAX_ENTRIES];
} table;

/* Appends to the table on PE 0. The caller has the lock, so no other PE changes the table. */
static void append(int value)
{
    int length = shmem_int_g(&table.length, 0);

    if (length >= MAX_ENTRIES) shmem_global_exit(1);
    shmem_int_p(&table.entries[length], value, 0);
    shmem_int_p(&table.length, length + 1, 0);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), wrong = 0;

    for (int round = 0; round < ROUNDS; round++) {
        shmem_set_lock(&lock); /* waits until this PE has the lock */
        append(me);
        shmem_clear_lock(&lock); /* also completes the puts of append() */
    }
    shmem_barrier_all();

    if (me == 0) {
        int counts[MAX_ENTRIES] = {0};

        for (int i = 0; i < table.length; i++)
            counts[table.entries[i]]++;
        for (int pe = 0; pe < npes; pe++)
            wrong += counts[pe] != ROUNDS;
        printf("%d entries, %d PEs with a wrong number of entries\n", table.length, wrong);
    }
    shmem_finalize();
    return wrong != 0;
}
