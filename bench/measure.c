/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a number is made. PE 0 leads: it sends a command for each block of samples to the PEs that
 * take part; they run their half, or serve until told to stop, and acknowledge. Blocks of Steppe
 * and of the raw side alternate (ABBA), so that what disturbs the machine meets both alike.
 */
#include "spaces.h"

#include <errno.h>
#include <shmem.h>
#include <stdlib.h>

#define MIN_SAMPLE_NS 10000.0 /* some 400 times the cost of reading the clock */
#define MAX_OPS (1u << 22)
#define N_BLOCKS 10 /* a side */

/* One measurement, on PE 0. */
struct measure {
    const struct bench *bench;
    struct bench_run *run;
    const struct bench_options *options;
    double *samples[BENCH_N_SIDES];
    int n_samples[BENCH_N_SIDES];
};

static enum bench_path path_of(const struct bench *bench, const struct bench_run *run)
{
    if (bench->alone) return BENCH_NODE;
    return bench->all_pes ? run->all_path : run->pair_path;
}

static bool takes_part(const struct bench *bench, const struct bench_run *run, int pe)
{
    if (bench->all_pes || bench->stage != NULL || pe == 0) return true;
    return pe == run->pair_peer && !bench->alone;
}

/* The body of a side, NULL where that side cannot be measured on this path. */
static const struct bench_body *body_of(const struct bench *bench, const struct bench_run *run,
                                        int side)
{
    if (side != BENCH_RAW) return &bench->steppe;
    if (bench->raw_driver && run->kind == SHMEM_DEVICE_GPU) {
        bool reached = bench->driver.target == NULL || bench->alone || run->shared_there != NULL;

        return run->cuda != NULL && reached ? &bench->driver : NULL;
    }
    switch (path_of(bench, run)) {
    case BENCH_NODE:
        return bench->node.origin != NULL ? &bench->node : NULL;
    case BENCH_FABRIC:
        return run->fabric != NULL && bench->fabric.origin != NULL ? &bench->fabric : NULL;
    case BENCH_MIXED:
        break;
    }
    return NULL;
}

static bool on_raw_fabric(const struct bench_body *body, const struct bench *bench)
{
    return body == &bench->fabric;
}

/* ---- the PEs that are told ------------------------------------------------ */

static void finish_target(const struct bench *bench, struct bench_run *run,
                          const struct bench_body *body, uint64_t stop)
{
    uint64_t *word = &run->shared->side[BENCH_STEPPE].stop.value;

    if (on_raw_fabric(body, bench))
        fabric_serve(run, stop);
    else if (body == &bench->steppe && bench->idle != NULL)
        bench->idle(word, stop);
    else if (body->target == NULL)
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, stop);
}

/* Do as PE 0 says until it says that this measurement is over. */
static void follow(const struct bench *bench, struct bench_run *run)
{
    struct bench_command *command = &run->shared->command;

    for (;;) {
        const struct bench_body *body;

        shmem_uint64_wait_until(&run->shared->number.value, SHMEM_CMP_GT, run->n_commands);
        run->n_commands = run->shared->number.value;
        if (command->last) break;
        run->token = command->token;
        if (bench->stage != NULL) bench->stage(run, command->side);
        body = body_of(bench, run, command->side);
        for (uint64_t i = 0; body->target != NULL && i < command->n_batches; i++)
            body->target(run, command->n_ops);
        finish_target(bench, run, body, command->stop);
        shmem_uint64_atomic_inc(&run->shared->acks.value, 0);
    }
    shmem_uint64_atomic_inc(&run->shared->acks.value, 0);
}

/* ---- PE 0 ------------------------------------------------------------------ */

static void send_command(const struct measure *m, const struct bench_command *command)
{
    struct bench_run *run = m->run;

    run->n_commands++;
    for (int pe = 1; pe < run->n_pes; pe++) {
        if (!takes_part(m->bench, run, pe)) continue;
        shmem_putmem(&run->shared->command, command, sizeof(*command), pe);
        shmem_fence();
        shmem_uint64_p(&run->shared->number.value, run->n_commands, pe);
        run->n_acks++;
    }
}

