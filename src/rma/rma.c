/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performs puts and gets that the inlined path (stp_ptr_inline()) does not handle. The CPU copies
 * host memory that is mapped in this process. Examples are globals of a PE, and the memory of local
 * PEs whose PE numbers are not contiguous. The operations of a memory kind copy its device memory.
 * For other memory, this file uses the fabric or a thread of the owner PE, the proxy thread. With
 * SHMEM_CHECK=1 every operation takes this path and is checked.
 *
 * A transfer consists of rows. A put or get has one row. A strided routine has one row per block.
 */
#include "rma.h"

#include <string.h>

static size_t rma_extent(const struct stp_strided_copy *rows, size_t pitch)
{
    return (rows->n - 1) * pitch + rows->width;
}

/*
 * Returns whether the fabric can access the local buffer. The fabric can access host memory, and
 * device memory that is registered. Returns false for several rows in private device memory,
 * because packing the rows is faster than one operation per row. Sets *mr to the number of a
 * registration that this call acquired, or to -1. The caller passes *mr to
 * stp_device_mr_end_current() after it has issued all operations.
 */
static bool rma_fabric_reaches(const struct stp_kind *kind, const void *buffer,
                               const struct stp_strided_copy *rows, int *mr)
{
    const struct stp_space *space;
    size_t offset;

    *mr = -1;
    if (STP_LIKELY(kind == NULL)) return true;
    space = stp_space_lookup(buffer, &offset);
    if (space != NULL && space->registered) return true;
    if (rows->n == 1) *mr = stp_device_mr_acquire_for_thread(kind, buffer, rows->width);
    return *mr >= 0;
}

/* ---- host memory --------------------------------------------------------------- */

static void rma_copy_host(char *dest, const char *source, const struct stp_strided_copy *rows)
{
    size_t dest_pitch = rows->dest_pitch, source_pitch = rows->source_pitch;

    if (rows->n == 1) {
        memcpy(dest, source, rows->width);
        return;
    }
    switch (rows->width) { /* the compiler turns memcpy() of a constant size into moves */
    case 4:
        for (size_t i = 0; i < rows->n; i++)
            memcpy(dest + i * dest_pitch, source + i * source_pitch, 4);
        break;
    case 8:
        for (size_t i = 0; i < rows->n; i++)
            memcpy(dest + i * dest_pitch, source + i * source_pitch, 8);
        break;
    default:
        for (size_t i = 0; i < rows->n; i++)
            memcpy(dest + i * dest_pitch, source + i * source_pitch, rows->width);
    }
}

/* ---- the fabric ------------------------------------------------------------------ */

/* Returns the target that is nbytes bytes after the given target. */
static struct stp_target rma_advance_target(const struct stp_target *target, size_t nbytes)
{
    struct stp_target result = *target;

    result.offset += nbytes;
    return result;
}

/* Puts the rows of a fragment. The rows are packed in buffer, which is host memory. */
static void fabric_put_fragment(struct stp_ctx *ctx, const struct stp_target *target,
                                const struct stp_fragment *fragment, size_t dest_pitch,
                                const char *buffer)
{
    size_t rows = dest_pitch == fragment->width ? 1 : fragment->n;
    size_t width = fragment->width * fragment->n / rows;

    for (size_t i = 0; i < rows; i++) {
        struct stp_target row = rma_advance_target(target, fragment->dest_offset + i * dest_pitch);
        stp_rt.fabric.put(ctx->fabric, &row, buffer + i * width, width, false);
    }
}

/*
 * Puts from device memory that the fabric cannot read. While the fabric sends one fragment, the
 * device copies the next fragment to a bounce buffer.
 */
