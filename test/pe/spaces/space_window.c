/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks 80 host spaces of 1 GiB, more than 64 GiB together, with the default size of the window.
 * Only the last word of each space is touched.
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

        PE_REQUIRE(pe_kind_create(PE_CPU, GIB, &spaces[i]), "creating space %d of 1 GiB failed", i);
        block = shmem_space_malloc(spaces[i].space, GIB);
        PE_REQUIRE(block != NULL, "shmem_space_malloc of 1 GiB in space %d returned NULL", i);
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
