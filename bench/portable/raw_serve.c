/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves operations of peers on the raw fabric until PE 0 ends the block. PE 0 ends a block by
 * storing the number of the block in the stop flag of every other PE.
 */
#include "raw_fabric_wait_and_flush.h"

void bench_fabric_serve(struct bench_run *run, uint64_t stop)
{
    bench_fabric_wait(run, &bench_fabric_flags(run)->stop.value, stop);
}

void bench_fabric_tell_stop(struct bench_run *run, uint64_t stop, int pe)
{
    run->fabric->store(pe, BENCH_FABRIC_FLAG(run, stop), stop);
}

void bench_fabric_poll(struct bench_run *run)
{
    run->fabric->poll();
}
