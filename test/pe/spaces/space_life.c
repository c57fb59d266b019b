/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the lifetime of spaces of each kind: what prevents the destruction of a space, its end
 * without its team, many spaces alive in random order, and spaces that still exist at finalize. If
 * only some PEs have a kind, its members do the work; all PEs take part in each creation. Proposal
 * text and rules S4, S5, S11 and S14 of docs/reference/conformance-spaces.md.
 */
#include "pe_kinds.h"

enum { MANY = 64 };

/* The application destroys the space's team; the space goes on. P, S4. */
static void check_without_team(int kind)
{
    shmem_team_t asked = SHMEM_TEAM_WORLD;
    struct pe_space s;
    long *block;

    if (!pe_kind_create(kind, PE_MIB, &s) || s.rank < 0) return;
    block = pe_kind_malloc(&s, 100);
    PE_CHECK_EQ(shmem_space_get_team(s.space, &asked), 0);
    PE_CHECK(asked == s.team, "shmem_space_get_team did not return the team of the space");
    shmem_team_destroy(s.team);
    PE_CHECK_EQ(shmem_team_is_valid(s.team), 0);
    PE_CHECK_EQ(shmem_space_get_team(s.space, &asked), 0);
    PE_CHECK(asked == SHMEM_TEAM_INVALID,
             "shmem_space_get_team after the team was destroyed is not SHMEM_TEAM_INVALID");
    for (int i = 0; i < 3; i++) {
        long *more = shmem_space_calloc(s.space, 50, sizeof(*more));
        PE_CHECK(more != NULL, "shmem_space_calloc after the team was destroyed returned NULL");
        shmem_space_free(s.space, more);
    }
    pe_gpu_fill(block, 5, 100);
    PE_GPU_EXPECT(block, 5, 100, "a block after the team's end");
    shmem_space_free(s.space, block);
    PE_CHECK_EQ(shmem_space_destroy(s.space), 0);
}

/* Refused on all members, and everything works as before. */
static void check_refused(const struct pe_space *s, long *block, const char *why)
{
    static long salt;

    PE_CHECK(shmem_space_destroy(s->space) != 0,
             "%s: shmem_space_destroy returned 0 while this holds the space, expected an error",
             why);
    salt += 100000;
    pe_gpu_fill(block, salt, 20);
    PE_GPU_EXPECT(block, salt, 20, why);
    shmem_long_p(block, salt + s->rank, pe_me);
    shmem_quiet();
    PE_CHECK_EQ(shmem_long_g(block, pe_me), salt + s->rank);
    long *more = shmem_space_malloc(s->space, 1000);
    PE_CHECK(more != NULL, "%s: shmem_space_malloc after a refused destroy returned NULL", why);
    shmem_space_free(s->space, more);
}

/*
 * Teams one after the other: the space's own, a split, a split of the split that only one PE
 * holds, a duplicate, a bound context of one PE alone. P, S5, S14.
 */
static void check_holders(int kind)
{
    shmem_team_t child = SHMEM_TEAM_INVALID, grandchild = SHMEM_TEAM_INVALID;
    shmem_team_t twin = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    struct pe_space s;
    long *block;

    if (!pe_kind_create(kind, PE_MIB, &s) || s.rank < 0) return;
    block = pe_kind_malloc(&s, 100);
    check_refused(&s, block, "the space's team");
    pe_kind_ring(&s, block, 100, 1);
    PE_CHECK_EQ(shmem_team_split_strided(s.team, 0, 2, (s.n + 1) / 2, NULL, 0, &child), 0);
    PE_CHECK_EQ(shmemx_team_duplicate(s.team, &twin), 0);
    if (child != SHMEM_TEAM_INVALID) {
        shmem_space_t found = SHMEM_SPACE_INVALID;

        PE_CHECK_EQ(shmem_team_get_space(child, &found), 0);
        PE_CHECK(found == s.space,
                 "shmem_team_get_space of a split of the space's team is %p, expected the space",
                 found);
        PE_CHECK_EQ(shmem_team_split_strided(child, 0, 1, 1, NULL, 0, &grandchild), 0);
    }
    shmem_team_destroy(s.team);
    check_refused(&s, block, "a split and a duplicate");
    shmem_team_destroy(child);
    check_refused(&s, block, "a duplicate");
    shmem_team_destroy(twin);
    check_refused(&s, block, "a split of a split, on one PE");
    shmem_team_destroy(grandchild);
    if (s.rank == s.n - 1) { /* refused where not all are members */
        shmem_team_t over = SHMEM_TEAM_WORLD;
        shmemx_ctx_config_t config = {over, s.space};
        int rc = shmemx_ctx_create(0, &config, &ctx);
        PE_CHECK(
            (rc == 0) == (s.n == pe_n),
            "a context over the world bound to a space with %d of %d PEs: expected success only if "
            "all are members",
            s.n, pe_n);
    }
    if (s.n == pe_n) check_refused(&s, block, "a bound context on one PE");
    if (ctx != SHMEM_CTX_INVALID) {
        shmem_ctx_long_p(ctx, block + 1, 77, pe_me);
        shmem_ctx_quiet(ctx);
        PE_CHECK_EQ(shmem_ctx_long_g(ctx, block + 1, pe_me), 77);
        shmem_ctx_destroy(ctx);
    }
    shmem_space_free(s.space, block);
    PE_CHECK_EQ(shmem_space_destroy(s.space), 0);
}

