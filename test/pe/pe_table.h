/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a test as a table: each row has the number of a rule of docs/reference/conformance.md, its
 * text, and a function that checks it. Every PE runs every row, with a barrier before each row. A
 * PE that fails a check prints the text of the row.
 */
#ifndef STEPPE_TEST_PE_TABLE_H
#define STEPPE_TEST_PE_TABLE_H

#include "pe_data.h"

#include <sched.h>

struct pe_rule {
    const char *name;
    void (*check)(void);
};

static inline void pe_rules_run(const struct pe_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int before = pe_failures;

        shmem_barrier_all();
        rules[i].check();
        if (pe_failures != before)
            fprintf(stderr, "pe %d: this rule is broken: %s\n", pe_me, rules[i].name);
    }
    shmem_barrier_all();
}

#define PE_RULES_RUN(rules) pe_rules_run(rules, sizeof(rules) / sizeof((rules)[0]))

/* Let the others go ahead for a while: no promise, only a chance for what must not happen. */
static inline void pe_dawdle(int turns)
{
    for (int i = 0; i < turns; i++)
        sched_yield();
}

#endif
