/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which PEs measure in a row and which PE is the peer of each PE. Creates the row's team.
 */
#include "harness.h"

#include <stdlib.h>

/*
 * The pairs of PEs. partner[pe] is the PE with which PE pe forms a pair, and number[pe] is the
 * number of that pair. Both are -1 if PE pe is in no pair.
 */
static struct {
    int *partner, *number;
    int n;
} pairs;

/* ---- pairs ------------------------------------------------------------------ */

static void join(int a, int b)
{
    pairs.partner[a] = b;
    pairs.partner[b] = a;
    pairs.number[a] = pairs.number[b] = pairs.n++;
}

static int next_of_host(const int *host_of, int n_pes, int host, int start)
{
    while (start < n_pes && host_of[start] != host)
        start++;
    return start;
}

static int count_of_host(const int *host_of, int n_pes, int host)
{
    int n = 0;

    for (int pe = 0; pe < n_pes; pe++)
        n += host_of[pe] == host;
    return n;
}

/* Pairs the first half of the PEs of a host with the second half. */
static void pair_within(const int *host_of, int n_pes, int host)
{
    int half = count_of_host(host_of, n_pes, host) / 2;
    int a = next_of_host(host_of, n_pes, host, 0), b = a;

    for (int i = 0; i < half; i++)
        b = next_of_host(host_of, n_pes, host, b + 1);
    for (int i = 0; i < half; i++) {
        join(a, b);
        a = next_of_host(host_of, n_pes, host, a + 1);
        b = next_of_host(host_of, n_pes, host, b + 1);
    }
}

/* Pairs each PE of one host with a PE of another host, as long as both hosts have PEs left. */
static void pair_across(const int *host_of, int n_pes, int host, int other_host)
{
    int a = next_of_host(host_of, n_pes, host, 0), b = next_of_host(host_of, n_pes, other_host, 0);

    while (a < n_pes && b < n_pes) {
        join(a, b);
        a = next_of_host(host_of, n_pes, host, a + 1);
        b = next_of_host(host_of, n_pes, other_host, b + 1);
    }
}

void bench_roles_set_hosts(const struct bench_run *run, const int *host_of)
{
    int n_pes = run->n_pes, n_hosts = 0;
    bool across_hosts = run->options->pairing != BENCH_PAIRS_WITHIN;

    free(pairs.partner);
    pairs.partner = malloc(2 * (size_t)n_pes * sizeof(*pairs.partner));
    if (pairs.partner == NULL)
        bench_die(run, "out of memory: cannot allocate the list of pairs (entries: %d)", n_pes);
    pairs.number = pairs.partner + n_pes;
    pairs.n = 0;
    for (int pe = 0; pe < n_pes; pe++) {
        pairs.partner[pe] = pairs.number[pe] = -1;
        if (host_of[pe] >= n_hosts) n_hosts = host_of[pe] + 1;
    }
    for (int host = 0; host < n_hosts; host += across_hosts && n_hosts > 1 ? 2 : 1)
        if (!across_hosts || n_hosts == 1)
            pair_within(host_of, n_pes, host);
        else if (host + 1 < n_hosts)
            pair_across(host_of, n_pes, host, host + 1);
}

static int n_pairs(const struct bench_run *run)
{
    return pairs.partner != NULL ? pairs.n : run->n_pes / 2;
}

static void pairs_values(const struct bench_run *run, const struct bench_options *options,
                         struct bench_values *values)
{
    int n = n_pairs(run);

    (void)options;
    values->n = 0;
    for (long value = 1; value < n; value *= 2)
        bench_values_add(values, value);
    if (n > 0) bench_values_add(values, n);
}

const struct bench_parameter bench_pairs = {"pairs", NULL, pairs_values};

static bool leads_pair(const struct bench_run *run, int pe)
{
    return pairs.number[pe] >= 0 && pairs.number[pe] < run->value && pe < pairs.partner[pe];
}

/* ---- roles ------------------------------------------------------------------- */

