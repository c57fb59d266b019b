/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures a row. PE 0 controls the measurement. First it runs short trials until the times of two
 * trials are nearly equal. Then it takes blocks of samples until the median is precise enough or
 * the time limit is reached. Blocks of Steppe (A) and of the raw side (B) alternate in the order
 * ABBA, so that a disturbance of the machine affects both sides.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Minimum time of a sample in ns. It is about 400 times as long as reading the clock. */
#define MIN_SAMPLE_NS 10000.0
#define MAX_OPS (1u << 22)
/*
 * Minimum number of operations per sample on slow paths. On such paths bench->min_ops operations
 * would take too long.
 */
#define FEW_OPS 16
#define TRIAL 5      /* number of samples of a trial */
#define MAX_TRIALS 8 /* maximum number of trials before the measurement */
#define STEADY 0.1

/* Samples of one side. A sample is the time per operation on the slowest PE. */
struct side {
    double *samples, *blocks;
    int n, n_blocks, room, block_room;
    double *pe_sum; /* for each PE, the sum of its samples */
};

/* State of the measurement of a row, on PE 0. */
struct measure {
    const struct bench *bench;
    struct bench_run *run;
    const struct bench_options *options;
    struct side side[BENCH_N_SIDES];
    int sides[BENCH_N_SIDES], n_sides;
    double *peer_samples; /* buffer for the samples of another PE */
};

static void *grown(const struct measure *m, void *memory, size_t nbytes)
{
    void *resized = realloc(memory, nbytes);

    if (resized == NULL)
        bench_die(m->run, "out of memory: cannot allocate %zu bytes for samples", nbytes);
    return resized;
}

/* ---- one block ----------------------------------------------------------------- */

/*
 * Reads the samples of all PEs that measure. slowest[i] becomes the time of sample i on the slowest
 * PE. The samples of each PE are also added to the PE's element of pe_sum, unless pe_sum is NULL.
 */
static void take_samples(struct measure *m, double *slowest, double *pe_sum, int n)
{
    struct bench_run *run = m->run;

    for (int pe = 0; pe < run->n_pes; pe++) {
        const double *samples = m->peer_samples;

        if (!bench_measures(m->bench, run, pe)) continue;
        if (pe == run->me)
            samples = run->shared->samples;
        else
            shmem_getmem(m->peer_samples, run->shared->samples, (size_t)n * sizeof(*samples), pe);
        for (int i = 0; i < n; i++) {
            if (samples[i] > slowest[i]) slowest[i] = samples[i];
            if (pe_sum != NULL) pe_sum[pe] += samples[i];
        }
    }
}

static int n_warm(const struct measure *m)
{
    return m->bench->n_samples > 0 ? 0 : m->options->warmup;
}

static void add_block(struct measure *m, int number, uint64_t n_ops, int n_batches)
{
    struct side *side = &m->side[number];
    double *added;

    if (side->n + 2 * n_batches > side->room) {
        side->room = 2 * side->room + 2 * n_batches;
        side->samples = grown(m, side->samples, (size_t)side->room * sizeof(*side->samples));
    }
    if (side->n_blocks == side->block_room) {
        side->block_room = 2 * side->block_room + BENCH_N_BLOCKS;
        side->blocks = grown(m, side->blocks, (size_t)side->block_room * sizeof(*side->blocks));
    }
    bench_block_lead(m->bench, m->run, number, n_ops, n_warm(m), n_batches);
    added = side->samples + side->n;
    memset(added, 0, (size_t)n_batches * sizeof(*added));
    take_samples(m, added, side->pe_sum, n_batches);
    side->n += n_batches;
    /* Copy the samples to the end of the array, because bench_median_of() reorders its input. */
    memcpy(added + n_batches, added, (size_t)n_batches * sizeof(*added));
    side->blocks[side->n_blocks++] = bench_median_of(added + n_batches, (size_t)n_batches);
}

/* ---- numbers of operations and samples ------------------------------------------- */

/* Takes a few samples of one side. Returns their median in ns per operation. */
static double trial(struct measure *m, enum bench_side side, uint64_t n_ops)
{
    double ns[TRIAL] = {0}, op_ns;

    bench_block_lead(m->bench, m->run, side, n_ops, n_warm(m), TRIAL);
    take_samples(m, ns, NULL, TRIAL);
    op_ns = bench_median_of(ns, TRIAL);
    return op_ns > 0.01 ? op_ns : 0.01;
}

/*
 * Runs trials until the times of two successive trials differ by less than STEADY. Also stops after
 * MAX_TRIALS trials, or after a tenth of the time limit. Returns the time of the last trial.
 */
static double steady(struct measure *m, enum bench_side side, uint64_t n_ops)
{
    uint64_t end = bench_now_ns() + (uint64_t)(m->options->seconds * 1e8);
    double previous = trial(m, side, n_ops), current = previous;

    for (int i = 1; i < MAX_TRIALS && bench_now_ns() < end; i++) {
        double change;

        current = trial(m, side, n_ops);
        change = current > previous ? current / previous - 1 : previous / current - 1;
        if (change < STEADY) break;
        previous = current;
    }
    return current;
}

