/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random collectives on random overlapping teams, back to back without any other call between
 * them, checked afterwards. All PEs draw the same sequence from one seed, which is printed on a
 * failure and may be given as the argument. Rules R153, R155, R160.
 */
#include "pe_teams.h"

enum { ARENA = 60000, BATCH = 40, BATCHES = 40, N_TEAMS = 7, GAP = 3 };

enum kind {
    SYNC,
    BROADCAST,
    COLLECT,
    FCOLLECT,
    ALLTOALL,
    SUM,
    MAX,
    SUM_IN_PLACE,
    INSCAN,
    EXSCAN,
    EXSCAN_IN_PLACE,
    N_KINDS
};

static const char *const kind_name[N_KINDS] = {
    "sync", "broadcast",    "collect", "fcollect", "alltoall",       "sum",
    "max",  "sum in place", "inscan",  "exscan",   "exscan in place"};

struct op {
    enum kind kind;
    int team, root;
    size_t n, at; /* elements a member; place in both arenas */
    unsigned id;
};

static shmem_team_t team[N_TEAMS];
static long *source, *dest;
static uint64_t seed = 20240611;

/* Element i of what a PE brings to an operation. */
static long value_of(const struct op *op, int world, size_t i)
{
    return (long)((op->id * 7919u + (unsigned)world * 104729u + i * 31u) % 100003u) - 50000;
}

/* What member `rank` brings to a collect: differs between members, the same for all to know. */
static size_t collect_count(const struct op *op, int rank)
{
    return (op->n + (size_t)rank * 5) % (op->n + 1);
}

static bool in_place(const struct op *op)
{
    return op->kind == SUM_IN_PLACE || op->kind == EXSCAN_IN_PLACE;
}

static void make_teams(void)
{
    int rc = 0;

    team[0] = SHMEM_TEAM_WORLD;
    team[1] = SHMEM_TEAM_SHARED;
    rc |= shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n, NULL, 0, &team[2]);
    rc |= shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pe_n + 1) / 2, NULL, 0, &team[3]);
    rc |=
        shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n / 2, 1, pe_n - pe_n / 2, NULL, 0, &team[4]);
    rc |= shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &team[5], NULL, 0, &team[6]);
    PE_REQUIRE(rc == 0, "splits failed");
}

/* The same draw on all PEs; sizes mostly small, sometimes large. */
static struct op draw(uint64_t *rng, size_t *top, unsigned id)
{
    struct op op = {.id = id};

    op.kind = (enum kind)pe_random_in(rng, 0, N_KINDS - 1);
    op.team = (int)pe_random_in(rng, 0, N_TEAMS - 1);
    op.n = pe_random_in(rng, 0, 9) ? pe_random_in(rng, 1, 60) : pe_random_in(rng, 100, 700);
    op.root = (int)pe_random_in(rng, 0, 1000);
    op.at = *top;
    *top += op.n * (size_t)pe_n + GAP;
    return op;
}

static void bring(const struct op *op, int n)
{
    size_t count = op->kind == ALLTOALL ? op->n * (size_t)n : op->n;

    for (size_t i = 0; i < count; i++) {
        source[op->at + i] = value_of(op, pe_me, i);
        if (in_place(op)) dest[op->at + i] = source[op->at + i];
    }
}

static int run(const struct op *op)
{
    shmem_team_t t = team[op->team];
    long *to = dest + op->at, *from = source + op->at;

    switch (op->kind) {
    case BROADCAST:
        return shmem_long_broadcast(t, to, from, op->n, op->root % shmem_team_n_pes(t));
    case COLLECT:
        return shmem_long_collect(t, to, from, collect_count(op, shmem_team_my_pe(t)));
    case FCOLLECT:
        return shmem_long_fcollect(t, to, from, op->n);
    case ALLTOALL:
        return shmem_long_alltoall(t, to, from, op->n);
    case SUM:
        return shmem_long_sum_reduce(t, to, from, op->n);
    case MAX:
        return shmem_long_max_reduce(t, to, from, op->n);
    case SUM_IN_PLACE:
        return shmem_long_sum_reduce(t, to, to, op->n);
    case INSCAN:
        return shmem_long_sum_inscan(t, to, from, op->n);
    case EXSCAN:
        return shmem_long_sum_exscan(t, to, from, op->n);
    case EXSCAN_IN_PLACE:
        return shmem_long_sum_exscan(t, to, to, op->n);
    default:
        return shmem_team_sync(t);
    }
}