static bool in_team(const struct bench_run *run, int pe)
{
    return pe % run->team_stride == 0 && pe / run->team_stride < run->team_size;
}

bool bench_measures(const struct bench *bench, const struct bench_run *run, int pe)
{
    switch (bench->shape) {
    case BENCH_BOTH:
        return pe == 0 || pe == run->pair_peer;
    case BENCH_PAIRS:
        return leads_pair(run, pe);
    case BENCH_ALL:
        return in_team(run, pe);
    /*
     * On the fabric, PE 0 does not measure, because its access to its own word would not use the
     * fabric.
     */
    case BENCH_TO_ONE:
        return pe != 0 || run->all_path == BENCH_NODE;
    case BENCH_ALL_ALL:
        return true;
    case BENCH_EACH:
        return pe == run->value / run->n_pes;
    default:
        return pe == 0;
    }
}

int bench_peer_of(const struct bench *bench, const struct bench_run *run, int pe)
{
    int from_pe, to_pe;

    switch (bench->shape) {
    case BENCH_PAIR:
    case BENCH_BOTH:
        return pe == 0 ? run->pair_peer : pe == run->pair_peer ? 0 : -1;
    case BENCH_PAIRS:
        return pairs.number[pe] >= 0 && pairs.number[pe] < run->value ? pairs.partner[pe] : -1;
    case BENCH_TO_ONE:
        return 0;
    case BENCH_EACH:
        from_pe = (int)(run->value / run->n_pes);
        to_pe = (int)(run->value % run->n_pes);
        return pe == from_pe ? to_pe : pe == to_pe ? from_pe : -1;
    default:
        return -1;
    }
}

#if BENCH_TEAMS

static void split_team(const struct bench *bench, struct bench_run *run)
{
    run->team = SHMEM_TEAM_WORLD;
    if (run->team_size == run->n_pes || bench->shape != BENCH_ALL) return;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, run->team_stride, run->team_size, NULL, 0,
                             &run->team);
    if (bench_worst(run->team_rank >= 0 && run->team == SHMEM_TEAM_INVALID) != 0)
        bench_die(run, "%s: cannot create a team of size %d", bench->name, run->team_size);
}

void bench_end_row_team(struct bench_run *run)
{
    if (run->team != SHMEM_TEAM_WORLD && run->team != SHMEM_TEAM_INVALID)
        shmem_team_destroy(run->team);
    run->team = SHMEM_TEAM_WORLD;
}

void bench_team_sync(struct bench_run *run)
{
    shmem_team_sync(run->team);
}

#else /* Without teams in the library, the row's team is always the world. */

static void split_team(const struct bench *bench, struct bench_run *run)
{
    (void)bench;
    (void)run;
}

void bench_end_row_team(struct bench_run *run)
{
    (void)run;
}

void bench_team_sync(struct bench_run *run)
{
    (void)run;
    shmem_sync_all();
}

#endif

/*
 * Creates the row's team. Sets run->team_rank to -1 on PEs outside the team. Collective over all
 * PEs.
 */
static void make_team(const struct bench *bench, struct bench_run *run)
{
    bool by_pes = bench->parameter == &bench_pes;

    run->team_stride = by_pes ? run->options->pe_stride : 1;
    run->team_size = by_pes ? (int)run->value : run->n_pes;
    run->team_rank = in_team(run, run->me) ? run->me / run->team_stride : -1;
    split_team(bench, run);
}

void bench_take_role(const struct bench *bench, struct bench_run *run)
{
    make_team(bench, run);
    run->peer = bench_peer_of(bench, run, run->me);
    run->measures = bench_measures(bench, run, run->me);
    run->n_measuring = 0;
    for (int pe = 0; pe < run->n_pes; pe++)
        run->n_measuring += bench_measures(bench, run, pe);
    run->shared_ptr = run->peer >= 0 ? run->shared_of[run->peer] : NULL;
    run->remote_ptr = run->peer >= 0 ? run->remote_of[run->peer] : NULL;
}
