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
                   ptrdiff_t sst, size_t bsize, size_t nblocks, size_t size, int pe,
                   const char *fn)
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
                   ptrdiff_t sst, size_t bsize, size_t nblocks, size_t size, int pe,
                   const char *fn)
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

static _Thread_local struct {
    const void *ivars; /* the array that was searched last */
    size_t next;       /* behind its last find */
    uint64_t walk;
} turn;

size_t stp_api_turn(const void *ivars, size_t nelems)
{
    if (turn.ivars == ivars) return turn.next < nelems ? turn.next : 0;
    /*
     * Calls that alternate between arrays start anywhere: multiples of the golden ratio come
     * near every point of the array, whichever of them this array gets.
     */
    turn.walk += UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(((unsigned __int128)turn.walk * nelems) >> 64);
}

void stp_api_turn_found(const void *ivars, size_t index)
{
    turn.ivars = ivars;
    turn.next = index + 1;
}
