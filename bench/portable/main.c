/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs steppe-bench from start to end. The rows are measured in up to two cycles. A cycle is one
 * run of the library, from shmem_init() to shmem_finalize(). The first cycle uses shmem_init(), as
 * most programs do. The second cycle uses SHMEM_THREAD_MULTIPLE, which makes the library take
 * locks. It comes last, so that all other rows are measured without these locks. Design:
 * docs/design/bench.md.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* State of the program. It is kept from one cycle to the next. */
struct session {
    const struct bench_extras *extras;
    struct bench_options options;
    struct bench_plan plan;
    struct bench_run run;
    struct bench_machine machine;
    struct bench_output out;
    struct bench_disturbance start;
    char disturbed[128];
    bool began_output;
};

/* ---- start of the library ---------------------------------------------------------- */

static void init(struct session *s, enum bench_cycle cycle)
{
    int provided;

    if (cycle == BENCH_MULTIPLE)
        shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    else
        shmem_init();
    s->run = (struct bench_run){.me = shmem_my_pe(),
                                .n_pes = shmem_n_pes(),
                                .options = &s->options,
                                .extras = s->extras,
                                .thread_multiple = cycle == BENCH_MULTIPLE};
    s->run.pair_peer = s->options.peer > 0 ? s->options.peer : s->run.n_pes / 2;
}

/* ---- output ------------------------------------------------------------------------ */

static int open_output(struct session *s)
{
    struct bench_output *out = &s->out;

    out->file = stdout;
    out->format = s->options.format;
    out->summary = s->options.summary;
    if (s->run.me == 0 && s->options.output != NULL) {
        out->file = fopen(s->options.output, "w");
        if (out->file == NULL)
            bench_say(&s->run, "--output %s: cannot open this file: %s", s->options.output,
                      strerror(errno));
    }
    return bench_worst(out->file == NULL) != 0 ? -EIO : 0;
}

static int close_output(struct session *s)
{
    FILE *file = s->out.file;
    bool failed = false;

    if (s->run.me == 0 && file != NULL) {
        failed = ferror(file) != 0 || fflush(file) != 0;
        if (file != stdout && fclose(file) != 0) failed = true;
        if (failed)
            bench_say(&s->run, "cannot write the results to %s",
                      s->options.output != NULL ? s->options.output : "standard output");
    }
    return failed ? -EIO : 0;
}

static void begin_output(struct session *s)
{
    double minutes = bench_plan_ns(&s->plan, &s->options) / 60e9;

    if (s->run.me != 0) return;
    if (!s->began_output) {
        if (minutes > 1 && s->plan.n > 1)
            bench_say(&s->run, "measuring %d rows takes at most about %.0f minutes", s->plan.n,
                      minutes + 0.5);
        bench_output_begin(&s->out, &s->run, &s->options, &s->machine);
    }
    s->began_output = true;
}

/* ---- rows -------------------------------------------------------------------------- */

static void measure_row(struct session *s, int i, const struct bench **skipped)
{
    const struct bench_item *item = &s->plan.items[i];
    struct bench_disturbance start;
    struct bench_result result;

    if (s->run.me == 0) bench_disturbance_begin(&s->machine, &start);
    if (bench_measure(item, &s->run, &s->options, &result) != 0 && item->bench->parameter == NULL)
        *skipped = item->bench;
    if (s->run.me != 0) return;
    bench_disturbance_end(&s->machine, &start, result.disturbed, sizeof(result.disturbed));
    bench_output_row(&s->out, &s->run, &result);
    bench_result_free(&result);
}

static void measure_cycle(struct session *s, enum bench_cycle cycle)
{
    /*
     * Last bench without a parameter that could not be opened. Its rows with other message sizes
     * are not measured either.
     */
    const struct bench *skipped = NULL;

    for (int i = 0; i < s->plan.n; i++)
        if (s->plan.items[i].cycle == cycle && s->plan.items[i].bench != skipped)
            measure_row(s, i, &skipped);
}

/* Returns the largest number of bytes that a row of the plan needs in run->remote. */
static size_t memory_of(struct session *s)
{
    size_t max_bytes = BENCH_LINE;

    for (int i = 0; i < s->plan.n; i++) {
        size_t nbytes = bench_set_row_buffers(&s->plan.items[i], &s->run, &s->options);

        if (nbytes > max_bytes) max_bytes = nbytes;
    }
    return max_bytes;
}

static int run_cycle(struct session *s, enum bench_cycle cycle)
{
    int status = bench_place_bind_and_allocate(&s->run, &s->options, memory_of(s),
                                               bench_plan_wants_source(&s->plan), &s->machine);

    if (status == 0) {
        if (cycle == BENCH_SINGLE && s->extras->describe_gpu != NULL &&
            bench_plan_wants_gpu(&s->plan, &s->options))
            s->extras->describe_gpu(&s->run, &s->machine);
        if (s->run.me == 0 && !s->began_output) bench_disturbance_begin(&s->machine, &s->start);
        begin_output(s);
        measure_cycle(s, cycle);
        if (s->run.me == 0)
            bench_disturbance_end(&s->machine, &s->start, s->disturbed, sizeof(s->disturbed));
    }
    bench_teardown(&s->run, &s->machine);
    return status;
}

