/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks operations that involve two kinds of memory: source and dest, or data and signal, in any
 * two of CPU, GPU, HBM and FAM spaces, the heap and globals, with RMA, signals and team
 * collectives. The team has the PEs with all kinds of the job. Proposal text and rules S9, S10 and
 * S16 of docs/reference/conformance-spaces.md.
 */
#include "pe_kinds.h"

/* Longs: less than a cell, more than one, and several pieces of a staged transfer. */
enum { SMALL = 3, MIDDLE = 700, LARGE = 40000, PLACES = PE_N_KINDS + 2 };

struct place {
    const char *name;
    long *block; /* NULL: this PE, or no PE, has it */
    bool exists; /* somewhere */
};

static struct place places[PLACES];
static struct pe_space spaces[PE_N_KINDS];
static shmem_team_t team; /* who has all places there are */
static int rank, n_ranks;
static long globals[LARGE];

static void make_places(void)
{
    size_t n = LARGE;

    team = SHMEM_TEAM_WORLD;
    for (int k = 0; k < PE_N_KINDS; k++) {
        places[k].name = pe_kinds[k].name;
        if (k != PE_CPU && !pe_kind_exists(k)) continue;
        places[k].exists = pe_kind_create(k, 2 * n * sizeof(long), &spaces[k]);
        PE_REQUIRE(places[k].exists, "creating a %s space failed", pe_kinds[k].name);
        if (spaces[k].rank >= 0) places[k].block = pe_kind_malloc(&spaces[k], n);
        if (k == PE_GPU) team = spaces[k].team;
    }
    places[PE_N_KINDS] = (struct place){"heap", shmem_malloc(n * sizeof(long)), true};
    places[PE_N_KINDS + 1] = (struct place){"globals", globals, true};
    rank = shmem_team_my_pe(team);
    n_ranks = shmem_team_n_pes(team);
}

static void end_places(void)
{
    shmem_free(places[PE_N_KINDS].block);
    for (int k = 0; k < PE_N_KINDS; k++) {
        if (!places[k].exists) continue;
        if (places[k].block != NULL) shmem_space_free(spaces[k].space, places[k].block);
        pe_kind_destroy(&spaces[k]);
    }
}

static int world_of(int r)
{
    return shmem_team_translate_pe(team, (r + n_ranks) % n_ranks, SHMEM_TEAM_WORLD);
}

/* ---- collectives --------------------------------------------------------------------- */

struct pair {
    long *dest, *source;
    char what[64];
};

/* Everybody's source is base + 100000 * rank + i, and dest is not that. */
static void collective_begin(const struct pair *p, long base, size_t n_source, size_t n_dest)
{
    pe_gpu_fill(p->source, base + 100000L * rank, n_source);
    pe_gpu_fill(p->dest, -7, n_dest);
    pe_team_barrier(team);
}

static void check_spread(const struct pair *p, size_t n)
{
    size_t part = n / (size_t)n_ranks;

    for (int root = 0; root<n_ranks; root += n_ranks> 1 ? n_ranks - 1 : 1) {
        collective_begin(p, 1, n, n);
        PE_CHECK_EQ(shmem_long_broadcast(team, p->dest, p->source, n, root), 0);
        PE_GPU_EXPECT(p->dest, 1 + 100000L * root, n, p->what);
        pe_team_barrier(team);
    }
    if (part == 0) return;
    collective_begin(p, 2, part, n);
    PE_CHECK_EQ(shmem_long_fcollect(team, p->dest, p->source, part), 0);
    for (int r = 0; r < n_ranks; r++)
        PE_GPU_EXPECT(p->dest + (size_t)r * part, 2 + 100000L * r, part, p->what);
    pe_team_barrier(team);
    collective_begin(p, 3, part * (size_t)n_ranks, n);
    PE_CHECK_EQ(shmem_long_alltoall(team, p->dest, p->source, part), 0);
    for (int r = 0; r < n_ranks; r++)
        PE_GPU_EXPECT(p->dest + (size_t)r * part, 3 + 100000L * r + (long)((size_t)rank * part),
                      part, p->what);
    pe_team_barrier(team);
}

/* Everybody gives another number of elements: rank + 1 times a unit. */
static void check_collect(const struct pair *p, size_t n)
{
    size_t unit = n / (size_t)(n_ranks * (n_ranks + 1) / 2), at = 0;

    if (unit == 0) return;
    collective_begin(p, 4, unit * (size_t)(rank + 1), n);
    PE_CHECK_EQ(shmem_long_collect(team, p->dest, p->source, unit * (size_t)(rank + 1)), 0);
    for (int r = 0; r < n_ranks; r++) {
        PE_GPU_EXPECT(p->dest + at, 4 + 100000L * r, unit * (size_t)(r + 1), p->what);
        at += unit * (size_t)(r + 1);
    }
    pe_team_barrier(team);
}

