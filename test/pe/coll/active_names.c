/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that both forms of shmem_sync compile and synchronize: of a team, which is generic in C11
 * only, and of an active set, in every language (rule R167 of docs/reference/conformance.md). The
 * file is compiled as C99, as C11 and, by active_names.cpp, as C++. Uses no pe_test.h, which is not
 * C++.
 */
#include <pshmem.h>
#include <shmem.h>

#include <stdio.h>

static long psync[SHMEM_SYNC_SIZE]; /* symmetric */
static long cells[3];
static int failures;

static void check(int ok, const char *what)
{
    if (ok) return;
    failures++;
    fprintf(stderr,
            "pe %d: failed: %s: the neighbour is in another round, or the return value is not 0\n",
            shmem_my_pe(), what);
}

/* Everyone is in the same round, or one ahead, after each form of the call. */
static void meet(int round, const char *what)
{
    long left = cells[1];

    check(left == round || left == round + 1, what);
    shmem_long_p(&cells[1], round + 1, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_quiet();
}

static void sets(int n)
{
    void (*function)(int, int, int, long *) = shmem_sync; /* no call, so no macro */
    long long wide = n;

    meet(0, "start");
    shmem_sync(0, 0, n, psync);
    meet(1, "shmem_sync(0, 0, n, psync)");
    (shmem_sync)(0, 0, n, psync);
    meet(2, "(shmem_sync)(...)");
    function(0, 0, n, psync);
    meet(3, "shmem_sync by pointer");
    pshmem_sync(0, 0, n, psync);
    meet(4, "pshmem_sync");
    shmem_sync(shmem_n_pes() - n, (int)(wide - n), (int)wide, &psync[0]);
    meet(5, "shmem_sync of expressions");
}

static void teams(void)
{
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
    int rc = shmem_sync(SHMEM_TEAM_WORLD);
    shmem_team_t world = SHMEM_TEAM_WORLD;

    meet(6, "shmem_sync(SHMEM_TEAM_WORLD)");
    rc |= shmem_sync(1 ? world : SHMEM_TEAM_INVALID);
#else
    int rc = shmem_team_sync(SHMEM_TEAM_WORLD);

    meet(6, "shmem_team_sync");
    rc |= shmem_team_sync(SHMEM_TEAM_WORLD);
#endif
    meet(7, "sync of the world team");
    check(rc == 0, "return values of the sync of a team");
}

int main(void)
{
    int i, status;

    shmem_init();
    for (i = 0; i < SHMEM_SYNC_SIZE; i++)
        psync[i] = _SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    sets(shmem_n_pes());
    teams();
    shmem_barrier(0, 0, shmem_n_pes(), psync);
    cells[0] = failures;
    shmem_long_max_to_all(&cells[2], &cells[0], 1, 0, 0, shmem_n_pes(), NULL, psync);
    status = cells[2] != 0 ? 2 : 0;
    shmem_finalize();
    return status;
}
