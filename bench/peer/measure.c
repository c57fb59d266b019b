/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a number is made. All PEs go through the same blocks of samples, a barrier before and after
 * each; blocks of the library and of the raw limit alternate (ABBA), so that what disturbs the
 * machine meets both alike. PE 0 decides the counts.
 */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

#define MIN_SAMPLE_NS 10000.0 /* some 400 times the cost of reading the clock */
#define MAX_OPS ((uint64_t)1 << 22)
#define N_TRIAL 5

struct measure {
    struct peer_run *run;
    const struct peer_bench *bench;
    const struct peer_options *options;
    double samples[PEER_N_SIDES][PEER_MAX_SAMPLES]; /* of this PE */
    int n_samples[PEER_N_SIDES];
    int ends[PEER_N_SIDES][PEER_N_BLOCKS]; /* of the blocks */
};

static bool measures(const struct peer_run *run, const struct peer_bench *bench)
{
    return bench->all_pes || run->me == 0;
}

/* What this PE does in a block; NULL: it waits in the barrier. */
static peer_loop *my_loop(const struct measure *m, int side)
{
    const struct peer_bench *bench = m->bench;

    if (measures(m->run, bench)) return side == PEER_RAW ? bench->raw_origin : bench->origin;
    if (m->run->other < 0) return NULL;
    return side == PEER_RAW ? bench->raw_target : bench->target;
}

static bool has_raw(const struct measure *m)
{
    if (!m->options->raw || m->bench->raw_origin == NULL) return false;
    return m->bench->all_pes ? m->run->raw_all : m->run->raw_pair;
}

/* n samples of n_ops operations after the warm-up; ns[i]: time an operation of sample i. */
static void run_block(const struct measure *m, int side, uint64_t n_ops, int n, double *ns)
{
    peer_loop *loop = my_loop(m, side);

    peer_barrier();
    for (int i = -m->options->warmup; loop != NULL && i < n; i++) {
        uint64_t start = peer_now_ns();

        loop(m->run, n_ops);
        if (i >= 0) ns[i] = (double)(peer_now_ns() - start) / (double)n_ops;
    }
    peer_barrier();
}

/* Time an operation in a trial of a few samples, as PE 0 sees it. */
static double trial(const struct measure *m, int side, uint64_t n_ops)
{
    double ns[N_TRIAL], op_ns = 0;

    run_block(m, side, n_ops, N_TRIAL, ns);
    if (m->run->me == 0) op_ns = peer_median(ns, N_TRIAL);
    peer_share(&op_ns, sizeof(op_ns));
    return op_ns > 0.01 ? op_ns : 0.01;
}

/* How many operations make a sample long enough for the clock. Sets *op_ns. */
static uint64_t calibrate(const struct measure *m, double *op_ns)
{
    uint64_t n_ops = m->bench->min_ops > 0 ? m->bench->min_ops : 1;

    for (;;) {
        double want;

        *op_ns = trial(m, PEER_LIBRARY, n_ops);
        if (n_ops >= MAX_OPS || *op_ns * (double)n_ops >= MIN_SAMPLE_NS) return n_ops;
        want = MIN_SAMPLE_NS * 1.2 / *op_ns;
        n_ops = want < (double)n_ops * 16 ? (uint64_t)want + 1 : n_ops * 16;
        if (n_ops > MAX_OPS) n_ops = MAX_OPS;
    }
}

/* Samples a side: as asked, fewer where one is long, never too few for a median. */
static int samples_for(const struct measure *m, double sample_ns)
{
    double limit = (m->options->quick ? 0.05 : 0.5) * 1e9 / sample_ns;

    if (limit >= (double)m->options->n_samples) return m->options->n_samples;
    return limit < PEER_N_BLOCKS ? PEER_N_BLOCKS : (int)limit;
}