/*
 * Chooses the number of operations per sample. A sample of Steppe's side must take at least
 * MIN_SAMPLE_NS, so that the clock measures it precisely. On a slow path the number can be smaller
 * than bench->min_ops, because all blocks must fit into the time limit.
 */
static uint64_t calibrate(struct measure *m)
{
    uint64_t n_ops = m->bench->min_ops > 0 ? m->bench->min_ops : 1;
    double longest = m->options->seconds * 0.5e9 / BENCH_N_BLOCKS / 3;

    if (m->options->ops > 0) return m->options->ops;
    if (m->bench->one_op) return 1;
    if (n_ops > FEW_OPS) {
        double op_ns = trial(m, BENCH_STEPPE, FEW_OPS);

        if (op_ns * (double)n_ops > longest) n_ops = (uint64_t)(longest / op_ns);
        if (n_ops < FEW_OPS) n_ops = FEW_OPS;
    }
    for (;;) {
        double needed, op_ns = trial(m, BENCH_STEPPE, n_ops);

        if (n_ops >= MAX_OPS || op_ns * (double)n_ops >= MIN_SAMPLE_NS) return n_ops;
        needed = MIN_SAMPLE_NS * 1.2 / op_ns;
        n_ops = needed < (double)n_ops * 16 ? (uint64_t)needed + 1 : n_ops * 16;
        if (n_ops > MAX_OPS) n_ops = MAX_OPS;
    }
}

/*
 * Returns the number of samples per block. It is limited so that BENCH_N_BLOCKS blocks take at most
 * half of the time limit.
 */
static int batches_of(const struct measure *m, double sample_ns)
{
    double fit = m->options->seconds * 0.5e9 / BENCH_N_BLOCKS / sample_ns;
    int n = (m->options->iterations + BENCH_N_BLOCKS - 1) / BENCH_N_BLOCKS;

    if ((double)n > fit) n = fit < 1 ? 1 : (int)fit;
    return n < BENCH_BLOCK_SAMPLES ? n : BENCH_BLOCK_SAMPLES;
}

/* Returns whether the median is precise enough or the time limit is reached. */
static bool is_enough(const struct measure *m, uint64_t start_ns)
{
    const struct side *side = &m->side[BENCH_STEPPE];
    double remaining_ns =
        m->options->seconds * 1e9 * m->n_sides - (double)(bench_now_ns() - start_ns);
    double *sorted, interval;

    if (side->n_blocks < BENCH_N_BLOCKS && side->n < m->options->iterations) return false;
    if (remaining_ns <= 0 || m->options->precision <= 0) return true;
    if (side->n < m->options->iterations) return false;
    sorted = grown(m, NULL, (size_t)side->n * sizeof(*sorted));
    memcpy(sorted, side->samples, (size_t)side->n * sizeof(*sorted));
    (void)bench_median_of(sorted, (size_t)side->n); /* sorts the samples */
    interval = bench_relative_interval(sorted, (size_t)side->n);
    free(sorted);
    return interval <= m->options->precision;
}

static void fixed_samples(struct measure *m, const struct bench_result *result)
{
    while (m->side[BENCH_STEPPE].n < result->bench->n_samples)
        for (int k = 0; k < m->n_sides; k++)
            add_block(m, m->sides[k], 1, 1);
}

static void sample_sides(struct measure *m, struct bench_result *result)
{
    uint64_t n_ops, start_ns;
    double slowest = 0;
    int n_batches;

    result->n_ops = 1;
    if (m->bench->n_samples > 0) {
        fixed_samples(m, result);
        return;
    }
    result->n_ops = n_ops = calibrate(m);
    for (int k = 0; k < m->n_sides; k++) {
        double ns = steady(m, m->sides[k], n_ops);

        if (ns > slowest && m->bench->metric != BENCH_OVERLAP) slowest = ns;
    }
    n_batches = batches_of(m, slowest > 0 ? slowest * (double)n_ops : 1e6);
    start_ns = bench_now_ns();
    for (int turn = 0; !is_enough(m, start_ns); turn++)
        for (int k = 0; k < m->n_sides; k++) /* order of the sides: A B, then B A, and so on */
            add_block(m, m->sides[turn % 2 == 0 ? k : m->n_sides - 1 - k], n_ops, n_batches);
}

/* ---- the row ----------------------------------------------------------------------- */

static void fold_pes(const struct measure *m, const struct side *side, struct bench_stats *stats)
{
    const struct bench_run *run = m->run;
    double sum = 0;

    stats->slowest_pe = -1;
    for (int pe = 0; pe < run->n_pes; pe++) {
        double mean = side->pe_sum[pe] / side->n;

        if (!bench_measures(m->bench, run, pe)) continue;
        sum += mean;
        if (stats->slowest_pe < 0 || mean > stats->pe_slow) {
            stats->slowest_pe = pe;
            stats->pe_slow = mean;
        }
        if (stats->pe_fast == 0 || mean < stats->pe_fast) stats->pe_fast = mean;
    }
    stats->pe_average = sum / run->n_measuring;
}

