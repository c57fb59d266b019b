/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The provider shim is a test double. When preloaded, it makes one of libfabric's own providers
 * look and behave like providers of adapters that this machine lacks, in the ways that PROVSHIM
 * lists (README.md). It ends the process with a line on stderr when the program breaks a rule of
 * such a provider. It does nothing until the process calls libfabric.
 *
 * Objects of libfabric keep their addresses and get the shim's tables of operations. Such a table
 * is part of the shim's record of the object, which is how the shim finds the record. One lock
 * guards everything.
 */
#ifndef STP_PROVIDER_SHIM_H
#define STP_PROVIDER_SHIM_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHIM_EXPORT __attribute__((visibility("default")))
#define SHIM_OF(table, type, member) ((type *)((char *)(table)-offsetof(type, member)))

/* ---- modes.c ---------------------------------------------------------------- */

struct shim_modes {
    bool mr_local, prov_key, virt_addr, allocated, endpoint, key32;
    bool context, context2;
    bool no_fetch, no_atomics;
    bool no_order, reorder, late, manual, no_fd, deaf_fd, opaque;
    bool automatic, false_auto; /* grants FI_PROGRESS_AUTO, and keeps or breaks the promise */
    bool host_only;
    bool hmem, hmem_no_endpoint;
    bool one_name; /* every question to libfabric names a provider */
    bool small_inject;
    size_t inject_size, max_msg, eagain, cqsize;
    size_t delay, lag, storm, pause; /* microseconds */
    const char *base;                /* the provider that is really there */
    const char *name;                /* what it is called, NULL: as it is */
    unsigned version;                /* returned by fi_version(), 0: the real version */
    const char *fabric;              /* what the names of its fabrics begin with, or NULL */
};

/* What PROVSHIM says; ends the process when it cannot be understood. */
const struct shim_modes *shim_modes(void);

/* The program broke a rule: say which, and abort. */
__attribute__((noreturn, format(printf, 1, 2))) void shim_die(const char *fmt, ...);

/* A random number; another sequence in every process. Caller holds shim_lock. */
uint64_t shim_random(void);

extern pthread_mutex_t shim_lock; /* guards all records below */

/* Things that tests count. Caller holds shim_lock. */
extern struct shim_counts {
    long posts;     /* operations that were taken */
    long rma;       /* of them reads and writes; atomic */
    long reads;     /* of these reads; atomic */
    long held;      /* of them not handed to the provider at once */
    long overtaken; /* handed over while an older one to the same peer was still held */
    long refused;   /* posts that got -FI_EAGAIN from us */
    long delayed;   /* operations and completions held back for a time */
    long stopped;   /* threads held before they posted; atomic */
    long early;     /* completions reported before the data has left */
    long buffers;   /* local buffers whose registration was checked */
    long contexts;  /* contexts found unharmed at completion */
    long regions;   /* registrations there are now */
    long device_regions, device_made; /* those of device memory now, and ever */
    long device_buffers;              /* local buffers in device memory */
    long device_refused;              /* registrations of device memory that were refused */
    long opened;                      /* endpoints ever opened with our modes */
    long automatic;                   /* domains ever opened with FI_PROGRESS_AUTO */
} shim_counts;

/* For tests, found with dlsym(): one of the counts by its name; -1: no such thing. */
SHIM_EXPORT long provshim_count(const char *what);

/* ---- memory.c ----------------------------------------------------------------- */

struct shim_ep;

struct shim_domain {
    struct fi_ops fid_ops;
    struct fi_ops_domain ops;
    struct fi_ops_mr mr_ops;
    struct fi_ops *real_fid_ops;
    struct fi_ops_domain *real_ops;
    struct fi_ops_mr *real_mr_ops;
    struct fid_domain *domain;
};

struct shim_region;

/* Let the domain register memory in our ways. */
void shim_memory_wrap(struct shim_domain *domain);

/*
 * The registration that desc stands for, when it lets operation use nbytes at buffer for access;
 * ends the process otherwise. Counts as in use until shim_memory_unuse(). Caller holds shim_lock.
 */
struct shim_region *shim_memory_use(const char *operation, const char *what,
                                    const struct shim_ep *ep, const void *buffer, size_t nbytes,
                                    const void *desc, uint64_t access);
void shim_memory_unuse(struct shim_region *region);

/*
 * What the real provider may touch for a local buffer of operation: the buffer, or the fake
 * driver's own address of device memory, which must come with its descriptor. Caller holds
 * shim_lock.
 */
void *shim_memory_real(const char *operation, void *buffer, size_t nbytes, const void *desc);

/* Ends the process if a peer's address or key cannot be one of such a provider. */
void shim_memory_target(const char *operation, uint64_t addr, uint64_t key);

/* How many regions are bound to the endpoint for its peers. Caller holds shim_lock. */
long shim_memory_bound(const struct fid_ep *ep);

/* ---- queue.c -------------------------------------------------------------------- */