static int world_of(const struct op *op, int rank)
{
    return shmem_team_translate_pe(team[op->team], rank, SHMEM_TEAM_WORLD);
}

/* Element i of the reduction over ranks 0 .. n - 1. */
static long reduced(const struct op *op, int n, size_t i)
{
    long value = n == 0 ? 0 : value_of(op, world_of(op, 0), i);

    for (int rank = 1; rank < n; rank++) {
        long other = value_of(op, world_of(op, rank), i);

        if (op->kind == MAX)
            value = other > value ? other : value;
        else
            value += other;
    }
    return value;
}

/* Write what dest should hold to want; returns the number of elements. */
static size_t predict(const struct op *op, long *want)
{
    int n = shmem_team_n_pes(team[op->team]), me = shmem_team_my_pe(team[op->team]);
    size_t count = 0;

    if (op->kind == SYNC) return 0;
    if (op->kind >= SUM) {
        int n_terms = op->kind == INSCAN ? me + 1 : op->kind > INSCAN ? me : n;

        for (; count < op->n; count++)
            want[count] = reduced(op, n_terms, count);
        return count;
    }
    for (int rank = 0; rank < n; rank++) {
        size_t mine = op->kind == COLLECT ? collect_count(op, rank) : op->n;
        size_t first = op->kind == ALLTOALL ? (size_t)me * op->n : 0;

        if (op->kind == BROADCAST && rank != op->root % n) continue;
        for (size_t i = 0; i < mine; i++)
            want[count++] = value_of(op, world_of(op, rank), first + i);
    }
    return count;
}

static void verify(const struct op *op)
{
    static long want[700 * 64 + GAP];
    size_t count = predict(op, want);

    for (size_t i = 0; i < GAP; i++)
        want[count + i] = 0;
    for (size_t i = 0; i < count + GAP; i++)
        if (!PE_CHECK(dest[op->at + i] == want[i],
                      "seed %lu op %u: %s of %zu on team %d: element %zu is %ld, not %ld", seed,
                      op->id, kind_name[op->kind], op->n, op->team, i, dest[op->at + i], want[i]))
            return;
}

static void batch(uint64_t *rng, unsigned first_id)
{
    struct op op[BATCH];
    size_t top = 0, room = ARENA * (size_t)pe_n;
    int n_ops = 0;

    memset(dest, 0, room * sizeof(*dest));
    while (n_ops < BATCH && top + 700 * (size_t)pe_n + GAP < room) {
        op[n_ops] = draw(rng, &top, first_id + (unsigned)n_ops);
        if (team[op[n_ops].team] != SHMEM_TEAM_INVALID)
            bring(&op[n_ops], shmem_team_n_pes(team[op[n_ops].team]));
        n_ops++;
    }
    shmem_barrier_all();
    for (int k = 0; k < n_ops; k++)
        if (team[op[k].team] != SHMEM_TEAM_INVALID) PE_CHECK_EQ(run(&op[k]), 0);
    for (int k = 0; k < n_ops; k++)
        if (team[op[k].team] != SHMEM_TEAM_INVALID) verify(&op[k]);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    uint64_t rng;

    if (argc > 1) seed = strtoull(argv[1], NULL, 0) | 1;
    pe_test_begin();
    source = shmem_malloc(ARENA * (size_t)pe_n * sizeof(*source));
    dest = shmem_malloc(ARENA * (size_t)pe_n * sizeof(*dest));
    PE_REQUIRE(source != NULL && dest != NULL, "malloc failed");
    make_teams();
    rng = seed;
    for (unsigned b = 0; b < (unsigned)pe_rounds(BATCHES); b++)
        batch(&rng, b * BATCH);
    for (int i = 2; i < N_TEAMS; i++)
        shmem_team_destroy(team[i]);
    return pe_test_end();
}
