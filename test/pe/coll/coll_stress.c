/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs random team collectives on random overlapping teams, back to back without any other call,
 * and checks all results afterwards (OpenSHMEM 1.6, section 9.10; rules R153, R155 and R160 of
 * docs/reference/conformance.md). All PEs draw the same sequence from one seed. A failure prints
 * the seed.
 *
 * usage: coll_stress [seed]
 */
#include "pe_coll.h"

enum { ARENA = 60000, BATCH = 40, BATCHES = 40, N_TEAMS = 7, MOST = 700 };

/* One collective on a team; kind COLL_ALL_KINDS is shmem_team_sync(). */
struct op {
    const struct pe_team *team;
    struct coll coll;
};

static struct pe_team teams[N_TEAMS];
static long *source, *dest;
static uint64_t seed = 20240611;

static void make_teams(void)
{
    shmem_team_t team[N_TEAMS] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED};
    static const char *const names[N_TEAMS] = {"world", "shared",     "reversed", "evens",
                                               "row",   "upper half", "column"};

    team[2] = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n);
    team[3] = pe_split(SHMEM_TEAM_WORLD, 0, 2, (pe_n + 1) / 2);
    team[5] = pe_split(SHMEM_TEAM_WORLD, pe_n / 2, 1, pe_n - pe_n / 2);
    PE_REQUIRE(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &team[4], NULL, 0, &team[6]) == 0,
               "shmem_team_split_2d of the world into rows of 2 failed, expected 0");
    for (int i = 0; i < N_TEAMS; i++)
        teams[i] = (struct pe_team){names[i], team[i], shmem_team_my_pe(team[i]),
                                    shmem_team_n_pes(team[i])};
}

/* All PEs draw the same. Most sizes are small, some are large. The place of the data is at *top. */
static struct op draw(uint64_t *rng, size_t *top, unsigned id)
{
    struct op op = {.coll.salt = id, .coll.dest = dest + *top, .coll.source = source + *top};
    struct coll *c = &op.coll;
    size_t root;

    c->kind = (enum coll_kind)pe_random_in(rng, 0, COLL_ALL_KINDS);
    op.team = &teams[pe_random_in(rng, 0, N_TEAMS - 1)];
    c->n = pe_random_in(rng, 0, 9) ? pe_random_in(rng, 1, 60) : pe_random_in(rng, 100, MOST);
    if (c->kind == COLL_ALLTOALLS && c->n > COLL_LARGE)
        c->n = COLL_LARGE; /* coll_verify() has room */
    root = pe_random_in(rng, 0, 1000);
    if (pe_random_in(rng, 0, 1) && c->kind >= COLL_SUM) c->source = c->dest; /* in place */
    if (op.team->n > 0) c->root = (int)root % op.team->n;
    *top += c->n * (size_t)pe_n * (c->kind == COLL_ALLTOALLS ? COLL_DST : 1) + 2;
    return op;
}

static void batch(uint64_t *rng, unsigned first_id)
{
    struct op ops[BATCH];
    size_t top = 0, room = ARENA * (size_t)pe_n;
    int n_ops = 0;
    char what[64];

    for (unsigned k = 0; k < BATCH && top + MOST * COLL_DST * (size_t)pe_n + 2 < room; k++) {
        struct op *op = &ops[n_ops];

        *op = draw(rng, &top, first_id + k);
        if (op->team->n < 0) continue; /* this PE is no member */
        n_ops++;
        if (op->coll.kind == COLL_ALL_KINDS) continue;
        coll_poison(op->team, &op->coll);
        coll_bring(op->team, &op->coll);
    }
    shmem_barrier_all();
    for (int k = 0; k < n_ops; k++)
        if (ops[k].coll.kind == COLL_ALL_KINDS)
            PE_CHECK_EQ(shmem_team_sync(ops[k].team->team), 0);
        else
            coll_run(ops[k].team, &ops[k].coll);
    for (int k = 0; k < n_ops; k++) {
        snprintf(what, sizeof(what), "seed %lu op %u", seed, ops[k].coll.salt);
        if (ops[k].coll.kind != COLL_ALL_KINDS) coll_verify(ops[k].team, &ops[k].coll, what);
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    uint64_t rng;

    if (argc > 1) seed = strtoull(argv[1], NULL, 0) | 1;
    pe_test_begin();
    PE_REQUIRE(pe_n <= COLL_MAX_PES, "this test runs with at most %d PEs", COLL_MAX_PES);
    source = pe_malloc(ARENA * (size_t)pe_n * sizeof(*source));
    dest = pe_malloc(ARENA * (size_t)pe_n * sizeof(*dest));
    make_teams();
    rng = seed;
    for (unsigned b = 0; b < (unsigned)pe_rounds(BATCHES); b++)
        batch(&rng, b * BATCH);
    for (int i = 2; i < N_TEAMS; i++)
        shmem_team_destroy(teams[i].team);
    return pe_test_end();
}
