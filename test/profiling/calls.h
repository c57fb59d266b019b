/* SPDX-License-Identifier: BSD-3-Clause */
/* How a program counts its calls in program_calls, by routine, so that the tool can compare. */
#ifndef STEPPE_TEST_CALLS_H
#define STEPPE_TEST_CALLS_H

#include <names.h> /* generated */

extern unsigned long program_calls[CALLS_N];

static inline void calls_count(int number)
{
    __atomic_add_fetch(&program_calls[number], 1, __ATOMIC_RELAXED);
}

#endif