static void fabric_put_bounced(struct stp_ctx *ctx, const struct stp_kind *kind,
                               const struct stp_target *target, const char *source,
                               const struct stp_strided_copy *rows)
{
    struct stp_fragments fragments = {.rows = *rows, .max_bytes = STP_BOUNCE_BYTES};
    char *buffers[2] = {stp_bounce_wait_take(), stp_bounce_try()};
    struct stp_fragment fragment, sent = {.n = 0};
    unsigned k = 0;

    while (stp_fragment_next(&fragments, &fragment)) {
        struct stp_strided_copy pack = {fragment.width, fragment.n, fragment.width,
                                        rows->source_pitch};
        char *buffer = buffers[1] != NULL ? buffers[k & 1] : buffers[0];

        if (buffers[1] == NULL && sent.n > 0)
            fabric_put_fragment(ctx, target, &sent, rows->dest_pitch, buffer);
        stp_copy_rows(ctx, kind, buffer, source + fragment.source_offset, &pack, STP_COPY_NONE,
                      target->fn);
        if (buffers[1] != NULL && sent.n > 0)
            fabric_put_fragment(ctx, target, &sent, rows->dest_pitch, buffers[~k & 1]);
        stp_copy_flush(ctx);
        sent = fragment;
        k++;
    }
    fabric_put_fragment(ctx, target, &sent, rows->dest_pitch,
                        buffers[1] != NULL ? buffers[~k & 1] : buffers[0]);
    stp_bounce_give(buffers[0]);
    if (buffers[1] != NULL) stp_bounce_give(buffers[1]);
}

/*
 * Gets to device memory that the fabric cannot write. While the fabric receives one fragment, the
 * device copies the previous fragment from its bounce buffer.
 */
static void fabric_get_bounced(struct stp_ctx *ctx, const struct stp_kind *kind,
                               const struct stp_target *target, char *dest,
                               const struct stp_strided_copy *rows)
{
    struct stp_fragments fragments = {.rows = *rows, .max_bytes = STP_BOUNCE_BYTES};
    char *buffers[2] = {stp_bounce_wait_take(), stp_bounce_try()};
    struct stp_fragment fragment;

    for (unsigned k = 0; stp_fragment_next(&fragments, &fragment); k++) {
        struct stp_strided_copy unpack = {fragment.width, fragment.n, rows->dest_pitch,
                                          fragment.width};
        char *buffer = buffers[1] != NULL ? buffers[k & 1] : buffers[0];

        if (buffers[1] == NULL) stp_copy_flush(ctx);
        for (size_t i = 0; i < fragment.n; i++) {
            struct stp_target row =
                rma_advance_target(target, fragment.source_offset + i * rows->source_pitch);
            stp_rt.fabric.get(ctx->fabric, &row, buffer + i * fragment.width, fragment.width, true);
        }
        stp_rt.fabric.quiet(ctx->fabric);
        stp_copy_flush(ctx);
        stp_copy_rows(ctx, kind, dest + fragment.dest_offset, buffer, &unpack, STP_COPY_NONE,
                      target->fn);
    }
    stp_copy_flush(ctx);
    stp_bounce_give(buffers[0]);
    if (buffers[1] != NULL) stp_bounce_give(buffers[1]);
}

static void rma_put_fabric(struct stp_ctx *ctx, const struct stp_kind *source_kind,
                           const struct stp_target *dest, const char *source,
                           const struct stp_strided_copy *rows, enum stp_copy_completion completion)
{
    int mr;

    if (!rma_fabric_reaches(source_kind, source, rows, &mr)) {
        fabric_put_bounced(ctx, source_kind, dest, source, rows);
        return;
    }
    for (size_t i = 0; i < rows->n; i++) {
        struct stp_target row = rma_advance_target(dest, i * rows->dest_pitch);
        stp_rt.fabric.put(ctx->fabric, &row, source + i * rows->source_pitch, rows->width,
                          completion == STP_COPY_NONE);
    }
    stp_device_mr_end_current(mr);
}

