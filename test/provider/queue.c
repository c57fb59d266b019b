/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: completion queues. The shim opens the real queue in the format with most
 * information, and translates each entry from the shim's record to the context and format of the
 * program. Each read of a queue also advances what is held back, and a program that sleeps on the
 * descriptor of the queue wakes up for it.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define BATCH 32
#define NAP_NS 50000

struct shim_cq *shim_cq_of(const struct fid *fid)
{
    const struct fid_cq *cq = (const struct fid_cq *)fid;

    if (fid->fclass != FI_CLASS_CQ) return NULL;
    return SHIM_OF(cq->ops, struct shim_cq, ops);
}

bool shim_cq_busy(const struct shim_cq *cq)
{
    uint64_t n;
    bool busy = cq->reports != NULL || cq->errors != NULL || shim_op_any_held(cq);

    if (!busy && cq->wake_fd >= 0 && read(cq->wake_fd, &n, sizeof(n)) < 0) return false;
    return busy;
}

void shim_cq_wake(struct shim_cq *cq)
{
    uint64_t one = 1;

    /* The counter is far from full. */
    if (cq->wake_fd >= 0 && write(cq->wake_fd, &one, sizeof(one)) < 0) shim_die("eventfd");
}

/* ---- entries ---------------------------------------------------------------------- */

static size_t entry_size(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_UNSPEC:
    case FI_CQ_FORMAT_CONTEXT:
        return sizeof(struct fi_cq_entry);
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    default:
        return sizeof(struct fi_cq_tagged_entry);
    }
}

/* The program's nth entry; each format begins with those of the smaller ones. */
static void emit(const struct shim_cq *cq, void *buf, size_t n,
                 const struct fi_cq_tagged_entry *entry)
{
    size_t size = entry_size(cq->format);

    memcpy((char *)buf + n * size, entry, size);
}

/* Has its completion to wait? In the order of their coming, behind the reports. */
static bool put_off(struct shim_cq *cq, struct shim_op *op, uint64_t flags)
{
    if (shim_modes()->lag == 0 || op->kind == SHIM_RECV || !op->wanted) return false;
    op->due_ns = shim_time_after(shim_modes()->lag);
    if (op->due_ns == 0 && cq->reports == NULL) return false;
    op->flags = flags;
    op->next = NULL;
    *cq->reports_end = op;
    cq->reports_end = &op->next;
    return true;
}

/* Translate one real entry. Returns whether the program gets to see it. */
static bool translate(struct shim_cq *cq, struct fi_cq_tagged_entry *entry)
{
    struct shim_op *op = entry->op_context;
    bool wanted;

    if (op == NULL && entry->flags & FI_REMOTE_CQ_DATA) return true; /* a peer's write */
    if (op == NULL) shim_die("fi_cq_read: a completion without our context");
    if (op->dead || put_off(cq, op, entry->flags)) return false;
    wanted = op->wanted;
    entry->op_context = op->context;
    shim_op_finish(op);
    return wanted;
}

static size_t emit_reports(struct shim_cq *cq, void *buf, size_t count)
{
    struct shim_op *op;
    size_t n = 0;

    while (n < count && (op = cq->reports) != NULL && shim_time_come(op->due_ns)) {
        struct fi_cq_tagged_entry entry = {.op_context = op->context, .flags = op->flags};

        cq->reports = op->next;
        if (cq->reports == NULL) cq->reports_end = &cq->reports;
        shim_op_finish(op);
        emit(cq, buf, n++, &entry);
    }
    return n;
}

/* ---- reading -------------------------------------------------------------------------- */

/* The real fi_cq_read would go through the table, which is ours. */
static ssize_t read_real(struct shim_cq *cq, void *buf, size_t count, fi_addr_t *from)
{
    return cq->real_ops->readfrom(cq->cq, buf, count, from);
}

void shim_cq_progress(struct shim_cq *cq)
{
    read_real(cq, NULL, 0, NULL);
}

/* Append real completions after the n entries that are there. */
static ssize_t read_more(struct shim_cq *cq, void *buf, size_t n, size_t count, fi_addr_t *from)
{
    char entries[BATCH * sizeof(struct fi_cq_tagged_entry)];
    fi_addr_t sources[BATCH];
    size_t size = entry_size(cq->real_format);
    size_t room = count - n < BATCH ? count - n : BATCH;
    ssize_t got = read_real(cq, entries, room, from != NULL ? sources : NULL);

    for (ssize_t i = 0; i < got; i++) {
        struct fi_cq_tagged_entry entry = {0};

        memcpy(&entry, entries + (size_t)i * size, size);
        if (!translate(cq, &entry)) continue;
        if (from != NULL) from[n] = sources[i];
        emit(cq, buf, n++, &entry);
    }
    if (n > 0) return (ssize_t)n;
    return got > 0 ? -FI_EAGAIN : got;
}

static ssize_t read_locked(struct shim_cq *cq, void *buf, size_t count, fi_addr_t *from)
{
    size_t n;

    cq->reads++;
    shim_time_pause();
    shim_op_release(cq);
    if (count == 0) return read_real(cq, buf, 0, NULL);
    n = emit_reports(cq, buf, count);
    for (size_t i = 0; i < n && from != NULL; i++)
        from[i] = FI_ADDR_NOTAVAIL;
    if (cq->errors != NULL) return n > 0 ? (ssize_t)n : -FI_EAVAIL;
    return n < count ? read_more(cq, buf, n, count, from) : (ssize_t)n;
}

static ssize_t readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *from)
{
    struct shim_cq *cq = SHIM_OF(fid->ops, struct shim_cq, ops);
    ssize_t rc;

    pthread_mutex_lock(&shim_lock);
    rc = read_locked(cq, buf, count, from);
    pthread_mutex_unlock(&shim_lock);
    return rc;
}