/* A context over the space's own team: goes with that team, as contexts do. */
static void check_context_of_team(int kind)
{
    shmemx_ctx_config_t config;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    struct pe_space s;
    long *block;

    if (!pe_kind_create(kind, PE_MIB, &s) || s.rank < 0) return;
    block = pe_kind_malloc(&s, 100);
    config = (shmemx_ctx_config_t){s.team, s.space};
    PE_REQUIRE(shmemx_ctx_create(SHMEM_CTX_SERIALIZED, &config, &ctx) == 0,
               "shmemx_ctx_create of a context bound to the space failed");
    pe_gpu_fill(block, 0, 100);
    pe_team_barrier(s.team);
    shmem_ctx_long_p(ctx, block + 7, 40 + s.rank, (s.rank + 1) % s.n); /* numbers of the team */
    shmem_ctx_quiet(ctx);
    PE_CHECK_EQ(shmem_ctx_long_g(ctx, block + 7, (s.rank + 1) % s.n), 40 + s.rank);
    pe_team_barrier(s.team);
    PE_CHECK(
        shmem_space_destroy(s.space) != 0,
        "shmem_space_destroy returned 0 while a context and a team hold the space, expected an "
        "error");
    shmem_ctx_destroy(ctx);
    PE_CHECK(shmem_space_destroy(s.space) != 0,
             "shmem_space_destroy returned 0 while a team holds the space, expected an error");
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
}

/* A second destroy of the same handle is refused and does no harm; nor is there a way around. */
static void check_ends(int kind)
{
    struct pe_space s, next;

    if (!pe_kind_create(kind, PE_MIB, &s)) return;
    pe_kind_destroy(&s);
    if (s.space != SHMEM_SPACE_INVALID)
        PE_CHECK(shmem_space_destroy(s.space) != 0,
                 "a second shmem_space_destroy of the same handle returned 0, expected an error");
    PE_REQUIRE(pe_kind_create(kind, PE_MIB, &next),
               "creating a space after a refused second destroy failed");
    pe_kind_use(&next, 11);
    pe_kind_destroy(&next);
    PE_CHECK(shmem_space_destroy(SHMEM_SPACE_DEFAULT) != 0,
             "shmem_space_destroy of the default space returned 0, expected an error");
    PE_CHECK_EQ(shmem_space_destroy(SHMEM_SPACE_INVALID), 0);
}

/* What is still allocated goes with the space; run_space_errors.sh reads the warning. S5. */
static void check_live_blocks(int kind)
{
    struct pe_space s;

    if (!pe_kind_create(kind, PE_MIB, &s)) return;
    for (int i = 1; i <= 3 && s.rank >= 0; i++)
        (void)pe_kind_malloc(&s, 1000);
    pe_kind_destroy(&s);
    PE_REQUIRE(pe_kind_create(kind, PE_MIB, &s),
               "creating a space after one that was destroyed with live blocks failed");
    pe_kind_use(&s, 13);
    pe_kind_destroy(&s);
}

/* The word of a space of many: told from all others, and right; its members reach each other. */
static void check_one_of_many(const struct pe_space *s, long *block, long id)
{
    shmem_space_t found = SHMEM_SPACE_INVALID;

    if (s->rank < 0) return;
    PE_GPU_EXPECT(block, 1000 * id, 16, "one of many");
    PE_CHECK_EQ(shmem_get_space(block, &found), 0);
    PE_CHECK(found == s->space,
             "shmem_get_space of a block in one of many spaces returned another space");
    pe_kind_ring(s, block, 16, 7 * id);
}

