/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: operations from the call of the program to their completion. The shim checks the
 * arguments, refuses operations like a busy provider, holds operations back, and decides in which
 * order they leave.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#define SLAB 256
#define HOLD_READS 4       /* a held operation waits for so many reads of the queue at most, */
#define HOLD_LATE_READS 24 /* or so many, when the program believes that it is complete */
#define BURST 8

static struct slab {
    struct slab *older;
    struct shim_op ops[SLAB];
} * slabs; /* for ever: the real queue may name an operation whose endpoint was closed */

static struct shim_op *free_ops;
static struct shim_op *held, **held_end = &held; /* oldest first */

/* ---- records ------------------------------------------------------------------------ */

static void make_ops(void)
{
    struct slab *slab = calloc(1, sizeof(*slab));

    if (slab == NULL) shim_die("no memory");
    slab->older = slabs;
    slabs = slab;
    for (int i = 0; i < SLAB; i++) {
        slab->ops[i].next = free_ops;
        free_ops = &slab->ops[i];
    }
}

struct shim_op *shim_op_new(struct shim_ep *ep, enum shim_kind kind, const char *name)
{
    struct shim_op *op;

    if (free_ops == NULL) make_ops();
    op = free_ops;
    free_ops = op->next;
    *op = (struct shim_op){.ep = ep, .kind = kind, .name = name};
    op->newer = ep->live;
    op->older = &ep->live;
    if (op->newer != NULL) op->newer->older = &op->newer;
    ep->live = op;
    return op;
}

static void unlink_live(struct shim_op *op)
{
    *op->older = op->newer;
    if (op->newer != NULL) op->newer->older = op->older;
}

static void give(struct shim_op *op)
{
    free(op->copy);
    unlink_live(op);
    memset(op, 0, sizeof(*op));
    op->next = free_ops;
    free_ops = op;
}

size_t shim_op_size(enum fi_datatype type)
{
    switch (type) {
    case FI_INT8:
    case FI_UINT8:
        return 1;
    case FI_INT16:
    case FI_UINT16:
        return 2;
    case FI_INT32:
    case FI_UINT32:
    case FI_FLOAT:
        return 4;
    case FI_INT64:
    case FI_UINT64:
    case FI_DOUBLE:
        return 8;
    default:
        shim_die("atomics on type %d are not watched", (int)type);
    }
}

/* ---- what the program may pass ----------------------------------------------------------- */

static bool is_rx(const struct shim_op *op)
{
    return op->kind == SHIM_RECV;
}

static bool is_rma(const struct shim_op *op)
{
    return op->kind <= SHIM_COMPARE;
}

static uint64_t source_access(const struct shim_op *op)
{
    switch (op->kind) {
    case SHIM_READ:
        return FI_READ;
    case SHIM_SEND:
        return FI_SEND;
    case SHIM_RECV:
        return FI_RECV;
    default:
        return FI_WRITE;
    }
}

static void use_buffer(struct shim_op *op, int which, const char *what, uint64_t access)
{
    op->buffer[which].region =
        shim_memory_use(op->name, what, op->ep, op->buffer[which].base, op->buffer[which].nbytes,
                        op->buffer[which].desc, access);
}

/* Nobody reads the operand of an atomic read. */
static bool has_source(const struct shim_op *op)
{
    return !(op->kind == SHIM_FETCH && op->op == FI_ATOMIC_READ) && op->buffer[0].nbytes > 0;
}

static void use_registered(struct shim_op *op)
{
    if (!op->inject && has_source(op))
        use_buffer(op, SHIM_SOURCE, op->kind == SHIM_READ ? "destination" : "buffer",
                   source_access(op));
    if (op->kind == SHIM_FETCH || op->kind == SHIM_COMPARE)
        use_buffer(op, SHIM_RESULT, "result", FI_READ);
    if (op->kind == SHIM_COMPARE) use_buffer(op, SHIM_CONDITION, "compare operand", FI_WRITE);
}

static void use_buffers(struct shim_op *op)
{
    if (shim_modes()->mr_local) use_registered(op);
    for (int i = 0; i < SHIM_BUFFERS && shim_modes()->hmem; i++)
        op->buffer[i].base = shim_memory_real(op->name, op->buffer[i].base, op->buffer[i].nbytes,
                                              op->buffer[i].desc);
}

static void unuse_buffers(struct shim_op *op)
{
    for (int i = 0; i < SHIM_BUFFERS; i++) {
        if (op->buffer[i].region != NULL) shim_memory_unuse(op->buffer[i].region);
        op->buffer[i].region = NULL;
    }
}

