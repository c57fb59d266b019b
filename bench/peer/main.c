/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows that were asked for, one after the other.
 */
#include "peer.h"

#include <stdio.h>
#include <string.h>

typedef void row_action(const struct peer_bench *bench, int row, size_t nbytes, void *context);

static bool is_wanted(const struct peer_bench *bench, const struct peer_options *options)
{
    for (int i = 0; i < options->n_names; i++)
        if (strcmp(options->names[i], bench->name) == 0 ||
            strcmp(options->names[i], bench->group) == 0)
            return true;
    return options->n_names == 0;
}

static bool fits(const struct peer_bench *bench, size_t nbytes, int n_pes)
{
    return !bench->all_pes || nbytes <= PEER_COLL_LIMIT / (size_t)n_pes;
}

/* Call action for each row of one bench; returns the number of the next row. */
static int each_size(const struct peer_bench *bench, const struct peer_options *options, int n_pes,
                     int row, row_action *action, void *context)
{
    if (!bench->all_pes && n_pes < 2) return row;
    for (int i = 0; i < (bench->sized ? options->n_sizes : 1); i++) {
        size_t nbytes = bench->sized ? options->sizes[i] : 8;

        if (fits(bench, nbytes, n_pes)) action(bench, row++, nbytes, context);
    }
    return row;
}

static void each_row(const struct peer_options *options, int n_pes, row_action *action,
                     void *context)
{
    int row = 0;

    for (int t = 0; peer_tables[t] != NULL; t++)
        for (const struct peer_bench *bench = peer_tables[t]; bench->name != NULL; bench++)
            if (is_wanted(bench, options))
                row = each_size(bench, options, n_pes, row, action, context);
}

static void list_benches(void)
{
    for (int t = 0; peer_tables[t] != NULL; t++)
        for (const struct peer_bench *bench = peer_tables[t]; bench->name != NULL; bench++)
            printf("%-18s %-7s %s\n", bench->name, bench->group, bench->what);
}

static void plan_row(const struct peer_bench *bench, int row, size_t nbytes, void *context)
{
    (void)context;
    peer_write_plan(bench, row, nbytes);
}

struct job {
    struct peer_run run;
    const struct peer_options *options;
};

static void need_row(const struct peer_bench *bench, int row, size_t nbytes, void *context)
{
    struct job *job = context;
    struct peer_run *run = &job->run;
    size_t need = bench->blocks ? nbytes * (size_t)run->n_pes : nbytes;

    (void)row;
    if (!bench->all_pes && nbytes > run->max_nbytes) run->max_nbytes = nbytes;
    if (bench->all_pes && need > run->max_coll) run->max_coll = need;
}

static void measure_row(const struct peer_bench *bench, int row, size_t nbytes, void *context)
{
    struct job *job = context;
    struct peer_result result = {.bench = bench, .row = row, .nbytes = nbytes};

    if (peer_is_skipped(job->options, row)) return;
    if (job->run.me == 0) peer_write_start(row);
    peer_measure(&job->run, job->options, &result);
    if (job->run.me == 0) peer_write_row(&result);
}

static void choose_pair(struct peer_run *run)
{
    run->partner = run->n_pes / 2;
    run->other = -1;
    if (run->n_pes < 2) return;
    if (run->me == 0) run->other = run->partner;
    if (run->me == run->partner) run->other = 0;
}

int main(int argc, char **argv)
{
    static struct peer_options options;
    static struct job job;
    struct peer_machine machine;

    if (peer_parse(argc, argv, &options) != 0) return 2;
    if (options.list) list_benches();
    if (options.plan) each_row(&options, options.n_pes, plan_row, NULL);
    if (options.list || options.plan) return 0;
    job.options = &options;
    job.run.max_nbytes = job.run.max_coll = 4096;
    peer_begin(&job.run);
    choose_pair(&job.run);
    each_row(&options, job.run.n_pes, need_row, &job);
    peer_bind(&job.run, &options, &machine);
    if (peer_memory(&job.run) != 0) peer_abort();
    if (job.run.me == 0) peer_write_heading(&job.run, &options, &machine);
    each_row(&options, job.run.n_pes, measure_row, &job);
    if (job.run.me == 0) peer_write_end();
    peer_finish(&job.run);
    return 0;
}
