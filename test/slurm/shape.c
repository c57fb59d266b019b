/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that the library has grouped PEs by host: a PE can reach the memory of another PE by load
 * and store exactly when both have the same host name. PE 0 prints the nodes, one digit for each
 * PE. slurm.py starts the program with several distributions and compares the digits.
 */
#include "pe_test.h"

#include <unistd.h>

enum { NAME = 64, MAX = 32 };

int main(void)
{
    char *names, *mine;
    int node[MAX], n_nodes = 0;

    pe_test_begin();
    PE_REQUIRE(pe_n <= MAX, "the test supports at most %d PEs", MAX);
    names = shmem_calloc(MAX, NAME);
    mine = shmem_calloc(1, NAME);
    PE_REQUIRE(names && mine, "shmem_calloc returned NULL");
    gethostname(mine, NAME - 1);
    shmem_fcollectmem(SHMEM_TEAM_WORLD, names, mine, NAME);
    for (int pe = 0; pe < pe_n; pe++) {
        int same = 0;

        while (same < pe && strcmp(names + same * NAME, names + pe * NAME) != 0)
            same++;
        node[pe] = same < pe ? node[same] : n_nodes++;
        PE_CHECK_EQ(shmem_ptr(names, pe) != NULL, strcmp(mine, names + pe * NAME) == 0);
    }
    if (pe_me == 0) {
        printf("nodes ");
        for (int pe = 0; pe < pe_n; pe++)
            putchar('0' + node[pe]);
        putchar('\n');
    }
    return pe_test_end();
}
