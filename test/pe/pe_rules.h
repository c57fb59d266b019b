/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that check the standard rule by rule: a table of named checks, each run by all PEs one
 * after the other. A failure is printed under the name of the rule that it breaks; the numbers are
 * those of docs/conformance.md.
 */
#ifndef STEPPE_TEST_PE_RULES_H
#define STEPPE_TEST_PE_RULES_H

#include "pe_data.h"

struct pe_rule {
    const char *name; /* "R<n> what must be so" */
    void (*check)(void);
};

/* Run the checks in order. All PEs meet between two of them. */
static inline void pe_run_rules(const struct pe_rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int before = pe_failures;

        rules[i].check();
        if (pe_failures != before) fprintf(stderr, "pe %d: broken: %s\n", pe_me, rules[i].name);
        shmem_barrier_all();
    }
}

#define PE_RUN_RULES(rules) pe_run_rules(rules, sizeof(rules) / sizeof((rules)[0]))

#endif