struct shim_cq {
    struct fi_ops fid_ops;
    struct fi_ops_cq ops;
    struct fi_ops *real_fid_ops;
    struct fi_ops_cq *real_ops;
    struct fid_cq *cq;
    enum fi_cq_format format;      /* as the program wants it */
    enum fi_cq_format real_format; /* DATA or TAGGED */
    int poll_fd;                   /* what the program sleeps on; -1: nothing */
    int wake_fd;                   /* readable when there is something to do for us */
    uint64_t reads;                /* of this queue, ever: our clock */
    size_t under_way;              /* operations whose completion has not been read */
    struct shim_op *reports;       /* completions of our own, oldest first */
    struct shim_op **reports_end;
    struct shim_op *errors; /* operations that the provider refused when they left */
};

int shim_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
                 void *context);
struct shim_cq *shim_cq_of(const struct fid *fid);

/* Let the real provider make progress without reading a completion. Caller holds shim_lock. */
void shim_cq_progress(struct shim_cq *cq);

/* Is there something that only a read of the queue gets on with? Caller holds shim_lock. */
bool shim_cq_busy(const struct shim_cq *cq);

/* Wake whoever sleeps on the queue's descriptor. Caller holds shim_lock. */
void shim_cq_wake(struct shim_cq *cq);

/* ---- endpoint.c ----------------------------------------------------------------- */

struct shim_ep {
    struct fi_ops fid_ops;
    struct fi_ops_ep ops;
    struct fi_ops_rma rma;
    struct fi_ops_atomic atomic;
    struct fi_ops_msg msg;
    struct fi_ops *real_fid_ops;
    struct fi_ops_ep *real_ops;
    struct fi_ops_rma *real_rma;
    struct fi_ops_atomic *real_atomic;
    struct fi_ops_msg *real_msg;
    struct fid_ep *ep;
    struct shim_domain *domain;
    struct shim_cq *tx, *rx;
    bool tx_selective, rx_selective;
    bool rma_ordered, send_after_rma; /* what the program was promised */
    uint64_t tx_flags, rx_flags;      /* of calls without flags */
    size_t inject_size, max_msg;
    struct shim_op *live; /* taken and not yet finished */
};

int shim_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                       void *context);

/* ---- post.c ------------------------------------------------------------------------ */

void shim_post_wrap(struct shim_ep *ep);

/* ---- time.c: a machine with more to do ------------------------------------------------ */

/* When something is due that is to wait for up to so many microseconds; 0: at once. */
uint64_t shim_time_after(size_t us);
bool shim_time_come(uint64_t due_ns);

/* Is everything refused now? */
bool shim_time_storm(void);

/* Stand still now and then while the queue is read. Caller holds shim_lock, as for those above. */
void shim_time_pause(void);

/*
 * For tests, found with dlsym(): the next thread that posts stands still first, with no lock of
 * ours, as one does that has lost its core, until it is released.
 */
SHIM_EXPORT void provshim_hold(void);
SHIM_EXPORT void provshim_release(void);

/* Stand still if this thread is to. Without shim_lock. */
void shim_time_hold(void);

/* ---- context.c ------------------------------------------------------------------------- */

struct shim_op;

/* The context of an operation that was taken is the provider's, until it is given back. */
void shim_context_take(struct shim_op *op);
void shim_context_give(struct shim_op *op, bool check);

/* ---- op.c -------------------------------------------------------------------------- */

enum shim_kind {
    SHIM_WRITE,
    SHIM_READ,
    SHIM_UPDATE,
    SHIM_FETCH,
    SHIM_COMPARE,
    SHIM_SEND,
    SHIM_RECV,
    SHIM_REPORT /* nothing but a completion to come */
};

enum { SHIM_SOURCE, SHIM_RESULT, SHIM_CONDITION, SHIM_BUFFERS };

/* One operation; libfabric gets its address as the context. */
struct shim_op {
    struct fi_context2 fi;
    struct shim_op *next;           /* in a list: held, reports, errors, free */
    struct shim_op *newer, **older; /* in ep->live */
    struct shim_op *same_bucket;    /* contexts under way */
    struct shim_ep *ep;
    enum shim_kind kind;
    const char *name; /* of the call */
    bool inject, wanted, tracked, dead;
    uint64_t flags;
    fi_addr_t peer;
    uint64_t addr, key, data;
    enum fi_datatype type;
    enum fi_op op;
    size_t count; /* elements */
    struct {
        void *base;
        size_t nbytes;
        void *desc;
        struct shim_region *region;
    } buffer[SHIM_BUFFERS];
    void *copy;    /* of the source, NULL: the program's own is used */
    void *context; /* the program's */
    uint64_t pattern;
    uint64_t due;    /* held until so many reads of the queue, */
    uint64_t due_ns; /* and until then; 0: at once */
    int error;
};

/* An unused operation on ep. Caller holds shim_lock, as for all that follow. */
struct shim_op *shim_op_new(struct shim_ep *ep, enum shim_kind kind, const char *name);

/* Take the operation, or give it back with an error as libfabric's calls return it. */
ssize_t shim_op_submit(struct shim_op *op);

/* It is over: check what must have stayed untouched, and forget it. */
void shim_op_finish(struct shim_op *op);

/* Hand over held operations of the queue whose time has come. */
void shim_op_release(struct shim_cq *cq);

bool shim_op_any_held(const struct shim_cq *cq);

/* The endpoint is closed: what was under way is lost. */
void shim_op_drop_all(struct shim_ep *ep);

/* Bytes of an element. */
size_t shim_op_size(enum fi_datatype type);

#endif /* STP_PROVIDER_SHIM_H */
