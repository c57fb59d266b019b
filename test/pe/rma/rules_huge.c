/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strides that do not fit 32 bits, of elements and of blocks: few bytes are touched, far apart.
 * Needs SHMEM_SYMMETRIC_SIZE=4500m, of which next to nothing is used. Rule R111.
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
    PE_CHECK(block[0] == 1 + pe_left() && block[far] == 101 + pe_left(), "iput: %d %d", block[0],
             block[far]);
    PE_CHECK(block[10] == 1 && block[11] == 2 && block[10 + far] == 3 &&
                 block[11 + far] == pe_left(),
             "ibput");
    PE_CHECK(block[12345] == 0 && block[1] == 0 && block[12345 + 10] == 0, "a stride was cut");
    shmem_char_iget(got, block, 1, far, 2, pe_right());
    PE_CHECK(got[0] == two[0] && got[1] == two[1], "iget: %d %d", got[0], got[1]);
    shmem_ibget8(got, block + 10, 2, far, 2, 2, pe_right());
    PE_CHECK(memcmp(got, four, 4) == 0, "ibget");
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
