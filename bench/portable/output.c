/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the results on PE 0 in the format that the user has chosen.
 */
#include "harness.h"

void bench_output_begin(struct bench_output *out, const struct bench_run *run,
                        const struct bench_options *options, const struct bench_machine *machine)
{
    if (out->format == BENCH_JSON)
        bench_json_begin(out, run, options, machine);
    else
        bench_text_begin(out->file, run, options, machine);
    fflush(out->file);
}

void bench_output_row(struct bench_output *out, const struct bench_run *run,
                      const struct bench_result *result)
{
    (void)run;
    if (out->format == BENCH_JSON)
        bench_json_row(out, result);
    else if (out->summary)
        bench_summary_row(out, result);
    else
        bench_text_row(out, result);
    out->n_rows++;
    fflush(out->file);
}

void bench_output_end(struct bench_output *out, const char *disturbed)
{
    if (out->format == BENCH_JSON)
        bench_json_end(out, disturbed);
    else if (disturbed[0] != '\0')
        fprintf(out->file, "\ndisturbed: %s\n", disturbed);
    fflush(out->file);
}
