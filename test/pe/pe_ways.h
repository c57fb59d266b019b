/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by programs that do one of several things, which their first argument names.
 */
#ifndef STEPPE_TEST_PE_WAYS_H
#define STEPPE_TEST_PE_WAYS_H

#include <stdbool.h>
#include <string.h>

static const char *pe_way; /* the argument */
static bool pe_way_known;  /* the program has asked for this name */

static inline bool pe_way_is(const char *name)
{
    bool same = strcmp(pe_way, name) == 0;

    pe_way_known |= same;
    return same;
}

#endif
