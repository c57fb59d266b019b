/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put, get and store. Puts complete when they are delivered, so counting completions is all
 * that quiet needs. A small blocking put leaves from a copy and returns at once, unless it comes
 * from device memory, which only the provider may touch. What a PE does to itself is done on
 * return: it may mix the CPU, atomics, and the provider, device memory, and nothing orders them.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <string.h>

static void raise_by(atomic_uint *pending, unsigned n)
{
    atomic_fetch_add_explicit(pending, n, memory_order_relaxed);
}

/* Post nbytes in pieces that the provider takes. */
static void post_segments(enum stp_ofi_kind kind, int pe, unsigned number, size_t offset,
                          const void *local, size_t nbytes, atomic_uint *pending,
                          struct stp_ofi_req *then)
{
    const struct stp_ofi_region *device = stp_ofi_device_of(local);
    void *desc = STP_LIKELY(device == NULL) ? NULL : fi_mr_desc(device->mr);
    const char *at = local;

    do {
        size_t n = nbytes < stp_ofi.max_msg ? nbytes : stp_ofi.max_msg;
        struct stp_ofi_req *req = stp_ofi_req_take(&stp_ofi.plain, kind, pe);

        stp_ofi_aim(req, number, offset);
        req->local = at;
        req->nbytes = n;
        req->desc = desc;
        req->pending = pending;
        req->then = then;
        stp_ofi_post(req);
        at += n;
        offset += n;
        nbytes -= n;
    } while (STP_UNLIKELY(nbytes > 0));
}

void stp_ofi_put_segments(int pe, unsigned number, size_t offset, const void *source, size_t nbytes,
                          atomic_uint *pending, struct stp_ofi_req *then)
{
    post_segments(STP_OFI_WRITE, pe, number, offset, source, nbytes, pending, then);
}

void stp_ofi_put_copied(int pe, unsigned number, size_t offset, const void *source, size_t nbytes,
                        atomic_uint *pending, struct stp_ofi_req *then)
{
    struct stp_ofi_pool *pool = nbytes <= STP_OFI_INLINE ? &stp_ofi.plain : &stp_ofi.bounce;
    struct stp_ofi_req *req = stp_ofi_req_take(pool, STP_OFI_WRITE, pe);

    stp_ofi_aim(req, number, offset);
    memcpy(req->data, source, nbytes);
    req->local = req->data;
    req->nbytes = nbytes;
    req->pending = pending;
    req->then = then;
    stp_ofi_post(req);
}

void stp_ofi_put(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                 const void *source, size_t nbytes)
{
    if (stp_ofi_by_cpu(pe, number, source)) {
        memmove(stp_ofi_own(number, offset), source, nbytes);
    } else if (nbytes <= stp_ofi.bounce_size && pe != stp_ofi.self &&
               stp_ofi_device_of(source) == NULL) {
        atomic_uint *pending = stp_ofi_ctx_pending(ctx);

        raise_by(pending, 1);
        stp_ofi_put_copied(pe, number, offset, source, nbytes, pending, NULL);
    } else {
        atomic_uint left = stp_ofi_n_segments(nbytes);

        stp_ofi_put_segments(pe, number, offset, source, nbytes, &left, NULL);
        stp_ofi_wait_zero(&left);
    }
}

void stp_ofi_put_nbi(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                     const void *source, size_t nbytes)
{
    atomic_uint *pending = stp_ofi_ctx_pending(ctx);

    if (pe == stp_ofi.self) {
        stp_ofi_put(ctx, pe, number, offset, source, nbytes);
        return;
    }
    raise_by(pending, stp_ofi_n_segments(nbytes));
    stp_ofi_put_segments(pe, number, offset, source, nbytes, pending, NULL);
}

void stp_ofi_get(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset, void *dest,
                 size_t nbytes)
{
    atomic_uint left = stp_ofi_n_segments(nbytes);

    (void)ctx; /* done on return: nothing left for quiet */
    if (stp_ofi_by_cpu(pe, number, dest)) {
        memmove(dest, stp_ofi_own(number, offset), nbytes);
        return;
    }
    post_segments(STP_OFI_READ, pe, number, offset, dest, nbytes, &left, NULL);
    stp_ofi_wait_zero(&left);
}

void stp_ofi_get_nbi(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset, void *dest,
                     size_t nbytes)
{
    atomic_uint *pending = stp_ofi_ctx_pending(ctx);

    if (pe == stp_ofi.self) {
        stp_ofi_get(ctx, pe, number, offset, dest, nbytes);
        return;
    }
    raise_by(pending, stp_ofi_n_segments(nbytes));
    post_segments(STP_OFI_READ, pe, number, offset, dest, nbytes, pending, NULL);
}

/* An atomic write: plain writes of 8 bytes tear on TCP. */
void stp_ofi_store(struct stp_fabric_ctx *ctx, int pe, unsigned number, size_t offset,
                   const void *value, size_t nbytes)
{
    enum stp_dtype dtype = nbytes == 8   ? STP_U64
                           : nbytes == 4 ? STP_U32
                           : nbytes == 2 ? STP_U16
                                         : STP_U8;

    stp_ofi_amo(ctx, pe, number, offset, STP_AMO_SET, dtype, value, NULL, NULL, false);
}
