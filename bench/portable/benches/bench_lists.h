/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * X(list) for each file of this folder, in the order in which "all" runs them: benches of any
 * OpenSHMEM, those of 1.5, and those of Steppe alone. A live space on a GPU changes the paths of
 * the host's memory, so the benches of GPUs come last.
 */
/* clang-format off */
#define BENCH_LISTS_ANY(X)          \
    X(bench_list_latency)           \
    X(bench_list_bandwidth)         \
    X(bench_list_p)                 \
    X(bench_list_rate)              \
    X(bench_list_fan)               \
    X(bench_list_atomic)            \
    X(bench_list_flag)              \
    X(bench_list_barrier)           \
    X(bench_list_lock)              \
    X(bench_list_matrix)

#define BENCH_LISTS_TEAMS(X)        \
    X(bench_list_signal)            \
    X(bench_list_broadcast)         \
    X(bench_list_reduce)            \
    X(bench_list_collect)           \
    X(bench_list_alltoall)

#define BENCH_LISTS_STEPPE(X)       \
    X(bench_list_strided)           \
    X(bench_list_wait)              \
    X(bench_list_overlap)           \
    X(bench_list_memory)            \
    X(bench_list_passive)           \
    X(bench_list_space_life)        \
    X(bench_list_space_kinds)       \
    X(bench_list_threads)           \
    X(bench_list_device)
/* clang-format on */

#if defined(BENCH_MPI)
#define BENCH_LISTS(X) X(bench_list_mpi)
#elif defined(BENCH_PORTABLE) && BENCH_TEAMS
#define BENCH_LISTS(X) BENCH_LISTS_ANY(X) BENCH_LISTS_TEAMS(X)
#elif defined(BENCH_PORTABLE)
#define BENCH_LISTS(X) BENCH_LISTS_ANY(X)
#else
#define BENCH_LISTS(X) BENCH_LISTS_ANY(X) BENCH_LISTS_TEAMS(X) BENCH_LISTS_STEPPE(X)
#endif
