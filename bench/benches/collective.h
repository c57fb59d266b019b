/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For benches of collectives over the row's team. What a PE gives is in run->source, what it gets
 * in run->remote, from run->at on; raw sides push blocks into the others' memory and meet once.
 */
#ifndef STEPPE_BENCH_COLLECTIVE_H
#define STEPPE_BENCH_COLLECTIVE_H

#include "../fabric.h"

/* Into every member's memory at dest, from number times step on in the own one: nbytes each. */
void bench_node_push(struct bench_run *run, size_t dest, size_t step, size_t nbytes);
void bench_fabric_push(struct bench_run *run, size_t dest, size_t step, size_t nbytes);

/* The member that is root of the call: another one each time. */
static inline int bench_next_root(struct bench_run *run)
{
    return (int)(++run->n_calls % (uint64_t)run->team_size);
}

/* --verify: bytes of this PE in all of the source; the result is other bytes. */
bench_fill bench_collective_fill;

/* Block number of the result is what that member had at place in its source. */
void bench_collective_check(const struct bench_run *run, const char *what, int number, size_t place,
                            uint64_t block);

#define BENCH_COLLECTIVE                                                                           \
    .group = "collective", .metric = BENCH_LATENCY, .shape = BENCH_ALL, .sized = true,             \
    .default_max = (size_t)1 << 20, .per_pe = true, .in_source = true, .walks = true,              \
    .parameter = &bench_pes

#endif /* STEPPE_BENCH_COLLECTIVE_H */
