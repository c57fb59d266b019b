/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes those names and numbers of a result that all output formats print. */
#include "harness.h"

const char *bench_path_name(enum bench_path path)
{
    static const char *const names[] = {
        [BENCH_NODE] = "node", [BENCH_FABRIC] = "fabric", [BENCH_MIXED] = "mixed"};

    return names[path];
}

const char *bench_kind_name(int kind)
{
    static const char *const names[BENCH_N_KINDS] = {"cpu", "gpu", "hbm", "fam"};

    return names[kind];
}

double bench_noise_of(const struct bench_stats *stats)
{
    return stats->median > 0 ? stats->p99 / stats->median : 1;
}

bool bench_is_noisy(const struct bench_result *r)
{
    if (r->bench->metric == BENCH_OVERLAP) return false;
    return bench_noise_of(&r->side[BENCH_STEPPE]) > BENCH_NOISY ||
           (r->has_raw && bench_noise_of(&r->side[BENCH_RAW]) > BENCH_NOISY);
}

double bench_median_in_unit(const struct bench_result *r, enum bench_side side)
{
    return bench_value(r, r->side[side].median);
}

double bench_ratio(const struct bench_result *r)
{
    return bench_median_in_unit(r, BENCH_STEPPE) / bench_median_in_unit(r, BENCH_RAW);
}

bool bench_has_kind(const struct bench_result *r)
{
    return r->bench->in_spaces || r->bench->on_gpu;
}

double bench_pe_min(const struct bench_result *r, enum bench_side side)
{
    const struct bench_stats *stats = &r->side[side];

    return bench_pe_value(r, bench_more_is_better(r->bench) ? stats->pe_slow : stats->pe_fast);
}

double bench_pe_max(const struct bench_result *r, enum bench_side side)
{
    const struct bench_stats *stats = &r->side[side];

    return bench_pe_value(r, bench_more_is_better(r->bench) ? stats->pe_fast : stats->pe_slow);
}

/* Writes the value of the row's parameter to `text`, or "" if the bench has no parameter. */
void bench_parameter_text(const struct bench_result *r, char *text, size_t len)
{
    const struct bench_parameter *parameter = r->bench->parameter;

    text[0] = '\0';
    if (parameter == NULL) return;
    if (parameter->words != NULL)
        snprintf(text, len, "%s", parameter->words[r->value]);
    else
        snprintf(text, len, "%ld", r->value);
}
