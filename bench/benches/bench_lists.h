/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * X(list) for each file of this folder, in the order in which "all" runs them: a live space on a
 * GPU changes the paths of the host's memory, so those come last.
 */
#define BENCH_LISTS(X)                                                                             \
    X(bench_list_latency)                                                                          \
    X(bench_list_bandwidth)                                                                        \
    X(bench_list_p)                                                                                \
    X(bench_list_rate)                                                                             \
    X(bench_list_strided)                                                                          \
    X(bench_list_fan)                                                                              \
    X(bench_list_atomic)                                                                           \
    X(bench_list_flag)                                                                             \
    X(bench_list_signal)                                                                           \
    X(bench_list_wait)                                                                             \
    X(bench_list_barrier)                                                                          \
    X(bench_list_broadcast)                                                                        \
    X(bench_list_reduce)                                                                           \
    X(bench_list_collect)                                                                          \
    X(bench_list_alltoall)                                                                         \
    X(bench_list_overlap)                                                                          \
    X(bench_list_lock)                                                                             \
    X(bench_list_memory)                                                                           \
    X(bench_list_matrix)                                                                           \
    X(bench_list_passive)                                                                          \
    X(bench_list_space_life)                                                                       \
    X(bench_list_space_kinds)                                                                      \
    X(bench_list_threads)                                                                          \
    X(bench_list_device)