/* Strided: element i of what goes to r is source[3 * (r * n + i)], and comes to dest[2 * ...]. */
static void check_alltoalls(const struct pair *p)
{
    size_t n = 5, total = n * (size_t)n_ranks;
    long *got = malloc(2 * total * sizeof(*got));

    if (3 * total > LARGE) return;
    collective_begin(p, 5, 3 * total, 2 * total);
    PE_CHECK_EQ(shmem_long_alltoalls(team, p->dest, p->source, 2, 3, n), 0);
    shmem_long_get(got, p->dest, 2 * total, pe_me);
    for (size_t i = 0; i < total; i++) {
        long want = 5 + 100000L * (long)(i / n) + 3 * (long)((size_t)rank * n + i % n);
        PE_CHECK(got[2 * i] == want, "%s: alltoalls: element %zu is %ld, expected %ld", p->what, i,
                 got[2 * i], want);
        PE_CHECK(got[2 * i + 1] == -7 + 2 * (long)i + 1,
                 "%s: alltoalls wrote into a gap between the elements of dest", p->what);
    }
    free(got);
    pe_team_barrier(team);
}

static void check_reduce(const struct pair *p, size_t n)
{
    long *got = malloc(n * sizeof(*got));

    collective_begin(p, 6, n, n);
    PE_CHECK_EQ(shmem_long_sum_reduce(team, p->dest, p->source, n), 0);
    shmem_long_get(got, p->dest, n, pe_me);
    for (size_t i = 0; i < n; i++) {
        long want = n_ranks * (6 + (long)i) + 100000L * (n_ranks * (n_ranks - 1) / 2);
        if (!PE_CHECK(got[i] == want, "%s: sum_reduce: element %zu is %ld, expected %ld", p->what,
                      i, got[i], want))
            break;
    }
    pe_team_barrier(team);
    collective_begin(p, 7, n, n);
    PE_CHECK_EQ(shmem_long_max_reduce(team, p->dest, p->source, n), 0);
    PE_GPU_EXPECT(p->dest, 7 + 100000L * (n_ranks - 1), n, p->what);
    pe_team_barrier(team);
    collective_begin(p, 8, n, n);
    PE_CHECK_EQ(shmem_long_min_reduce(team, p->dest, p->source, n), 0);
    PE_GPU_EXPECT(p->dest, 8, n, p->what);
    PE_GPU_EXPECT(p->source, 8 + 100000L * rank, n, "the source of a reduction");
    pe_team_barrier(team);
    free(got);
}

static void check_scan(const struct pair *p, size_t n)
{
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        int n_terms = rank + 1 - exclusive;
        long *got = malloc(n * sizeof(*got));

        collective_begin(p, 9, n, n);
        PE_CHECK_EQ(exclusive ? shmem_long_sum_exscan(team, p->dest, p->source, n)
                              : shmem_long_sum_inscan(team, p->dest, p->source, n),
                    0);
        shmem_long_get(got, p->dest, n, pe_me);
        for (size_t i = 0; i < n; i++) {
            long want = n_terms * (9 + (long)i) + 100000L * (n_terms * (n_terms - 1) / 2);
            if (!PE_CHECK(got[i] == want, "%s: sum scan: element %zu is %ld, expected %ld", p->what,
                          i, got[i], want))
                break;
        }
        pe_team_barrier(team);
        free(got);
    }
}

/* S16: dest is source. */
static void check_in_place(const struct pair *p, size_t n)
{
    long *got = malloc(n * sizeof(*got));

    pe_gpu_fill(p->source, 100000L * rank, n);
    pe_team_barrier(team);
    PE_CHECK_EQ(shmem_long_broadcast(team, p->source, p->source, n, n_ranks - 1), 0);
    PE_GPU_EXPECT(p->source, 100000L * (n_ranks - 1), n, p->what);
    pe_team_barrier(team);
    pe_gpu_fill(p->source, 100000L * rank, n);
    pe_team_barrier(team);
    PE_CHECK_EQ(shmem_long_max_reduce(team, p->source, p->source, n), 0);
    PE_GPU_EXPECT(p->source, 100000L * (n_ranks - 1), n, p->what);
    pe_team_barrier(team);
    pe_gpu_fill(p->source, rank == 0 ? 100 : 0, n);
    pe_team_barrier(team);
    PE_CHECK_EQ(shmem_long_sum_exscan(team, p->source, p->source, n), 0);
    shmem_long_get(got, p->source, n, pe_me);
    for (size_t i = 0; i < n; i++) {
        long want = rank == 0 ? 0 : 100 + rank * (long)i;
        if (!PE_CHECK(got[i] == want, "%s: sum_exscan in place: element %zu is %ld, expected %ld",
                      p->what, i, got[i], want))
            break;
    }
    pe_team_barrier(team);
    free(got);
}