/* Slots are filled and emptied as a sequence says that all PEs draw alike. */
static void check_many(void)
{
    static struct pe_space spaces[MANY];
    static long *blocks[MANY];
    static bool used[MANY];
    uint64_t dice = 20260101;
    int most = pe_rounds(8) == 8 ? MANY : MANY / 8, steps = 3 * most;
    bool have[PE_N_KINDS];

    for (int k = 0; k < PE_N_KINDS; k++)
        have[k] = pe_kind_exists(k);
    for (int step = 0; step < steps; step++) {
        /* at first all slots are filled, so that there are that many alive at once */
        int i = step < most ? step : (int)pe_random_in(&dice, 0, (size_t)most - 1);
        int kind = (int)pe_random_in(&dice, 0, PE_N_KINDS - 1);

        if (used[i]) {
            check_one_of_many(&spaces[i], blocks[i], i);
            if (spaces[i].rank >= 0) shmem_space_free(spaces[i].space, blocks[i]);
            pe_kind_destroy(&spaces[i]);
            used[i] = false;
        } else {
            if (!have[kind]) kind = PE_CPU;
            used[i] = pe_kind_create(kind, pe_random_in(&dice, 1, 3) * PE_MIB / 4, &spaces[i]);
            PE_REQUIRE(used[i], "creating space %d, of kind %s, failed", i, pe_kinds[kind].name);
            if (spaces[i].rank < 0) continue;
            blocks[i] = pe_kind_malloc(&spaces[i], 16);
            pe_gpu_fill(blocks[i], 1000 * i, 16);
        }
    }
    for (int i = most; i-- > 0;) {
        if (!used[i]) continue;
        check_one_of_many(&spaces[i], blocks[i], i);
        if (spaces[i].rank >= 0) shmem_space_free(spaces[i].space, blocks[i]);
        pe_kind_destroy(&spaces[i]);
        used[i] = false;
    }
}

/* Created, used, destroyed, again and again: nothing runs out, no old content comes back. */
static void check_cycles(void)
{
    for (int cycle = 0; cycle < (pe_rounds(8) == 8 ? 200 : 10); cycle++) {
        shmem_team_t team = SHMEM_TEAM_INVALID;
        shmem_space_t space = pe_space_create(PE_MIB, &team);
        long *block = shmem_space_calloc(space, 1000, sizeof(*block));

        PE_REQUIRE(block != NULL, "shmem_space_calloc in cycle %d returned NULL", cycle);
        shmem_long_p(&block[cycle], cycle + pe_me, pe_right());
        shmem_long_atomic_add(&block[999], 1 + cycle, pe_right());
        shmem_barrier_all();
        PE_CHECK_EQ(block[cycle], cycle + pe_left());
        PE_CHECK_EQ(block[999], 1 + cycle);
        shmem_space_free(space, block);
        pe_space_end(space, team);
    }
}

/* Everything stays behind: spaces, teams, contexts, memory, puts that nobody waited for. S14. */
static void leave_behind(void)
{
    shmem_init();
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    for (int k = 0; k < PE_N_KINDS; k++) {
        shmem_team_t part = SHMEM_TEAM_INVALID;
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        struct pe_space s;
        long *block;

        if (!pe_kind_create(k, PE_MIB, &s) || s.rank < 0) continue;
        block = pe_kind_malloc(&s, 100);
        pe_kind_ring(&s, block, 100, k);
        PE_CHECK_EQ(shmem_team_split_strided(s.team, 0, 1, s.n, NULL, 0, &part), 0);
        shmemx_ctx_config_t config = {part, s.space};
        PE_CHECK_EQ(shmemx_ctx_create(0, &config, &ctx), 0);
        shmem_ctx_long_p(ctx, block, 1, (s.rank + 1) % s.n);
    }
    shmem_finalize();
}

int main(void)
{
    leave_behind();
    leave_behind();
    pe_test_begin();
    for (int kind = 0; kind < PE_N_KINDS; kind++) {
        if (!pe_kind_exists(kind)) continue;
        check_without_team(kind);
        check_holders(kind);
        check_context_of_team(kind);
        check_ends(kind);
        check_live_blocks(kind);
    }
    check_many();
    check_cycles();
    return pe_test_end();
}
