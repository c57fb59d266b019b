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

#define TARGETS_MAX 16 /* maximum number of PEs from which the next PE to probe is chosen */

static struct {
    pthread_mutex_t lock; /* guards all fields except pending, which is accessed with atomics */
    bool probing;
    unsigned pending; /* counter of the probe: 1 while the probe is in flight, else 0 */
    struct stp_ofi_pool *pool;
    int pe;
    uint64_t seq; /* sequence number of the probe, see lost_op_by_order.h */
    unsigned next;
    bool lost;
} search = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
    struct stp_ofi_req *sample = arg;

    /* Skip requests without a counter, because another thread is still filling their fields. */
    if (!is_atomic(req) || stp_ofi_counts_on(req) == NULL || sample->nbytes != 0) return;
    sample->place = req->place;
    sample->type = req->type;
    sample->nbytes = req->nbytes;
}

static void post_probe(struct stp_ofi_endpoint *endpoint, int pe)
{
    struct stp_ofi_pool *pool = &endpoint->pools[STP_OFI_PLAIN];
    struct stp_ofi_req sample = {.nbytes = 0}, *req;

    stp_ofi_req_each(pool, pe, copy_atomic, &sample);
    if (sample.nbytes == 0 || endpoint->retry != NULL) return;
    req = stp_ofi_req_try(pool, STP_OFI_FETCH, pe);
    if (req == NULL) return;
    req->op = FI_ATOMIC_READ;
    req->type = sample.type;
    req->place = sample.place;
    req->nbytes = sample.nbytes;
    req->local = req->compare = req->data;
    req->result = req->data + STP_OFI_INLINE / 2;
    req->desc = req->data_desc;
    stp_ofi_count_on(req, &search.pending);
    /* Pairs with the load in check_locked(), which checks whether the probe is complete. */
    __atomic_store_n(&search.pending, 1, __ATOMIC_SEQ_CST);
    search.probing = true;
    search.pool = pool;
    search.pe = pe;
    search.seq = stp_ofi_post_seq_next();
    stp_ofi_post_or_defer_locked(endpoint, req);
}

static void check_locked(struct stp_ofi_endpoint *endpoint)
{
    int pes[TARGETS_MAX], n;

    /* Pairs with the subtraction in finish_locked(), which runs when the reply has arrived. */
    if (search.probing && __atomic_load_n(&search.pending, __ATOMIC_SEQ_CST) == 0) {
        search.lost = stp_ofi_post_seq_older_is_lost(search.pool, search.pe, search.seq);
        search.probing = false;
    }
    if (search.probing || search.lost) return;
    n = stp_ofi_pool_targets(&endpoint->pools[STP_OFI_PLAIN], pes, 0, TARGETS_MAX);
    if (n > 0) post_probe(endpoint, pes[search.next++ % (unsigned)n]);
}

void stp_ofi_amo_loss_check(struct stp_ofi_endpoint *endpoint)
{
    bool is_lost;
    int pe;

    if (!stp_ofi.may_lose_amo || __atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&endpoint->drain);
    pthread_mutex_lock(&search.lock);
    check_locked(endpoint);
    is_lost = search.lost;
    pe = search.pe;
    pthread_mutex_unlock(&search.lock);
    pthread_mutex_unlock(&endpoint->drain);
    if (is_lost)
        stp_ofi.core->fatal("fabric", "an atomic to pe %d was lost, because the connection broke",
                            pe);
}

void stp_ofi_amo_loss_reset(void)
{
    pthread_mutex_lock(&search.lock);
    search.probing = search.lost = false;
    pthread_mutex_unlock(&search.lock);
}
