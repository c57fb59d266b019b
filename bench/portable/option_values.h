/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that parse the values of options. Each returns 0. If the value is not valid, it returns
 * -EINVAL and writes a message with the valid values to `reason`.
 */
#ifndef STEPPE_BENCH_OPTION_VALUES_H
#define STEPPE_BENCH_OPTION_VALUES_H

#include "harness.h"

int bench_parse_count(const char *option, const char *text, long min, long max, long *value,
                      char *reason, size_t len);
int bench_parse_sizes(const char *text, struct bench_options *options, char *reason, size_t len);
int bench_parse_value_range(const char *text, struct bench_options *options, char *reason,
                            size_t len);
int bench_parse_teams(const char *text, struct bench_options *options, char *reason, size_t len);
int bench_parse_real(const char *option, const char *text, double min, double max, double *value,
                     char *reason, size_t len);
int bench_parse_word(const char *option, const char *text, const char *const *words, int *index,
                     char *reason, size_t len);
int bench_parse_kind(const char *text, struct bench_options *options, char *reason, size_t len);

#endif /* STEPPE_BENCH_OPTION_VALUES_H */
