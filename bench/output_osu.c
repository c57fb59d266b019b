/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The columns of the OSU micro-benchmarks, for scripts that read those: comments begin with #,
 * then the size and the values in columns 20 wide, times in us, bandwidth in MB/s.
 */
#include "harness.h"

#include <string.h>

#define FIRST_WIDTH 10
#define WIDTH 20

static bool is_atomic(const struct bench *bench)
{
    return strcmp(bench->group, "atomic") == 0;
}

/* Of the rows of a bench; atomics have one table together. */
static void write_heading(FILE *file, const struct bench_result *r)
{
    const struct bench *bench = r->bench;

    if (is_atomic(bench)) {
        fprintf(file, "\n# Steppe OpenSHMEM atomics\n%-*s%*s%*s\n", 2 * WIDTH, "# Operation", WIDTH,
                "Million ops/s", WIDTH, "Latency (us)");
        return;
    }
    fprintf(file, "\n# Steppe OpenSHMEM %s: %s%s%s\n", bench->name, bench->what,
            r->cycle != BENCH_SINGLE ? "; " : "",
            r->cycle != BENCH_SINGLE ? bench_cycle_name(r->cycle) : "");
    if (bench->parameter != NULL && r->bench->shape != BENCH_ALL)
        fprintf(file, "# %s of each row follow in the order of --values\n", bench->parameter->name);
    fprintf(file, "%-*s", FIRST_WIDTH, "# Size");
    if (bench->metric == BENCH_OVERLAP)
        fprintf(file, "%*s%*s%*s%*s\n", WIDTH, "Overall(us)", WIDTH, "Compute(us)", WIDTH,
                "Pure Comm.(us)", WIDTH, "Overlap(%)");
    else if (bench_by_many(bench) && bench->metric == BENCH_LATENCY)
        fprintf(file, "%*s%*s%*s%*s\n", WIDTH, "Avg Latency(us)", WIDTH, "Min Latency(us)", WIDTH,
                "Max Latency(us)", FIRST_WIDTH + 2, "Iterations");
    else
        fprintf(file, "%*s\n", WIDTH,
                bench->metric == BENCH_BANDWIDTH ? "Bandwidth (MB/s)"
                : bench->metric == BENCH_RATE    ? "Messages/s"
                : bench->metric == BENCH_SHARE   ? "Share (%)"
                                                 : "Latency (us)");
}

static double us(const struct bench_result *r, double ns)
{
    double value = bench_value(r, ns);

    return r->bench->metric == BENCH_LONG ? value : value / 1e3;
}

static void write_values(FILE *file, const struct bench_result *r)
{
    struct bench_stats one = r->side[BENCH_STEPPE];
    const struct bench_stats *stats = &one;

    if (r->n_measuring < 2) one.pe_average = one.pe_fast = one.pe_slow = one.median;
    fprintf(file, "%-*zu", FIRST_WIDTH, r->nbytes);
    if (r->bench->metric == BENCH_OVERLAP)
        fprintf(file, "%*.2f%*.2f%*.2f%*.2f\n", WIDTH, r->detail[2] / 1e3, WIDTH,
                r->detail[1] / 1e3, WIDTH, r->detail[0] / 1e3, WIDTH,
                bench_value(r, stats->median));
    else if (bench_by_many(r->bench) && r->bench->metric == BENCH_LATENCY)
        fprintf(file, "%*.2f%*.2f%*.2f%*llu\n", WIDTH, us(r, stats->pe_average), WIDTH,
                us(r, stats->pe_fast), WIDTH, us(r, stats->pe_slow), FIRST_WIDTH + 2,
                (unsigned long long)r->n_ops * (unsigned long long)r->n_samples);
    else if (r->bench->metric == BENCH_RATE)
        fprintf(file, "%*.2f\n", WIDTH, bench_value(r, stats->median) * 1e6);
    else if (r->bench->metric == BENCH_LATENCY || r->bench->metric == BENCH_LONG)
        fprintf(file, "%*.2f\n", WIDTH, us(r, stats->median));
    else
        fprintf(file, "%*.2f\n", WIDTH, bench_value(r, stats->median));
}

void bench_osu_row(struct bench_output *out, const struct bench_result *r)
{
    bool same = out->section != NULL &&
                (out->section == r->bench || (is_atomic(out->section) && is_atomic(r->bench)));

    if (r->skipped[0] != '\0') {
        fprintf(out->file, "\n# %s: skipped: %s\n", r->bench->name, r->skipped);
        return;
    }
    if (!same || out->cycle != r->cycle) write_heading(out->file, r);
    out->section = r->bench;
    out->cycle = r->cycle;
    if (is_atomic(r->bench)) {
        char name[64];

        snprintf(name, sizeof(name), "shmem_uint%zu_%s", 8 * r->nbytes, r->bench->name);
        for (char *c = name; *c != '\0'; c++)
            if (*c == '-') *c = '_';
        fprintf(out->file, "%-*s%*.2f%*.2f\n", 2 * WIDTH, name, WIDTH,
                1e3 / bench_median(r, BENCH_STEPPE), WIDTH, bench_median(r, BENCH_STEPPE) / 1e3);
        return;
    }
    write_values(out->file, r);
}
