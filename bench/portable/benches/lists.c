/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lists of this folder, in the order in which "all" runs them: benches of any OpenSHMEM, then
 * those of 1.5.
 */
#include "../harness.h"

extern const struct bench_list bench_list_latency, bench_list_bandwidth, bench_list_p,
    bench_list_rate, bench_list_fan, bench_list_atomic, bench_list_flag, bench_list_barrier,
    bench_list_lock, bench_list_matrix, bench_list_signal, bench_list_broadcast, bench_list_reduce,
    bench_list_collect, bench_list_alltoall;

const struct bench_list *const bench_lists[] = {&bench_list_latency,
                                                &bench_list_bandwidth,
                                                &bench_list_p,
                                                &bench_list_rate,
                                                &bench_list_fan,
                                                &bench_list_atomic,
                                                &bench_list_flag,
                                                &bench_list_barrier,
                                                &bench_list_lock,
                                                &bench_list_matrix,
#if BENCH_TEAMS
                                                &bench_list_signal,
                                                &bench_list_broadcast,
                                                &bench_list_reduce,
                                                &bench_list_collect,
                                                &bench_list_alltoall,
#endif
                                                NULL};