static ssize_t read_cq(struct fid_cq *fid, void *buf, size_t count)
{
    return readfrom(fid, buf, count, NULL);
}

static ssize_t sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *from,
                         const void *cond, int timeout)
{
    struct timespec nap = {.tv_nsec = NAP_NS};
    long left = timeout < 0 ? -1 : timeout * (1000000L / NAP_NS);
    ssize_t rc;

    (void)cond;
    while ((rc = readfrom(fid, buf, count, from)) == -FI_EAGAIN && left != 0) {
        if (left > 0) left--;
        nanosleep(&nap, NULL);
    }
    return rc;
}

static ssize_t sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
    return sreadfrom(fid, buf, count, NULL, cond, timeout);
}

/* ---- errors ----------------------------------------------------------------------------- */

static ssize_t readerr_own(struct shim_cq *cq, struct fi_cq_err_entry *entry)
{
    struct shim_op *op = cq->errors;

    cq->errors = op->next;
    op->next = NULL;
    entry->op_context = op->context;
    entry->flags = 0;
    entry->len = entry->olen = 0;
    entry->err = entry->prov_errno = op->error;
    entry->err_data_size = 0;
    shim_op_finish(op);
    return 1;
}

static ssize_t readerr_real(struct shim_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
    ssize_t rc = cq->real_ops->readerr(cq->cq, entry, flags);
    struct shim_op *op = entry->op_context;

    if (rc <= 0 || op == NULL) return rc;
    if (op->dead) return -FI_EAGAIN;
    entry->op_context = op->context;
    shim_op_finish(op);
    return rc;
}

static ssize_t readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
    struct shim_cq *cq = SHIM_OF(fid->ops, struct shim_cq, ops);
    ssize_t rc;

    pthread_mutex_lock(&shim_lock);
    rc = cq->errors != NULL ? readerr_own(cq, entry) : readerr_real(cq, entry, flags);
    pthread_mutex_unlock(&shim_lock);
    return rc;
}

/* ---- opening and closing ------------------------------------------------------------------ */

static int close_cq(struct fid *fid)
{
    struct shim_cq *cq = SHIM_OF(fid->ops, struct shim_cq, fid_ops);
    int rc;

    fid->ops = cq->real_fid_ops;
    cq->cq->ops = cq->real_ops;
    rc = fid->ops->close(fid);
    if (rc != 0) shim_die("fi_close: the completion queue is still in use (%d)", rc);
    if (cq->poll_fd >= 0) close(cq->poll_fd);
    if (cq->wake_fd >= 0) close(cq->wake_fd);
    free(cq);
    return 0;
}

static int add_fd(int poll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* The descriptor of the real queue, and ours beside it. */
static int open_fds(struct shim_cq *cq)
{
    int fd = -1;
    int rc = cq->real_fid_ops->control(&cq->cq->fid, FI_GETWAIT, &fd);

    if (rc != 0) return rc;
    cq->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cq->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (cq->wake_fd < 0 || cq->poll_fd < 0 || add_fd(cq->poll_fd, cq->wake_fd) != 0 ||
        (!shim_modes()->deaf_fd && add_fd(cq->poll_fd, fd) != 0))
        shim_die("no descriptors to sleep on");
    return 0;
}

static int control_cq(struct fid *fid, int command, void *arg)
{
    struct shim_cq *cq = SHIM_OF(fid->ops, struct shim_cq, fid_ops);
    int rc = 0;

    if (command != FI_GETWAIT) return cq->real_fid_ops->control(fid, command, arg);
    pthread_mutex_lock(&shim_lock);
    if (cq->poll_fd < 0) rc = open_fds(cq);
    pthread_mutex_unlock(&shim_lock);
    if (rc == 0) *(int *)arg = cq->poll_fd;
    return rc;
}

static void wrap_cq(struct fid_cq *fid, enum fi_cq_format format, enum fi_cq_format real_format)
{
    struct shim_cq *cq = calloc(1, sizeof(*cq));

    if (cq == NULL) shim_die("no memory");
    cq->cq = fid;
    cq->format = format;
    cq->real_format = real_format;
    cq->poll_fd = cq->wake_fd = -1;
    cq->reports_end = &cq->reports;
    cq->real_fid_ops = fid->fid.ops;
    cq->real_ops = fid->ops;
    cq->fid_ops = *fid->fid.ops;
    cq->fid_ops.close = close_cq;
    cq->fid_ops.control = control_cq;
    cq->ops = *fid->ops;
    cq->ops.read = read_cq;
    cq->ops.readfrom = readfrom;
    cq->ops.readerr = readerr;
    cq->ops.sread = sread;
    cq->ops.sreadfrom = sreadfrom;
    fid->fid.ops = &cq->fid_ops;
    fid->ops = &cq->ops;
}

int shim_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                 void *context)
{
    struct shim_domain *ours = SHIM_OF(domain->ops, struct shim_domain, ops);
    struct fi_cq_attr real = *attr;
    int rc;

    if (shim_modes()->no_fd && attr->wait_obj != FI_WAIT_NONE) return -FI_ENOSYS;
    if (attr->wait_obj == FI_WAIT_SET) shim_die("fi_cq_open: wait sets are not watched");
    if (attr->format != FI_CQ_FORMAT_TAGGED) real.format = FI_CQ_FORMAT_DATA;
    rc = ours->real_ops->cq_open(domain, &real, cq, context);
    if (rc == 0) wrap_cq(*cq, attr->format, real.format);
    return rc;
}
