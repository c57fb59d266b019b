/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of peer-bench, which peer.py writes.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct peer_options defaults = {
    .raw = true,
    .bind = true,
    .n_pes = 2,
    .n_samples = 200,
    .warmup = 2,
    .sizes = {8, 64, 512, 4096, 32768, 262144, 2097152},
    .n_sizes = 7,
    .skip = "",
};

static int complain(const char *option, const char *text, const char *want)
{
    fprintf(stderr, "%s: %s %s: want %s\n", peer_program, option, text, want);
    return -1;
}

/* A number from 0 to max with an optional suffix; *rest is what follows it. */
static bool read_number(const char *text, unsigned long max, unsigned long *value,
                        const char **rest)
{
    static const char suffixes[] = "KMG";
    const char *suffix;
    char *end;

    if (*text < '0' || *text > '9') return false;
    *value = strtoul(text, &end, 10);
    suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
    if (suffix != NULL) {
        if (*value > max) return false;
        *value <<= 10 * (suffix - suffixes + 1);
        end++;
    }
    *rest = end;
    return *value <= max;
}

static int parse_count(const char *option, const char *text, int min, int max, int *count)
{
    unsigned long value;
    const char *rest;
    char want[64];

    if (read_number(text, (unsigned long)max, &value, &rest) && *rest == '\0' &&
        value >= (unsigned long)min) {
        *count = (int)value;
        return 0;
    }
    snprintf(want, sizeof(want), "a number from %d to %d", min, max);
    return complain(option, text, want);
}

static int parse_sizes(const char *text, struct peer_options *options)
{
    const char *rest = text;

    options->n_sizes = 0;
    for (;; rest++) {
        unsigned long value;

        if (options->n_sizes == PEER_MAX_SIZES || !read_number(rest, 1ul << 30, &value, &rest) ||
            value == 0 || value % 8 != 0)
            break;
        options->sizes[options->n_sizes++] = value;
        if (*rest == '\0') return 0;
        if (*rest != ',') break;
    }
    return complain("--sizes", text, "up to 32 multiples of 8 up to 1G, such as 8,512,4K");
}

static int parse_cores(const char *text, struct peer_options *options)
{
    const char *rest = text;

    options->n_cores = 0;
    for (;; rest++) {
        unsigned long value;

        if (options->n_cores == PEER_MAX_CORES ||
            !read_number(rest, PEER_MAX_CORES - 1, &value, &rest))
            break;
        options->cores[options->n_cores++] = (int)value;
        if (*rest == '\0') return 0;
        if (*rest != ',') break;
    }
    return complain("--cores", text, "numbers of cores, such as 0,1");
}

/* Numbers and ranges of numbers; row may be -1 to look at the form alone. */
static int look_for(const char *list, long row, bool *found)
{
    const char *rest = list;

    *found = false;
    while (*rest != '\0') {
        unsigned long first, last;

        if (!read_number(rest, 1000000, &first, &rest)) return -1;
        last = first;
        if (*rest == '-' && !read_number(rest + 1, 1000000, &last, &rest)) return -1;
        if (row >= (long)first && row <= (long)last) *found = true;
        if (*rest == ',')
            rest++;
        else if (*rest != '\0')
            return -1;
    }
    return 0;
}

bool peer_is_skipped(const struct peer_options *options, int row)
{
    bool found;

    (void)look_for(options->skip, row, &found);
    return found;
}

static int parse_skip(const char *text, struct peer_options *options)
{
    bool found;

    options->skip = text;
    if (look_for(text, -1, &found) == 0) return 0;
    return complain("--skip", text, "numbers of rows, such as 3,5-7");
}

/* Options without a value. Returns false for anything else. */
static bool parse_flag(const char *name, struct peer_options *options)
{
    if (strcmp(name, "--list") == 0)
        options->list = true;
    else if (strcmp(name, "--plan") == 0)
        options->plan = true;
    else if (strcmp(name, "--quick") == 0)
        options->quick = true;
    else if (strcmp(name, "--no-raw") == 0)
        options->raw = false;
    else if (strcmp(name, "--no-bind") == 0)
        options->bind = false;
    else
        return false;
    return true;
}

static int parse_option(const char *name, const char *value, struct peer_options *options)
{
    static const char *const known[] = {"--pes",   "--samples", "--warmup",
                                        "--sizes", "--cores",   "--skip"};
    size_t i = 0, n_known = sizeof(known) / sizeof(known[0]);

    while (i < n_known && strcmp(name, known[i]) != 0)
        i++;
    if (i == n_known) {
        fprintf(stderr, "%s: no option %s\n", peer_program, name);
        return -1;
    }
    if (value == NULL) return complain(name, "", "a value");
    switch (i) {
    case 0:
        return parse_count(name, value, 1, 1000000, &options->n_pes);
    case 1:
        return parse_count(name, value, PEER_N_BLOCKS, PEER_MAX_SAMPLES, &options->n_samples);
    case 2:
        return parse_count(name, value, 0, 1000, &options->warmup);
    case 3:
        return parse_sizes(value, options);
    case 4:
        return parse_cores(value, options);
    default:
        return parse_skip(value, options);
    }
}

static bool is_bench(const char *name)
{
    for (int t = 0; peer_tables[t] != NULL; t++)
        for (const struct peer_bench *bench = peer_tables[t]; bench->name != NULL; bench++)
            if (strcmp(name, bench->name) == 0 || strcmp(name, bench->group) == 0) return true;
    return false;
}

static void choose_quick(struct peer_options *options)
{
    options->n_samples = 20;
    options->sizes[0] = 8;
    options->sizes[1] = 65536;
    options->n_sizes = 2;
}

int peer_parse(int argc, char **argv, struct peer_options *options)
{
    int i = 1;

    *options = defaults;
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "--quick") == 0) choose_quick(options);
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (parse_flag(argv[i], options)) continue;
        if (parse_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, options) != 0) return -1;
        i++;
    }
    options->names = argv + i;
    options->n_names = argc - i;
    for (; i < argc; i++)
        if (!is_bench(argv[i])) {
            fprintf(stderr, "%s: no bench %s; --list names them\n", peer_program, argv[i]);
            return -1;
        }
    return 0;
}
