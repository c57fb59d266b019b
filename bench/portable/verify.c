/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements --verify. Before each block of Steppe's side, writes the data that the block moves.
 * After the block, checks every byte at its destination. The measured time does not include these
 * two steps. Each byte depends on its offset, on the PE that sends it, and on the number of the
 * block.
 */
#include "harness.h"

static unsigned char pattern_at(size_t place, int pe, uint64_t block)
{
    uint64_t x = (uint64_t)place * 0x9e3779b97f4a7c15u + (uint64_t)pe * 0x100000001b3u + block;

    return (unsigned char)((x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u >> 56);
}

void bench_pattern_write(char *to, size_t nbytes, size_t place, int pe, uint64_t block)
{
    for (size_t i = 0; i < nbytes; i++)
        to[i] = (char)pattern_at(place + i, pe, block);
}

void bench_pattern_check(const struct bench_run *run, const char *what, const char *at,
                         size_t nbytes, size_t place, int pe, uint64_t block)
{
    for (size_t i = 0; i < nbytes; i++) {
        unsigned char want = pattern_at(place + i, pe, block), got = (unsigned char)at[i];

        if (got != want)
            bench_die(run,
                      "--verify: wrong data: %s of %zu bytes: byte %zu from PE %d is 0x%02x, but "
                      "must be 0x%02x (block %llu)",
                      what, nbytes, i, pe, got, want, (unsigned long long)block);
    }
}

/*
 * Fills a destination with bytes that differ from the expected bytes, so that lost data is
 * detected.
 */
static void write_other(char *to, size_t nbytes, int pe, uint64_t block)
{
    for (size_t i = 0; i < nbytes; i++)
        to[i] = (char)~pattern_at(i, pe, block);
}

static bool both_ways(const struct bench *bench)
{
    return bench->shape == BENCH_BOTH;
}

/* Returns whether this PE is the source of the data that --verify checks. */
static bool gives(const struct bench *bench, const struct bench_run *run)
{
    if (run->peer < 0) return false;
    if (both_ways(bench)) return true;
    return (bench->moves == BENCH_PUTS) == run->measures;
}

/* Returns whether this PE is the destination of the data that --verify checks. */
static bool receives(const struct bench *bench, const struct bench_run *run)
{
    if (run->peer < 0) return false;
    return both_ways(bench) || !gives(bench, run);
}

void bench_verify_fill(const struct bench *bench, struct bench_run *run, uint64_t block)
{
    bool puts = bench->moves == BENCH_PUTS;

    if (bench->fill != NULL) bench->fill(run, block);
    if (bench->moves == BENCH_MOVES_NOTHING) return;
    if (gives(bench, run))
        bench_pattern_write(puts ? run->local : run->remote, run->span, 0, run->me, block);
    if (receives(bench, run))
        write_other(puts ? run->remote : run->local, run->span, run->peer, block);
}

/* Returns the number of buffers that n_messages messages use. Each message uses the next buffer. */
static uint64_t buffers_reached(const struct bench_run *run, uint64_t n_messages)
{
    uint64_t n_buffers = run->step == 0 ? 1 : run->span / run->extent;

    return n_messages < n_buffers ? n_messages : n_buffers;
}

void bench_verify_check(const struct bench *bench, struct bench_run *run, uint64_t block,
                        uint64_t n_ops)
{
    const char *memory = bench->moves == BENCH_PUTS ? run->remote : run->local;
    uint64_t n;
    size_t at = 0;

    if (bench->check != NULL) bench->check(run, block, n_ops);
    if (bench->moves == BENCH_MOVES_NOTHING || !receives(bench, run)) return;
    n = buffers_reached(run, n_ops * (uint64_t)run->window);
    for (uint64_t i = 0; i < n; i++) {
        bench_pattern_check(run, bench->name, memory + at, run->nbytes, at, run->peer, block);
        at = bench_next(run, at);
    }
}
