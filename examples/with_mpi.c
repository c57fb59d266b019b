/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenSHMEM and MPI in one program: the same launcher starts both, and a PE of OpenSHMEM is the
 * process of one rank of MPI. With MPICH, whose Hydra is also the launcher of Steppe:
 *
 *     mpicc.mpich with_mpi.c -o with_mpi $(pkg-config --cflags --libs steppe)
 *     mpiexec.hydra -n 4 ./with_mpi
 */
#include <mpi.h>
#include <shmem.h>

#include <stdio.h>

static long counter; /* on PE 0 */

int main(int argc, char **argv)
{
    /* Either library may be initialized first. Finalize in the reverse order. */
    MPI_Init(&argc, &argv);
    shmem_init();

    int rank, pe = shmem_my_pe();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* The numbers are usually equal, but neither standard promises it: exchange them once. */
    int rank_of_pe0 = pe == 0 ? rank : -1;
    MPI_Allreduce(MPI_IN_PLACE, &rank_of_pe0, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);

    shmem_long_atomic_add(&counter, pe + 1, 0);
    shmem_barrier_all(); /* completes the atomics; MPI_Barrier would not complete them */

    long total = counter;
    MPI_Bcast(&total, 1, MPI_LONG, rank_of_pe0, MPI_COMM_WORLD);
    printf("PE %d is rank %d; the counter of PE 0 is %ld\n", pe, rank, total);

    int npes = shmem_n_pes();
    shmem_finalize();
    MPI_Finalize();
    return total != (long)npes * (npes + 1) / 2;
}
