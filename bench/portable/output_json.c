/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the results in JSON, in version 2 of the format. docs/design/bench.md describes the keys.
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT_VERSION 2

static void write_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ')
            fprintf(file, "\\u%04x", *text);
        else
            fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', file);
}

static void write_text(FILE *file, const char *key, const char *text)
{
    fprintf(file, "  \"%s\": ", key);
    write_string(file, text);
    fputs(",\n", file);
}

static const char *yes_no(bool value)
{
    return value ? "true" : "false";
}

/* ---- heading ------------------------------------------------------------------------ */

static void write_command(FILE *file, const struct bench_options *options)
{
    size_t len = 1;
    char *line;

    for (int i = 0; i < options->argc; i++)
        len += strlen(options->argv[i]) + 1;
    line = calloc(len, 1);
    for (int i = 0; line != NULL && i < options->argc; i++) {
        const char *word = options->argv[i];
        const char *slash = i == 0 ? strrchr(word, '/') : NULL;

        if (i > 0) strcat(line, " ");
        strcat(line, slash != NULL ? slash + 1 : word);
    }
    write_text(file, "command", line != NULL ? line : "");
    free(line);
}

static void write_options(FILE *file, const struct bench_options *o)
{
    fprintf(file,
            "  \"options\": {\"verify\": %s, \"buffers\": %d, \"until\": %.4g, "
            "\"seconds\": %.4g},\n",
            yes_no(o->verify), o->buffers, o->precision, o->seconds);
}

static void write_places(FILE *file, const struct bench_run *run, const struct bench_machine *m)
{
    fputs("  \"places\": [", file);
    for (int pe = 0; pe < run->n_pes; pe++) {
        const struct bench_place *place = &m->places[pe];

        fprintf(file, "%s\n    {\"pe\": %d, \"host\": ", pe > 0 ? "," : "", pe);
        write_string(file, place->host);
        fprintf(file, ", \"core\": %d, \"numa\": %d, \"domain\": ", place->core, place->numa);
        write_string(file, place->domain);
        fputc('}', file);
    }
    fputs("\n  ],\n", file);
}

static void write_fabric(FILE *file, const struct bench_run *run, const struct bench_machine *m)
{
    write_text(file, "pair_path", run->n_pes > 1 ? bench_path_name(run->pair_path) : "none");
    write_text(file, "all_path", bench_path_name(run->all_path));
    write_text(file, "provider", m->provider);
    write_text(file, "fabric", m->fabric);
    write_text(file, "domain", m->domain);
    write_text(file, "libfabric", m->libfabric);
    write_text(file, "raw_provider", run->fabric != NULL ? run->fabric->provider : "");
    write_text(file, "raw_fabric", run->fabric != NULL ? run->fabric->fabric : "");
    write_text(file, "raw_domain", run->fabric != NULL ? run->fabric->domain : "");
    write_text(file, "raw_note", m->raw_note);
    write_text(file, "gpu", m->gpu);
    write_text(file, "gpu_driver", m->driver);
    fprintf(file, "  \"test_double\": %s,\n", yes_no(m->test_double));
}

void bench_json_begin(struct bench_output *out, const struct bench_run *run,
                      const struct bench_options *options, const struct bench_machine *m)
{
    FILE *file = out->file;

    fprintf(file, "{\n  \"steppe_bench\": %d,\n", FORMAT_VERSION);
    write_text(file, "library", m->library);
    write_text(file, "date", m->date);
    write_command(file, options);
    write_text(file, "host", m->places[0].host);
    write_text(file, "kernel", m->kernel);
    write_text(file, "cpu", m->cpu);
    write_text(file, "governor", m->governor);
    write_fabric(file, run, m);
    fprintf(file, "  \"pes\": %d,\n  \"peer\": %d,\n  \"local_pes\": %d,\n  \"hosts\": %d,\n",
            run->n_pes, run->pair_peer, m->n_local, m->n_hosts);
    fprintf(file, "  \"cores\": %d,\n  \"bound\": %s,\n  \"clock_ns\": %.3g,\n", m->cores,
            yes_no(m->bound), m->clock_ns);
    write_options(file, options);
    write_places(file, run, m);
    fprintf(file, "  \"warmup\": %d,\n  \"noisy_above\": %.3g,\n  \"results\": [", options->warmup,
            BENCH_NOISY);
}

/* ---- rows --------------------------------------------------------------------------- */

static void write_side(FILE *file, const char *name, const struct bench_result *r,
                       enum bench_side side)
{
    const struct bench_stats *stats = &r->side[side];

