/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: the calls that start operations. Each call becomes a record. Forms that the fabric
 * module does not use (vectors, tags, remote data of messages) end the process, because the shim
 * does not check them: a new use must be noticed here first.
 */
#include "shim.h"

/* With libfabric's own meaning of flags: those of a call, or the endpoint's where it has none. */
static struct shim_op *begin(struct shim_ep *ep, enum shim_kind kind, const char *name,
                             uint64_t flags, void *context)
{
    bool selective = kind == SHIM_RECV ? ep->rx_selective : ep->tx_selective;
    struct shim_op *op;

    if (kind != SHIM_RECV) shim_time_hold();
    pthread_mutex_lock(&shim_lock);
    op = shim_op_new(ep, kind, name);
    op->flags = flags;
    op->inject = (flags & FI_INJECT) != 0;
    op->wanted = !selective || (flags & FI_COMPLETION);
    op->context = context;
    return op;
}

static ssize_t submit(struct shim_op *op)
{
    ssize_t rc = shim_op_submit(op);

    pthread_mutex_unlock(&shim_lock);
    return rc;
}

static void set_buffer(struct shim_op *op, int which, const void *base, size_t nbytes, void *desc)
{
    op->buffer[which].base = (void *)(uintptr_t)base;
    op->buffer[which].nbytes = nbytes;
    op->buffer[which].desc = desc;
}

static void set_target(struct shim_op *op, fi_addr_t peer, uint64_t addr, uint64_t key)
{
    op->peer = peer;
    op->addr = addr;
    op->key = key;
}

/* Injected: copied at once, and nothing is said of its end. */
static struct shim_op *inject(struct shim_op *op)
{
    op->inject = true;
    op->wanted = false;
    op->flags &= ~(FI_DELIVERY_COMPLETE | FI_COMPLETION);
    return op;
}

static void *first(void *const *desc)
{
    return desc != NULL ? desc[0] : NULL;
}

static void need_one(const char *name, size_t local, size_t remote)
{
    if (local != 1 || remote != 1) shim_die("%s: one piece at a time is watched", name);
}

/* ---- reads and writes -------------------------------------------------------------- */

static struct shim_ep *of_rma(const struct fid_ep *ep)
{
    return SHIM_OF(ep->rma, struct shim_ep, rma);
}

static struct shim_op *rma_op(struct fid_ep *ep, enum shim_kind kind, const char *name,
                              uint64_t flags, const void *buf, size_t len, void *desc,
                              fi_addr_t peer, uint64_t addr, uint64_t key, void *context)
{
    struct shim_op *op = begin(of_rma(ep), kind, name, flags, context);

    __atomic_add_fetch(&shim_counts.rma, 1, __ATOMIC_RELAXED);
    if (kind == SHIM_READ) __atomic_add_fetch(&shim_counts.reads, 1, __ATOMIC_RELAXED);
    set_buffer(op, SHIM_SOURCE, buf, len, desc);
    set_target(op, peer, addr, key);
    return op;
}

static ssize_t rma_msg(struct fid_ep *ep, enum shim_kind kind, const char *name,
                       const struct fi_msg_rma *msg, uint64_t flags)
{
    struct shim_op *op;

    need_one(name, msg->iov_count, msg->rma_iov_count);
    if (msg->rma_iov->len != msg->msg_iov->iov_len) shim_die("%s: two lengths", name);
    op = rma_op(ep, kind, name, flags, msg->msg_iov->iov_base, msg->msg_iov->iov_len,
                first(msg->desc), msg->addr, msg->rma_iov->addr, msg->rma_iov->key, msg->context);
    op->data = msg->data;
    return submit(op);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t peer,
                        uint64_t addr, uint64_t key, void *context)
{
    return submit(rma_op(ep, SHIM_READ, "fi_read", of_rma(ep)->tx_flags, buf, len, desc, peer, addr,
                         key, context));
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return rma_msg(ep, SHIM_READ, "fi_readmsg", msg, flags & ~FI_INJECT);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t peer,
                         uint64_t addr, uint64_t key, void *context)
{
    return submit(rma_op(ep, SHIM_WRITE, "fi_write", of_rma(ep)->tx_flags, buf, len, desc, peer,
                         addr, key, context));
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return rma_msg(ep, SHIM_WRITE, "fi_writemsg", msg, flags);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t peer,
                          uint64_t addr, uint64_t key)
{
    return submit(inject(rma_op(ep, SHIM_WRITE, "fi_inject_write", of_rma(ep)->tx_flags, buf, len,
                                NULL, peer, addr, key, NULL)));
}

/* ---- atomics -------------------------------------------------------------------------- */

static struct shim_ep *of_atomic(const struct fid_ep *ep)
{
    return SHIM_OF(ep->atomic, struct shim_ep, atomic);
}

/* The arguments that all forms share; one element block each. */
struct atomic_call {
    enum shim_kind kind;
    const char *name;
    uint64_t flags;
    const void *source;
    size_t count;
    void *desc;
    fi_addr_t peer;
    uint64_t addr, key;
    enum fi_datatype type;
    enum fi_op op;
    void *context;
    void *result, *result_desc;
    const void *compare;
    void *compare_desc;
};

