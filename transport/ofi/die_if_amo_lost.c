/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends the job if an atomic was lost when its connection broke. The provider ofi_rxm sends an
 * atomic as a message and completes the atomic when the reply arrives. If the connection breaks
 * before the reply, ofi_rxm connects again without reporting an error. Replies of one peer arrive
 * in order, so the reply to a later operation reveals the loss. Therefore a stalled wait sends
 * probes, which read the target word of an outstanding atomic. If two probes that were posted after
 * an atomic are answered before the atomic, the atomic is lost. Design: docs/design/security.md.
 */
#include "ofi_internal.h"

#include "peer_liveness_and_fd_limits.h"
#include "lost_op_by_order.h"

#include <string.h>

#define LOOKS 16 /* maximum number of PEs from which the next PE to probe is chosen */

static struct {
    pthread_mutex_t lock; /* guards all fields except left, which is accessed with atomics */
    bool asked;
    unsigned left; /* counter of the probe: 1 while the probe is in flight, else 0 */
    struct stp_ofi_pool *pool;
    int pe;
    uint64_t turn; /* turn (sequence number) of the probe, see lost_op_by_order.h */
    unsigned next;
    bool lost;
} lost = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_atomic(const struct stp_ofi_req *req)
{
    return req->work.kind == STP_OFI_UPDATE || req->work.kind == STP_OFI_FETCH ||
           req->work.kind == STP_OFI_COMPARE;
}

/*
 * Called for each outstanding request whose target is the PE that will be probed. If the request is
 * the first atomic, copies the location and type of its target word to the request at arg. Ignores
 * all other requests.
 */
static void copy_atomic(struct stp_ofi_req *req, void *arg)
{
    struct stp_ofi_req *like = arg;

    /* Skip requests without a counter, because another thread is still filling their fields. */
    if (!is_atomic(req) || stp_ofi_counts_on(req) == NULL || like->nbytes != 0) return;
    like->place = req->place;
    like->type = req->type;
    like->nbytes = req->nbytes;
}

static void ask(struct stp_ofi_endpoint *endpoint, int pe)
{
    struct stp_ofi_pool *pool = &endpoint->pools[STP_OFI_PLAIN];
    struct stp_ofi_req like = {.nbytes = 0}, *req;

    stp_ofi_req_each(pool, pe, copy_atomic, &like);
    if (like.nbytes == 0 || endpoint->retry != NULL) return;
    req = stp_ofi_req_try(pool, STP_OFI_FETCH, pe);
    if (req == NULL) return;
    req->op = FI_ATOMIC_READ;
    req->type = like.type;
    req->place = like.place;
    req->nbytes = like.nbytes;
    req->local = req->compare = req->data;
    req->result = req->data + STP_OFI_INLINE / 2;
    req->desc = req->own_desc;
    stp_ofi_count_on(req, &lost.left);
    /* Pairs with the load in look_locked(), which checks whether the probe is complete. */
    __atomic_store_n(&lost.left, 1, __ATOMIC_SEQ_CST);
    lost.asked = true;
    lost.pool = pool;
    lost.pe = pe;
    lost.turn = stp_ofi_post_seq_next();
    stp_ofi_post_or_defer_locked(endpoint, req);
}

static void look_locked(struct stp_ofi_endpoint *endpoint)
{
    int pes[LOOKS], n;

    /* Pairs with the subtraction in finish_locked(), which runs when the reply has arrived. */
    if (lost.asked && __atomic_load_n(&lost.left, __ATOMIC_SEQ_CST) == 0) {
        lost.lost = stp_ofi_post_seq_older_is_lost(lost.pool, lost.pe, lost.turn);
        lost.asked = false;
    }
    if (lost.asked || lost.lost) return;
    n = stp_ofi_pool_targets(&endpoint->pools[STP_OFI_PLAIN], pes, 0, LOOKS);
    if (n > 0) ask(endpoint, pes[lost.next++ % (unsigned)n]);
}

void stp_ofi_amo_loss_check(struct stp_ofi_endpoint *endpoint)
{
    bool is_lost;
    int pe;

    if (!stp_ofi.may_lose_amo || __atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&endpoint->drain);
    pthread_mutex_lock(&lost.lock);
    look_locked(endpoint);
    is_lost = lost.lost;
    pe = lost.pe;
    pthread_mutex_unlock(&lost.lock);
    pthread_mutex_unlock(&endpoint->drain);
    if (is_lost)
        stp_ofi.core->fatal("fabric", "an atomic to pe %d was lost, because the connection broke",
                            pe);
}

void stp_ofi_amo_loss_reset(void)
{
    pthread_mutex_lock(&lost.lock);
    lost.asked = lost.lost = false;
    pthread_mutex_unlock(&lost.lock);
}
