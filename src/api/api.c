/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The out-of-line half of api.h: messages, blocked transfers, and where searches start.
 */
#include "api/api.h"

/* ---- blocked remote memory access ------------------------------------------- */

static void check_block_strides(ptrdiff_t dst, ptrdiff_t sst, size_t bsize, const char *fn)
{
    if (dst < 0 || sst < 0 || (size_t)dst < bsize || (size_t)sst < bsize)
        stp_fatal(fn, "dst is %td, sst is %td: strides are at least bsize, %zu elements", dst, sst,
                  bsize);
}

/* True when blocks are elements of a bigger size: both strides are whole numbers of them. */
static bool whole_blocks(ptrdiff_t dst, ptrdiff_t sst, size_t bsize)
{
    return (size_t)dst % bsize == 0 && (size_t)sst % bsize == 0;
}

void stp_api_ibput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst,
                   ptrdiff_t sst, size_t bsize, size_t nblocks, size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(bsize, size, fn);

    pe = stp_ctx_pe(ctx, pe, fn);
    if (bsize == 0 || nblocks == 0) return;
    check_block_strides(dst, sst, bsize, fn);
    if (whole_blocks(dst, sst, bsize)) {
        dst /= (ptrdiff_t)bsize;
        sst /= (ptrdiff_t)bsize;
        stp_iput(ctx, dest, source, dst, sst, nbytes, nblocks, pe, fn);
        return;
    }
    for (size_t i = 0; i < nblocks; i++)
        stp_put(ctx, (char *)dest + i * (size_t)dst * size,
                (const char *)source + i * (size_t)sst * size, nbytes, pe, fn);
}

void stp_api_ibget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst,
                   ptrdiff_t sst, size_t bsize, size_t nblocks, size_t size, int pe, const char *fn)
{
    size_t nbytes = stp_bytes(bsize, size, fn);

    pe = stp_ctx_pe(ctx, pe, fn);
    if (bsize == 0 || nblocks == 0) return;
    check_block_strides(dst, sst, bsize, fn);
    if (whole_blocks(dst, sst, bsize)) {
        dst /= (ptrdiff_t)bsize;
        sst /= (ptrdiff_t)bsize;
        stp_iget(ctx, dest, source, dst, sst, nbytes, nblocks, pe, fn);
        return;
    }
    for (size_t i = 0; i < nblocks; i++)
        stp_get(ctx, (char *)dest + i * (size_t)dst * size,
                (const char *)source + i * (size_t)sst * size, nbytes, pe, fn);
}

/* ---- where searches start ---------------------------------------------------- */

#define API_ROUNDS 16

static _Thread_local struct {
    struct stp_api_round rounds[API_ROUNDS];
    uint64_t random;
} api_search;

/* The last step of splitmix64. */
static uint64_t api_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void stp_api_round_begin(struct stp_api_round *round)
{
    api_search.random += UINT64_C(0x9e3779b97f4a7c15);
    round->next = (size_t)(((unsigned __int128)api_mix(api_search.random) * round->nelems) >> 64);
    round->left = round->nelems;
}

struct stp_api_round *stp_api_round(const void *ivars, size_t nelems, const int *status,
                                    const char *fn)
{
    uint64_t key = api_mix((uintptr_t)ivars ^ (uintptr_t)fn << 20 ^ (uintptr_t)status << 40);
    struct stp_api_round *round = &api_search.rounds[key % API_ROUNDS];

    if (round->ivars != ivars || round->nelems != nelems || round->status != status ||
        round->fn != fn) {
        *round =
            (struct stp_api_round){.ivars = ivars, .nelems = nelems, .status = status, .fn = fn};
        stp_api_round_begin(round);
    }
    return round;
}
