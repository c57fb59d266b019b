/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects lost operations by their order, because providers do not report the loss of some
 * operations. Operations and probes get sequence numbers in the order of their posts. A PE answers
 * in the order of these numbers. An operation is therefore lost if the PE has already answered
 * probes with higher numbers.
 * Design: docs/design/messages.md.
 */
#include "lost_op_by_order.h"

#define BEING_POSTED ((uint64_t)1 << 63)
/* An unanswered operation counts as lost when this number of later probes has been answered. */
#define MISSES 2

/* Input and result of a search for lost requests. */
struct loss_search {
    uint64_t seq;
    bool lost;
};

static unsigned long long last_seq;

uint64_t stp_ofi_post_seq_next(void)
{
    /* No other access pairs with this addition, because it only makes the numbers unique. */
    return __atomic_fetch_add(&last_seq, 1, __ATOMIC_SEQ_CST) + 1;
}

uint64_t stp_ofi_post_seq_begin_post(struct stp_ofi_req *req)
{
    /* The token is unique to this use of req. */
    uint64_t posting_token = BEING_POSTED | req->use_count;

    __atomic_store_n(&req->seq, posting_token, __ATOMIC_RELAXED);
    return posting_token;
}

void stp_ofi_post_seq_assign_number(struct stp_ofi_req *req, uint64_t posting_token)
{
    __atomic_compare_exchange_n(&req->seq, &posting_token, stp_ofi_post_seq_next(), false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool is_older(const struct stp_ofi_req *req, uint64_t seq)
{
    uint64_t req_seq = __atomic_load_n(&req->seq, __ATOMIC_RELAXED);

    return req_seq != 0 && (req_seq & BEING_POSTED) == 0 && req_seq < seq;
}

static void count_missed(struct stp_ofi_req *req, void *arg)
{
    struct loss_search *search = arg;

    if (is_older(req, search->seq) && stp_ofi_counts_on(req) != &stp_ofi.abandoned &&
        ++req->missed == MISSES)
        search->lost = true;
}

bool stp_ofi_post_seq_older_is_lost(struct stp_ofi_pool *pool, int pe, uint64_t seq)
{
    struct loss_search search = {.seq = seq};

    stp_ofi_req_each(pool, pe, count_missed, &search);
    return search.lost;
}
