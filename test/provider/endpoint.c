/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: endpoints, with the queue that gets their completions, and the order that the
 * program was promised.
 */
#include "shim.h"

#include <stdlib.h>

#define CUDA_API_PERMITTED 10 /* FI_OPT_CUDA_API_PERMITTED, which libfabric 1.18 added */
#define RMA_ORDER                                                                                  \
    (FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR |            \
     FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

static int bind_endpoint(struct fid *fid, struct fid *to, uint64_t flags)
{
    struct shim_ep *ep = SHIM_OF(fid->ops, struct shim_ep, fid_ops);
    bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
    int rc;

    if (to->fclass == FI_CLASS_CNTR) shim_die("fi_ep_bind: counters are not watched");
    if (to->fclass == FI_CLASS_EP) shim_die("fi_ep_bind: shared contexts are not watched");
    rc = ep->real_fid_ops->bind(fid, to, flags);
    if (rc != 0 || to->fclass != FI_CLASS_CQ) return rc;
    if (flags & FI_TRANSMIT) {
        ep->tx = shim_cq_of(to);
        ep->tx_selective = selective;
    }
    if (flags & FI_RECV) {
        ep->rx = shim_cq_of(to);
        ep->rx_selective = selective;
    }
    return 0;
}

static int close_endpoint(struct fid *fid)
{
    struct shim_ep *ep = SHIM_OF(fid->ops, struct shim_ep, fid_ops);
    long n_bound;
    int rc;

    pthread_mutex_lock(&shim_lock);
    n_bound = shim_memory_bound(ep->ep);
    if (n_bound > 0)
        shim_die("fi_close: %ld registrations are still bound to the endpoint", n_bound);
    shim_op_drop_all(ep);
    fid->ops = ep->real_fid_ops;
    rc = fid->ops->close(fid);
    pthread_mutex_unlock(&shim_lock);
    if (rc != 0) shim_die("fi_close: the endpoint is still in use (%d)", rc);
    free(ep);
    return 0;
}

/*
 * An adapter that reads device memory itself needs no CUDA calls. The real provider cannot answer,
 * because it knows nothing of the device memory of the shim.
 */
static int set_option(struct fid *fid, int level, int name, const void *value, size_t len)
{
    struct shim_ep *ep = SHIM_OF(fid->ops, struct shim_ep, fid_ops);

    if (shim_modes()->hmem && level == FI_OPT_ENDPOINT && name == CUDA_API_PERMITTED) return 0;
    return ep->real_ops->setopt(fid, level, name, value, len);
}

/* The program names an operation by its context, the real provider by our record. */
static ssize_t cancel(fid_t fid, void *context)
{
    struct shim_ep *ep = SHIM_OF(fid->ops, struct shim_ep, fid_ops);
    struct shim_op *op;
    ssize_t rc = -FI_ENOENT;

    pthread_mutex_lock(&shim_lock);
    for (op = ep->live; op != NULL && (op->context != context || op->kind != SHIM_RECV);)
        op = op->newer;
    if (op != NULL) rc = ep->real_ops->cancel(fid, op);
    pthread_mutex_unlock(&shim_lock);
    return rc;
}

static void wrap_endpoint(struct fid_ep *fid, struct shim_domain *domain,
                          const struct fi_info *info)
{
    struct shim_ep *ep = calloc(1, sizeof(*ep));

    if (ep == NULL) shim_die("no memory");
    ep->ep = fid;
    ep->domain = domain;
    ep->tx_flags = info->tx_attr->op_flags;
    ep->rx_flags = info->rx_attr->op_flags;
    ep->inject_size = info->tx_attr->inject_size;
    ep->max_msg = info->ep_attr->max_msg_size;
    ep->rma_ordered = (info->tx_attr->msg_order & RMA_ORDER) != 0;
    ep->send_after_rma = (info->tx_attr->msg_order & (FI_ORDER_SAW | FI_ORDER_SAR)) != 0;
    ep->real_fid_ops = fid->fid.ops;
    ep->real_ops = fid->ops;
    ep->fid_ops = *fid->fid.ops;
    ep->fid_ops.bind = bind_endpoint;
    ep->fid_ops.close = close_endpoint;
    ep->ops = *fid->ops;
    ep->ops.cancel = cancel;
    ep->ops.setopt = set_option;
    shim_post_wrap(ep);
    fid->fid.ops = &ep->fid_ops;
    fid->ops = &ep->ops;
    pthread_mutex_lock(&shim_lock);
    shim_counts.opened++;
    pthread_mutex_unlock(&shim_lock);
}

int shim_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                       void *context)
{
    struct shim_domain *ours = SHIM_OF(domain->ops, struct shim_domain, ops);
    int rc = ours->real_ops->endpoint(domain, info, ep, context);

    if (rc == 0) wrap_endpoint(*ep, ours, info);
    return rc;
}
