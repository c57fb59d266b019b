/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host spaces of more than 64 GiB together, with the window as it is chosen where nobody asks for a
 * size. Nothing of them is touched but their ends.
 */
#include "pe_kinds.h"

enum { SPACES = 80 };

static const size_t GIB = (size_t)1 << 30;

int main(void)
{
    static struct pe_space spaces[SPACES];
    static long *last[SPACES];

    pe_test_begin();
    for (int i = 0; i < SPACES; i++) {
        long *block;

        PE_REQUIRE(pe_kind_create(PE_CPU, GIB, &spaces[i]), "space %d of 1 GiB", i);
        block = shmem_space_malloc(spaces[i].space, GIB);
        PE_REQUIRE(block != NULL, "1 GiB of space %d", i);
        last[i] = block + GIB / sizeof(*block) - 1;
        shmem_long_p(last[i], 1000L * pe_me + i, pe_right());
    }
    shmem_barrier_all();
    for (int i = 0; i < SPACES; i++)
        PE_CHECK_EQ(*last[i], 1000L * pe_left() + i);
    shmem_barrier_all();
    for (int i = 0; i < SPACES; i++) {
        shmem_free(last[i] + 1 - GIB / sizeof(long));
        pe_kind_destroy(&spaces[i]);
    }
    return pe_test_end();
}