static struct shim_op *atomic_op(struct fid_ep *ep, const struct atomic_call *call)
{
    struct shim_op *op = begin(of_atomic(ep), call->kind, call->name, call->flags, call->context);
    size_t nbytes = call->count * shim_op_size(call->type);

    op->type = call->type;
    op->op = call->op;
    op->count = call->count;
    set_buffer(op, SHIM_SOURCE, call->source, nbytes, call->desc);
    set_buffer(op, SHIM_RESULT, call->result, nbytes, call->result_desc);
    set_buffer(op, SHIM_CONDITION, call->compare, nbytes, call->compare_desc);
    set_target(op, call->peer, call->addr, call->key);
    return op;
}

static struct atomic_call of_msg(enum shim_kind kind, const char *name,
                                 const struct fi_msg_atomic *msg, uint64_t flags)
{
    need_one(name, msg->iov_count, msg->rma_iov_count);
    if (msg->msg_iov->count != msg->rma_iov->count) shim_die("%s: two lengths", name);
    return (struct atomic_call){.kind = kind,
                                .name = name,
                                .flags = flags,
                                .source = msg->msg_iov->addr,
                                .count = msg->msg_iov->count,
                                .desc = first(msg->desc),
                                .peer = msg->addr,
                                .addr = msg->rma_iov->addr,
                                .key = msg->rma_iov->key,
                                .type = msg->datatype,
                                .op = msg->op,
                                .context = msg->context};
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count, void *desc,
                            fi_addr_t peer, uint64_t addr, uint64_t key, enum fi_datatype type,
                            enum fi_op op, void *context)
{
    struct atomic_call call = {.kind = SHIM_UPDATE,
                               .name = "fi_atomic",
                               .flags = of_atomic(ep)->tx_flags,
                               .source = buf,
                               .count = count,
                               .desc = desc,
                               .peer = peer,
                               .addr = addr,
                               .key = key,
                               .type = type,
                               .op = op,
                               .context = context};

    return submit(atomic_op(ep, &call));
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t peer,
                             uint64_t addr, uint64_t key, enum fi_datatype type, enum fi_op op)
{
    struct atomic_call call = {.kind = SHIM_UPDATE,
                               .name = "fi_inject_atomic",
                               .flags = of_atomic(ep)->tx_flags,
                               .source = buf,
                               .count = count,
                               .peer = peer,
                               .addr = addr,
                               .key = key,
                               .type = type,
                               .op = op};

    return submit(inject(atomic_op(ep, &call)));
}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
    struct atomic_call call = of_msg(SHIM_UPDATE, "fi_atomicmsg", msg, flags);

    return submit(atomic_op(ep, &call));
}

static ssize_t atomic_fetch(struct fid_ep *ep, const void *buf, size_t count, void *desc,
                            void *result, void *result_desc, fi_addr_t peer, uint64_t addr,
                            uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
    struct atomic_call call = {.kind = SHIM_FETCH,
                               .name = "fi_fetch_atomic",
                               .flags = of_atomic(ep)->tx_flags & ~FI_INJECT,
                               .source = buf,
                               .count = count,
                               .desc = desc,
                               .result = result,
                               .result_desc = result_desc,
                               .peer = peer,
                               .addr = addr,
                               .key = key,
                               .type = type,
                               .op = op,
                               .context = context};

    return submit(atomic_op(ep, &call));
}

static ssize_t atomic_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                               struct fi_ioc *resultv, void **result_desc, size_t result_count,
                               uint64_t flags)
{
    struct atomic_call call = of_msg(SHIM_FETCH, "fi_fetch_atomicmsg", msg, flags);

    need_one(call.name, result_count, 1);
    call.result = resultv->addr;
    call.result_desc = first(result_desc);
    return submit(atomic_op(ep, &call));
}

static ssize_t atomic_comparemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                 const struct fi_ioc *comparev, void **compare_desc,
                                 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
                                 size_t result_count, uint64_t flags)
{
    struct atomic_call call = of_msg(SHIM_COMPARE, "fi_compare_atomicmsg", msg, flags);

    need_one(call.name, result_count, compare_count);
    call.result = resultv->addr;
    call.result_desc = first(result_desc);
    call.compare = comparev->addr;
    call.compare_desc = first(compare_desc);
    return submit(atomic_op(ep, &call));
}

static int update_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
    if (shim_modes()->no_atomics) return -FI_EOPNOTSUPP;
    return of_atomic(ep)->real_atomic->writevalid(ep, type, op, count);
}

static int fetch_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
    if (shim_modes()->no_atomics || shim_modes()->no_fetch) return -FI_EOPNOTSUPP;
    return of_atomic(ep)->real_atomic->readwritevalid(ep, type, op, count);
}

