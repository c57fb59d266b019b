/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements --verify. Before each block of Steppe's side, writes the data that the block moves.
 * After the block, checks every byte at its destination. The measured time does not include these
 * two steps. Each byte depends on its offset, on the PE that sends it, and on the number of the
 * block.
 */
#include "harness.h"

static unsigned char pattern_at(size_t offset, int pe, uint64_t block)
{
    uint64_t x = (uint64_t)offset * 0x9e3779b97f4a7c15u + (uint64_t)pe * 0x100000001b3u + block;

    return (unsigned char)((x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u >> 56);
}

void bench_pattern_write(char *dest, size_t nbytes, size_t first_offset, int pe, uint64_t block)
{
    for (size_t i = 0; i < nbytes; i++)
        dest[i] = (char)pattern_at(first_offset + i, pe, block);
}

void bench_pattern_check(const struct bench_run *run, const char *description, const char *data,
                         size_t nbytes, size_t first_offset, int pe, uint64_t block)
{
    for (size_t i = 0; i < nbytes; i++) {
        unsigned char expected = pattern_at(first_offset + i, pe, block),
                      actual = (unsigned char)data[i];

        if (actual != expected)
            bench_die(run,
                      "--verify: wrong data: %s of %zu bytes: byte %zu from PE %d is 0x%02x, but "
                      "must be 0x%02x (block %llu)",
                      description, nbytes, i, pe, actual, expected, (unsigned long long)block);
    }
}

/*
 * Fills a destination with bytes that differ from the expected bytes, so that lost data is
 * detected.
 */
static void write_wrong_bytes(char *dest, size_t nbytes, int pe, uint64_t block)
{
    for (size_t i = 0; i < nbytes; i++)
        dest[i] = (char)~pattern_at(i, pe, block);
}

static bool both_ways(const struct bench *bench)
{
    return bench->shape == BENCH_BOTH;
}

/* Returns whether this PE is the source of the data that --verify checks. */
static bool is_source(const struct bench *bench, const struct bench_run *run)
{
    if (run->peer < 0) return false;
    if (both_ways(bench)) return true;
    return (bench->moves == BENCH_PUTS) == run->measures;
}

/* Returns whether this PE is the destination of the data that --verify checks. */
static bool is_dest(const struct bench *bench, const struct bench_run *run)
{
    if (run->peer < 0) return false;
    return both_ways(bench) || !is_source(bench, run);
}

void bench_verify_fill(const struct bench *bench, struct bench_run *run, uint64_t block)
{
    bool puts = bench->moves == BENCH_PUTS;

    if (bench->fill != NULL) bench->fill(run, block);
    if (bench->moves == BENCH_MOVES_NOTHING) return;
    if (is_source(bench, run))
        bench_pattern_write(puts ? run->local : run->remote, run->span, 0, run->me, block);
    if (is_dest(bench, run))
        write_wrong_bytes(puts ? run->remote : run->local, run->span, run->peer, block);
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
    size_t offset = 0;

    if (bench->check != NULL) bench->check(run, block, n_ops);
    if (bench->moves == BENCH_MOVES_NOTHING || !is_dest(bench, run)) return;
    n = buffers_reached(run, n_ops * (uint64_t)run->window);
    for (uint64_t i = 0; i < n; i++) {
        bench_pattern_check(run, bench->name, memory + offset, run->nbytes, offset, run->peer,
                            block);
        offset = bench_next(run, offset);
    }
}
