/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CSV: one line a row behind a line of names; an empty cell is what a row does not have.
 */
#include "harness.h"

static const char names[] =
    "bench,group,unit,bytes,parameter,value,from,to,pes,measuring,run,ops,window,samples,"
    "median,p1,p99,best,noise,interval,pe_average,pe_min,pe_max,slowest_pe,"
    "raw_median,raw_p1,raw_p99,raw_best,raw_noise,ratio,"
    "kind,path,disturbed,skipped";

static void write_side(FILE *file, const struct bench_result *r, int side)
{
    const struct bench_stats *stats = &r->side[side];

    fprintf(file, ",%.6g,%.6g,%.6g,%.6g,%.4g", bench_value(r, stats->median),
            bench_value(r, stats->p1), bench_value(r, stats->p99), bench_value(r, stats->best),
            bench_noise_of(stats));
}

static void write_number(FILE *file, bool there, int number)
{
    if (there)
        fprintf(file, ",%d", number);
    else
        fputc(',', file);
}

/* Which row it is. */
static void write_identity(FILE *file, const struct bench_result *r)
{
    const struct bench *bench = r->bench;
    char value[32];

    bench_value_text(r, value, sizeof(value));
    fprintf(file, "%s,%s,%s,%zu,%s,%s", bench->name, bench->group, bench_unit(bench), r->nbytes,
            bench->parameter != NULL ? bench->parameter->name : "", value);
    write_number(file, r->from >= 0, r->from);
    write_number(file, r->to >= 0, r->to);
    fprintf(file, ",%d,%d,%s,%llu,%d,%d", r->n_pes, r->n_measuring,
            r->cycle == BENCH_MULTIPLE      ? "multiple"
            : r->cycle == BENCH_NO_PROGRESS ? "no progress thread"
                                            : "single",
            (unsigned long long)r->n_ops, r->window, r->n_samples);
}

static void write_pes(FILE *file, const struct bench_result *r)
{
    const struct bench_stats *stats = &r->side[BENCH_STEPPE];

    if (r->skipped[0] != '\0' || r->n_measuring < 2) {
        fputs(",,,,", file);
        return;
    }
    fprintf(file, ",%.6g,%.6g,%.6g,%d", bench_pe_value(r, stats->pe_average),
            bench_pe_min(r, BENCH_STEPPE), bench_pe_max(r, BENCH_STEPPE), stats->slowest_pe);
}

void bench_csv_row(struct bench_output *out, const struct bench_result *r)
{
    FILE *file = out->file;

    if (out->n_rows == 0) fprintf(file, "%s\n", names);
    write_identity(file, r);
    if (r->skipped[0] == '\0') {
        write_side(file, r, BENCH_STEPPE);
        fprintf(file, ",%.4g", r->interval);
    } else {
        fputs(",,,,,,", file);
    }
    write_pes(file, r);
    if (r->has_raw) {
        write_side(file, r, BENCH_RAW);
        fprintf(file, ",%.4g", bench_ratio(r));
    } else {
        fputs(",,,,,,", file);
    }
    fprintf(file, ",%s,%s,\"%s\",%s\n", bench_has_kind(r) ? bench_kind_name(r->kind) : "",
            r->path != NULL ? r->path : "", r->disturbed, r->skipped[0] != '\0' ? "skipped" : "");
}
