/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the library has put PEs together as they are: memory of a PE can be reached by load and
 * store exactly where its host has the name of one's own. PE 0 prints the nodes, a digit a PE.
 */
#include "pe_test.h"

#include <unistd.h>

enum { NAME = 64, MAX = 32 };

int main(void)
{
    char *names, *mine;
    int node[MAX], n_nodes = 0;

    pe_test_begin();
    PE_REQUIRE(pe_n <= MAX, "more than %d PEs", MAX);
    names = shmem_calloc(MAX, NAME);
    mine = shmem_calloc(1, NAME);
    PE_REQUIRE(names && mine, "no memory");
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