static bool has_cycle(const struct bench_plan *plan, enum bench_cycle cycle)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->items[i].cycle == cycle) return true;
    return false;
}

static bool is_last(const struct bench_plan *plan, enum bench_cycle cycle)
{
    for (int later = (int)cycle + 1; later < BENCH_N_CYCLES; later++)
        if (has_cycle(plan, (enum bench_cycle)later)) return false;
    return true;
}

/*
 * Writes the end of the output. The caller does this before it calls shmem_finalize(), because
 * shmem_finalize() can fail.
 */
static void end_output(struct session *s)
{
    if (s->began_output && s->run.me == 0) bench_output_end(&s->out, s->disturbed);
    s->began_output = false;
}

/* Measures all cycles of the plan. On entry the library is initialized for the first cycle. */
static int run_cycles(struct session *s)
{
    bool is_up = true;
    int status = open_output(s);

    for (int i = 0; i < BENCH_N_CYCLES && status == 0; i++) {
        enum bench_cycle cycle = (enum bench_cycle)i;

        if (!has_cycle(&s->plan, cycle)) continue;
        if (is_up && cycle != BENCH_SINGLE) {
            shmem_finalize();
            is_up = false;
        }
        if (!is_up) init(s, cycle);
        status = run_cycle(s, cycle);
        if (status != 0 || is_last(&s->plan, cycle)) end_output(s);
        shmem_finalize();
        is_up = false;
    }
    if (close_output(s) != 0 && status == 0) status = -EIO;
    if (is_up) shmem_finalize();
    return status;
}

/* ---- the command ------------------------------------------------------------------- */

static int make_plan(struct session *s)
{
    int status;

    if (s->run.n_pes > 1 && s->run.pair_peer >= s->run.n_pes) {
        bench_say(&s->run, "--peer %d: the peer must be a PE from 1 to %d", s->run.pair_peer,
                  s->run.n_pes - 1);
        return -EINVAL;
    }
    if (s->options.max_pes > 0 && (s->options.max_pes - 1) * s->options.pe_stride >= s->run.n_pes) {
        bench_say(&s->run,
                  "--teams: a team of size %d with stride %d does not fit into this job of size %d",
                  s->options.max_pes, s->options.pe_stride, s->run.n_pes);
        return -EINVAL;
    }
    status = bench_plan_list_rows(&s->plan, &s->run, &s->options);
    if (status != 0) {
        bench_say(&s->run, "out of memory: cannot allocate the list of rows");
        return status;
    }
    if (s->plan.n_alone > 0)
        bench_say(&s->run,
                  "leaving out %d of %d rows, because they need 2 PEs: run with oshrun -n 2",
                  s->plan.n_alone, s->plan.n_alone + s->plan.n);
    if (s->plan.n > 0) return 0;
    if (s->plan.n_alone == 0)
        bench_say(&s->run,
                  "no row is left to measure: choose --sizes that the benches support (multiples "
                  "of 8 for reductions, scans, alltoall and strided benches)");
    return -EINVAL;
}

/*
 * Parses the command line. After --help, --list or an error, calls shmem_finalize() and returns the
 * exit status of the program. Otherwise returns -1, and the program goes on.
 */
static int parse_command_line(struct session *s, int argc, char **argv)
{
    char reason[512];
    int status = -1;

    if (bench_parse(argc, argv, &s->options, reason, sizeof(reason)) != 0) {
        bench_say(&s->run, "%s", reason);
        status = 2;
    } else if (s->options.help || s->options.list) {
        if (s->run.me == 0 && s->options.help) bench_usage(stdout);
        if (s->run.me == 0 && !s->options.help) bench_write_list(stdout);
        status = 0;
    }
    if (status >= 0) shmem_finalize();
    return status;
}

int bench_main(int argc, char **argv, const struct bench_extras *extras)
{
    static struct session s;
    int status;

    s.extras = extras;
    bench_table_use(extras->lists);
    status = extras->command != NULL ? extras->command(argc, argv) : -1;
    if (status >= 0) return status;
    init(&s, BENCH_SINGLE);
    status = parse_command_line(&s, argc, argv);
    if (status >= 0) return status;
    if (s.options.summary) s.options.raw = true;
    s.run.pair_peer = s.options.peer > 0 ? s.options.peer : s.run.n_pes / 2;
    if (make_plan(&s) != 0) {
        shmem_finalize();
        return 2;
    }
    status = run_cycles(&s);
    bench_plan_free(&s.plan);
    return status == 0 ? 0 : 1;
}