static void check_atomic(const struct shim_op *op)
{
    const struct shim_modes *modes = shim_modes();

    if (op->kind < SHIM_UPDATE || op->kind > SHIM_COMPARE) return;
    if (modes->no_atomics) shim_die("%s: fi_query_atomic said that there are none", op->name);
    if (modes->no_fetch && op->kind != SHIM_UPDATE)
        shim_die("%s: fi_query_atomic said that nothing fetches", op->name);
}

/* Ends the process for what no program may do. Returns what the provider refuses with. */
static ssize_t check(const struct shim_op *op)
{
    const struct shim_ep *ep = op->ep;

    if (is_rma(op)) shim_memory_target(op->name, op->addr, op->key);
    check_atomic(op);
    if (op->inject && op->buffer[0].nbytes > ep->inject_size)
        shim_die("%s: %zu bytes to inject, the limit is %zu", op->name, op->buffer[0].nbytes,
                 ep->inject_size);
    if (op->flags & FI_FENCE) shim_die("%s: FI_FENCE was not granted", op->name);
    if ((is_rx(op) ? ep->rx : ep->tx) == NULL) return -FI_ENOCQ;
    if (!is_rx(op) && op->buffer[0].nbytes > ep->max_msg) return -FI_EMSGSIZE;
    return 0;
}

/* ---- a provider that is busy -------------------------------------------------------------- */

/* Every so many posts a few are refused, until the program has read the queue as well. */
static bool is_busy(const struct shim_op *op)
{
    static size_t posts, burst;
    static uint64_t reads;
    const struct shim_cq *cq = is_rx(op) ? op->ep->rx : op->ep->tx;

    if (shim_modes()->cqsize > 0 && op->wanted && !is_rx(op) &&
        cq->under_way >= shim_modes()->cqsize)
        return true;
    if (shim_time_storm()) return true;
    if (shim_modes()->eagain == 0) return false;
    if (burst > 0) {
        burst--;
        if (burst == 0 && cq->reads == reads) burst = 1;
        return true;
    }
    if (++posts % shim_modes()->eagain != 0) return false;
    burst = shim_random() % BURST + 1;
    reads = cq->reads;
    return true;
}

/* ---- handing over --------------------------------------------------------------------------- */

static void *source_of(const struct shim_op *op)
{
    return op->copy != NULL ? op->copy : op->buffer[SHIM_SOURCE].base;
}

static uint64_t real_flags(const struct shim_op *op)
{
    return (op->flags & ~(FI_INJECT | FI_MORE)) | FI_COMPLETION;
}

static ssize_t hand_over_rma(struct shim_op *op)
{
    struct iovec iov = {source_of(op), op->buffer[SHIM_SOURCE].nbytes};
    struct fi_rma_iov rma = {op->addr, iov.iov_len, op->key};
    struct fi_msg_rma msg = {.msg_iov = &iov,
                             .iov_count = 1,
                             .addr = op->peer,
                             .rma_iov = &rma,
                             .rma_iov_count = 1,
                             .context = op,
                             .data = op->data};
    const struct shim_ep *ep = op->ep;

    return op->kind == SHIM_WRITE ? ep->real_rma->writemsg(ep->ep, &msg, real_flags(op))
                                  : ep->real_rma->readmsg(ep->ep, &msg, real_flags(op));
}

static ssize_t hand_over_atomic(struct shim_op *op)
{
    struct fi_ioc source = {source_of(op), op->count};
    struct fi_ioc result = {op->buffer[SHIM_RESULT].base, op->count};
    struct fi_ioc condition = {op->buffer[SHIM_CONDITION].base, op->count};
    struct fi_rma_ioc rma = {op->addr, op->count, op->key};
    struct fi_msg_atomic msg = {.msg_iov = &source,
                                .iov_count = 1,
                                .addr = op->peer,
                                .rma_iov = &rma,
                                .rma_iov_count = 1,
                                .datatype = op->type,
                                .op = op->op,
                                .context = op};
    const struct shim_ep *ep = op->ep;
    uint64_t flags = real_flags(op);

    if (op->kind == SHIM_UPDATE) return ep->real_atomic->writemsg(ep->ep, &msg, flags);
    if (op->kind == SHIM_FETCH)
        return ep->real_atomic->readwritemsg(ep->ep, &msg, &result, NULL, 1, flags);
    return ep->real_atomic->compwritemsg(ep->ep, &msg, &condition, NULL, 1, &result, NULL, 1,
                                         flags);
}

