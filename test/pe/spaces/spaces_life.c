/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lifetime of spaces: teams that hold them, many at once, many in a row, what is left at the
 * end. Rules P, S4, S5, S14 (see pe_spaces.h).
 */
#include "pe_spaces.h"

/* S5: refused on all PEs while any PE holds a team that descends from the space. */
static void check_held(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID, child = SHMEM_TEAM_INVALID, asked = SHMEM_TEAM_WORLD;
    shmem_team_t grandchild = SHMEM_TEAM_INVALID;
    shmem_space_t space = pe_space_create(PE_MIB, &team), got = SHMEM_SPACE_INVALID;
    int *block = shmem_space_calloc(space, 10, sizeof(*block));

    PE_REQUIRE(block != NULL, "calloc failed");
    PE_CHECK(shmem_space_destroy(space) != 0, "destroyed under its own team");
    /* a team of every second PE, and one of the first alone */
    PE_CHECK_EQ(shmem_team_split_strided(team, 0, 2, (pe_n + 1) / 2, NULL, 0, &child), 0);
    if (child != SHMEM_TEAM_INVALID) {
        PE_CHECK_EQ(shmem_team_get_space(child, &got), 0);
        PE_CHECK(got == space, "a split's space is %p", got);
        PE_CHECK_EQ(shmem_team_split_strided(child, 0, 1, 1, NULL, 0, &grandchild), 0);
    }
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_get_team(space, &asked), 0); /* S4 */
    PE_CHECK(asked == SHMEM_TEAM_INVALID, "get_team gives a destroyed team");
    PE_CHECK(shmem_space_destroy(space) != 0, "destroyed under a split");
    shmem_team_destroy(child);
    PE_CHECK(shmem_space_destroy(space) != 0, "destroyed under the split of a split");
    shmem_int_p(&block[3], 5 + pe_me, pe_right()); /* nothing happened to it */
    shmem_barrier_all();
    PE_CHECK_EQ(block[3], 5 + pe_left());
    shmem_team_destroy(grandchild);
    shmem_space_free(space, block);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* Many alive at once; each has memory of its own; ends come in another order. */
static void check_many(void)
{
    enum { MANY = 64, SIZE = 1000 };
    static shmem_space_t space[MANY];
    static shmem_team_t team[MANY];
    static char *block[MANY];
    int n = pe_rounds(8) == 8 ? MANY : MANY / 8;
    char source[SIZE];

    for (int i = 0; i < n; i++) {
        space[i] = pe_space_create((size_t)(1 + i % 3) * PE_MIB, &team[i]);
        block[i] = shmem_space_malloc(space[i], SIZE);
        PE_REQUIRE(block[i] != NULL, "malloc in space %d failed", i);
        pe_fill(source, SIZE, (unsigned)(i * 16 + pe_me));
        shmem_putmem(block[i], source, SIZE, pe_right());
    }
    shmem_barrier_all();
    for (int i = 0; i < n; i++) {
        shmem_space_t got = SHMEM_SPACE_INVALID;

        PE_CHECK_BYTES(block[i], SIZE, (unsigned)(i * 16 + pe_left()), "one of many spaces");
        PE_CHECK(shmem_get_space(block[i], &got) == 0 && got == space[i], "space %d", i);
    }
    for (int k = 0; k < n; k++) {
        int i = k * 37 % n;

        shmem_space_free(space[i], block[i]);
        pe_space_end(space[i], team[i]);
        if (k == n / 2) { /* what still lives is whole, and there is room again */
            int next = (k + 1) * 37 % n;

            PE_CHECK_BYTES(block[next], SIZE, (unsigned)(next * 16 + pe_left()), "survivor");
            space[i] = pe_space_create(3 * PE_MIB, &team[i]);
            pe_space_end(space[i], team[i]);
        }
    }
}

/* Created, used, destroyed, again and again: nothing runs out, no old content comes back. */
static void check_cycles(void)
{
    for (int cycle = 0; cycle < (pe_rounds(8) == 8 ? 200 : 10); cycle++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        shmem_space_t space = pe_space_create(PE_MIB, &team);
        long *block = shmem_space_calloc(space, 1000, sizeof(*block));

        PE_REQUIRE(block != NULL, "calloc failed in cycle %d", cycle);
        shmem_long_p(&block[cycle], cycle + pe_me, pe_right());
        shmem_long_atomic_add(&block[999], 1 + cycle, pe_right());
        shmem_barrier_all();
        PE_CHECK_EQ(block[cycle], cycle + pe_left());
        PE_CHECK_EQ(block[999], 1 + cycle);
        shmem_space_free(space, block);
        pe_space_end(space, team);
    }
}

/* S12: room is reserved, memory is touched on use; odd sizes are fine, too. */
static void check_sizes(void)
{
    static const size_t sizes[] = {1, 100, 4095, 4097, 256 * (size_t)PE_MIB};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        shmem_space_t space = pe_space_create(sizes[i], &team);
        size_t n = sizes[i] > 100000 ? sizes[i] / 2 : 1;
        char *block = shmem_space_malloc(space, n);

        if (PE_CHECK(block != NULL, "%zu bytes out of %zu", n, sizes[i])) {
            shmem_char_p(&block[n - 1], (char)(1 + pe_me), pe_right());
            shmem_barrier_all();
            PE_CHECK_EQ(block[n - 1], 1 + pe_left());
            shmem_space_free(space, block);
        }
        pe_space_end(space, team);
    }
}

/* S5: memory still allocated at destroy goes with the space (a warning says so). */
static void check_live_blocks(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_space_t space = pe_space_create(PE_MIB, &team);

    PE_CHECK(shmem_space_malloc(space, 1000) != NULL, "malloc failed");
    PE_CHECK(shmem_space_malloc(space, 2000) != NULL, "malloc failed");
    pe_space_end(space, team);
}

/* S14: a space and its team alive at the last finalize end with it; the next start is clean. */
static void check_finalize(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_space_t space;
    int *block;

    shmem_init();
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    space = pe_space_create(PE_MIB, &team);
    block = shmem_space_calloc(space, 10, sizeof(*block));
    PE_REQUIRE(block != NULL, "calloc failed");
    shmem_int_p(block, 1 + pe_me, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(*block, 1 + pe_left());
    shmem_finalize();
}

int main(void)
{
    check_finalize();
    check_finalize();
    pe_test_begin();
    check_held();
    check_many();
    check_cycles();
    check_sizes();
    check_live_blocks();
    return pe_test_end();
}
