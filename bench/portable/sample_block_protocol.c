/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a block of samples. PE 0 sends the same command to all other PEs, and every PE runs its part
 * of the block. The PEs that measure report to PE 0 when they have finished. All PEs except PE 0
 * serve operations of their peers until PE 0 ends the block, and then acknowledge the command. PE 0
 * reads the samples from the struct bench_shared of each PE.
 */
#include "harness.h"

#include <stdio.h>
#include <string.h>

static enum bench_path path_of(const struct bench *bench, const struct bench_run *run)
{
    if (bench->shape == BENCH_ALONE) return BENCH_NODE;
    if (bench->shape == BENCH_PAIR || bench->shape == BENCH_BOTH) return run->pair_path;
    return run->all_path;
}

const struct bench_body *bench_body_of(const struct bench *bench, const struct bench_run *run,
                                       enum bench_side side)
{
    if (side != BENCH_RAW) return &bench->steppe;
    if (bench->on_gpu)
        return run->cuda != NULL && bench->driver.origin != NULL ? &bench->driver : NULL;
    switch (path_of(bench, run)) {
    case BENCH_NODE:
        return bench->node.origin != NULL ? &bench->node : NULL;
    case BENCH_FABRIC:
        if (run->fabric == NULL || bench->fabric.origin == NULL) return NULL;
        return bench->atomic == RAW_OFI_NONE ||
                       run->fabric->has_atomic(bench->atomic, run->nbytes, bench->fetches)
                   ? &bench->fabric
                   : NULL;
    case BENCH_MIXED:
        break;
    }
    return NULL;
}

/* Returns whether Steppe sends several transfers of the bench in one message. */
static bool joins(const struct bench *bench, const struct bench_run *run)
{
    const char *provider = run->fabric->provider;

    return run->nbytes <= bench->joined_up_to &&
           (strcmp(bench->group, "session") == 0 || strncmp(provider, "tcp", 3) == 0 ||
            strncmp(provider, "net", 3) == 0);
}

void bench_describe_raw(const struct bench *bench, const struct bench_run *run, char *text,
                        size_t len)
{
    text[0] = '\0';
    if (run->fabric == NULL || bench->fabric.origin == NULL || path_of(bench, run) != BENCH_FABRIC)
        return;
    if (bench_body_of(bench, run, BENCH_RAW) == NULL)
        snprintf(text, len, "no raw side: %s does not have this atomic", run->fabric->provider);
    else if (joins(bench, run))
        snprintf(text, len, "plain loop");
}

static bool is_target(const struct bench *bench, const struct bench_run *run)
{
    return !run->measures && (run->peer >= 0 || bench->shape == BENCH_ONE_ALL);
}

/* ---- a PE's part of a block ---------------------------------------------------- */

/*
 * Executes a barrier, so that the PEs that measure begin a sample together. Uses Steppe's barrier
 * on Steppe's side and a raw barrier on the raw side. For collectives, only the members of the
 * row's team take part. Only members increment run->token in the raw loops. Therefore a raw barrier
 * over other PEs would fail, because these PEs would wait for a different value.
 */
static void start_together(const struct bench *bench, struct bench_run *run,
                           const struct bench_body *body)
{
    bool team = bench->shape == BENCH_ALL;

    if (run->n_measuring < 2 || bench->own_pace || (team && run->team_rank < 0)) return;
    if (body == &bench->node)
        (team ? bench_node_team_barrier : bench_node_barrier)(run, 1);
    else if (body == &bench->fabric)
        (team ? bench_fabric_team_barrier : bench_fabric_barrier)(run, 1);
    else if (team)
        bench_team_sync(run);
    else
        shmem_barrier_all();
}

/*
 * Takes one sample. Returns the time per operation in ns. For an overlap bench, returns the
 * percentage of the transfer that was not hidden by computation.
 */
static double sample(const struct bench *bench, struct bench_run *run,
                     const struct bench_body *body, uint64_t n_ops)
{
    uint64_t (*clock)(void) = bench->cpu_time ? bench_cpu_ns : bench_now_ns;
    uint64_t start = clock();

    body->origin(run, n_ops);
    if (bench->metric == BENCH_OVERLAP) return run->exposed;
    return (double)(clock() - start) / (double)n_ops;
}

static void run_batches(const struct bench *bench, struct bench_run *run,
                        const struct bench_body *body, const struct bench_command *command)
{
    double *samples = run->shared->samples;

    for (uint64_t i = 0; i < command->n_warm + command->n_batches; i++) {
        double ns = 0;

        start_together(bench, run, body);
        if (run->measures)
            ns = sample(bench, run, body, command->n_ops);
        else if (is_target(bench, run) && body->target != NULL)
            body->target(run, command->n_ops);
        if (i >= command->n_warm) samples[i - command->n_warm] = ns;
    }
}

