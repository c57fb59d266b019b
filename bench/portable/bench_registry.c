/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists all benches, and finds them by name, group or pattern.
 */
#include "harness.h"

#include <fnmatch.h>
#include <string.h>

static const struct bench_list *const *const *tables;

void bench_table_use(const struct bench_list *const *const *lists)
{
    tables = lists;
}

const struct bench *bench_at(int i)
{
    for (int k = 0; tables[k] != NULL; k++)
        for (const struct bench_list *const *list = tables[k]; *list != NULL; list++) {
            if (i < (*list)->n) return &(*list)->rows[i];
            i -= (*list)->n;
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

bool bench_name_matches(const struct bench *bench, const char *name)
{
    return strcmp(name, "all") == 0 || strcmp(name, bench->group) == 0 ||
           fnmatch(name, bench->name, 0) == 0;
}

void bench_write_list(FILE *out)
{
    const struct bench *bench;

    for (int i = 0; (bench = bench_at(i)) != NULL; i++)
        fprintf(out, "%-10s %-30s %-7s %s%s%s%s\n", bench->group, bench->name, bench_unit(bench),
                bench->description, bench->sized ? " (by size)" : "",
                bench->parameter != NULL ? ", by " : "",
                bench->parameter != NULL ? bench->parameter->name : "");
}

/*
 * Writes the list of benches for the manual page. The output is troff, with a heading for each
 * group of benches.
 */
void bench_write_man_items(FILE *out)
{
    const struct bench *bench;
    const char *group = "";

    for (int i = 0; (bench = bench_at(i)) != NULL; i++) {
        if (strcmp(group, bench->group) != 0) fprintf(out, ".SS \"Group %s\"\n", bench->group);
        group = bench->group;
        fprintf(out, ".TP\n.B %s\n%s [%s]%s", bench->name, bench->description, bench_unit(bench),
                bench->sized ? ", by size" : "");
        if (bench->parameter != NULL) fprintf(out, ", by %s", bench->parameter->name);
        fputs(".\n", out);
    }
}