static int compare_valid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
    if (shim_modes()->no_atomics || shim_modes()->no_fetch) return -FI_EOPNOTSUPP;
    return of_atomic(ep)->real_atomic->compwritevalid(ep, type, op, count);
}

/* ---- messages ---------------------------------------------------------------------------- */

static struct shim_ep *of_message(const struct fid_ep *ep)
{
    return SHIM_OF(ep->msg, struct shim_ep, msg);
}

static struct shim_op *message_op(struct fid_ep *ep, enum shim_kind kind, const char *name,
                                  uint64_t flags, const void *buf, size_t len, void *desc,
                                  fi_addr_t peer, void *context)
{
    struct shim_op *op = begin(of_message(ep), kind, name, flags, context);

    set_buffer(op, SHIM_SOURCE, buf, len, desc);
    op->peer = peer;
    return op;
}

static ssize_t message_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
                            fi_addr_t peer, void *context)
{
    return submit(message_op(ep, SHIM_SEND, "fi_send", of_message(ep)->tx_flags, buf, len, desc,
                             peer, context));
}

static ssize_t message_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t peer)
{
    return submit(inject(message_op(ep, SHIM_SEND, "fi_inject", of_message(ep)->tx_flags, buf, len,
                                    NULL, peer, NULL)));
}

static ssize_t message_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t peer,
                            void *context)
{
    return submit(message_op(ep, SHIM_RECV, "fi_recv", of_message(ep)->rx_flags, buf, len, desc,
                             peer, context));
}

static ssize_t message_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    need_one("fi_sendmsg", msg->iov_count, 1);
    if (flags & FI_REMOTE_CQ_DATA) shim_die("fi_sendmsg: remote data is not watched");
    return submit(message_op(ep, SHIM_SEND, "fi_sendmsg", flags, msg->msg_iov->iov_base,
                             msg->msg_iov->iov_len, first(msg->desc), msg->addr, msg->context));
}

static ssize_t message_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    need_one("fi_recvmsg", msg->iov_count, 1);
    return submit(message_op(ep, SHIM_RECV, "fi_recvmsg", flags, msg->msg_iov->iov_base,
                             msg->msg_iov->iov_len, first(msg->desc), msg->addr, msg->context));
}

/* ---- what is not watched ------------------------------------------------------------------- */

static ssize_t unwatched(struct fid_ep *ep)
{
    (void)ep;
    shim_die("a call on vectors or with remote data, which are not watched");
}

/* Whatever the call's other arguments are, nobody looks at them. */
#define UNWATCHED(table, member)                                                                   \
    (table).member = (__typeof__((table).member))(void (*)(void))unwatched

static void wrap_rma(struct shim_ep *ep)
{
    ep->real_rma = ep->ep->rma;
    ep->rma = *ep->real_rma;
    ep->rma.read = rma_read;
    ep->rma.readmsg = rma_readmsg;
    ep->rma.write = rma_write;
    ep->rma.writemsg = rma_writemsg;
    ep->rma.inject = rma_inject;
    UNWATCHED(ep->rma, readv);
    UNWATCHED(ep->rma, writev);
    UNWATCHED(ep->rma, writedata);
    UNWATCHED(ep->rma, injectdata);
    ep->ep->rma = &ep->rma;
}

static void wrap_atomic(struct shim_ep *ep)
{
    ep->real_atomic = ep->ep->atomic;
    if (ep->real_atomic == NULL) return;
    ep->atomic = *ep->real_atomic;
    ep->atomic.write = atomic_write;
    ep->atomic.writemsg = atomic_writemsg;
    ep->atomic.inject = atomic_inject;
    ep->atomic.readwrite = atomic_fetch;
    ep->atomic.readwritemsg = atomic_fetchmsg;
    ep->atomic.compwritemsg = atomic_comparemsg;
    ep->atomic.writevalid = update_valid;
    ep->atomic.readwritevalid = fetch_valid;
    ep->atomic.compwritevalid = compare_valid;
    UNWATCHED(ep->atomic, writev);
    UNWATCHED(ep->atomic, readwritev);
    UNWATCHED(ep->atomic, compwrite);
    UNWATCHED(ep->atomic, compwritev);
    ep->ep->atomic = &ep->atomic;
}

static void wrap_messages(struct shim_ep *ep)
{
    ep->real_msg = ep->ep->msg;
    if (ep->real_msg == NULL) return;
    ep->msg = *ep->real_msg;
    ep->msg.recv = message_recv;
    ep->msg.recvmsg = message_recvmsg;
    ep->msg.send = message_send;
    ep->msg.sendmsg = message_sendmsg;
    ep->msg.inject = message_inject;
    UNWATCHED(ep->msg, recvv);
    UNWATCHED(ep->msg, sendv);
    UNWATCHED(ep->msg, senddata);
    UNWATCHED(ep->msg, injectdata);
    ep->ep->msg = &ep->msg;
}

void shim_post_wrap(struct shim_ep *ep)
{
    wrap_rma(ep);
    wrap_atomic(ep);
    wrap_messages(ep);
}
