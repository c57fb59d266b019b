/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements put with signal. If the provider keeps operations in order, the signal is posted
 * directly after the data. Otherwise the signal becomes a prepared request. The completion of the
 * last data fragment posts this request, so that no thread has to wait for the data. If the signal
 * updates one of the library's own flags, a single write can carry both the data and the update
 * (write_cqdata.c). Design: docs/design/fabric.md.
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

/*
 * Posts the data. The completion of the data will post signal_req. Quiet waits only for the signal,
 * because the signal is posted after the data has arrived.
 */
static void post_chained(struct stp_fabric_ctx *ctx, struct stp_ofi_req *signal_req,
                         const struct stp_target *dest, const void *source, size_t nbytes, bool nbi)
{
    struct stp_ofi_fragments fragments = {.size = nbytes, .n = 1, .copied = true};

    if (nbi) fragments = stp_ofi_cut(STP_OFI_WRITE, dest, source, nbytes);
    __atomic_store_n(&signal_req->parts, fragments.n, __ATOMIC_RELAXED);
    stp_ofi_post_fragments(ctx->endpoint, STP_OFI_WRITE, &fragments, dest, source, nbytes,
                           &signal_req->parts, signal_req);
}

/*
 * Adds the data and the signal to one packed message. Data of at most PACKED_MAX bytes is split
 * into at most STP_OFI_SIGNAL_PUTS items. The signal is the last item. The target PE executes the
 * items in order, so the message can carry the signal together with the data. Returns false, and
 * adds nothing, if the data or the signal cannot be packed.
 */
static bool batch_signal(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                         const void *source, size_t nbytes, const struct stp_target *word,
                         const uint64_t *signal, enum stp_fabric_amo op)
{
    struct stp_ofi_item items[STP_OFI_SIGNAL_PUTS + 1];
    struct stp_target parts[STP_OFI_SIGNAL_PUTS];
    int n = 0;

    if (nbytes > 0 && stp_ofi_on_device(source)) return false;
    for (size_t offset = 0, item_size; offset < nbytes; offset += item_size, n++) {
        item_size = nbytes - offset < STP_OFI_ITEM_MAX ? nbytes - offset : STP_OFI_ITEM_MAX;
        parts[n] = *dest;
        parts[n].offset += offset;
        items[n] = (struct stp_ofi_item){&parts[n], STP_OFI_ITEM_PUT, (const char *)source + offset,
                                         item_size};
    }
    items[n++] = (struct stp_ofi_item){word, op == STP_AMO_SET ? STP_OFI_ITEM_PUT : op, signal,
                                       sizeof(*signal)};
    return stp_ofi_batch_add(ctx, items, n, NULL);
}

void stp_ofi_put_signal(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                        const void *source, size_t nbytes, const struct stp_target *word,
                        uint64_t signal, enum stp_fabric_amo op, bool nbi)
{
    /*
     * True if the put below returns only after its data has been delivered. A blocking put waits
     * for delivery unless it copies the source to a bounce buffer. After such a wait, the signal
     * can be posted at once.
     */
    bool put_waits = !nbi && nbytes > 0 &&
                     (nbytes > stp_ofi.bounce_size || stp_ofi_on_device(source) ||
                      (stp_ofi_has_grown(dest->number) && stp_ofi_crosses(dest, nbytes)));
    bool chain = nbytes > 0 && !stp_ofi_in_order(ctx) && !put_waits;
    struct stp_ofi_req *signal_req;

    if (word->pe == stp_ofi.self) {
        if (nbytes > 0) stp_ofi_put(ctx, dest, source, nbytes, false);
        stp_ofi_amo(ctx, word, op, STP_U64, &signal, NULL, NULL, nbi);
        return;
    }
    if (nbytes <= PACKED_MAX && stp_ofi_can_coalesce(ctx) &&
        batch_signal(ctx, dest, source, nbytes, word, &signal, op))
        return;
    /* Post the data at once, because a put that waits in a batch could be sent after its signal. */
    if (nbytes > 0 && !chain) stp_ofi_put_alone(ctx, dest, source, nbytes, nbi);
    signal_req = signal_request(ctx, word, signal, op);
    if (chain)
        post_chained(ctx, signal_req, dest, source, nbytes, nbi);
    else
        stp_ofi_post_until_accepted(signal_req);
}

/*
 * Returns whether one write can carry the data and the signal. Excludes small puts, which are
 * cheaper in a packed message. Excludes data in device memory, because its signal must wait until
 * the data has arrived.
 */
static bool fits_one_write(const struct stp_target *dest, const void *source, size_t nbytes)
{
    return stp_ofi.has_cqdata && dest->pe != stp_ofi.self && nbytes <= stp_ofi.max_msg &&
           nbytes > PACKED_MAX && !stp_ofi_on_device(source) && !stp_ofi_crosses(dest, nbytes);
}

void stp_ofi_put_notify(struct stp_fabric_ctx *ctx, const struct stp_target *dest,
                        const void *source, size_t nbytes, const struct stp_target *word,
                        uint64_t value, enum stp_fabric_amo op)
{
    struct stp_ofi_fragments fragment;
    struct stp_ofi_req *req;
    uint64_t data;

    if (!fits_one_write(dest, source, nbytes) || !stp_ofi_cqdata_pack(word, value, op, &data)) {
        stp_ofi_put_signal(ctx, dest, source, nbytes, word, value, op, true);
        return;
    }
    fragment = stp_ofi_cut(STP_OFI_WRITE, dest, source, nbytes);
    req = stp_ofi_req_prepare_one_fragment(ctx->endpoint, STP_OFI_WRITE, dest, &fragment, source,
                                           nbytes);
    req->has_word = true;
    req->word = data;
    stp_ofi_count_on_ctx(req, ctx);
    stp_ofi_post_until_accepted(req);
}