    fprintf(file,
            ", \"%s\": {\"median\": %.6g, \"p1\": %.6g, \"p99\": %.6g, \"best\": %.6g, "
            "\"noise\": %.4g, \"noisy\": %s, \"blocks\": [",
            name, bench_value(r, stats->median), bench_value(r, stats->p1),
            bench_value(r, stats->p99), bench_value(r, stats->best), bench_noise_of(stats),
            yes_no(bench_noise_of(stats) > BENCH_NOISY));
    for (int i = 0; i < stats->n_blocks; i++)
        fprintf(file, "%s%.6g", i > 0 ? ", " : "", bench_value(r, stats->blocks[i]));
    fputc(']', file);
    if (r->n_measuring > 1)
        fprintf(file,
                ", \"pe_average\": %.6g, \"pe_min\": %.6g, \"pe_max\": %.6g, \"slowest_pe\": %d",
                bench_pe_value(r, stats->pe_average), bench_pe_min(r, side), bench_pe_max(r, side),
                stats->slowest_pe);
    fputc('}', file);
}

static const char *metric_name(const struct bench *bench)
{
    static const char *const metrics[] = {
        [BENCH_LATENCY] = "latency", [BENCH_BANDWIDTH] = "bandwidth", [BENCH_RATE] = "rate",
        [BENCH_LONG] = "latency",    [BENCH_SHARE] = "share",         [BENCH_OVERLAP] = "overlap"};

    return metrics[bench->metric];
}

static void write_parameter(FILE *file, const struct bench_result *r)
{
    const struct bench_parameter *parameter = r->bench->parameter;

    if (parameter == NULL) return;
    fprintf(file, ", \"parameter\": \"%s\", \"value\": ", parameter->name);
    if (parameter->words != NULL)
        fprintf(file, "\"%s\"", parameter->words[r->value]);
    else
        fprintf(file, "%ld", r->value);
}

/* Writes the keys that identify a row. */
static void write_identity(FILE *file, const struct bench_result *r)
{
    const struct bench *bench = r->bench;

    fprintf(file,
            "    {\"bench\": \"%s\", \"group\": \"%s\", \"metric\": \"%s\", \"unit\": \"%s\", "
            "\"better\": \"%s\", \"bytes\": %zu",
            bench->name, bench->group, metric_name(bench), bench_unit(bench),
            bench_more_is_better(bench) ? "higher" : "lower", r->nbytes);
    write_parameter(file, r);
    if (r->from_pe >= 0) fprintf(file, ", \"from\": %d, \"to\": %d", r->from_pe, r->to_pe);
    fprintf(file, ", \"pes\": %d, \"measuring\": %d, \"thread_level\": \"%s\"", r->n_pes,
            r->n_measuring, r->cycle == BENCH_MULTIPLE ? "multiple" : "single");
    if (bench_has_kind(r)) fprintf(file, ", \"kind\": \"%s\"", bench_kind_name(r->kind));
}

static void write_details(FILE *file, const struct bench_result *r)
{
    for (int i = 0; i < BENCH_DETAILS; i++)
        if (r->bench->details[i] != NULL)
            fprintf(file, ", \"%s_ns\": %.6g", r->bench->details[i], r->detail[i]);
    if (r->raw_note[0] != '\0') fprintf(file, ", \"raw_note\": \"%s\"", r->raw_note);
    if (r->unverified) fputs(", \"verified\": false", file);
    if (r->disturbed[0] == '\0') return;
    fputs(", \"disturbed\": ", file);
    write_string(file, r->disturbed);
}

void bench_json_row(struct bench_output *out, const struct bench_result *r)
{
    FILE *file = out->file;

    fputs(out->n_rows > 0 ? ",\n" : "\n", file);
    write_identity(file, r);
    if (r->skipped[0] != '\0') {
        fputs(", \"skipped\": ", file);
        write_string(file, r->skipped);
        fputc('}', file);
        return;
    }
    if (r->path != NULL) fprintf(file, ", \"path\": \"%s\"", r->path);
    fprintf(file, ", \"ops\": %llu, \"window\": %d, \"samples\": %d, \"interval\": %.4g",
            (unsigned long long)r->n_ops, r->window, r->n_samples, r->interval);
    write_details(file, r);
    write_side(file, "steppe", r, BENCH_STEPPE);
    if (r->has_raw) {
        write_side(file, "raw", r, BENCH_RAW);
        fprintf(file, ", \"ratio\": %.4g", bench_ratio(r));
    }
    fputs("}", file);
}

void bench_json_end(struct bench_output *out, const char *disturbed)
{
    fputs("\n  ],\n  \"disturbed\": ", out->file);
    write_string(out->file, disturbed);
    fputs("\n}\n", out->file);
}
