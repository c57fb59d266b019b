/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remote memory access behind the inline hit: globals and scattered peers by load and
 * store, everything else through the fabric. With SHMEM_CHECK=1 every operation comes
 * through here and is checked in full.
 */
#include "steppe.h"

#include <string.h>

/* The mapped address for the operation, or NULL when it must take the fabric. */
static void *rma_there(const void *addr, size_t nbytes, int pe, const char *fn,
                       const char *argument)
{
    void *there;

    if (STP_UNLIKELY(stp_rt.check)) stp_check_range(addr, nbytes, pe, fn, argument);
    there = stp_reach_slow(addr, pe);
    if (there == NULL && !stp_rt.has_fabric) {
        struct stp_place place = stp_place_of(addr, nbytes, pe, fn, argument);
        if (place.number == STP_SPACE_DATA) stp_fatal_unshared(addr, pe, fn);
    }
    return there;
}

void stp_put_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn)
{
    struct stp_place place;
    void *there;

    if (nbytes == 0) return;
    there = rma_there(dest, nbytes, pe, fn, "dest");
    if (there != NULL) {
        memcpy(there, source, nbytes);
        return;
    }
    place = stp_place_of(dest, nbytes, pe, fn, "dest");
    stp_rt.fabric.put(ctx->fabric, pe, place.number, place.offset, source, nbytes);
}

void stp_put_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn)
{
    struct stp_place place;
    void *there;

    if (nbytes == 0) return;
    there = rma_there(dest, nbytes, pe, fn, "dest");
    if (there != NULL) {
        memcpy(there, source, nbytes);
        return;
    }
    place = stp_place_of(dest, nbytes, pe, fn, "dest");
    stp_rt.fabric.put_nbi(ctx->fabric, pe, place.number, place.offset, source, nbytes);
}

void stp_get_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn)
{
    struct stp_place place;
    const void *there;

    if (nbytes == 0) return;
    there = rma_there(source, nbytes, pe, fn, "source");
    if (there != NULL) {
        memcpy(dest, there, nbytes);
        return;
    }
    place = stp_place_of(source, nbytes, pe, fn, "source");
    stp_rt.fabric.get(ctx->fabric, pe, place.number, place.offset, dest, nbytes);
}

void stp_get_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn)
{
    struct stp_place place;
    const void *there;

    if (nbytes == 0) return;
    there = rma_there(source, nbytes, pe, fn, "source");
    if (there != NULL) {
        memcpy(dest, there, nbytes);
        return;
    }
    place = stp_place_of(source, nbytes, pe, fn, "source");
    stp_rt.fabric.get_nbi(ctx->fabric, pe, place.number, place.offset, dest, nbytes);
}

void stp_store_slow(struct stp_ctx *ctx, void *dest, const void *value, size_t nbytes, int pe,
                    const char *fn)
{
    struct stp_place place;
    void *there = rma_there(dest, nbytes, pe, fn, "dest");

    if (there != NULL) {
        /* one store each, so that a reader sees the old value or the new one */
        switch (nbytes) {
        case 1: *(volatile uint8_t *)there = *(const uint8_t *)value; break;
        case 2: *(volatile uint16_t *)there = *(const uint16_t *)value; break;
        case 4: *(volatile uint32_t *)there = *(const uint32_t *)value; break;
        case 8: *(volatile uint64_t *)there = *(const uint64_t *)value; break;
        default: memcpy(there, value, nbytes);
        }
        return;
    }
    place = stp_place_of(dest, nbytes, pe, fn, "dest");
    if (nbytes <= 8 && (uintptr_t)dest % nbytes == 0)
        stp_rt.fabric.store(ctx->fabric, pe, place.number, place.offset, value, nbytes);
    else
        stp_rt.fabric.put(ctx->fabric, pe, place.number, place.offset, value, nbytes);
}

/* ---- strided ---------------------------------------------------------------- */

/* Bytes that nelems elements at the stride span; fatal when that does not fit a size_t. */
static size_t rma_span(ptrdiff_t stride, size_t nbytes, size_t nelems, const char *fn,
                       const char *argument)
{
    size_t steps;

    if (stride < 1)
        stp_fatal(fn, "%s is %td: strides are at least 1", argument, stride);
    steps = stp_bytes(nelems - 1, (size_t)stride, fn);
    return stp_bytes(steps, nbytes, fn) + nbytes;
}

static void rma_copy_strided(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
                             size_t nbytes, size_t nelems)
{
    size_t to = (size_t)dst * nbytes, from = (size_t)sst * nbytes;

    switch (nbytes) { /* known sizes become single moves */
    case 4:
        for (size_t i = 0; i < nelems; i++) memcpy(dest + i * to, source + i * from, 4);
        break;
    case 8:
        for (size_t i = 0; i < nelems; i++) memcpy(dest + i * to, source + i * from, 8);
        break;
    default:
        for (size_t i = 0; i < nelems; i++) memcpy(dest + i * to, source + i * from, nbytes);
    }
}

void stp_iput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t nbytes, size_t nelems, int pe, const char *fn)
{
    struct stp_place place;
    size_t span;
    void *there;

    if (nelems == 0 || nbytes == 0) return;
    span = rma_span(dst, nbytes, nelems, fn, "dst");
    rma_span(sst, nbytes, nelems, fn, "sst");
    there = rma_there(dest, span, pe, fn, "dest");
    if (there != NULL) {
        rma_copy_strided(there, source, dst, sst, nbytes, nelems);
        return;
    }
    place = stp_place_of(dest, span, pe, fn, "dest");
    if (dst == 1 && sst == 1) {
        stp_rt.fabric.put(ctx->fabric, pe, place.number, place.offset, source, nbytes * nelems);
        return;
    }
    for (size_t i = 0; i < nelems; i++)
        stp_rt.fabric.put(ctx->fabric, pe, place.number, place.offset + i * (size_t)dst * nbytes,
                          (const char *)source + i * (size_t)sst * nbytes, nbytes);
}

void stp_iget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t nbytes, size_t nelems, int pe, const char *fn)
{
    struct stp_place place;
    size_t span;
    const void *there;

    if (nelems == 0 || nbytes == 0) return;
    span = rma_span(sst, nbytes, nelems, fn, "sst");
    rma_span(dst, nbytes, nelems, fn, "dst");
    there = rma_there(source, span, pe, fn, "source");
    if (there != NULL) {
        rma_copy_strided(dest, there, dst, sst, nbytes, nelems);
        return;
    }
    place = stp_place_of(source, span, pe, fn, "source");
    if (dst == 1 && sst == 1) {
        stp_rt.fabric.get(ctx->fabric, pe, place.number, place.offset, dest, nbytes * nelems);
        return;
    }
    for (size_t i = 0; i < nelems; i++)
        stp_rt.fabric.get_nbi(ctx->fabric, pe, place.number,
                              place.offset + i * (size_t)sst * nbytes,
                              (char *)dest + i * (size_t)dst * nbytes, nbytes);
    stp_rt.fabric.quiet(ctx->fabric); /* a blocking get: the data is here on return */
}
