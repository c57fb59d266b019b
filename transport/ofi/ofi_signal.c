/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Put with signal. Where the provider keeps order, data and signal leave back to back. Elsewhere
 * the signal waits as a ready request behind the segments of its data and is posted by the
 * completion of the last one, so that nobody stands still for it. A word of the library's own may
 * travel with its data (write_cqdata.c).
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "batch.h"

#define PACKED_MAX ((size_t)STP_OFI_SIGNAL_PUTS * STP_OFI_ITEM_MAX)

static struct stp_ofi_req *signal_request(struct stp_fabric_ctx *ctx, const struct stp_target *word,
                                          uint64_t signal, enum stp_fabric_amo op)
{
    struct stp_ofi_req *req = stp_ofi_atomic_prepare(ctx, word, op, STP_U64, &signal, NULL, NULL);

    stp_ofi_count_on_ctx(req, ctx);
    return req;
}

/* Send the data with the signal behind it; only the signal counts for quiet. */
static void post_chained(struct stp_fabric_ctx *ctx, struct stp_ofi_req *sig,
                         const struct stp_target *dest, const void *source, size_t nbytes, bool nbi)
{
    struct stp_ofi_fragments fragments = {.size = nbytes, .n = 1, .copied = true};

    if (nbi) fragments = stp_ofi_cut(STP_OFI_WRITE, dest, source, nbytes);
    __atomic_store_n(&sig->parts, fragments.n, __ATOMIC_RELAXED);
    stp_ofi_post_fragments(ctx->endpoint, STP_OFI_WRITE, &fragments, dest, source, nbytes,
                           &sig->parts, sig);
}

/*
 * Data and signal in one packed message, whose items are done in order: the data as items of the
 * largest size, so that a message of up to STP_OFI_SIGNAL_PUTS of them needs no answer before its
 * signal. nbytes: at most PACKED_MAX.
 */
static bool batch_signal(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                         const void *source, size_t nbytes, const struct stp_target *word,
                         const uint64_t *signal, enum stp_fabric_amo op)
{
    struct stp_ofi_item items[STP_OFI_SIGNAL_PUTS + 1];
    struct stp_target parts[STP_OFI_SIGNAL_PUTS];
    int n = 0;

    if (nbytes > 0 && stp_ofi_on_device(source)) return false;
    for (size_t at = 0, k; at < nbytes; at += k, n++) {
        k = nbytes - at < STP_OFI_ITEM_MAX ? nbytes - at : STP_OFI_ITEM_MAX;
        parts[n] = *dest;
        parts[n].offset += at;
        items[n] = (struct stp_ofi_item){&parts[n], STP_OFI_ITEM_PUT, (const char *)source + at, k};
    }
    items[n++] = (struct stp_ofi_item){word, op == STP_AMO_SET ? STP_OFI_ITEM_PUT : op, signal,
                                       sizeof(*signal)};
    return stp_ofi_batch_add(ctx, items, n, NULL);
}

void stp_ofi_put_signal(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                        const void *source, size_t nbytes, const struct stp_target *word,
                        uint64_t signal, enum stp_fabric_amo op, bool nbi)
{
    /* Blocking puts that leave from no copy are delivered on return: nothing to chain. */
    bool waits = !nbi && nbytes > 0 &&
                 (nbytes > stp_ofi.bounce_size || stp_ofi_on_device(source) ||
                  (stp_ofi_has_grown(dest->number) && stp_ofi_crosses(dest, nbytes)));
    bool chain = nbytes > 0 && !stp_ofi_in_order(ctx) && !waits;
    struct stp_ofi_req *sig;

    if (word->pe == stp_ofi.self) {
        if (nbytes > 0) stp_ofi_put(ctx, dest, source, nbytes, false);
        stp_ofi_amo(ctx, word, op, STP_U64, &signal, NULL, NULL, nbi);
        return;
    }
    if (nbytes <= PACKED_MAX && stp_ofi_can_coalesce(ctx) &&
        batch_signal(ctx, dest, source, nbytes, word, &signal, op))
        return;
    /* Collected, it would leave behind its signal. */
    if (nbytes > 0 && !chain) stp_ofi_put_alone(ctx, dest, source, nbytes, nbi);
    sig = signal_request(ctx, word, signal, op);
    if (chain)
        post_chained(ctx, sig, dest, source, nbytes, nbi);
    else
        stp_ofi_post_until_accepted(sig);
}

/* Small ones are cheaper packed; of device memory a signal waits for the data. */
static bool goes_along(const struct stp_target *dest, const void *source, size_t nbytes)
{
    return stp_ofi.has_cqdata && dest->pe != stp_ofi.self && nbytes <= stp_ofi.max_msg &&
           nbytes > PACKED_MAX && !stp_ofi_on_device(source) && !stp_ofi_crosses(dest, nbytes);
}

void stp_ofi_put_notify(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                        const void *source, size_t nbytes, const struct stp_target *word,
                        uint64_t value, enum stp_fabric_amo op)
{
    struct stp_ofi_fragments one;
    struct stp_ofi_req *req;
    uint64_t data;

    if (!goes_along(dest, source, nbytes) || !stp_ofi_cqdata_pack(word, value, op, &data)) {
        stp_ofi_put_signal(ctx, dest, source, nbytes, word, value, op, true);
        return;
    }
    one = stp_ofi_cut(STP_OFI_WRITE, dest, source, nbytes);
    req =
        stp_ofi_req_prepare_one_fragment(ctx->endpoint, STP_OFI_WRITE, dest, &one, source, nbytes);
    req->has_word = true;
    req->word = data;
    stp_ofi_count_on_ctx(req, ctx);
    stp_ofi_post_until_accepted(req);
}