static void rma_get_fabric(struct stp_ctx *ctx, const struct stp_kind *dest_kind,
                           const struct stp_target *source, char *dest,
                           const struct stp_strided_copy *rows, enum stp_copy_completion completion)
{
    const struct stp_fabric *fabric = &stp_rt.fabric;
    int mr;

    if (!rma_fabric_reaches(dest_kind, dest, rows, &mr)) {
        fabric_get_bounced(ctx, dest_kind, source, dest, rows);
        return;
    }
    if (rows->n == 1 && completion == STP_COPY_REMOTE) {
        fabric->get(ctx->fabric, source, dest, rows->width, false);
        stp_device_mr_end_current(mr);
        return;
    }
    for (size_t i = 0; i < rows->n; i++) {
        struct stp_target row = rma_advance_target(source, i * rows->source_pitch);
        fabric->get(ctx->fabric, &row, dest + i * rows->dest_pitch, rows->width, true);
    }
    stp_device_mr_end_current(mr);
    if (completion == STP_COPY_REMOTE) fabric->quiet(ctx->fabric); /* wait for the data */
}

/*
 * Returns the address at which this PE maps nbytes bytes at addr of PE pe, if both addr and buffer
 * are host memory. Otherwise returns NULL. If the job uses devices, the inlined path cannot know
 * that buffer is host memory. Therefore this file must handle even copies between host memory.
 */
static void *rma_host_ptr(const void *addr, size_t nbytes, const void *buffer, int pe)
{
    void *peer_ptr = stp_ptr_inline(addr, pe, STP_USE_ACCESS);
    bool fits = peer_ptr != NULL && stp_window_fits(addr, nbytes);

    return fits && stp_device_of(buffer) == NULL ? peer_ptr : NULL;
}

/*
 * Returns whether the transfer is a single aligned element of at most 8 bytes. The owner must copy
 * such an element, because a copy by the operating system's kernel may not be atomic.
 */
static bool rma_is_element(const struct stp_strided_copy *rows, const struct stp_target *target)
{
    const char *addr = target->space->base + (target->offset - target->space->region_offset);
    size_t width = rows->width;

    return rows->n == 1 && width <= sizeof(uint64_t) && (width & (width - 1)) == 0 &&
           (uintptr_t)addr % width == 0;
}

/* ---- all access paths -------------------------------------------------------------- */

static void rma_put(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                    const struct stp_strided_copy *rows, enum stp_copy_completion completion)
{
    const struct stp_kind *source_kind = stp_device_of(source);

    switch (dest->path) {
    case STP_PATH_HOST:
        if (source_kind == NULL)
            rma_copy_host(dest->addr, source, rows);
        else
            stp_copy_rows(ctx, source_kind, dest->addr, source, rows, completion, dest->fn);
        break;
    case STP_PATH_DEVICE:
        stp_copy_rows(ctx, dest->space->kind, dest->addr, source, rows, completion, dest->fn);
        break;
    case STP_PATH_FABRIC:
        stp_ctx_by_fabric(ctx, dest->pe);
        if (STP_LIKELY(source_kind == NULL && rows->n == 1))
            stp_rt.fabric.put(ctx->fabric, dest, source, rows->width, completion == STP_COPY_NONE);
        else
            rma_put_fabric(ctx, source_kind, dest, source, rows, completion);
        break;
    case STP_PATH_STAGED:
        stp_stage_put(ctx, dest, source, rows);
        break;
    case STP_PATH_CMA:
        if (source_kind != NULL || rma_is_element(rows, dest))
            stp_stage_put(ctx, dest, source, rows);
        else
            stp_cma_copy(dest, source, rows, true);
        break;
    }
}

