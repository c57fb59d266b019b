/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for benches of collectives over the row's team. The input of a PE is in run->source and
 * the result is in run->remote, both from offset run->at on.
 */
#ifndef STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H
#define STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H

#include "../raw_fabric_wait_and_flush.h"

/* Writes nbytes of this member's local memory to offset dest of every member's memory. */
void bench_fabric_put_to_all(struct bench_run *run, size_t dest, size_t nbytes);

/* Returns the root of the next call. The members take turns. */
static inline int bench_next_root(struct bench_run *run)
{
    return (int)(++run->n_calls % (uint64_t)run->team_size);
}

/* For --verify: writes the pattern of this PE to the source, and other bytes to the result. */
bench_fill bench_collective_fill;

/* Checks that block `number` of the result equals the bytes at place in that member's source. */
void bench_collective_check(const struct bench_run *run, const char *what, int number, size_t place,
                            uint64_t block);

#define BENCH_COLLECTIVE                                                                           \
    .group = "collective", .metric = BENCH_LATENCY, .shape = BENCH_ALL, .sized = true,             \
    .default_max = (size_t)1 << 20, .per_pe = true, .in_source = true, .walks = true,              \
    .parameter = &bench_pes

#endif /* STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H */
