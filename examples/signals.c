/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for data of another PE: PE 0 sends rows to all other PEs and waits until each has
 * answered. A put with signal writes data and then a flag, so that no barrier is needed.
 *
 *     oshcc signals.c -o signals && oshrun -n 4 ./signals
 */
#include <shmem.h>

#include <stdio.h>

#define N 256
#define MAX_PES 1024

static long row[N];
static uint64_t row_signal;   /* PE 0 sets this flag of a PE after the row has arrived there */
static int answered[MAX_PES]; /* PE p sets answered[p] of PE 0 */
static long sums[MAX_PES];

static void send_rows(int npes)
{
    long numbers[N];

    for (int pe = 1; pe < npes; pe++) {
        for (int i = 0; i < N; i++)
            numbers[i] = pe * i;
        /* When this call returns, `numbers` may be changed again. */
        shmem_long_put_signal(row, numbers, N, &row_signal, 1, SHMEM_SIGNAL_SET, pe);
    }
    /* Wait until the flags from answered[1] on are 1. shmem_int_wait_until_any waits for one. */
    shmem_int_wait_until_all(answered + 1, (size_t)npes - 1, NULL, SHMEM_CMP_EQ, 1);
    for (int pe = 1; pe < npes; pe++)
        printf("PE %d: sum %ld\n", pe, sums[pe]);
}

static void answer(int me)
{
    long sum = 0;

    /* A loop that reads the flag would not do: only wait and test routines make data visible. */
    shmem_signal_wait_until(&row_signal, SHMEM_CMP_EQ, 1);
    for (int i = 0; i < N; i++)
        sum += row[i];
    shmem_long_p(&sums[me], sum, 0);
    shmem_fence(); /* the sum arrives before the flag, because both go to PE 0 */
    shmem_int_p(&answered[me], 1, 0);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();

    if (npes > MAX_PES) shmem_global_exit(1);
    if (me != 0)
        answer(me);
    else if (npes > 1)
        send_rows(npes);
    shmem_finalize();
    return 0;
}
