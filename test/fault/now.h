/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of the programs in this folder. */
#ifndef STEPPE_TEST_FAULT_NOW_H
#define STEPPE_TEST_FAULT_NOW_H

#include <time.h>

/* Returns seconds from some start. */
static inline double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

#endif
