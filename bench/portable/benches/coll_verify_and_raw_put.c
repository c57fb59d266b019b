/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that the benches of collectives share.
 */
#include "coll_verify_and_raw_put.h"

#include <string.h>

#if BENCH_TEAMS

/* The PE copies its block to itself with memcpy() instead of libfabric, as a good program would. */
void bench_fabric_put_to_all(struct bench_run *run, size_t dest, size_t nbytes)
{
    char *local = bench_fabric_local(run) + run->offset;

    for (int i = 1; i < run->team_size; i++) {
        int number = (run->team_rank + i) % run->team_size;

        run->fabric->put(bench_team_pe(run, number), run->offset + dest, local, nbytes);
    }
    memcpy(run->fabric->memory + run->offset + dest, local, nbytes);
    run->fabric->wait();
}

void bench_collective_fill(struct bench_run *run, uint64_t block)
{
    bench_pattern_write(run->source, run->span, 0, run->me, block);
    memset(run->remote, 0xa5, run->span);
}

void bench_collective_check(const struct bench_run *run, const char *description, int number,
                            size_t first_offset, uint64_t block)
{
    bench_pattern_check(run, description, run->remote + (size_t)number * run->nbytes, run->nbytes,
                        first_offset, bench_team_pe(run, number), block);
}

#endif