static void check_collectives(int d, int s, size_t n)
{
    struct pair p = {places[d].block, places[s].block, ""};

    snprintf(p.what, sizeof(p.what), "%s to %s, %zu", places[s].name, places[d].name, n);
    if (d == s) {
        check_in_place(&p, n);
        return;
    }
    check_spread(&p, n);
    check_collect(&p, n);
    check_reduce(&p, n);
    check_scan(&p, n);
    if (n == MIDDLE) check_alltoalls(&p);
}

/* ---- RMA ------------------------------------------------------------------------------- */

static void check_rma(int d, int s, size_t n)
{
    long *dest = places[d].block, *source = places[s].block;
    int next = world_of(rank + 1), before = (rank + n_ranks - 1) % n_ranks;
    char what[64];

    snprintf(what, sizeof(what), "put %s to %s, %zu", places[s].name, places[d].name, n);
    pe_gpu_fill(dest, -1, n);
    pe_gpu_fill(source, 9 + 100000L * rank, n);
    pe_team_barrier(team);
    shmem_long_put_nbi(dest, source, n, next);
    pe_team_barrier(team);
    PE_GPU_EXPECT(dest, 9 + 100000L * before, n, what);
    pe_team_barrier(team);
    pe_gpu_fill(source, -1, n);
    shmem_long_get_nbi(source, dest, n, next);
    shmem_quiet();
    snprintf(what, sizeof(what), "get %s from %s, %zu", places[s].name, places[d].name, n);
    PE_GPU_EXPECT(source, 9 + 100000L * rank, n, what);
    pe_team_barrier(team);
}

/* ---- signals ----------------------------------------------------------------------------- */

/* Data of one kind in d, the signal behind it in s: S10. */
static void check_signals(int d, int s, size_t n)
{
    int next = world_of(rank + 1), before = (rank + n_ranks - 1) % n_ranks;
    uint64_t *sig = (uint64_t *)places[s].block + LARGE - 1;
    long *data = places[d].block, *values = malloc(n * sizeof(*values));
    char what[64];

    snprintf(what, sizeof(what), "data in %s, signal in %s", places[d].name, places[s].name);
    shmem_uint64_p(sig, 0, pe_me);
    pe_team_barrier(team);
    for (long round = 1; round <= 4; round++) {
        for (size_t i = 0; i < n; i++)
            values[i] = 1000 * round + 100000L * rank + (long)i;
        if (round % 2)
            shmem_long_put_signal(data, values, n, sig, (uint64_t)round, SHMEM_SIGNAL_SET, next);
        else
            shmem_long_put_signal_nbi(data, values, n, sig, 1, SHMEM_SIGNAL_ADD, next);
        PE_CHECK_EQ(shmem_signal_wait_until(sig, SHMEM_CMP_GE, (uint64_t)round), round);
        PE_GPU_EXPECT(data, 1000 * round + 100000L * before, n, what);
        PE_CHECK_EQ(shmem_signal_fetch(sig), round);
        pe_team_barrier(team);
    }
    free(values);
}

int main(void)
{
    static const size_t sizes[] = {SMALL, MIDDLE, LARGE - 1};

    pe_test_begin();
    make_places();
    if (!places[PE_GPU].exists) fprintf(stderr, "pe %d: no GPU spaces in this run\n", pe_me);
    if (!places[PE_FAM].exists) fprintf(stderr, "pe %d: no FAM spaces in this run\n", pe_me);
    for (int d = 0; d < PLACES && rank >= 0; d++)
        for (int s = 0; s < PLACES; s++) {
            if (places[d].block == NULL || places[s].block == NULL) continue;
            for (int i = 0; i < 3; i++) {
                if (i == 2 && pe_rounds(8) < 8 && d >= PE_N_KINDS) continue;
                check_collectives(d, s, sizes[i]);
                if (d != s) check_rma(d, s, sizes[i]);
                if (i < 2) check_signals(d, s, sizes[i]);
            }
        }
    shmem_barrier_all();
    end_places();
    return pe_test_end();
}