/* Ten blocks a side, as equal as can be. */
static void run_sides(struct measure *m, const struct peer_result *result)
{
    int n_sides = result->has_raw ? 2 : 1;

    for (int turn = 0; turn < PEER_N_BLOCKS; turn++)
        for (int k = 0; k < n_sides; k++) {
            int side = (turn + k) % n_sides; /* A B, B A, ... */
            int first = m->n_samples[side];
            int end = result->n_samples * (turn + 1) / PEER_N_BLOCKS;

            run_block(m, side, result->n_ops, end - first, m->samples[side] + first);
            m->n_samples[side] = m->ends[side][turn] = end;
        }
}

/* Over PEs: their medians, and for each sample the mean, which is written to samples. */
static void combine(const struct peer_run *run, const double *all, size_t n, double *samples,
                    struct peer_stats *stats)
{
    double one[PEER_MAX_SAMPLES];
    double n_pes = run->n_pes;

    memset(samples, 0, n * sizeof(*samples));
    for (int pe = 0; pe < run->n_pes; pe++) {
        double median;

        for (size_t i = 0; i < n; i++)
            samples[i] += all[(size_t)pe * n + i] / n_pes;
        memcpy(one, all + (size_t)pe * n, n * sizeof(*one));
        median = peer_median(one, n);
        stats->pe_average += median / n_pes;
        if (pe == 0 || median < stats->pe_min) stats->pe_min = median;
        if (median > stats->pe_max) {
            stats->pe_max = median;
            stats->slowest_pe = pe;
        }
    }
}

/* Collective where all PEs measure. */
static void take_stats(struct measure *m, int side, struct peer_stats *stats)
{
    double *samples = m->samples[side];
    size_t n = (size_t)m->n_samples[side];

    if (m->bench->all_pes) {
        double *all = malloc(PEER_BOARD * (size_t)m->run->n_pes);

        if (all == NULL) peer_abort();
        peer_gather(samples, n * sizeof(*samples), all);
        combine(m->run, all, n, samples, stats);
        free(all);
    }
    if (m->run->me != 0) return;
    for (int i = 0, begin = 0; i < PEER_N_BLOCKS; begin = m->ends[side][i], i++)
        stats->blocks[i] = peer_median(samples + begin, (size_t)(m->ends[side][i] - begin));
    peer_order_stats(samples, n, stats);
}

/* Messages between two quiets: 64, fewer where that is more than 16 MiB. */
static int window_for(const struct peer_bench *bench, size_t nbytes)
{
    size_t window = ((size_t)16 << 20) / nbytes;

    if (!bench->windowed) return 1;
    return window > 64 ? 64 : window < 1 ? 1 : (int)window;
}

/* On all PEs? */
static bool is_right(struct peer_run *run, const struct peer_bench *bench)
{
    char mine = bench->is_right == NULL || bench->is_right(run);
    char *votes = malloc((size_t)run->n_pes);
    bool all;

    if (votes == NULL) peer_abort();
    peer_gather(&mine, 1, votes);
    all = memchr(votes, 0, (size_t)run->n_pes) == NULL;
    free(votes);
    return all;
}

void peer_measure(struct peer_run *run, const struct peer_options *options,
                  struct peer_result *result)
{
    struct measure m = {.run = run, .bench = result->bench, .options = options};
    double op_ns, raw_ns = 0;

    run->nbytes = result->nbytes;
    run->window = result->window = window_for(result->bench, result->nbytes);
    result->n_pes = result->bench->all_pes ? run->n_pes : 2;
    result->n_measuring = result->bench->all_pes ? run->n_pes : 1;
    result->has_raw = has_raw(&m);
    result->wrong = !is_right(run, result->bench);
    if (result->wrong) return;
    result->n_ops = calibrate(&m, &op_ns);
    if (result->has_raw) raw_ns = trial(&m, PEER_RAW, result->n_ops);
    if (raw_ns > op_ns) op_ns = raw_ns;
    result->n_samples = samples_for(&m, op_ns * (double)result->n_ops);
    run_sides(&m, result);
    take_stats(&m, PEER_LIBRARY, &result->side[PEER_LIBRARY]);
    if (result->has_raw) take_stats(&m, PEER_RAW, &result->side[PEER_RAW]);
}
