/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For benches of collectives over the row's team. A PE's contribution is in run->source, the
 * result in run->remote, from run->at on.
 */
#ifndef STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H
#define STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H

#include "../raw_fabric_wait_and_flush.h"

/* Writes nbytes of this member's local memory to offset dest of every member's memory. */
void bench_fabric_put_to_all(struct bench_run *run, size_t dest, size_t nbytes);

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

#endif /* STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H */
