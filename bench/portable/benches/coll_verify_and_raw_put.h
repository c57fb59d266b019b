/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for benches of collectives over the row's team. A PE has its input in run->source and its
 * result in run->remote. Both begin at offset run->offset.
 */
#ifndef STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H
#define STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H

#include "../raw_fabric_wait_and_flush.h"

/*
 * Writes nbytes bytes to every member. The data is in this PE's local region, at offset
 * run->offset. The destination is in the member's remote region, at offset run->offset + dest.
 * Returns when the data has arrived.
 */
void bench_fabric_put_to_all(struct bench_run *run, size_t dest, size_t nbytes);

/* Returns the rank of the root in the next call. Each member is the root in turn. */
static inline int bench_next_root(struct bench_run *run)
{
    return (int)(++run->n_calls % (uint64_t)run->team_size);
}

/* For --verify: writes this PE's pattern to run->source. Fills run->remote with other bytes. */
bench_fill bench_collective_fill;

/*
 * For --verify: checks the block with index `number` in the result. The member with rank `number`
 * has sent this block. `first_offset` is the offset of the block in the source of that member.
 */
void bench_collective_check(const struct bench_run *run, const char *description, int number,
                            size_t first_offset, uint64_t block);

#define BENCH_COLLECTIVE                                                                           \
    .group = "collective", .metric = BENCH_LATENCY, .shape = BENCH_ALL, .sized = true,             \
    .default_max = (size_t)1 << 20, .per_pe = true, .in_source = true, .walks = true,              \
    .parameter = &bench_pes

#endif /* STEPPE_BENCH_COLL_VERIFY_AND_RAW_PUT_H */