/* Runs this PE's part of a block and stores the samples. The caller ends the block afterwards. */
static void run_part(const struct bench *bench, struct bench_run *run,
                     const struct bench_command *command)
{
    const struct bench_body *body = bench_body_of(bench, run, command->side);

    run->token = command->token;
    run->offset = 0;
    run->sample_ops = command->n_ops;
    run->n_calls = run->n_blocks = command->number;
    if (run->options->verify && command->side == BENCH_STEPPE)
        bench_verify_fill(bench, run, command->number);
    if (run->options->verify) shmem_barrier_all();
    run_batches(bench, run, body, command);
}

/*
 * For --verify: checks the data of a block. The callers call this function after PE 0 has ended the
 * block, so all transfers have arrived.
 */
static void verify_block(const struct bench *bench, struct bench_run *run,
                         const struct bench_command *command)
{
    if (run->options->verify && command->side == BENCH_STEPPE)
        bench_verify_check(bench, run, command->number,
                           command->n_ops * (command->n_warm + command->n_batches));
}

/* ---- PEs other than PE 0 --------------------------------------------------------- */

static void serve_until_stop(const struct bench *bench, struct bench_run *run,
                             const struct bench_body *body, uint64_t stop)
{
    uint64_t *word = &run->shared->side[BENCH_STEPPE].stop.value;

    if (body == &bench->fabric)
        bench_fabric_serve(run, stop);
    else if (body == &bench->steppe && bench->idle != NULL && is_target(bench, run))
        bench->idle(word, stop);
    else
        shmem_uint64_wait_until(word, SHMEM_CMP_GE, stop);
}

void bench_block_follow(const struct bench *bench, struct bench_run *run)
{
    struct bench_command *command = &run->shared->command;

    for (;;) {
        shmem_uint64_wait_until(&run->shared->number.value, SHMEM_CMP_GT, run->n_commands);
        run->n_commands = run->shared->number.value;
        if (command->last) break;
        run_part(bench, run, command);
        if (run->measures) shmem_ulong_atomic_inc(&run->shared->done.value, 0);
        serve_until_stop(bench, run, bench_body_of(bench, run, command->side), command->number);
        verify_block(bench, run, command);
        shmem_ulong_atomic_inc(&run->shared->acks.value, 0);
    }
    shmem_ulong_atomic_inc(&run->shared->acks.value, 0);
}

/* ---- PE 0 -------------------------------------------------------------------------- */

static void send_command(struct bench_run *run, const struct bench_command *command)
{
    run->n_commands++;
    for (int pe = 1; pe < run->n_pes; pe++) {
        shmem_putmem(&run->shared->command, command, sizeof(*command), pe);
        shmem_fence();
        shmem_uint64_p(&run->shared->number.value, run->n_commands, pe);
        run->n_acks++;
    }
}

/*
 * Waits until *word is at least `value`. Meanwhile polls the raw fabric, so that its pending stores
 * are sent.
 */
static void wait_for(struct bench_run *run, uint64_t *word, uint64_t value)
{
    if (run->fabric != NULL)
        while (!shmem_uint64_test(word, SHMEM_CMP_GE, value))
            bench_fabric_poll(run);
    shmem_uint64_wait_until(word, SHMEM_CMP_GE, value);
}

static void announce_stop(const struct bench *bench, struct bench_run *run,
                          const struct bench_body *body)
{
    uint64_t *stop = &run->shared->side[BENCH_STEPPE].stop.value;

    for (int pe = 1; pe < run->n_pes; pe++)
        if (body == &bench->fabric)
            bench_fabric_tell_stop(run, run->n_blocks, pe);
        else
            shmem_uint64_p(stop, run->n_blocks, pe);
}

void bench_block_lead(const struct bench *bench, struct bench_run *run, enum bench_side side,
                      uint64_t n_ops, int n_warm, int n_batches)
{
    struct bench_command command = {.n_ops = n_ops,
                                    .n_batches = (uint64_t)n_batches,
                                    .n_warm = (uint64_t)n_warm,
                                    .number = ++run->n_blocks,
                                    .token = run->token,
                                    .side = side};

    send_command(run, &command);
    run_part(bench, run, &command);
    run->n_done += (uint64_t)(run->n_measuring - (run->measures ? 1 : 0));
    wait_for(run, &run->shared->done.value, run->n_done);
    announce_stop(bench, run, bench_body_of(bench, run, side));
    verify_block(bench, run, &command);
    wait_for(run, &run->shared->acks.value, run->n_acks);
}

void bench_row_tell_followers_over(struct bench_run *run)
{
    static const struct bench_command end_of_row = {.last = 1};

    send_command(run, &end_of_row);
    wait_for(run, &run->shared->acks.value, run->n_acks);
}
