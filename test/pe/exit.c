/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways for a job to end before finalize, one an argument: the last PE leaves, the others block in
 * a wait, a barrier, a collective, or compute. run_exit.sh checks status and time. Rule R14.
 */
#include "pe_data.h"

#include <signal.h>
#include <unistd.h>

static long never; /* nobody sets it */
static long words[2];

/* Blocked for ever, each PE in its own way. */
static void block(void)
{
    static volatile unsigned long spin;

    switch (pe_me % 4) {
    case 0:
        shmem_long_wait_until(&never, SHMEM_CMP_EQ, 1);
        break;
    case 1:
        shmem_barrier_all();
        break;
    case 2:
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &words[0], &words[1], 1);
        break;
    default:
        for (;;)
            spin++;
    }
}

/*
 * One PE leaves with status 0; the others go on with point-to-point work, and with so many
 * barriers: the first ones meet those of its finalize. Some finalize themselves.
 */
static int leave(int n_barriers)
{
    if (pe_me == pe_n - 1) exit(0);
    for (int i = 0; i < 50; i++)
        shmem_long_atomic_inc(&words[0], pe_n - 1);
    for (int i = 0; i < n_barriers; i++)
        shmem_barrier_all();
    if (pe_me % 2 == 0) shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";

    pe_test_begin();
    shmem_barrier_all();
    if (strcmp(way, "all_global_exit") == 0) shmem_global_exit(10 + pe_me);
    if (strcmp(way, "leave") == 0) return leave(0);
    if (strcmp(way, "leave_collectives") == 0) return leave(5);
    if (strcmp(way, "leave_collective") == 0) return leave(1);
    if (pe_me != pe_n - 1) block();
    printf("last words of pe %d", pe_me); /* R14: flushed without a newline */
    if (strcmp(way, "global_exit") == 0) shmem_global_exit(3);
    if (strcmp(way, "return") == 0) return 5;
    if (strcmp(way, "exit") == 0) exit(6);
    if (strcmp(way, "kill") == 0) raise(SIGKILL);
    if (strcmp(way, "abort") == 0) abort();
    if (strcmp(way, "segv") == 0) raise(SIGSEGV);
    fprintf(stderr, "pe %d: no way to leave is called %s\n", pe_me, way);
    shmem_global_exit(PE_FAIL);
}
