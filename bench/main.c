/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steppe-bench: the plan of what to measure, and the order of things. Every PE makes the same
 * plan from the same command line. Design: docs/design/bench.md.
 */
#include "bench.h"

#include <errno.h>
#include <shmem.h>
#include <string.h>

#define MAX_PLAN 1024

struct item {
    const struct bench *bench;
    size_t nbytes;
};

struct plan {
    struct item items[MAX_PLAN];
    int n;
};

static void plan_add(struct plan *plan, const struct bench *bench, size_t nbytes)
{
    if (plan->n < MAX_PLAN) plan->items[plan->n++] = (struct item){bench, nbytes};
}

static void plan_bench(struct plan *plan, const struct bench *bench,
                       const struct bench_options *options)
{
    static const size_t quick[] = {8, 4096, 65536};

    if (!bench->sized) {
        plan_add(plan, bench, bench->nbytes > 0 ? bench->nbytes : sizeof(uint64_t));
        return;
    }
    if (options->quick && !options->sizes_given) {
        for (size_t i = 0; i < sizeof(quick) / sizeof(quick[0]); i++)
            plan_add(plan, bench, quick[i]);
        return;
    }
    for (size_t nbytes = options->min_size; nbytes <= options->max_size; nbytes *= 2)
        plan_add(plan, bench, nbytes);
}