static ssize_t hand_over(struct shim_op *op)
{
    struct iovec iov = {source_of(op), op->buffer[SHIM_SOURCE].nbytes};
    struct fi_msg msg = {.msg_iov = &iov, .iov_count = 1, .addr = op->peer, .context = op};
    const struct shim_ep *ep = op->ep;

    if (op->kind == SHIM_SEND) return ep->real_msg->sendmsg(ep->ep, &msg, real_flags(op));
    if (op->kind == SHIM_RECV) return ep->real_msg->recvmsg(ep->ep, &msg, real_flags(op));
    return op->kind <= SHIM_READ ? hand_over_rma(op) : hand_over_atomic(op);
}

/* ---- holding back ---------------------------------------------------------------- */

static bool is_late(const struct shim_op *op)
{
    return shim_modes()->late && (op->kind == SHIM_WRITE || op->kind == SHIM_UPDATE) &&
           !(op->flags & FI_DELIVERY_COMPLETE);
}

static bool sends_are_held(const struct shim_ep *ep)
{
    for (const struct shim_op *op = held; op != NULL; op = op->next)
        if (op->ep == ep && op->kind == SHIM_SEND) return true;
    return false;
}

/* For how many reads of the queue the operation is to be held back; 0: not at all. */
static uint64_t hold_for(const struct shim_op *op)
{
    const struct shim_modes *modes = shim_modes();

    if (is_rx(op)) return 0;
    if (is_late(op)) return 4 + shim_random() % HOLD_LATE_READS;
    if (op->kind == SHIM_SEND) return modes->manual || sends_are_held(op->ep);
    if (modes->reorder && !op->ep->rma_ordered && shim_random() % 2)
        return 1 + shim_random() % HOLD_READS;
    return modes->manual;
}

/* The source may change from now on. */
static void copy_source(struct shim_op *op)
{
    size_t nbytes = op->buffer[SHIM_SOURCE].nbytes;

    if (op->copy != NULL || nbytes == 0) return;
    op->copy = malloc(nbytes);
    if (op->copy == NULL) shim_die("no memory");
    memcpy(op->copy, op->buffer[SHIM_SOURCE].base, nbytes);
}

/* Tell the program that the operation is complete, though nothing has left. */
static void report_early(struct shim_op *op)
{
    struct shim_cq *cq = op->ep->tx;
    struct shim_op *report;

    copy_source(op);
    unuse_buffers(op);
    shim_counts.early++;
    if (!op->wanted) return;
    report = shim_op_new(op->ep, SHIM_REPORT, op->name);
    report->flags = op->kind == SHIM_WRITE ? FI_RMA | FI_WRITE : FI_ATOMIC | FI_WRITE;
    report->wanted = true;
    report->context = op->context;
    *cq->reports_end = report;
    cq->reports_end = &report->next;
    op->wanted = false;
    op->context = NULL;
    shim_context_take(report);
}

static bool in_order(const struct shim_op *op)
{
    return op->kind == SHIM_SEND || op->ep->rma_ordered || !shim_modes()->reorder;
}

static void hold(struct shim_op *op, uint64_t reads)
{
    op->due = op->ep->tx->reads + reads;
    op->due_ns = shim_time_after(shim_modes()->delay);
    /* Where order counts nothing may be due before what was there first. */
    for (const struct shim_op *other = held; other != NULL && in_order(op); other = other->next) {
        if (other->ep != op->ep || !in_order(other)) continue;
        if (other->due > op->due) op->due = other->due;
        if (other->due_ns > op->due_ns) op->due_ns = other->due_ns;
    }
    *held_end = op;
    held_end = &op->next;
    shim_counts.held++;
    shim_cq_wake(op->ep->tx);
}

bool shim_op_any_held(const struct shim_cq *cq)
{
    for (const struct shim_op *op = held; op != NULL; op = op->next)
        if (op->ep->tx == cq) return true;
    return false;
}

static void count_overtaken(const struct shim_op *op)
{
    for (const struct shim_op *other = held; other != NULL && other != op; other = other->next)
        if (other->ep == op->ep && other->peer == op->peer && is_rma(op)) {
            shim_counts.overtaken++;
            return;
        }
}

static void unhold(struct shim_op **at)
{
    struct shim_op *op = *at;

    *at = op->next;
    op->next = NULL;
    if (*at == NULL) held_end = at;
}

