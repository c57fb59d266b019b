/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs an MPI library and Steppe in one process. They share the launcher's connection, must agree
 * on the number of this process, and must not disturb each other's traffic. run_mpich.sh builds and
 * starts the program.
 *
 * usage: both INIT FINALIZE     each is mpi or shmem: the library that comes first
 */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 50
#define N_WORDS 4096

static long words[N_WORDS];
static long counter;
static int me, n;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "pe %d: both.c:%d: this condition does not hold: %s\n", me, __LINE__,  \
                    #condition);                                                                   \
            MPI_Abort(MPI_COMM_WORLD, 2);                                                          \
        }                                                                                          \
    } while (0)

static void compare_names(void)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    me = shmem_my_pe();
    n = shmem_n_pes();
    CHECK(rank == me);
    CHECK(size == n);
}

/* A message round the ring by MPI, started before and awaited after puts of ours. */
static void round_of_both(int round)
{
    int next = (me + 1) % n, last = (me + n - 1) % n;
    long sum = -1, mine = me + round, sent[64], received[64];
    MPI_Request requests[2];
    MPI_Status statuses[2];

    for (int i = 0; i < 64; i++)
        sent[i] = round * 1000 + me;
    MPI_Irecv(received, 64, MPI_LONG, last, round, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, 64, MPI_LONG, next, round, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 64; i++)
        shmem_long_p(&words[i * 64], sent[i], next);
    shmem_atomic_inc(&counter, next);
    shmem_barrier_all();
    for (int i = 0; i < 64; i++)
        CHECK(words[i * 64] == round * 1000 + last);
    CHECK(counter == round + 1);
    MPI_Waitall(2, requests, statuses);
    for (int i = 0; i < 64; i++)
        CHECK(received[i] == round * 1000 + last);
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == (long)n * (n - 1) / 2 + (long)n * round);
}

/* Symmetric memory is memory: MPI reads and writes it as any other. */
static void mpi_on_symmetric_memory(void)
{
    long *heap = shmem_malloc(N_WORDS * sizeof(long));

    CHECK(heap != NULL);
    for (int i = 0; i < N_WORDS; i++)
        heap[i] = me == 0 ? i : -1;
    MPI_Bcast(heap, N_WORDS, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < N_WORDS; i++)
        CHECK(heap[i] == i);
    shmem_barrier_all();
    shmem_long_put(heap, words, N_WORDS, (me + 1) % n);
    MPI_Barrier(MPI_COMM_WORLD);
    shmem_free(heap);
}

int main(int argc, char **argv)
{
    int mpi_first, mpi_out_first;

    if (argc != 3) return 2;
    mpi_first = strcmp(argv[1], "mpi") == 0;
    mpi_out_first = strcmp(argv[2], "mpi") == 0;
    if (mpi_first) MPI_Init(NULL, NULL);
    shmem_init();
    if (!mpi_first) MPI_Init(NULL, NULL);
    compare_names();
    for (int round = 0; round < ROUNDS; round++)
        round_of_both(round);
    mpi_on_symmetric_memory();
    if (mpi_out_first) MPI_Finalize();
    shmem_barrier_all();
    shmem_long_p(&words[0], -7, (me + 1) % n);
    shmem_barrier_all();
    if (words[0] != -7) return 2;
    shmem_finalize();
    if (!mpi_out_first) MPI_Finalize();
    return 0;
}