static void begin(struct measure *m, const struct bench_result *result)
{
    size_t n_pes = (size_t)m->run->n_pes;

    m->sides[m->n_sides++] = BENCH_STEPPE;
    if (result->has_raw) m->sides[m->n_sides++] = BENCH_RAW;
    m->peer_samples = grown(m, NULL, BENCH_BLOCK_SAMPLES * sizeof(*m->peer_samples));
    for (int k = 0; k < m->n_sides; k++) {
        double *sum = grown(m, NULL, n_pes * sizeof(*sum));

        m->side[m->sides[k]].pe_sum = memset(sum, 0, n_pes * sizeof(*sum));
    }
}

static void lead(struct measure *m, struct bench_result *result)
{
    begin(m, result);
    sample_sides(m, result);
    bench_row_tell_followers_over(m->run);
    result->n_samples = m->side[BENCH_STEPPE].n;
    for (int k = 0; k < m->n_sides; k++) {
        struct side *side = &m->side[m->sides[k]];
        struct bench_stats *stats = &result->side[m->sides[k]];

        *stats = bench_stats_of(side->samples, (size_t)side->n);
        stats->blocks = side->blocks;
        stats->n_blocks = side->n_blocks;
        if (m->run->n_measuring > 1) fold_pes(m, side, stats);
        if (m->sides[k] == BENCH_STEPPE)
            result->interval = bench_relative_interval(side->samples, (size_t)side->n);
        free(side->samples);
        free(side->pe_sum);
    }
    memcpy(result->detail, m->run->detail, sizeof(result->detail));
    free(m->peer_samples);
}

/* Returns the number of PEs that take part in the row. */
static int n_pes_of(const struct bench *bench, const struct bench_run *run)
{
    switch (bench->shape) {
    case BENCH_ALL:
        return run->team_size;
    case BENCH_PAIRS:
        return 2 * run->n_measuring;
    case BENCH_ALONE:
        return 1;
    case BENCH_TO_ONE:
    case BENCH_ONE_ALL:
    case BENCH_ALL_ALL:
        return run->n_pes;
    default:
        return 2;
    }
}

/* Returns whether --verify can check the data that the bench moves. */
static bool can_verify(const struct bench *bench)
{
    return bench->moves != BENCH_MOVES_NOTHING || bench->check != NULL;
}

/* Fills in the fields of *result that are known only after the bench has been opened. */
static void describe(const struct bench *bench, const struct bench_run *run,
                     const struct bench_options *options, struct bench_result *result)
{
    bool has_peers = run->n_pes > 1 || bench->shape == BENCH_ALONE;

    result->has_raw = options->raw && has_peers && bench_body_of(bench, run, BENCH_RAW) != NULL;
    if (options->raw) bench_describe_raw(bench, run, result->raw_note, sizeof(result->raw_note));
    result->path = run->space_path;
    result->n_measuring = run->n_measuring;
    result->unverified = options->verify && !can_verify(bench);
    result->n_pes = n_pes_of(bench, run);
}

static void prepare(const struct bench_item *item, struct bench_run *run,
                    const struct bench_options *options, struct bench_result *result)
{
    const struct bench *bench = item->bench;

    run->kind = bench->on_gpu ? BENCH_KIND_GPU : options->kind;
    memset(run->detail, 0, sizeof(run->detail));
    (void)bench_set_row_buffers(item, run, options);
    bench_take_role(bench, run);
    *result = (struct bench_result){.bench = bench,
                                    .nbytes = item->nbytes,
                                    .window = run->window,
                                    .value = item->value,
                                    .from_pe = -1,
                                    .to_pe = -1,
                                    .cycle = item->cycle,
                                    .kind = run->kind};
    if (bench->shape == BENCH_EACH) {
        result->from_pe = (int)(item->value / run->n_pes);
        result->to_pe = (int)(item->value % run->n_pes);
    }
}

int bench_measure(const struct bench_item *item, struct bench_run *run,
                  const struct bench_options *options, struct bench_result *result)
{
    const struct bench *bench = item->bench;
    struct measure m = {.bench = bench, .run = run, .options = options};

    prepare(item, run, options, result);
    if (bench->open != NULL &&
        bench->open(run, bench, result->skipped, sizeof(result->skipped)) != 0) {
        bench_end_row_team(run);
        return -ENODEV;
    }
    describe(bench, run, options, result);
    if (run->me == 0)
        lead(&m, result);
    else
        bench_block_follow(bench, run);
    shmem_barrier_all();
    if (bench->close != NULL) bench->close(run);
    bench_end_row_team(run);
    return 0;
}

void bench_result_free(struct bench_result *result)
{
    for (int side = 0; side < BENCH_N_SIDES; side++)
        free(result->side[side].blocks);
}
