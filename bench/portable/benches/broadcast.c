/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures broadcast, with a different root in each call. There is a raw side on the fabric only:
 * the root writes the data to every member, waits, and then sets a flag at every member.
 */
#include "coll_verify_and_raw_put.h"

#if BENCH_TEAMS

static void broadcast(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        shmem_broadcastmem(run->team, run->remote + run->offset, run->source + run->offset,
                           run->nbytes, bench_next_root(run));
        run->offset = bench_next(run, run->offset);
    }
}

static void fabric_push(struct bench_run *run, int root)
{
    size_t flag = BENCH_FABRIC_FLAG(run, root) + (size_t)root * sizeof(struct bench_word);

    bench_fabric_put_to_all(run, 0, run->nbytes);
    for (int k = 0; k < run->team_size && root < BENCH_ROUNDS; k++)
        if (k != root) run->fabric->store(bench_team_pe(run, k), flag, run->token);
}

/*
 * Performs n_ops broadcasts. Only the first BENCH_ROUNDS roots have a flag. If another PE is the
 * root, all members call a barrier instead of waiting for a flag.
 */
static void fabric_broadcast(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        int root = bench_next_root(run);

        run->token++;
        if (run->team_rank == root) fabric_push(run, root);
        if (root >= BENCH_ROUNDS)
            bench_fabric_team_barrier(run, 1);
        else if (run->team_rank != root)
            bench_fabric_wait(run, &bench_fabric_flags(run)->root[root].value, run->token);
        run->offset = bench_next(run, run->offset);
    }
}

static void check(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    uint64_t n_buffers = run->step == 0 ? 1 : run->span / run->extent;
    int root = (int)(run->n_calls % (uint64_t)run->team_size);
    size_t offset = 0;

    if (run->team_rank < 0) return;
    /* Advance `offset` to the buffer of the block's last call. */
    for (uint64_t i = 1; i < n_ops && n_buffers > 1; i++)
        offset = bench_next(run, offset);
    bench_pattern_check(run, "broadcast", run->remote + offset, run->nbytes, offset,
                        bench_team_pe(run, root), block);
}

static const struct bench rows[] = {
    {.name = "broadcast",
     .description = "shmem_broadcastmem with a rotating root",
     BENCH_COLLECTIVE,
     .fill = bench_collective_fill,
     .check = check,
     .steppe = {broadcast, NULL},
     .joined_up_to = SIZE_MAX, /* data and flag are one message */
     .fabric = {fabric_broadcast, NULL}},
};
BENCH_LIST(bench_list_broadcast, rows);

#endif
