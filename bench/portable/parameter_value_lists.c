/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the values of the parameters that several benches use.
 */
#include "harness.h"

void bench_values_add(struct bench_values *values, long value)
{
    if (values->n > 0 && values->value[values->n - 1] == value) return;
    if (values->n < BENCH_VALUES) values->value[values->n++] = value;
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
        bench_values_add(values, value);
}

static void pes_values(const struct bench_run *run, const struct bench_options *options,
                       struct bench_values *values)
{
    values->n = 0;
    for (long value = options->min_pes; value > 0 && value < options->max_pes; value *= 2)
        bench_values_add(values, value);
    bench_values_add(values, options->max_pes > 0 ? options->max_pes : run->n_pes);
}

const struct bench_parameter bench_pes = {"pes", NULL, pes_values};
