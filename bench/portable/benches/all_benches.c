/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the benches of this directory in the order in which `steppe-bench all` runs them. The
 * benches in LISTS_TEAMS need OpenSHMEM 1.5 and come after the benches in LISTS.
 */
#include "../harness.h"

/* clang-format off */
#define LISTS(X) \
    X(latency) X(bandwidth) X(p) X(rate) X(fan) X(atomic) X(flag) X(barrier) X(lock) X(matrix)
#if BENCH_TEAMS
#define LISTS_TEAMS(X) X(signal) X(broadcast) X(reduce) X(collect) X(alltoall)
#else
#define LISTS_TEAMS(X)
#endif
/* clang-format on */

LISTS(BENCH_LIST_DECLARE)
LISTS_TEAMS(BENCH_LIST_DECLARE)

const struct bench_list *const bench_lists[] = {LISTS(BENCH_LIST_ADDRESS)
                                                    LISTS_TEAMS(BENCH_LIST_ADDRESS) NULL};
