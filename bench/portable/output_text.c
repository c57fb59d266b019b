/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the results as text for people: a heading, and then a table for each bench or a summary.
 */
#include "harness.h"

#include <string.h>

/* ---- heading ------------------------------------------------------------------------- */

static void write_fabric(FILE *file, const struct bench_run *run, const struct bench_machine *m)
{
    if (m->provider[0] != '\0')
        fprintf(file, "fabric: %s on %s, libfabric %s\n", m->provider, m->domain, m->libfabric);
    if (run->fabric != NULL)
        fprintf(file, "raw fabric: %s on %s%s\n", run->fabric->provider, run->fabric->domain,
                run->fabric->atomic_stores ? "" : " (flags are plain writes)");
    if (m->gpu[0] != '\0')
        fprintf(file, "%s, %s%s\n", m->gpu, m->driver,
                m->test_double ? ": A TEST DOUBLE, times mean nothing" : "");
}

static void write_method(FILE *file, const struct bench_options *o, const struct bench_machine *m)
{
    fprintf(file, "samples: %d per side, in alternating blocks", o->iterations);
    if (o->precision > 0)
        fprintf(file, ", and more until the 95 %% interval of the median is within %.3g %%",
                100 * o->precision);
    fprintf(file, "; at most %.3g s per side\n", o->seconds);
    fprintf(
        file,
        "each sample is the time of `ops` operations; reading the clock takes %.0f ns; p1 and p99: "
        "percentiles at the fast and the slow end; noisy: the p99 time is above %.0f times the "
        "median%s\n",
        m->clock_ns, BENCH_NOISY, o->raw ? "; ratio: median of Steppe / median of raw" : "");
    if (o->verify || o->buffers > 1)
        fprintf(file, "buffers: %s%s\n", o->buffers > 1 ? "several in turn" : "one",
                o->verify ? "; verified" : "");
    if (m->raw_note[0] != '\0') fprintf(file, "no raw side: %s\n", m->raw_note);
}

void bench_text_begin(FILE *file, const struct bench_run *run, const struct bench_options *options,
                      const struct bench_machine *m)
{
    fprintf(file, "%s, %d PE%s (%d on this host)", m->library, run->n_pes,
            run->n_pes > 1 ? "s" : "", m->n_local);
    if (run->n_pes > 1)
        fprintf(file, ", PE 0 with PE %d: path %s; all PEs: path %s", run->pair_peer,
                bench_path_name(run->pair_path), bench_path_name(run->all_path));
    fprintf(file, "\n%s, %s, %d cores, PEs %s\n", m->kernel, m->cpu, m->cores,
            m->bound       ? "bound to one core each"
            : run->crowded ? "not bound (more PEs than cores)"
                           : "not bound");
    write_fabric(file, run, m);
    write_method(file, options, m);
}

/* ---- one table per bench ----------------------------------------------------------------- */

static void write_section(FILE *file, const struct bench_result *r)
{
    const struct bench *bench = r->bench;

    fprintf(file, "\n%s [%s]: %s", bench->name, bench_unit(bench), bench->description);
    if (bench->in_spaces) fprintf(file, "; kind %s", bench_kind_name(r->kind));
    if (r->path != NULL) fprintf(file, "; path %s", r->path);
    if (r->cycle == BENCH_MULTIPLE) fputs("; SHMEM_THREAD_MULTIPLE, PEs not bound", file);
    fprintf(file, "\n%10s", "bytes");
    if (bench->parameter != NULL) fprintf(file, " %8s", bench->parameter->name);
    if (bench->shape == BENCH_EACH) fprintf(file, " %5s %5s", "from", "to");
    fprintf(file, " %8s %6s %7s %12s %12s %12s", "ops", "window", "samples", "median", "p1", "p99");
    if (bench_by_many(bench))
        fprintf(file, " %12s %12s %12s %7s", "PE mean", "PE min", "PE max", "slowest");
    fprintf(file, " %12s %12s %7s", "raw median", "raw p99", "ratio");
    fputc('\n', file);
}

static void write_cell(FILE *file, double value)
{
    fprintf(file, " %12.*f", value < 1 ? 4 : 2, value);
}

static void write_pes(FILE *file, const struct bench_result *r)
{
    const struct bench_stats *stats = &r->side[BENCH_STEPPE];

    if (r->n_measuring < 2) {
        fprintf(file, " %12s %12s %12s %7s", "-", "-", "-", "-");
        return;
    }
    write_cell(file, bench_pe_value(r, stats->pe_average));
    write_cell(file, bench_pe_min(r, BENCH_STEPPE));
    write_cell(file, bench_pe_max(r, BENCH_STEPPE));
    fprintf(file, " %7d", stats->slowest_pe);
}

