/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many operations a large scan and a large reduction are through the fabric: each of them is
 * waited for, and on a busy machine such a wait lasts as long as other processes keep the cores of
 * both sides. So they must be few, for vectors of any size. Counted by the provider shim.
 */
#include "pe_test.h"

#include <dlfcn.h>

enum { ELEMENTS = 1 << 20, MOST = 60 }; /* of 8 bytes; posts of one collective and its syncs */

static long source[ELEMENTS], dest[ELEMENTS];

static long posts(void)
{
    long (*count)(const char *) = (long (*)(const char *))dlsym(RTLD_DEFAULT, "provshim_count");

    PE_REQUIRE(count != NULL, "the provider shim is not here");
    return count("posts");
}

static void check(const char *what, long before, long terms)
{
    long made = posts() - before, first = 0;

    PE_CHECK(made <= MOST, "%s: %ld operations for %zu bytes, more than %d", what, made,
             sizeof(source), MOST);
    for (int pe = 0; pe < terms; pe++)
        first += pe;
    for (long i = 0; i < ELEMENTS; i++)
        if (!PE_CHECK(dest[i] == first + terms * i, "%s: element %ld is %ld, not %ld", what, i,
                      dest[i], first + terms * i))
            break;
    shmem_barrier_all();
}

int main(void)
{
    long before;

    pe_test_begin();
    for (long i = 0; i < ELEMENTS; i++)
        source[i] = i + pe_me;
    shmem_barrier_all();
    before = posts();
    shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, source, ELEMENTS);
    check("inscan", before, pe_me + 1);
    before = posts();
    shmem_long_sum_exscan(SHMEM_TEAM_WORLD, dest, source, ELEMENTS);
    check("exscan", before, pe_me);
    before = posts();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, ELEMENTS);
    check("reduce", before, pe_n);
    return pe_test_end();
}