static void announce_stop(const struct measure *m, const struct bench_body *body)
{
    struct bench_run *run = m->run;
    uint64_t *stop = &run->shared->side[BENCH_STEPPE].stop.value;

    for (int pe = 1; pe < run->n_pes; pe++) {
        if (!takes_part(m->bench, run, pe)) continue;
        if (on_raw_fabric(body, m->bench))
            fabric_stop(run, run->n_blocks, pe);
        else if (body->target == NULL)
            shmem_uint64_p(stop, run->n_blocks, pe);
    }
}

static void wait_acks(const struct measure *m)
{
    struct bench_run *run = m->run;
    uint64_t *acks = &run->shared->acks.value;

    /* The raw side may still have our last words to send. */
    if (run->fabric != NULL)
        while (!shmem_uint64_test(acks, SHMEM_CMP_GE, run->n_acks))
            fabric_poll(run);
    shmem_uint64_wait_until(acks, SHMEM_CMP_GE, run->n_acks);
}

/* Run n_batches after the warm-up; ns[i]: time an operation of batch i. */
static void run_block(struct measure *m, int side, uint64_t n_ops, int n_batches, double *ns)
{
    struct bench_run *run = m->run;
    const struct bench_body *body = body_of(m->bench, run, side);
    int n_warm = m->bench->n_samples > 0 ? 0 : m->options->warmup;
    uint64_t (*clock)(void) = m->bench->cpu_time ? bench_cpu_ns : bench_now_ns;
    struct bench_command command = {.n_ops = n_ops,
                                    .n_batches = (uint64_t)(n_warm + n_batches),
                                    .stop = ++run->n_blocks,
                                    .token = run->token,
                                    .side = side};

    send_command(m, &command);
    if (m->bench->stage != NULL) m->bench->stage(run, side);
    for (int i = -n_warm; i < n_batches; i++) {
        uint64_t start = clock();

        body->origin(run, n_ops);
        if (i >= 0) ns[i] = (double)(clock() - start) / (double)n_ops;
    }
    announce_stop(m, body);
    wait_acks(m);
}

/* Time an operation of one side in a trial of a few samples. */
static double trial(struct measure *m, int side, uint64_t n_ops)
{
    double ns[5], op_ns;

    run_block(m, side, n_ops, 5, ns);
    op_ns = bench_stats_of(ns, 5).median;
    return op_ns > 0.01 ? op_ns : 0.01;
}

/* How many operations make a sample of Steppe long enough for the clock. Sets *op_ns. */
static uint64_t calibrate(struct measure *m, double *op_ns)
{
    uint64_t n_ops = m->bench->min_ops > 0 ? m->bench->min_ops : 1;

    if (m->options->ops > 0) n_ops = m->options->ops;
    for (;;) {
        double want;

        *op_ns = trial(m, BENCH_STEPPE, n_ops);
        if (m->options->ops > 0 || n_ops >= MAX_OPS || *op_ns * (double)n_ops >= MIN_SAMPLE_NS)
            return n_ops;
        want = MIN_SAMPLE_NS * 1.2 / *op_ns;
        n_ops = want < (double)n_ops * 16 ? (uint64_t)want + 1 : n_ops * 16;
        if (n_ops > MAX_OPS) n_ops = MAX_OPS;
    }
}

/* Samples a side: as asked, fewer where one is long, never too few for a median. */
static int samples_for(const struct measure *m, double sample_ns)
{
    double limit = (m->options->quick ? 0.05 : 0.5) * 1e9 / sample_ns;
    int n = m->options->iterations;

    if ((double)n > limit) n = limit < N_BLOCKS ? N_BLOCKS : (int)limit;
    return n < m->options->iterations ? n : m->options->iterations;
}

/* Decide how many operations a sample and how many samples, by the slower side. */
static void choose_counts(struct measure *m, struct bench_result *result)
{
    double op_ns, raw_ns = 0;

    result->n_ops = 1;
    result->n_samples = m->bench->n_samples;
    if (result->n_samples > 0) return;
    result->n_ops = calibrate(m, &op_ns);
    if (result->has_raw) raw_ns = trial(m, BENCH_RAW, result->n_ops);
    if (raw_ns > op_ns) op_ns = raw_ns;
    result->n_samples = samples_for(m, op_ns * (double)result->n_ops);
}