/* Hand over one held operation. Returns whether the provider can take more. */
static bool let_go(struct shim_op **at)
{
    struct shim_op *op = *at;
    struct shim_cq *cq = op->ep->tx;
    ssize_t rc = hand_over(op);

    if (rc == -FI_EAGAIN) return false;
    count_overtaken(op);
    unhold(at);
    if (rc != 0) {
        op->error = (int)-rc;
        op->next = cq->errors;
        cq->errors = op;
    }
    return true;
}

/* Was something held before that must arrive before this send? */
static bool is_behind(const struct shim_op *send)
{
    if (!send->ep->send_after_rma) return false;
    for (const struct shim_op *op = held; op != send; op = op->next)
        if (op->ep == send->ep && op->peer == send->peer && is_rma(op)) return true;
    return false;
}

/* The held operation to hand over next: sends in order; others newest first where allowed. */
static struct shim_op **pick(const struct shim_cq *cq, bool sends)
{
    struct shim_op **found = NULL;

    for (struct shim_op **at = &held; *at != NULL; at = &(*at)->next) {
        struct shim_op *op = *at;

        if (op->ep->tx != cq || (op->kind == SHIM_SEND) != sends || op->due > cq->reads) continue;
        if (!shim_time_come(op->due_ns)) continue;
        if (sends && is_behind(op)) continue;
        found = at;
        if (in_order(op)) break;
    }
    return found;
}

void shim_op_release(struct shim_cq *cq)
{
    for (int sends = 1; sends >= 0; sends--) {
        struct shim_op **at;

        while ((at = pick(cq, sends)) != NULL)
            if (!let_go(at)) break;
    }
}

/* What was held and must reach the peer before op does. Returns whether that has left. */
static bool release_before(const struct shim_op *op)
{
    struct shim_op **at = &held;
    bool ordered =
        op->kind == SHIM_SEND ? op->ep->send_after_rma : op->ep->rma_ordered && is_rma(op);

    while (ordered && *at != NULL) {
        if ((*at)->ep != op->ep || (*at)->peer != op->peer)
            at = &(*at)->next;
        else if (!let_go(at))
            return false;
    }
    return true;
}

/* ---- taking and finishing -------------------------------------------------------- */

static void account(struct shim_op *op)
{
    shim_counts.posts++;
    shim_context_take(op);
    if (op->wanted && !is_rx(op)) op->ep->tx->under_way++;
}

static ssize_t take(struct shim_op *op)
{
    uint64_t reads = hold_for(op);
    ssize_t rc;

    if (!(reads > 0 && (shim_modes()->manual || is_late(op))) && !release_before(op))
        return -FI_EAGAIN;
    use_buffers(op);
    if (op->inject) copy_source(op);
    if (reads == 0) {
        rc = hand_over(op);
        if (rc != 0) {
            unuse_buffers(op);
            return rc;
        }
        count_overtaken(op);
        account(op);
        return 0;
    }
    if (is_late(op)) {
        if (op->wanted) op->ep->tx->under_way++;
        shim_counts.posts++;
        report_early(op);
    } else {
        account(op);
    }
    hold(op, reads);
    return 0;
}

ssize_t shim_op_submit(struct shim_op *op)
{
    ssize_t rc = check(op);

    if (rc == 0 && is_busy(op)) {
        shim_counts.refused++;
        rc = -FI_EAGAIN;
    }
    if (rc == 0) rc = take(op);
    if (rc != 0) give(op);
    return rc;
}

void shim_op_finish(struct shim_op *op)
{
    shim_context_give(op, true);
    unuse_buffers(op);
    if (op->wanted && !is_rx(op)) op->ep->tx->under_way--;
    give(op);
}

/* Take an operation off the lists that it may be in. */
static void forget(struct shim_op *op)
{
    for (struct shim_op **at = &held; *at != NULL; at = &(*at)->next) {
        if (*at != op) continue;
        unhold(at);
        return;
    }
}

static void drop_reports(struct shim_cq *cq, const struct shim_ep *ep)
{
    struct shim_op **at = &cq->reports;

    while (*at != NULL)
        if ((*at)->ep == ep)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    cq->reports_end = at;
    for (at = &cq->errors; *at != NULL;)
        if ((*at)->ep == ep)
            *at = (*at)->next;
        else
            at = &(*at)->next;
}

void shim_op_drop_all(struct shim_ep *ep)
{
    struct shim_op *op;

    if (ep->tx != NULL) drop_reports(ep->tx, ep);
    while ((op = ep->live) != NULL) {
        forget(op);
        shim_context_give(op, false);
        unuse_buffers(op);
        if (op->wanted && !is_rx(op)) ep->tx->under_way--;
        unlink_live(op);
        /* Never used again: the real queue may still know it. */
        op->dead = true;
    }
}
