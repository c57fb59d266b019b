/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All benches, by name, group or pattern; values of the parameters that several of them have.
 */
#include "harness.h"

#include "benches/bench_lists.h"

#include <fnmatch.h>
#include <string.h>

#define DECLARE(list) extern const struct bench_list list;
BENCH_LISTS(DECLARE)

#define ADDRESS(list) &list,
static const struct bench_list *const lists[] = {BENCH_LISTS(ADDRESS)};

const struct bench *bench_at(int i)
{
    for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
        if (i < lists[k]->n) return &lists[k]->rows[i];
        i -= lists[k]->n;
    }
    return NULL;
}

const struct bench *bench_find(const char *name)
{
    const struct bench *bench;

    for (int i = 0; (bench = bench_at(i)) != NULL; i++)
        if (strcmp(bench->name, name) == 0) return bench;
    return NULL;
}

bool bench_is_called(const struct bench *bench, const char *name)
{
    return strcmp(name, "all") == 0 || strcmp(name, bench->group) == 0 ||
           fnmatch(name, bench->name, 0) == 0;
}

void bench_write_list(FILE *out)
{
    const struct bench *bench;

    for (int i = 0; (bench = bench_at(i)) != NULL; i++)
        fprintf(out, "%-10s %-30s %-7s %s%s%s%s\n", bench->group, bench->name, bench_unit(bench),
                bench->what, bench->sized ? " (by size)" : "",
                bench->parameter != NULL ? ", by " : "",
                bench->parameter != NULL ? bench->parameter->name : "");
}

/* Items of the manual page's list: bold names under a heading of their group. */
void bench_write_man(FILE *out)
{
    const struct bench *bench;
    const char *group = "";

    for (int i = 0; (bench = bench_at(i)) != NULL; i++) {
        if (strcmp(group, bench->group) != 0) fprintf(out, ".SS \"Group %s\"\n", bench->group);
        group = bench->group;
        fprintf(out, ".TP\n.B %s\n%s [%s]%s", bench->name, bench->what, bench_unit(bench),
                bench->sized ? ", by size" : "");
        if (bench->parameter != NULL) fprintf(out, ", by %s", bench->parameter->name);
        fputs(".\n", out);
    }
}

/* ---- parameters ------------------------------------------------------------------------ */

static void add(struct bench_values *values, long value)
{
    if (values->n > 0 && values->at[values->n - 1] == value) return;
    if (values->n < BENCH_VALUES) values->at[values->n++] = value;
}

void bench_stepping(const struct bench_options *options, long factor, long min, long max,
                    struct bench_values *values)
{
    values->n = 0;
    if (options->values_max > 0) {
        min = options->values_min;
        max = options->values_max;
        factor = 2;
    }
    for (long value = min; value <= max; value *= factor)
        add(values, value);
}

static void pairs_values(const struct bench_run *run, const struct bench_options *options,
                         struct bench_values *values)
{
    int n = bench_n_pairs(run);

    (void)options;
    values->n = 0;
    for (long value = 1; value < n; value *= 2)
        add(values, value);
    if (n > 0) add(values, n);
}

static void pes_values(const struct bench_run *run, const struct bench_options *options,
                       struct bench_values *values)
{
    values->n = 0;
    for (long value = options->min_pes; value > 0 && value < options->max_pes; value *= 2)
        add(values, value);
    add(values, options->max_pes > 0 ? options->max_pes : run->n_pes);
}

const struct bench_parameter bench_pairs = {"pairs", NULL, pairs_values};
const struct bench_parameter bench_pes = {"pes", NULL, pes_values};
