/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the values of command-line options.
 */
#include "option_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)
#define MAX_RANGE (1 << 20)

int bench_parse_count(const char *option, const char *text, long min, long max, long *value,
                      char *reason, size_t len)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && *value >= min && *value <= max) return 0;
    snprintf(reason, len, "%s %s: the value must be a number from %ld to %ld", option, text, min,
             max);
    return -EINVAL;
}

/*
 * Parses a number with an optional suffix K, M or G. Returns the text that follows the number, or
 * NULL if the number is not valid.
 */
static const char *parse_bytes(const char *text, size_t *nbytes)
{
    static const char suffixes[] = "kmg";
    char *end;
    unsigned long long value;
    const char *suffix;

    if (*text < '0' || *text > '9') return NULL;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno != 0 || value > MAX_BYTES) return NULL;
    suffix = *end != '\0' ? strchr(suffixes, *end | 0x20) : NULL;
    if (suffix != NULL) {
        value <<= 10 * (suffix - suffixes + 1);
        end++;
    }
    if (value < 1 || value > MAX_BYTES) return NULL;
    *nbytes = (size_t)value;
    return end;
}

int bench_parse_sizes(const char *text, struct bench_options *options, char *reason, size_t len)
{
    const char *next = parse_bytes(text, &options->min_size);

    if (next != NULL && *next == '\0')
        options->max_size = options->min_size;
    else if (next != NULL && *next == ':')
        next = parse_bytes(next + 1, &options->max_size);
    else
        next = NULL;
    options->sizes_given = true;
    if (next != NULL && *next == '\0' && options->min_size <= options->max_size) return 0;
    snprintf(reason, len,
             "--sizes %s: the value must be MIN:MAX with 1 <= MIN <= MAX <= 1G, such as 8:64K",
             text);
    return -EINVAL;
}

/*
 * Parses MIN, MIN:MAX or MIN:MAX:THIRD. A missing MAX equals MIN, and a missing THIRD is -1.
 * Returns false if the text is not valid.
 */
static bool parse_range(const char *text, long *min, long *max, long *third)
{
    int length = 0, n;

    *third = -1;
    n = sscanf(text, "%ld%n:%ld%n:%ld%n", min, &length, max, &length, third, &length);
    if (n < 1 || text[length] != '\0') return false;
    if (n == 1) *max = *min;
    return *min >= 1 && *min <= *max && *max <= MAX_RANGE;
}

int bench_parse_value_range(const char *text, struct bench_options *options, char *reason,
                            size_t len)
{
    long third;

    if (parse_range(text, &options->values_min, &options->values_max, &third) && third < 0)
        return 0;
    snprintf(reason, len,
             "--values %s: the value must be MIN:MAX with 1 <= MIN <= MAX <= %d, such as 1:8", text,
             MAX_RANGE);
    return -EINVAL;
}

int bench_parse_teams(const char *text, struct bench_options *options, char *reason, size_t len)
{
    long min = 0, max = 0, stride = -1;

    if (parse_range(text, &min, &max, &stride) && stride != 0 && stride <= MAX_RANGE) {
        options->min_pes = (int)min;
        options->max_pes = (int)max;
        options->pe_stride = stride > 0 ? (int)stride : 1;
        return 0;
    }
    snprintf(reason, len, "--teams %s: the value must be MIN:MAX or MIN:MAX:STRIDE, such as 2:16",
             text);
    return -EINVAL;
}

int bench_parse_real(const char *option, const char *text, double min, double max, double *value,
                     char *reason, size_t len)
{
    char *end;

    errno = 0;
    *value = strtod(text, &end);
    if (end != text && *end == '%') end++;
    if (errno == 0 && end != text && *end == '\0' && *value >= min && *value <= max) return 0;
    snprintf(reason, len, "%s %s: the value must be a number from %g to %g", option, text, min,
             max);
    return -EINVAL;
}

int bench_parse_word(const char *option, const char *text, const char *const *words, int *index,
                     char *reason, size_t len)
{
    size_t length;

    for (*index = 0; words[*index] != NULL; (*index)++)
        if (strcmp(text, words[*index]) == 0) return 0;
    length = (size_t)snprintf(reason, len, "%s %s: the value must be", option, text);
    for (int i = 0; words[i] != NULL && length < len; i++)
        length += (size_t)snprintf(reason + length, len - length, "%s %s",
                                   i == 0                 ? ""
                                   : words[i + 1] == NULL ? " or"
                                                          : ",",
                                   words[i]);
    return -EINVAL;
}

int bench_parse_kind(const char *text, struct bench_options *options, char *reason, size_t len)
{
    static const char *const kinds[] = {"cpu", "gpu", "fam", NULL};
    static const int types[] = {BENCH_KIND_CPU, BENCH_KIND_GPU, BENCH_KIND_FAM};
    int index, status = bench_parse_word("--kind", text, kinds, &index, reason, len);

    if (status == 0) options->kind = types[index];
    return status;
}
