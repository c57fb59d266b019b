/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes whose local side may be device memory. Operations that the fabric module does
 * not use are left out, so that their use is noticed here before it goes unwatched.
 */
#include "shim.h"

#define IOV_MAX_COUNT 8

static struct fi_ops_rma *rma_ops, our_rma_ops;

typedef ssize_t (*msg_fn)(struct fid_ep *, const struct fi_msg_rma *, uint64_t);

static ssize_t pass_msg(const char *operation, msg_fn pass, struct fid_ep *ep,
                        const struct fi_msg_rma *msg, uint64_t flags)
{
    struct iovec iov[IOV_MAX_COUNT];
    void *desc[IOV_MAX_COUNT];
    struct fi_msg_rma real = *msg;

    if (msg->iov_count > IOV_MAX_COUNT) shim_die("%s: too many pieces", operation);
    for (size_t i = 0; i < msg->iov_count; i++) {
        desc[i] = msg->desc != NULL ? msg->desc[i] : NULL;
        iov[i].iov_len = msg->msg_iov[i].iov_len;
        iov[i].iov_base =
            shim_memory_local(operation, msg->msg_iov[i].iov_base, iov[i].iov_len, &desc[i]);
    }
    real.msg_iov = iov;
    if (msg->desc != NULL) real.desc = desc;
    return pass(ep, &real, flags);
}

static ssize_t readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return pass_msg("fi_readmsg", rma_ops->readmsg, ep, msg, flags);
}

static ssize_t writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    if (flags & FI_INJECT) shim_die("fi_writemsg: FI_INJECT is not watched");
    return pass_msg("fi_writemsg", rma_ops->writemsg, ep, msg, flags);
}

void shim_rma_wrap(struct fid_ep *ep)
{
    rma_ops = ep->rma;
    our_rma_ops = (struct fi_ops_rma){
        .size = rma_ops->size,
        .readmsg = readmsg,
        .writemsg = writemsg,
    };
    ep->rma = &our_rma_ops;
}
