/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PE 0 prints: a heading that says what was measured where, then a row a result, as text,
 * CSV or JSON, as it comes.
 */
#include "raw_ofi.h"
#include "spaces.h"

#include "json/json.h"

#include <stdarg.h>
#include <string.h>

void bench_say(const struct bench_run *run, const char *fmt, ...)
{
    va_list args;

    if (run->me != 0) return;
    va_start(args, fmt);
    fputs("steppe-bench: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

static const char *path_name(enum bench_path path)
{
    static const char *const names[] = {
        [BENCH_NODE] = "node", [BENCH_FABRIC] = "fabric", [BENCH_MIXED] = "mixed"};

    return names[path];
}

static double noise_of(const struct bench_stats *stats)
{
    return stats->p99 / stats->median;
}

static bool is_noisy(const struct bench_result *r)
{
    return noise_of(&r->side[BENCH_STEPPE]) > BENCH_NOISY ||
           (r->has_raw && noise_of(&r->side[BENCH_RAW]) > BENCH_NOISY) ||
           (r->has_few && noise_of(&r->side[BENCH_FEW]) > BENCH_NOISY);
}

static double median_of(const struct bench_result *r, int side)
{
    return bench_value(r, r->side[side].median);
}

static double ratio_of(const struct bench_result *r)
{
    return median_of(r, BENCH_STEPPE) / median_of(r, BENCH_RAW);
}

/* With many spaces alive, by with few. */
static double few_ratio_of(const struct bench_result *r)
{
    return median_of(r, BENCH_STEPPE) / median_of(r, BENCH_FEW);
}

/* What Steppe adds to the raw time of one operation; ratios of a few ns say little. */
static double over_of(const struct bench_result *r)
{
    return median_of(r, BENCH_STEPPE) - median_of(r, BENCH_RAW);
}

/* ---- text -------------------------------------------------------------------- */

/* The heading, each line behind prefix. */
static void write_heading(FILE *file, const char *prefix, const struct bench_run *run,
                          const struct bench_options *options, const struct bench_machine *m)
{
    fprintf(file, "%s%s, %d PE%s (%d on this host)", prefix, m->library, run->n_pes,
            run->n_pes > 1 ? "s" : "", m->n_local);
    if (run->n_pes > 1)
        fprintf(file, ", PE 0 with PE %d: path %s; all PEs: path %s", run->pair_peer,
                path_name(run->pair_path), path_name(run->all_path));
    fprintf(file, "\n%s%s, %s, %d cores, PEs %s\n", prefix, m->kernel, m->cpu, m->cores,
            m->bound       ? "bound to one core each"
            : run->crowded ? "not bound (more PEs than cores)"
                           : "not bound");
    if (m->provider[0] != '\0')
        fprintf(file, "%sfabric: %s on %s\n", prefix, m->provider, m->domain);
    if (run->fabric != NULL)
        fprintf(file, "%sraw fabric: %s on %s, put streams %s%s\n", prefix, run->fabric->provider,
                run->fabric->domain,
                run->raw_flush ? "plain with a flushing read" : "delivery complete",
                run->fabric->by_message
                    ? ", atomics and flags by a message that the target executes and answers"
                    : "");
    if (m->first_us > 0)
        fprintf(file, "%sfirst get of 8 bytes from PE %d, which computes: %.0f us\n", prefix,
                run->pair_peer, m->first_us);
    if (m->gpu[0] != '\0')
        fprintf(file, "%s%s, %s%s\n", prefix, m->gpu, m->driver,
                m->test_double ? ": A TEST DOUBLE, times mean nothing" : "");
    fprintf(file,
            "%ssamples: up to %d a side in alternating blocks, %d unrecorded before each; a sample "
            "times `ops` operations; clock %.0f ns\n",
            prefix, options->iterations, options->warmup, m->clock_ns);
    fprintf(file, "%sp99: the slow end; noisy: p99 time above %.0f x median%s\n", prefix,
            BENCH_NOISY, options->raw ? "; ratio: Steppe / raw, of medians" : "");
    if (m->raw_note[0] != '\0') fprintf(file, "%sno raw side: %s\n", prefix, m->raw_note);
}

static void write_section(FILE *file, const struct bench_result *r)
{
    char few[32], ratio[32];

    fprintf(file, "\n%s [%s]: %s", r->bench->name, bench_unit(r->bench), r->bench->what);
    if (r->bench->in_spaces && r->n_many > 1)
        fprintf(file, "; %d spaces of kind %s", r->n_many, bench_kind_name(r->kind));
    else if (r->bench->in_spaces)
        fprintf(file, "; kind %s", bench_kind_name(r->kind));
    if (r->path != NULL) fprintf(file, "; path %s", r->path);
    fputc('\n', file);
    fprintf(file, "%10s %8s %7s %7s %12s %12s %12s %12s %7s", "bytes", "ops", "window", "samples",
            "median", "p99", "raw median", "raw p99", "ratio");
    snprintf(few, sizeof(few), "with %d", r->n_few);
    snprintf(ratio, sizeof(ratio), "%d/%d", r->n_many, r->n_few);
    if (r->has_few) fprintf(file, " %12s %7s", few, ratio);
    fputc('\n', file);
}

static void write_cell(FILE *file, double value)
{
    fprintf(file, " %12.*f", value < 1 ? 4 : 2, value);
}

static void write_text(struct bench_output *out, const struct bench_result *r)
{
    FILE *file = out->file;

    if (r->skipped[0] != '\0') {
        fprintf(file, "\n%s: skipped: %s\n", r->bench->name, r->skipped);
        return;
    }
    if (out->section != r->bench) write_section(file, r);
    out->section = r->bench;
    fprintf(file, "%10zu %8llu %7d %7d", r->nbytes, (unsigned long long)r->n_ops, r->window,
            r->n_samples);
    write_cell(file, median_of(r, BENCH_STEPPE));
    write_cell(file, bench_value(r, r->side[BENCH_STEPPE].p99));
    if (r->has_raw) {
        write_cell(file, median_of(r, BENCH_RAW));
        write_cell(file, bench_value(r, r->side[BENCH_RAW].p99));
        fprintf(file, " %7.2f", ratio_of(r));
    } else {
        fprintf(file, " %12s %12s %7s", "-", "-", "-");
    }
    if (r->has_few) {
        write_cell(file, median_of(r, BENCH_FEW));
        fprintf(file, " %7.2f", few_ratio_of(r));
    }
    fputs(is_noisy(r) ? "  noisy\n" : "\n", file);
}

/* ---- summary ----------------------------------------------------------------- */

/* A value with a unit fit for people: three or four digits. */
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

static void write_summary(struct bench_output *out, const struct bench_result *r)
{
    char name[64], size[32], steppe[32], raw[32] = "-", ratio[32] = "-", over[33] = "";

    if (out->n_rows == 0)
        fprintf(out->file, "\n%-22s %14s %14s %7s %12s\n", "", "Steppe", "raw limit", "ratio",
                "difference");
    snprintf(name, sizeof(name), "%s %s", r->bench->name,
             r->bench->sized ? pretty_size(r->nbytes, size, sizeof(size)) : "");
    if (r->has_raw) {
        pretty(r, median_of(r, BENCH_RAW), raw, sizeof(raw));
        snprintf(ratio, sizeof(ratio), "%.2f", ratio_of(r));
        if (r->bench->metric == BENCH_LATENCY) pretty_signed(r, over_of(r), over, sizeof(over));
    }
    fprintf(out->file, "%-22s %14s %14s %7s %12s%s\n", name,
            pretty(r, median_of(r, BENCH_STEPPE), steppe, sizeof(steppe)), raw, ratio, over,
            is_noisy(r) ? "  noisy" : "");
}

/* ---- CSV ---------------------------------------------------------------------- */

static void write_csv_side(FILE *file, const struct bench_result *r, int side)
{
    const struct bench_stats *stats = &r->side[side];

    fprintf(file, ",%.6g,%.6g,%.6g,%.4g", bench_value(r, stats->median), bench_value(r, stats->p99),
            bench_value(r, stats->min), noise_of(stats));
}

static bool has_kind(const struct bench_result *r)
{
    return r->bench->in_spaces || r->bench->on_gpu;
}

static void write_csv_spaces(FILE *file, const struct bench_result *r)
{
    fprintf(file, ",%s", has_kind(r) ? bench_kind_name(r->kind) : "");
    if (r->n_many > 0)
        fprintf(file, ",%d", r->n_many);
    else
        fputc(',', file);
    fprintf(file, ",%s", r->path != NULL ? r->path : "");
    if (r->has_few) {
        fprintf(file, ",%d", r->n_few);
        write_csv_side(file, r, BENCH_FEW);
        fprintf(file, ",%.4g", few_ratio_of(r));
    } else {
        fputs(",,,,,,", file);
    }
    fprintf(file, ",%s\n", r->skipped[0] != '\0' ? "skipped" : "");
}

static void write_csv(struct bench_output *out, const struct bench_result *r)
{
    if (out->n_rows == 0)
        fputs(
            "bench,unit,bytes,ops,window,samples,median,p99,best,noise,"
            "raw_median,raw_p99,raw_best,raw_noise,ratio,"
            "kind,spaces,path,few_spaces,few_median,few_p99,few_best,few_noise,few_ratio,skipped\n",
            out->file);
    fprintf(out->file, "%s,%s,%zu,%llu,%d,%d", r->bench->name, bench_unit(r->bench), r->nbytes,
            (unsigned long long)r->n_ops, r->window, r->n_samples);
    if (r->skipped[0] == '\0')
        write_csv_side(out->file, r, BENCH_STEPPE);
    else
        fputs(",,,,", out->file);
    if (r->has_raw) {
        write_csv_side(out->file, r, BENCH_RAW);
        fprintf(out->file, ",%.4g", ratio_of(r));
    } else {
        fputs(",,,,,", out->file);
    }
    write_csv_spaces(out->file, r);
}

/* ---- JSON ---------------------------------------------------------------------- */

static void write_json_text(FILE *file, const char *key, const char *text)
{
    fprintf(file, "  \"%s\": ", key);
    stp_json_string(file, text);
    fputs(",\n", file);
}

static void write_json_heading(FILE *file, const struct bench_run *run,
                               const struct bench_options *options, const struct bench_machine *m)
{
    fputs("{\n", file);
    write_json_text(file, "library", m->library);
    write_json_text(file, "kernel", m->kernel);
    write_json_text(file, "cpu", m->cpu);
    write_json_text(file, "pair_path", run->n_pes > 1 ? path_name(run->pair_path) : "none");
    write_json_text(file, "all_path", path_name(run->all_path));
    write_json_text(file, "provider", m->provider);
    write_json_text(file, "domain", m->domain);
    write_json_text(file, "raw_provider", run->fabric != NULL ? run->fabric->provider : "");
    write_json_text(file, "raw_domain", run->fabric != NULL ? run->fabric->domain : "");
    write_json_text(file, "raw_note", m->raw_note);
    write_json_text(file, "gpu", m->gpu);
    write_json_text(file, "gpu_driver", m->driver);
    fprintf(file, "  \"test_double\": %s,\n", m->test_double ? "true" : "false");
    fprintf(file, "  \"first_contact_us\": %.6g,\n", m->first_us);
    fprintf(file, "  \"raw_by_message\": %s,\n",
            run->fabric != NULL && run->fabric->by_message ? "true" : "false");
    fprintf(file, "  \"raw_flush\": %s,\n", run->raw_flush ? "true" : "false");
    fprintf(file, "  \"pes\": %d,\n  \"peer\": %d,\n  \"local_pes\": %d,\n", run->n_pes,
            run->pair_peer, m->n_local);
    fprintf(file, "  \"cores\": %d,\n  \"bound\": %s,\n  \"clock_ns\": %.3g,\n", m->cores,
            m->bound ? "true" : "false", m->clock_ns);
    fprintf(file, "  \"warmup\": %d,\n  \"noisy_above\": %.3g,\n  \"results\": [", options->warmup,
            BENCH_NOISY);
}

static void write_json_side(FILE *file, const char *name, const struct bench_result *r, int side)
{
    const struct bench_stats *stats = &r->side[side];

    fprintf(file,
            ", \"%s\": {\"median\": %.6g, \"p99\": %.6g, \"best\": %.6g, \"noise\": %.4g, "
            "\"noisy\": %s}",
            name, bench_value(r, stats->median), bench_value(r, stats->p99),
            bench_value(r, stats->min), noise_of(stats),
            noise_of(stats) > BENCH_NOISY ? "true" : "false");
}

static void write_json(struct bench_output *out, const struct bench_result *r)
{
    fprintf(out->file, "%s\n    {\"bench\": \"%s\", \"unit\": \"%s\", \"bytes\": %zu",
            out->n_rows > 0 ? "," : "", r->bench->name, bench_unit(r->bench), r->nbytes);
    if (has_kind(r)) fprintf(out->file, ", \"kind\": \"%s\"", bench_kind_name(r->kind));
    if (r->skipped[0] != '\0') {
        fputs(", \"skipped\": ", out->file);
        stp_json_string(out->file, r->skipped);
        fputc('}', out->file);
        return;
    }
    if (r->n_many > 0) fprintf(out->file, ", \"spaces\": %d", r->n_many);
    if (r->path != NULL) fprintf(out->file, ", \"path\": \"%s\"", r->path);
    fprintf(out->file, ", \"ops\": %llu, \"window\": %d, \"samples\": %d",
            (unsigned long long)r->n_ops, r->window, r->n_samples);
    write_json_side(out->file, "steppe", r, BENCH_STEPPE);
    if (r->has_raw) {
        write_json_side(out->file, "raw", r, BENCH_RAW);
        fprintf(out->file, ", \"ratio\": %.4g", ratio_of(r));
    }
    if (r->has_few) {
        write_json_side(out->file, "few", r, BENCH_FEW);
        fprintf(out->file, ", \"few_spaces\": %d, \"few_ratio\": %.4g", r->n_few, few_ratio_of(r));
    }
    fputs("}", out->file);
}

/* ---- the three together --------------------------------------------------------- */

void bench_output_begin(struct bench_output *out, const struct bench_run *run,
                        const struct bench_options *options, const struct bench_machine *machine)
{
    if (out->format == BENCH_JSON)
        write_json_heading(out->file, run, options, machine);
    else
        write_heading(out->file, out->format == BENCH_CSV ? "# " : "", run, options, machine);
    fflush(out->file);
}

void bench_output_row(struct bench_output *out, const struct bench_result *result)
{
    if (out->format == BENCH_JSON)
        write_json(out, result);
    else if (out->format == BENCH_CSV)
        write_csv(out, result);
    else if (out->summary)
        write_summary(out, result);
    else
        write_text(out, result);
    out->n_rows++;
    fflush(out->file);
}

void bench_output_end(struct bench_output *out)
{
    if (out->format == BENCH_JSON) fputs("\n  ]\n}\n", out->file);
    fflush(out->file);
}
