/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the barriers in allocation and freeing: no member returns from malloc, calloc, align or
 * free before all members have called it, pending puts are complete then, and a member does not
 * wait for PEs of other spaces or for calls that do nothing. Proposal text and rule S6 of
 * docs/reference/conformance-spaces.md.
 */
#include "pe_kinds.h"

enum { ROUNDS = 40, MAX_PES = 64 };

static long entered[MAX_PES]; /* symmetric: how often each PE went in, as it told us */
static uint64_t dice;

/* Tell all members, then dawdle so that they come in any order. */
static void go_in(const struct pe_space *s, long round)
{
    volatile size_t idle = pe_random_in(&dice, 0, 20000);

    if (pe_random_in(&dice, 0, 2) == 0)
        while (idle > 0)
            idle--;
    for (int r = 0; r < s->n; r++)
        shmem_long_p(&entered[pe_me], round, pe_member(s, r));
    shmem_quiet();
}

static void check_out(const struct pe_space *s, long round, const char *call)
{
    for (int r = 0; r < s->n; r++) {
        int pe = pe_member(s, r);
        long theirs = __atomic_load_n(&entered[pe], __ATOMIC_ACQUIRE);

        PE_CHECK(theirs >= round,
                 "%s in a %s space: this PE returned in round %ld, but pe %d was only in round %ld",
                 call, s->kind->name, round, pe, theirs);
    }
}

/*
 * Each call in its turn. A put without quiet goes to the neighbour before: the barrier completes
 * it, so that it is seen after the call.
 */
static void check_calls(const struct pe_space *s, long round)
{
    static const char *const names[] = {"malloc", "calloc", "align", "free"};
    long *target = pe_kind_malloc(s, 512), *block = NULL, value[512];
    int next = pe_member(s, (s->rank + 1) % s->n);
    int before = pe_member(s, (s->rank + s->n - 1) % s->n);

    for (int i = 0; i < ROUNDS; i++) {
        int call = i % 2 ? 3 : i / 2 % 3;

        round++;
        for (int k = 0; k < 512; k++)
            value[k] = 100000 * round + 1000 * pe_me + k;
        go_in(s, round);
        shmem_long_put_nbi(target, value, 512, next);
        if (call == 0)
            block = shmem_space_malloc(s->space, 5000);
        else if (call == 1)
            block = shmem_space_calloc(s->space, 50, 100);
        else if (call == 2)
            block = shmemx_space_align(s->space, 512, 5000);
        else
            shmem_space_free(s->space, block);
        check_out(s, round, names[call]);
        PE_CHECK(call == 3 || block != NULL, "%s in a %s space returned NULL", names[call],
                 s->kind->name);
        PE_GPU_EXPECT(target, 100000 * round + 1000 * before, 512, names[call]);
        pe_team_barrier(s->team); /* before target is written again */
    }
    shmem_space_free(s->space, target);
}

/* A call that fails for want of memory has the barrier, too. S6. */
static void check_exhausted(const struct pe_space *s, long round)
{
    for (int i = 0; i < 6; i++) {
        void *block;

        go_in(s, ++round);
        block = i % 2 ? shmem_space_calloc(s->space, 64 * PE_MIB, 1)
                      : shmem_space_malloc(s->space, 64 * PE_MIB);
        PE_CHECK(block == NULL,
                 "an allocation of 64 MiB in a %s space of 1 MiB returned memory, expected NULL",
                 s->kind->name);
        check_out(s, round, "a call that fails");
        pe_team_barrier(s->team);
    }
}

/* Nothing to do, nobody to wait for: one member alone calls. */
static void check_alone(const struct pe_space *s)
{
    for (int i = 0; i < 20 && s->rank == s->n - 1; i++) {
        PE_CHECK(shmem_space_malloc(s->space, 0) == NULL,
                 "shmem_space_malloc of 0 bytes returned memory, expected NULL");
        PE_CHECK(shmem_space_calloc(s->space, 0, 8) == NULL,
                 "shmem_space_calloc of 0 elements returned memory, expected NULL");
        PE_CHECK(shmem_space_calloc(s->space, 8, 0) == NULL,
                 "shmem_space_calloc of elements of 0 bytes returned memory, expected NULL");
        PE_CHECK(shmem_space_malloc(SHMEM_SPACE_INVALID, 8) == NULL,
                 "shmem_space_malloc in SHMEM_SPACE_INVALID returned memory, expected NULL");
        PE_CHECK(shmem_space_calloc(SHMEM_SPACE_INVALID, 8, 8) == NULL,
                 "shmem_space_calloc in SHMEM_SPACE_INVALID returned memory, expected NULL");
        shmem_space_free(s->space, NULL);
        shmem_space_free(SHMEM_SPACE_INVALID, entered);
        PE_CHECK_EQ(shmem_space_destroy(SHMEM_SPACE_INVALID), 0);
    }
    pe_team_barrier(s->team);
}

/* The only member of a space of its own waits for nobody, while the others wait for it. */
static void check_own_space(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_cpu_config(PE_MIB);
    shmem_team_t alone = SHMEM_TEAM_INVALID, team = SHMEM_TEAM_INVALID;
    shmem_space_t space = SHMEM_SPACE_INVALID;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, 1, 1, NULL, 0, &alone), 0);
    if (alone != SHMEM_TEAM_INVALID) {
        attr.parent = alone;
        PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
                   "creating a space of one PE failed");
        for (int i = 0; i < 20; i++) {
            long *block = shmem_space_calloc(space, 100, sizeof(*block));
            PE_CHECK(
                block != NULL && block[99] == 0,
                "shmem_space_calloc in a space of one PE returned NULL or memory that is not zero");
            shmem_space_free(space, block);
        }
        shmem_team_destroy(team);
        PE_CHECK_EQ(shmem_space_destroy(space), 0);
        shmem_team_destroy(alone);
    }
    shmem_barrier_all();
}

int main(void)
{
    struct pe_space s;

    pe_test_begin();
    PE_REQUIRE(pe_n <= MAX_PES, "this test has too few places for %d PEs", pe_n);
    dice = 77 + (uint64_t)pe_me;
    for (int kind = 0; kind < PE_N_KINDS; kind++) {
        if (!pe_kind_exists(kind) || !pe_kind_create(kind, PE_MIB, &s)) continue;
        if (s.rank >= 0) {
            check_exhausted(&s, 1000L * (kind + 1)); /* rounds that come one after the other */
            check_calls(&s, 1000L * (kind + 1) + 500);
            check_alone(&s);
        }
        pe_kind_destroy(&s);
        shmem_barrier_all();
    }
    check_own_space();
    return pe_test_end();
}