static void rma_get(struct stp_ctx *ctx, void *dest, const struct stp_target *source,
                    const struct stp_strided_copy *rows, enum stp_copy_completion completion)
{
    const struct stp_kind *dest_kind = stp_device_of(dest);

    switch (source->path) {
    case STP_PATH_HOST:
        if (dest_kind == NULL)
            rma_copy_host(dest, source->addr, rows);
        else
            stp_copy_rows(ctx, dest_kind, dest, source->addr, rows, completion, source->fn);
        break;
    case STP_PATH_DEVICE:
        stp_copy_rows(ctx, source->space->kind, dest, source->addr, rows, completion, source->fn);
        break;
    case STP_PATH_FABRIC:
        rma_get_fabric(ctx, dest_kind, source, dest, rows, completion);
        break;
    case STP_PATH_STAGED:
        stp_stage_get(ctx, source, dest, rows);
        break;
    case STP_PATH_CMA:
        if (dest_kind != NULL || rma_is_element(rows, source))
            stp_stage_get(ctx, source, dest, rows);
        else
            stp_cma_copy(source, dest, rows, false);
        break;
    }
}

static struct stp_strided_copy rma_one_row(size_t nbytes)
{
    return (struct stp_strided_copy){.width = nbytes, .n = 1};
}

void stp_put_to(struct stp_ctx *ctx, const struct stp_target *dest, const void *source,
                size_t nbytes)
{
    struct stp_strided_copy rows = rma_one_row(nbytes);

    rma_put(ctx, dest, source, &rows, STP_COPY_LOCAL);
}

/* The argument completion is constant in each caller, so the compiler makes one copy for each. */
static inline __attribute__((always_inline)) void rma_put_slow(struct stp_ctx *ctx, void *dest,
                                                               const void *source, size_t nbytes,
                                                               int pe, const char *fn,
                                                               enum stp_copy_completion completion)
{
    struct stp_strided_copy rows = rma_one_row(nbytes);
    struct stp_target target;
    void *peer_ptr = NULL;

    if (STP_UNLIKELY(nbytes == 0)) return;
    stp_kind_begin();
    if (STP_UNLIKELY(stp_win.devices)) peer_ptr = rma_host_ptr(dest, nbytes, source, pe);
    if (peer_ptr != NULL) {
        memcpy(peer_ptr, source, nbytes);
        return;
    }
    target = stp_locate(ctx, dest, nbytes, pe, STP_USE_COPY, fn, "dest");
    rma_put(ctx, &target, source, &rows, completion);
}

void stp_put_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn)
{
    rma_put_slow(ctx, dest, source, nbytes, pe, fn, STP_COPY_LOCAL);
}

void stp_put_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn)
{
    rma_put_slow(ctx, dest, source, nbytes, pe, fn, STP_COPY_NONE);
}

static inline __attribute__((always_inline)) void rma_get_slow(struct stp_ctx *ctx, void *dest,
                                                               const void *source, size_t nbytes,
                                                               int pe, const char *fn,
                                                               enum stp_copy_completion completion)
{
    struct stp_strided_copy rows = rma_one_row(nbytes);
    struct stp_target target;
    void *peer_ptr = NULL;

    if (STP_UNLIKELY(nbytes == 0)) return;
    stp_kind_begin();
    if (STP_UNLIKELY(stp_win.devices)) peer_ptr = rma_host_ptr(source, nbytes, dest, pe);
    if (peer_ptr != NULL) {
        memcpy(dest, peer_ptr, nbytes);
        return;
    }
    target = stp_locate(ctx, source, nbytes, pe, STP_USE_COPY, fn, "source");
    rma_get(ctx, dest, &target, &rows, completion);
}

void stp_get_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn)
{
    rma_get_slow(ctx, dest, source, nbytes, pe, fn, STP_COPY_REMOTE);
}

void stp_get_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn)
{
    rma_get_slow(ctx, dest, source, nbytes, pe, fn, STP_COPY_NONE);
}

