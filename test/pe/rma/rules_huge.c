/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks strides of elements and of blocks that do not fit in 32 bits (OpenSHMEM 1.6, section 9.6;
 * rule R111 of docs/reference/conformance.md). Touches few bytes. Needs SHMEM_SYMMETRIC_SIZE=4500m,
 * else the test is skipped.
 */
#include "pe_table.h"

#include <stddef.h>

static const ptrdiff_t far = ((ptrdiff_t)1 << 32) + 12345; /* elements of a byte */
static char *block;

static void check_strides(void)
{
    char two[2] = {(char)(1 + pe_me), (char)(101 + pe_me)}, got[4] = {0};
    char four[4] = {1, 2, 3, (char)pe_me};

    shmem_iput8(block, two, far, 1, 2, pe_right());
    shmem_char_ibput(block + 10, four, far, 2, 2, 2, pe_right());
    shmem_barrier_all();
    PE_CHECK(
        block[0] == 1 + pe_left() && block[far] == 101 + pe_left(),
        "iput8 with a stride above 2^32: dest has %d and %d, expected the two bytes of the left PE",
        block[0], block[far]);
    PE_CHECK(block[10] == 1 && block[11] == 2 && block[10 + far] == 3 &&
                 block[11 + far] == pe_left(),
             "ibput with a stride above 2^32: a block is missing or wrong");
    PE_CHECK(block[12345] == 0 && block[1] == 0 && block[12345 + 10] == 0,
             "bytes were written where a stride cut to 32 bits would put them");
    shmem_char_iget(got, block, 1, far, 2, pe_right());
    PE_CHECK(
        got[0] == two[0] && got[1] == two[1],
        "iget with a stride above 2^32 returned %d and %d, expected the two bytes that this PE put",
        got[0], got[1]);
    shmem_ibget8(got, block + 10, 2, far, 2, 2, pe_right());
    PE_CHECK(memcmp(got, four, 4) == 0, "ibget8 with a stride above 2^32 returned wrong data");
}

static const struct pe_rule rules[] = {{"R111 strides of more than 32 bits", check_strides}};

int main(void)
{
    pe_test_begin();
    block = shmem_malloc((size_t)far + 20);
    if (block == NULL) pe_test_skip("no symmetric memory: set SHMEM_SYMMETRIC_SIZE=4500m");
    if (block != NULL) PE_RULES_RUN(rules);
    return pe_test_end();
}