static void run_sides(struct measure *m, const struct bench_result *result)
{
    int n_samples = result->n_samples, n_sides = 0, sides[BENCH_N_SIDES];
    uint64_t n_ops = result->n_ops;
    int per_block = (n_samples + N_BLOCKS - 1) / N_BLOCKS;

    sides[n_sides++] = BENCH_STEPPE;
    if (result->has_raw) sides[n_sides++] = BENCH_RAW;
    if (result->has_few) sides[n_sides++] = BENCH_FEW;
    for (int turn = 0; m->n_samples[BENCH_STEPPE] < n_samples; turn++)
        for (int k = 0; k < n_sides; k++) {
            int side = sides[(turn + k) % n_sides]; /* A B, B A, ... */
            int left = n_samples - m->n_samples[side];
            int n = left < per_block ? left : per_block;

            run_block(m, side, n_ops, n, m->samples[side] + m->n_samples[side]);
            m->n_samples[side] += n;
        }
}

static double *get_samples(const struct measure *m, int n_samples)
{
    double *samples = malloc((size_t)n_samples * sizeof(*samples));

    if (samples != NULL) return samples;
    bench_say(m->run, "no memory for %d samples: use fewer --iterations", n_samples);
    shmem_global_exit(1);
    return NULL;
}

static void lead(struct measure *m, struct bench_result *result)
{
    static const struct bench_command over = {.last = 1};

    choose_counts(m, result);
    for (int side = 0; side < BENCH_N_SIDES; side++)
        m->samples[side] = get_samples(m, result->n_samples);
    run_sides(m, result);
    send_command(m, &over);
    wait_acks(m);
    for (int side = 0; side < BENCH_N_SIDES; side++) {
        if (m->n_samples[side] > 0)
            result->side[side] = bench_stats_of(m->samples[side], (size_t)m->n_samples[side]);
        free(m->samples[side]);
    }
}

/* Messages between two quiets: 64, fewer where that is more than 16 MiB. */
static int window_for(const struct bench *bench, size_t nbytes, const struct bench_options *options)
{
    size_t window = ((size_t)16 << 20) / nbytes;

    if (!bench->windowed) return 1;
    if (options->window > 0) return options->window;
    return window > 64 ? 64 : window < 1 ? 1 : (int)window;
}

/* What an open bench is measured against, and on which spaces. */
static void describe_spaces(const struct bench *bench, const struct bench_run *run,
                            const struct bench_options *options, struct bench_result *result)
{
    bool others = run->n_pes > 1 || bench->alone;

    result->has_raw = options->raw && others && body_of(bench, run, BENCH_RAW) != NULL;
    result->has_few = bench->stage != NULL;
    result->n_few = run->n_few;
    result->n_many = result->has_few ? run->n_many : bench_n_spaces;
    result->path = run->space_path;
}

int bench_measure(const struct bench *bench, size_t nbytes, struct bench_run *run,
                  const struct bench_options *options, struct bench_result *result)
{
    struct measure m = {.bench = bench, .run = run, .options = options};

    run->nbytes = nbytes;
    run->window = window_for(bench, nbytes, options);
    run->kind = bench->on_gpu ? SHMEM_DEVICE_GPU : options->kind;
    run->n_few = options->n_few;
    run->n_many = options->n_many;
    *result = (struct bench_result){
        .bench = bench, .nbytes = nbytes, .window = run->window, .kind = run->kind};
    if (bench->open != NULL &&
        bench->open(run, bench, result->skipped, sizeof(result->skipped)) != 0)
        return -ENODEV;
    describe_spaces(bench, run, options, result);
    if (run->me == 0)
        lead(&m, result);
    else if (takes_part(bench, run, run->me))
        follow(bench, run);
    shmem_barrier_all();
    if (bench->close != NULL) bench->close(run);
    return 0;
}
