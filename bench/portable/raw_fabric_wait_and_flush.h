/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers for raw loops on the fabric. In the raw module (raw_ofi.h), the memory of a PE has three
 * parts: the remote region, the local region, and a struct bench_flags. Peers access the remote
 * region and the flags.
 */
#ifndef STEPPE_BENCH_RAW_FABRIC_WAIT_AND_FLUSH_H
#define STEPPE_BENCH_RAW_FABRIC_WAIT_AND_FLUSH_H

#include "bench_definition.h"
#include "raw_ofi.h"

#define BENCH_FABRIC_FLAG(run, field) (2 * (run)->region + offsetof(struct bench_flags, field))

static inline const struct bench_flags *bench_fabric_flags(const struct bench_run *run)
{
    return (const struct bench_flags *)(run->fabric->memory + 2 * run->region);
}

static inline char *bench_fabric_local(const struct bench_run *run)
{
    return run->fabric->memory + run->region;
}

/*
 * Waits until *flag is at least `value`. This function polls the raw module, because some providers
 * deliver data only while the receiver polls.
 */
static inline void bench_fabric_wait(const struct bench_run *run, const uint64_t *flag,
                                     uint64_t value)
{
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < value)
        run->fabric->poll();
}

/*
 * Waits until PE pe has executed all earlier stores of this PE. A store has no completion.
 * Therefore this function sends a fetching atomic after the stores. When its result arrives, PE pe
 * has executed the stores. If stores are plain writes, the function sends a read, which takes the
 * same path as the stores.
 */
static inline void bench_fabric_flush(const struct bench_run *run, int pe)
{
    if (run->fabric->atomic_stores)
        run->fabric->fetch_add(pe, BENCH_FABRIC_FLAG(run, counter), 0);
    else
        run->fabric->get(pe, 0, bench_fabric_local(run), 1);
    run->fabric->wait();
}

#endif /* STEPPE_BENCH_RAW_FABRIC_WAIT_AND_FLUSH_H */