static void plan_summary(struct plan *plan)
{
    static const struct {
        const char *name;
        size_t nbytes;
    } rows[] = {
        {"p", 8},
        {"put-latency", 8},
        {"get-latency", 8},
        {"fetch-add", 8},
        {"flag", 8},
        {"barrier", 8},
        {"put-rate", 8},
        {"get-rate", 8},
        {"passive-get", 8},
        {"passive-fetch-add", 8},
        {"idle-cpu", 8},
        {"put-bandwidth", (size_t)4 << 10},
        {"put-bandwidth", (size_t)64 << 10},
        {"put-bandwidth", (size_t)1 << 20},
        {"get-bandwidth", (size_t)4 << 10},
        {"get-bandwidth", (size_t)64 << 10},
        {"get-bandwidth", (size_t)1 << 20},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        plan_add(plan, bench_find(rows[i].name), rows[i].nbytes);
}

static void make_plan(struct plan *plan, const struct bench_options *options)
{
    if (options->summary) plan_summary(plan);
    for (int i = 0; i < options->n_names; i++)
        for (int k = 0; k < bench_n_table; k++)
            if (bench_is_called(&bench_table[k], options->names[i]))
                plan_bench(plan, &bench_table[k], options);
}

/* Will the driver for GPUs be asked for? */
static bool plan_wants_gpu(const struct plan *plan, const struct bench_options *options)
{
    for (int i = 0; i < plan->n; i++) {
        const struct bench *bench = plan->items[i].bench;

        if (bench->on_gpu || (bench->in_spaces && options->kind == SHMEM_DEVICE_GPU)) return true;
    }
    return false;
}

/* Leave out what one PE cannot do alone. Returns how many were left out. */
static int plan_without_pairs(struct plan *plan)
{
    int kept = 0, n = plan->n;

    for (int i = 0; i < n; i++)
        if (plan->items[i].bench->all_pes || plan->items[i].bench->alone)
            plan->items[kept++] = plan->items[i];
    plan->n = kept;
    return n - kept;
}

static size_t plan_max_nbytes(const struct plan *plan)
{
    size_t max = sizeof(uint64_t);

    for (int i = 0; i < plan->n; i++)
        if (plan->items[i].bench->nbytes == 0 && plan->items[i].nbytes > max)
            max = plan->items[i].nbytes;
    return max;
}

static int choose_pair(struct bench_run *run, const struct bench_options *options)
{
    run->pair_peer = options->peer > 0 ? options->peer : run->n_pes / 2;
    run->peer = run->me == 0 ? run->pair_peer : 0;
    if (run->n_pes == 1 || run->pair_peer < run->n_pes) return 0;
    bench_say(run, "--peer %d: there are PEs 1 to %d", run->pair_peer, run->n_pes - 1);
    return -EINVAL;
}

static int open_output(struct bench_output *out, const struct bench_run *run,
                       const struct bench_options *options)
{
    out->file = stdout;
    out->format = options->format;
    out->summary = options->summary;
    if (run->me == 0 && options->output != NULL) {
        out->file = fopen(options->output, "w");
        if (out->file == NULL) bench_say(run, "--output %s: %s", options->output, strerror(errno));
    }
    return bench_worst(out->file == NULL) != 0 ? -EIO : 0;
}

static int close_output(struct bench_output *out, const struct bench_run *run,
                        const struct bench_options *options)
{
    bool bad = false;

    if (run->me == 0) {
        bad = ferror(out->file) != 0 || fflush(out->file) != 0;
        if (out->file != stdout && fclose(out->file) != 0) bad = true;
        if (bad)
            bench_say(run, "writing %s failed",
                      options->output != NULL ? options->output : "standard output");
    }
    return bench_worst(bad) != 0 ? -EIO : 0;
}

static void measure_all(const struct plan *plan, struct bench_run *run,
                        const struct bench_options *options, struct bench_output *out)
{
    const struct bench *skipped = NULL; /* what one size lacks, the others lack too */

    for (int i = 0; i < plan->n; i++) {
        const struct item *item = &plan->items[i];
        struct bench_result result;

        if (item->bench == skipped) continue;
        if (bench_measure(item->bench, item->nbytes, run, options, &result) != 0)
            skipped = item->bench;
        if (run->me == 0) bench_output_row(out, &result);
    }
}

static int run_plan(struct plan *plan, struct bench_run *run, const struct bench_options *options)
{
    struct bench_machine machine = {0};
    struct bench_output out = {0};
    int status = open_output(&out, run, options);

    if (status != 0) return status;
    run->max_nbytes = (plan_max_nbytes(plan) + BENCH_LINE - 1) & ~(size_t)(BENCH_LINE - 1);
    status = bench_setup(run, options, &machine);
    if (status == 0) {
        if (plan_wants_gpu(plan, options)) bench_describe_gpu(run, &machine);
        if (run->me == 0) bench_output_begin(&out, run, options, &machine);
        measure_all(plan, run, options, &out);
        if (run->me == 0) bench_output_end(&out);
    }
    bench_teardown(run);
    if (close_output(&out, run, options) != 0 && status == 0) status = -EIO;
    return status;
}

static void list_benches(void)
{
    for (int i = 0; i < bench_n_table; i++)
        printf("%-30s %-7s %s%s\n", bench_table[i].name, bench_unit(&bench_table[i]),
               bench_table[i].what, bench_table[i].sized ? " (sizes)" : "");
}

static int run_options(struct bench_run *run, struct bench_options *options)
{
    static struct plan plan;
    int left_out;

    if (options->help || options->list) {
        if (run->me == 0 && options->help) bench_usage(stdout);
        if (run->me == 0 && !options->help) list_benches();
        return 0;
    }
    if (options->summary) options->raw = true;
    if (choose_pair(run, options) != 0) return 2;
    make_plan(&plan, options);
    left_out = run->n_pes == 1 ? plan_without_pairs(&plan) : 0;
    if (left_out > 0)
        bench_say(run, "%d of %d rows need 2 PEs: start it with oshrun -n 2", left_out,
                  left_out + plan.n);
    if (plan.n == 0) return 2;
    return run_plan(&plan, run, options) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct bench_run run = {0};
    struct bench_options options;
    char why[512];
    int status;

    shmem_init();
    run.me = shmem_my_pe();
    run.n_pes = shmem_n_pes();
    status = bench_parse(argc, argv, &options, why, sizeof(why));
    if (status != 0) {
        bench_say(&run, "%s", why);
        status = 2;
    } else {
        status = run_options(&run, &options);
    }
    shmem_finalize();
    return status;
}