void stp_store_slow(struct stp_ctx *ctx, void *dest, const void *value, size_t nbytes, int pe,
                    const char *fn)
{
    struct stp_target target = stp_locate(ctx, dest, nbytes, pe, STP_USE_COPY, fn, "dest");
    struct stp_strided_copy rows = rma_one_row(nbytes);

    switch (target.path) {
    case STP_PATH_HOST:
        stp_store_whole(target.addr, value, nbytes);
        break;
    case STP_PATH_DEVICE:
        stp_copy(ctx, target.space->kind, target.addr, value, nbytes, STP_COPY_LOCAL, fn);
        break;
    case STP_PATH_FABRIC:
        stp_ctx_by_fabric(ctx, pe);
        if ((target.space->host || target.space->kind->device == NULL) && nbytes <= 8 &&
            (uintptr_t)dest % nbytes == 0)
            stp_rt.fabric.store(ctx->fabric, &target, value, nbytes);
        else
            stp_rt.fabric.put(ctx->fabric, &target, value, nbytes, false);
        break;
    case STP_PATH_CMA:
        /* The owner stores the element, because a copy by stp_cma_copy() may not be atomic. */
    case STP_PATH_STAGED:
        stp_stage_put(ctx, &target, value, &rows);
        break;
    }
}

/* ---- strided ---------------------------------------------------------------- */

/*
 * Converts the parameters of a strided routine to rows. There are nblocks blocks of bsize elements,
 * and dst and sst are the strides in elements. If the blocks are contiguous in both source and
 * destination, returns one row for all of them. Fatal if a stride is less than bsize, or if the
 * number of bytes from the first to the last block does not fit a size_t.
 */
static struct stp_strided_copy rma_rows(ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks,
                                        size_t size, const char *fn)
{
    size_t dest_stride = (size_t)dst, source_stride = (size_t)sst,
           nbytes = stp_bytes(bsize, size, fn);

    if (dst < 0 || sst < 0 || dest_stride < bsize || source_stride < bsize)
        stp_fatal(fn, "dst is %td and sst is %td: both strides must be at least %zu", dst, sst,
                  bsize);
    if (nblocks == 1) return rma_one_row(nbytes);
    (void)stp_bytes_spanned(nblocks, size,
                            dest_stride > source_stride ? dest_stride : source_stride, 1, fn);
    if (dest_stride == bsize && source_stride == bsize) return rma_one_row(nblocks * nbytes);
    return (struct stp_strided_copy){nbytes, nblocks, dest_stride * size, source_stride * size};
}

/* Ends the job if the buffer of this PE is in a space, is large, and reaches past its space. */
static void rma_check_own_end(const void *buffer, size_t nbytes, const char *fn,
                              const char *argument)
{
    if (nbytes > STP_UNCHECKED_BYTES) stp_check_end(buffer, nbytes, fn, argument);
}

void stp_iput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn)
{
    struct stp_strided_copy rows;
    struct stp_target target;

    if (nblocks == 0 || bsize == 0) return;
    stp_kind_begin();
    rows = rma_rows(dst, sst, bsize, nblocks, size, fn);
    target =
        stp_locate(ctx, dest, rma_extent(&rows, rows.dest_pitch), pe, STP_USE_COPY, fn, "dest");
    rma_check_own_end(source, rma_extent(&rows, rows.source_pitch), fn, "source");
    rma_put(ctx, &target, source, &rows, STP_COPY_LOCAL);
}

void stp_iget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t bsize, size_t nblocks, size_t size, int pe, const char *fn)
{
    struct stp_strided_copy rows;
    struct stp_target target;

    if (nblocks == 0 || bsize == 0) return;
    stp_kind_begin();
    rows = rma_rows(dst, sst, bsize, nblocks, size, fn);
    target = stp_locate(ctx, source, rma_extent(&rows, rows.source_pitch), pe, STP_USE_COPY, fn,
                        "source");
    rma_check_own_end(dest, rma_extent(&rows, rows.dest_pitch), fn, "dest");
    rma_get(ctx, dest, &target, &rows, STP_COPY_REMOTE);
}