void bench_text_row(struct bench_output *out, const struct bench_result *r)
{
    const struct bench_stats *stats = &r->side[BENCH_STEPPE];
    FILE *file = out->file;
    char value[32];

    if (r->skipped[0] != '\0') {
        fprintf(file, "\n%s: skipped: %s\n", r->bench->name, r->skipped);
        return;
    }
    if (out->section != r->bench || out->cycle != r->cycle) write_section(file, r);
    out->section = r->bench;
    out->cycle = r->cycle;
    bench_parameter_text(r, value, sizeof(value));
    fprintf(file, "%10zu", r->nbytes);
    if (r->bench->parameter != NULL) fprintf(file, " %8s", value);
    if (r->bench->shape == BENCH_EACH) fprintf(file, " %5d %5d", r->from_pe, r->to_pe);
    fprintf(file, " %8llu %6d %7d", (unsigned long long)r->n_ops, r->window, r->n_samples);
    write_cell(file, bench_median_in_unit(r, BENCH_STEPPE));
    write_cell(file, bench_value(r, stats->p1));
    write_cell(file, bench_value(r, stats->p99));
    if (bench_by_many(r->bench)) write_pes(file, r);
    if (r->has_raw) {
        write_cell(file, bench_median_in_unit(r, BENCH_RAW));
        write_cell(file, bench_value(r, r->side[BENCH_RAW].p99));
        fprintf(file, " %7.2f", bench_ratio(r));
    } else {
        fprintf(file, " %12s %12s %7s", "-", "-", "-");
    }
    if (r->raw_note[0] != '\0') fprintf(file, "  %s", r->raw_note);
    if (bench_is_noisy(r)) fputs("  noisy", file);
    if (r->unverified) fputs("  not verified", file);
    if (r->disturbed[0] != '\0') fprintf(file, "  disturbed: %s", r->disturbed);
    fputc('\n', file);
}

/* ---- summary ----------------------------------------------------------------- */

/* Formats a value with three or four digits, in a unit that suits its size. */
static const char *pretty(const struct bench_result *r, double value, char *buf, size_t len)
{
    static const char *const times[] = {"ns", "us", "ms", "s"};
    static const char *const rates[] = {"MB/s", "GB/s", "TB/s"};
    int unit = 0, last = r->bench->metric == BENCH_LATENCY ? 3 : 2;

    if (r->bench->metric == BENCH_RATE || r->bench->metric == BENCH_SHARE) {
        snprintf(buf, len, "%.4g %s", value, bench_unit(r->bench));
        return buf;
    }
    for (; value >= 1000 && unit < last; unit++)
        value /= 1000;
    snprintf(buf, len,
             value < 10    ? "%.2f %s"
             : value < 100 ? "%.1f %s"
                           : "%.0f %s",
             value, r->bench->metric == BENCH_LATENCY ? times[unit] : rates[unit]);
    return buf;
}

static void pretty_signed(const struct bench_result *r, double value, char *buf, size_t len)
{
    buf[0] = value < 0 ? '-' : '+';
    pretty(r, value < 0 ? -value : value, buf + 1, len - 1);
}

static const char *pretty_size(size_t nbytes, char *buf, size_t len)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;

    for (; nbytes >= 1024 && nbytes % 1024 == 0 && unit < 3; unit++)
        nbytes /= 1024;
    snprintf(buf, len, "%zu %s", nbytes, units[unit]);
    return buf;
}

/*
 * Returns the time of Steppe minus the time of the raw side. For times of a few ns, this difference
 * is more useful than the ratio.
 */
static double difference_of(const struct bench_result *r)
{
    return bench_median_in_unit(r, BENCH_STEPPE) - bench_median_in_unit(r, BENCH_RAW);
}

void bench_summary_row(struct bench_output *out, const struct bench_result *r)
{
    char name[64], size[32], steppe[32], raw[32] = "-", ratio[32] = "-", difference[33] = "";

    if (r->skipped[0] != '\0') return;

    if (out->n_rows == 0)
        fprintf(out->file, "\n%-22s %14s %14s %7s %12s\n", "", "Steppe", "raw limit", "ratio",
                "difference");
    snprintf(name, sizeof(name), "%s %s", r->bench->name,
             r->bench->sized ? pretty_size(r->nbytes, size, sizeof(size)) : "");
    if (r->has_raw) {
        pretty(r, bench_median_in_unit(r, BENCH_RAW), raw, sizeof(raw));
        snprintf(ratio, sizeof(ratio), "%.2f", bench_ratio(r));
        if (r->bench->metric == BENCH_LATENCY)
            pretty_signed(r, difference_of(r), difference, sizeof(difference));
    }
    fprintf(out->file, "%-22s %14s %14s %7s %12s%s%s%s%s\n", name,
            pretty(r, bench_median_in_unit(r, BENCH_STEPPE), steppe, sizeof(steppe)), raw, ratio,
            difference, r->raw_note[0] != '\0' ? "  " : "", r->raw_note,
            bench_is_noisy(r) ? "  noisy" : "", r->disturbed[0] != '\0' ? "  disturbed" : "");
}
