/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that mlockall() after init allocates only memory that the program can use, and a little
 * for the library. Checks also that more teams than the memory that is accessible at the start has
 * room for work, because their memory becomes accessible later.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "pe_test.h"

enum { TEAMS = 800 };

static const size_t per_pe = (size_t)100 << 20; /* heap (8 MiB), and the library's own memory */

/* Returns the accessible bytes of this process's mappings of symmetric memory. */
static size_t accessible(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned long start, end;
    char line[512], access[8];
    size_t total = 0;

    PE_REQUIRE(file != NULL, "cannot open /proc/self/maps");
    while (fgets(line, sizeof(line), file) != NULL)
        if (strstr(line, "memfd:steppe-node") != NULL &&
            sscanf(line, "%lx-%lx %7s", &start, &end, access) == 3 && access[0] == 'r')
            total += end - start;
    fclose(file);
    return total;
}

static void check_lock(void)
{
    size_t nbytes = accessible(), limit = per_pe * (size_t)(pe_n + 1);

    if (!PE_CHECK(nbytes <= limit,
                  "%zu bytes of symmetric memory are accessible after init, expected at most %zu",
                  nbytes, limit))
        return;
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) pe_test_skip("mlockall is not allowed");
    munlockall();
}

static void check_teams(void)
{
    static shmem_team_t teams[TEAMS];
    long *sums = pe_calloc(2, sizeof(*sums));

    for (int i = 0; i < TEAMS; i++)
        teams[i] = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
    for (int i = 0; i < TEAMS; i += 50) {
        sums[0] = i;
        shmem_long_sum_reduce(teams[i], &sums[1], &sums[0], 1);
        PE_CHECK_EQ(sums[1], (long)i * pe_n);
        shmem_team_sync(teams[i]);
    }
    for (int i = 0; i < TEAMS; i++)
        shmem_team_destroy(teams[i]);
    shmem_free(sums);
}

int main(void)
{
    pe_test_begin();
    check_lock();
    shmem_barrier_all();
    check_teams();
    return pe_test_end();
}
