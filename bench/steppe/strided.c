/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures iput and iget of 8-byte elements, and ibput and ibget of blocks of 8 such elements. The
 * source and the destination have the same stride.
 */
#include "portable/bench_definition.h"

#define WIDTH sizeof(uint64_t)
#define BLOCK 8 /* number of elements in a block of ibput and ibget */

static size_t n_elements(const struct bench_run *run)
{
    return run->nbytes / WIDTH;
}

static size_t n_blocks(const struct bench_run *run)
{
    return n_elements(run) / BLOCK;
}

/*
 * Returns the number of elements from the start of a block to the start of the next one. The
 * parameter of the bench is this distance in blocks.
 */
static size_t block_step(const struct bench_run *run)
{
    return (size_t)run->value * BLOCK;
}

#define AT(memory) ((uint64_t *)((memory) + run->offset))
#define STEPPE(loop, call)                                                                         \
    static void loop(struct bench_run *run, uint64_t n_ops)                                        \
    {                                                                                              \
        for (uint64_t i = 0; i < n_ops; i++) {                                                     \
            call;                                                                                  \
            run->offset = bench_next(run, run->offset);                                            \
        }                                                                                          \
    }
STEPPE(iput, shmem_uint64_iput(AT(run->remote), AT(run->local), run->value, run->value,
                               n_elements(run), run->peer);
       shmem_quiet())
STEPPE(iget, shmem_uint64_iget(AT(run->local), AT(run->remote), run->value, run->value,
                               n_elements(run), run->peer))
STEPPE(ibput, shmem_uint64_ibput(AT(run->remote), AT(run->local), (ptrdiff_t)block_step(run),
                                 (ptrdiff_t)block_step(run), BLOCK, n_blocks(run), run->peer);
       shmem_quiet())
STEPPE(ibget, shmem_uint64_ibget(AT(run->local), AT(run->remote), (ptrdiff_t)block_step(run),
                                 (ptrdiff_t)block_step(run), BLOCK, n_blocks(run), run->peer))

static size_t extent(const struct bench_run *run)
{
    return run->nbytes * (size_t)run->value;
}

static void values(const struct bench_run *run, const struct bench_options *options,
                   struct bench_values *values)
{
    (void)run;
    bench_stepping(options, 8, 2, 16, values);
}

static const struct bench_parameter stride = {"stride", NULL, values};

/*
 * For --verify: checks the first buffer. Each element must be equal to the element at the same
 * offset on the peer. `piece` is the number of contiguous elements.
 */
static void check(struct bench_run *run, uint64_t block, uint64_t n_ops, bool puts, size_t piece)
{
    const char *memory = puts ? run->remote : run->local;

    (void)n_ops;
    if (run->peer < 0 || run->measures == puts) return;
    for (size_t i = 0; i < n_elements(run); i++) {
        size_t offset = (i / piece * piece * (size_t)run->value + i % piece) * WIDTH;

        bench_pattern_check(run, "strided transfer", memory + offset, WIDTH, offset, run->peer,
                            block);
    }
}

static void fill(struct bench_run *run, uint64_t block)
{
    bench_pattern_write(run->local, run->span, 0, run->me, block);
    bench_pattern_write(run->remote, run->span, 0, run->me, block);
}

static void check_iput(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    check(run, block, n_ops, true, 1);
}

static void check_iget(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    check(run, block, n_ops, false, 1);
}

static void check_ibput(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    check(run, block, n_ops, true, BLOCK);
}

static void check_ibget(struct bench_run *run, uint64_t block, uint64_t n_ops)
{
    check(run, block, n_ops, false, BLOCK);
}

#define STRIDED(op, text, min_bytes)                                                               \
    {                                                                                              \
        .name = #op, .group = "strided", .description = text, .metric = BENCH_LATENCY,             \
        .sized = true, .min_size = min_bytes, .default_max = (size_t)64 << 10,                     \
        .parameter = &stride, .walks = true, .extent = extent, .fill = fill, .check = check_##op,  \
        .steppe = {                                                                                \
            op,                                                                                    \
            NULL                                                                                   \
        }                                                                                          \
    }

static const struct bench rows[] = {
    STRIDED(iput, "shmem_uint64_iput + shmem_quiet; the size is the number of bytes transferred",
            WIDTH),
    STRIDED(iget, "shmem_uint64_iget; the size is the number of bytes transferred", WIDTH),
    STRIDED(ibput, "shmem_uint64_ibput of blocks of 64 bytes + shmem_quiet", BLOCK *WIDTH),
    STRIDED(ibget, "shmem_uint64_ibget of blocks of 64 bytes", BLOCK *WIDTH),
};
BENCH_LIST(bench_list_strided, rows);
