/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of the library: the runtime, contexts, teams, and what each chapter of the
 * standard offers to the typed bodies of src/api and to the collectives of src/coll.
 * Argument names are those of the standard; fn is the public routine's name for messages;
 * pe is a world number that the caller has checked.
 */
#ifndef STP_STEPPE_H
#define STP_STEPPE_H

#include "base/base.h"
#include "boot/card.h"
#include "rma/watch.h"
#include "rma/device.h"
#include "pshmem.h"
#include "shmem.h"
#include "shmemx.h"
#include "spaces/spaces.h"
#include "transport/transport.h"

struct stp_team;

/* Every public name X is defined as pX; X is its weak alias, for profilers to replace. */
#define STP_PROFILED(name)                                                                         \
    extern __typeof__(p##name) name __attribute__((weak, alias("p" #name), visibility("default")))

/* ---- runtime (runtime.c) -------------------------------------------------- */

/* Written in init and finalize only. */
struct stp_runtime {
    int pe;
    int n_pes;
    bool has_fabric;         /* fabric below is open */
    bool check;              /* SHMEM_CHECK=1 */
    bool ident_addr;         /* all windows of the job have the same base */
    atomic_int references;   /* inits not yet finalized; changed by init and finalize alone */
    atomic_int thread_level; /* SHMEM_THREAD_... */
    bool stopping;           /* in the last finalize */
    int epoch;               /* how often the library was started in this process */
    int host_pes;            /* PEs on this host, whatever SHMEM_NODE says of how they talk */
    int n_nodes;             /* groups of PEs that reach each other by load and store */
    uint64_t job_key, job_token;
    bool remote_flush;       /* adapters of peers write to device memory of this PE */
    struct stp_fabric fabric;
    pthread_mutex_t lock;    /* lists of teams, contexts and spaces */
};

extern struct stp_runtime stp_rt;

/* Fatal unless the library is initialised. */
void stp_check_live(const char *fn);

/* ---- reaching (reach.c) --------------------------------------------------- */

/* As stp_reach(), for the cases it leaves out: data segment, scattered local PEs. */
void *stp_reach_slow(const void *addr, int pe);

static inline void *stp_peer(const void *addr, int pe)
{
    void *there = stp_reach(addr, pe);

    return STP_LIKELY(there != NULL) ? there : stp_reach_slow(addr, pe);
}

/* As stp_reach_amo(), likewise. */
void *stp_reach_amo_slow(const void *addr, int pe);

struct stp_ctx;

/*
 * SHMEM_CHECK=1: nbytes at addr lie in one live allocation, or in the data segment, and pe has
 * them. Fatal otherwise.
 */
void stp_check_range(const void *addr, size_t nbytes, int pe, const char *fn,
                     const char *argument);

/* SHMEM_CHECK=1: a context bound to a space is used with addresses of that one alone. */
void stp_check_bound(const struct stp_ctx *ctx, const void *addr, const char *fn,
                     const char *argument);

/* The data segment of pe cannot be reached, for the reason known here. */
_Noreturn void stp_fatal_unshared(const void *addr, int pe, const char *fn) STP_COLD;

/* A symmetric object as the fabric names it. */
struct stp_place {
    unsigned number;
    size_t offset;
};

/*
 * The region and offset of nbytes at the symmetric address addr, for an operation on PE pe.
 * Fatal, naming fn and the argument, when it is not symmetric, reaches beyond its space, or pe
 * has no part of it.
 */
struct stp_place stp_place_of(const void *addr, size_t nbytes, int pe, const char *fn,
                              const char *argument);

/* What the module calls back, as struct stp_core says. */
struct stp_fabric_calls {
    void (*served)(void);
    void (*told)(const struct stp_notice *notice);
};

/* Open the fabric module when the job spans nodes; fatal when it cannot be. */
void stp_fabric_start(const struct stp_fabric_calls *calls);
void stp_fabric_stop(void);

/* Tell the module whether threads may call at once: a later init may allow it. */
void stp_fabric_set_threads(void);
/* What the module may use of the library, filled. */
const struct stp_core *stp_fabric_core(void);

/* ---- contexts ----------------------------------------------------------- */

struct stp_ctx {
    int n_pes;               /* of its team: PE numbers on this context are below it */
    bool world;              /* PE numbers are world numbers */
    bool live;
    long options;            /* SHMEM_CTX_... */
    bool in_session;         /* guarded by stp_rt.lock, as the next two */
    long session;            /* SHMEM_CTX_SESSION_... */
    size_t session_ops;      /* operations expected, SIZE_MAX: nobody knows */
    struct stp_team *team;
    struct stp_fabric_ctx *fabric; /* NULL when the job has no fabric */
    bool copies;                   /* some queue below was used: quiet must look at them */
    bool near;                     /* the fabric went to a PE of this node, where CPUs go too */
    struct stp_queue *queues[STP_N_KINDS]; /* made on first use */
    struct stp_space *space; /* the only one it is used on, or NULL */
    struct stp_ctx *next;    /* in the team's list, guarded by stp_rt.lock */
    struct stp_ctx *prev;
};

extern struct stp_ctx stp_ctx_default;
extern struct stp_ctx stp_ctx_coll; /* the library's own: collectives never wait for user work */
extern struct stp_ctx stp_ctx_stage; /* requests to agents, and own words of device memory */
extern struct stp_ctx stp_ctx_agent; /* what this PE's agent does */

/* Open and close the contexts above; needs the world team and the fabric. */
void stp_ctx_init(void);
void stp_ctx_fini(void);
void stp_ctx_close_queues(void);
void stp_ctx_close_own(void);

/* Destroy the shareable contexts of a team that is going away. */
void stp_ctx_destroy_all(struct stp_team *team);

/* The context behind a handle. Handles of predefined contexts are small constants. */
static inline struct stp_ctx *stp_ctx_of(shmem_ctx_t ctx)
{
    return ctx == SHMEM_CTX_DEFAULT ? &stp_ctx_default : (struct stp_ctx *)ctx;
}

/*
 * Before the fabric carries something to pe. It keeps order only with itself: what the CPU does to
 * a PE of this node behind a fence must wait for it.
 */
static inline void stp_ctx_by_fabric(struct stp_ctx *ctx, int pe)
{
    if (STP_UNLIKELY(stp_local_of(pe) >= 0)) __atomic_store_n(&ctx->near, true, __ATOMIC_RELAXED);
}

_Noreturn void stp_fatal_ctx(const char *fn) STP_COLD;

/* The live context behind a handle that is not INVALID; fatal when it was destroyed. */
struct stp_ctx *stp_ctx_check_live(shmem_ctx_t ctx, const char *fn);

/* As stp_ctx_of(); fatal for SHMEM_CTX_INVALID. Two small handles share one branch. */
static inline __attribute__((always_inline)) struct stp_ctx *stp_ctx_check(shmem_ctx_t ctx,
                                                                           const char *fn)
{
    if (STP_LIKELY((uintptr_t)ctx > (uintptr_t)SHMEM_CTX_DEFAULT)) return (struct stp_ctx *)ctx;
    if (STP_UNLIKELY(ctx == SHMEM_CTX_INVALID)) stp_fatal_ctx(fn);
    return &stp_ctx_default;
}

_Noreturn void stp_fatal_pe(const char *fn, int pe, int n_pes) STP_COLD;
int stp_ctx_pe_slow(const struct stp_ctx *ctx, int pe);

/* The world number of PE pe of the context's team; fatal when out of range. */
static inline int stp_ctx_pe(const struct stp_ctx *ctx, int pe, const char *fn)
{
    if (STP_UNLIKELY((unsigned)pe >= (unsigned)ctx->n_pes)) stp_fatal_pe(fn, pe, ctx->n_pes);
    return STP_LIKELY(ctx->world) ? pe : stp_ctx_pe_slow(ctx, pe);
}

_Noreturn void stp_fatal_overflow(const char *fn, size_t nelems, size_t size) STP_COLD;

/* nelems * size, fatal when it does not fit. */
static inline size_t stp_bytes(size_t nelems, size_t size, const char *fn)
{
    size_t nbytes;

    if (STP_UNLIKELY(__builtin_mul_overflow(nelems, size, &nbytes)))
        stp_fatal_overflow(fn, nelems, size);
    return nbytes;
}

/* ---- remote memory access (rma.c) --------------------------------------- */

void stp_put_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn);
void stp_put_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn);
void stp_get_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                  const char *fn);
void stp_get_nbi_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes, int pe,
                      const char *fn);

static inline void stp_put(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                           int pe, const char *fn)
{
    void *there = stp_reach_plain(dest, pe);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(there, source, nbytes);
    else
        stp_put_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_put_nbi(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                               int pe, const char *fn)
{
    void *there = stp_reach_plain(dest, pe);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(there, source, nbytes);
    else
        stp_put_nbi_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_get(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                           int pe, const char *fn)
{
    const void *there = stp_reach_plain(source, pe);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(dest, there, nbytes);
    else
        stp_get_slow(ctx, dest, source, nbytes, pe, fn);
}

static inline void stp_get_nbi(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                               int pe, const char *fn)
{
    const void *there = stp_reach_plain(source, pe);

    if (STP_LIKELY(there != NULL))
        __builtin_memcpy(dest, there, nbytes);
    else
        stp_get_nbi_slow(ctx, dest, source, nbytes, pe, fn);
}

/*
 * One element of 1, 2, 4, 8 or 16 bytes (p): does not tear up to 8. The typed body stores it
 * itself when stp_reach() hits; this is the other half.
 */
void stp_store_slow(struct stp_ctx *ctx, void *dest, const void *value, size_t nbytes, int pe,
                    const char *fn);

/*
 * nelems blocks of nbytes each; block i from source + i*sst to dest + i*dst. Strides are in units
 * of nbytes when stp_iput() is called for iput, so dst and sst count elements. Blocking.
 */
void stp_iput(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t nbytes, size_t nelems, int pe, const char *fn);
void stp_iget(struct stp_ctx *ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
              size_t nbytes, size_t nelems, int pe, const char *fn);

/* ---- atomics (amo.c) ---------------------------------------------------- */

/*
 * The half behind a miss of stp_reach_amo(): globals of node-local PEs, and the fabric.
 * operand, compare: NULL where op takes none. result: NULL for what fetches nothing;
 * with nbi it is valid after quiet only.
 */
void stp_amo_slow(struct stp_ctx *ctx, enum stp_fabric_amo op, enum stp_dtype dtype, void *dest,
                  const void *operand, const void *compare, void *result, bool nbi, int pe,
                  const char *fn);

/* The same on memory that the CPU reaches: nbytes 4 or 8, NULL as above. */
void stp_amo_apply(void *there, size_t nbytes, enum stp_fabric_amo op, const void *operand,
                   const void *compare, void *result);

/* ---- signals (signal.c) ------------------------------------------------- */

/* sig_op: SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD; anything else is fatal. */
void stp_put_signal(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *sig_addr, uint64_t signal, int sig_op, bool nbi, int pe,
                    const char *fn);
void stp_signal(struct stp_ctx *ctx, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                const char *fn);

/* ---- order (order.c) ---------------------------------------------------- */

void stp_fence(struct stp_ctx *ctx);
void stp_quiet(struct stp_ctx *ctx);

/* ---- locks (lock.c) ------------------------------------------------------- */

/* Forget what this PE holds: behind the last barrier. */
void stp_locks_forget(void);

/* ---- waiting (wait.c) --------------------------------------------------- */

void stp_progress_slow(void);

/* Serve the fabric once, when there is one. */
static inline void stp_progress(void)
{
    if (STP_UNLIKELY(stp_rt.has_fabric)) stp_progress_slow();
}

/* One step of a wait for something another PE or thread does: spin or yield, serve the fabric. */
void stp_wait_idle(struct stp_wait *wait);

/*
 * After a test that failed: serve the fabric, and now and then let another PE run, since a
 * program may test in a loop.
 */
void stp_wait_missed(void);

_Noreturn void stp_fatal_cmp(const char *fn, int cmp) STP_COLD;

/* What adapters of peers wrote to device memory is visible: after a signal or a sync. */
void stp_remote_flush_slow(void);

static inline void stp_remote_flush(void)
{
    if (STP_UNLIKELY(__atomic_load_n(&stp_rt.remote_flush, __ATOMIC_RELAXED)))
        stp_remote_flush_slow();
}

/* ---- teams (team.c) ----------------------------------------------------- */

#define STP_TEAM_MAGIC 0x5354454du

/* What a team looks like from here: its members grouped by node. */
struct stp_plan {
    int n_groups;     /* nodes with members */
    int group;        /* mine; group 0 holds rank 0 */
    int n_local;      /* members on my node */
    int local;        /* my place among them, in rank order */
    bool flat;        /* few enough local members to spin on each other's flags */
    int *local_pes;   /* world numbers of the local members, in rank order */
    int *local_ranks; /* and their ranks */
    int *heads;       /* world number of the first member of each group */
};

struct stp_coll_area;
struct stp_coll_bell;

struct stp_team {
    uint32_t magic;
    int n_pes;
    int rank;          /* of this PE */
    int start, stride; /* members, when table is NULL */
    int *table;        /* world numbers by rank, for sets that are no stride */
    bool ascending;    /* the table is: every split of the world with a positive stride */
    bool predefined;
    bool active_set; /* stands behind one: docs/design/active-sets.md says what differs */
    shmem_team_config_t config;
    struct stp_space *space; /* the space it descends from */
    shmem_team_t handle;     /* what users compare when it is a constant, else NULL */
    struct stp_ctx *ctxs;    /* guarded by stp_rt.lock */
    struct stp_plan plan;
    size_t slot;                /* of its area in the internal space */
    struct stp_coll_area *area; /* this PE's part */
    struct stp_coll_bell *bell; /* of this node's members */
    uint64_t sync_epoch;        /* syncs done; the world's is read by other threads too */
    uint64_t node_epoch;        /* node-only syncs done */
    uint64_t sequence;          /* collectives that took a cell; read likewise */
    unsigned char *scratch;     /* of large reductions: threads have small stacks */
    struct stp_team *next, *prev; /* live teams, guarded by stp_rt.lock */
};

extern struct stp_team *stp_team_world, *stp_team_shared;

/* Handles below this are constants. */
#define STP_HANDLE_CONSTANTS ((uintptr_t)64)

struct stp_team *stp_team_of_constant(shmem_team_t team);

/* Constants of the environment's spaces begin here, those of their teams too. */
#define STP_HANDLE_ENV ((uintptr_t)SHMEM_SPACE_CPU)

/* SHMEM_TEAM_INVALID, or the constant of a team that was not made here. */
static inline bool stp_team_is_invalid(shmem_team_t team)
{
    uintptr_t number = (uintptr_t)team;

    if (STP_LIKELY(number >= STP_HANDLE_CONSTANTS)) return false;
    return number == 0 || (number >= STP_HANDLE_ENV && stp_team_of_constant(team) == NULL);
}

/* The team behind a handle, NULL for SHMEM_TEAM_INVALID and for teams that were not made. */
static inline struct stp_team *stp_team_of(shmem_team_t team)
{
    if (STP_LIKELY(team == SHMEM_TEAM_WORLD)) return stp_team_world;
    if (STP_UNLIKELY((uintptr_t)team < STP_HANDLE_CONSTANTS)) return stp_team_of_constant(team);
    return (struct stp_team *)team;
}

_Noreturn void stp_fatal_team(const char *fn, shmem_team_t team) STP_COLD;

/* As above for collectives: fatal on INVALID or on a handle that is not live. */
static inline struct stp_team *stp_team_check(shmem_team_t team, const char *fn)
{
    struct stp_team *t = stp_team_of(team);

    if (STP_UNLIKELY(t == NULL || t->magic != STP_TEAM_MAGIC)) stp_fatal_team(fn, team);
    return t;
}

/* The handle users compare. */
static inline shmem_team_t stp_team_handle(struct stp_team *team)
{
    return team->handle != NULL ? team->handle : (shmem_team_t)team;
}

/* World number of a rank. */
static inline int stp_team_pe(const struct stp_team *team, int rank)
{
    return team->table != NULL ? team->table[rank] : team->start + rank * team->stride;
}

/* Rank of a world number, -1 when it is no member. */
int stp_team_rank_of(const struct stp_team *team, int pe);

/* A structure for a team, cleared; NULL: no memory. Freed with its table. */
struct stp_team *stp_team_new(void);
void stp_team_delete(struct stp_team *team);

/* Teams that users made: into their list, out of it, and its first, for when it does not change. */
void stp_team_link(struct stp_team *team);
void stp_team_unlink(struct stp_team *team);
struct stp_team *stp_team_first(void);

/* True when team is a live team of this PE; safe on any pointer value. */
bool stp_team_is_live(const struct stp_team *team);

void stp_team_init(void);

/* At finalize: every context of every team, each with its quiet. */
void stp_team_destroy_ctxs(void);
void stp_team_fini(void);

/* Who the members of a team to be are: a stride, or a table that the new team takes over. */
struct stp_team_members {
    int n_pes;
    int rank; /* of this PE, -1: not a member */
    int start, stride;
    int *table;
};

/*
 * Make a team; collective over parent, where every PE passes the same verdict-relevant rc: any
 * nonzero rc on any PE makes all return nonzero. *team is NULL on failure and on PEs that are no
 * members. space: what the new team descends from.
 */
int stp_team_create(struct stp_team *parent, const struct stp_team_members *members, int rc,
                    struct stp_space *space, struct stp_team **team);

void stp_team_destroy(struct stp_team *team); /* collective over the team */

/* ---- spaces (space.c, create.c) ----------------------------------------- */

/* Of SHMEM_SPACE_<KIND>; NULL when it was not made on this PE. */
struct stp_space *stp_space_of_constant(shmem_space_t space);

/* The space behind a handle, NULL for SHMEM_SPACE_INVALID and for spaces that were not made. */
struct stp_space *stp_space_of(shmem_space_t space);
shmem_space_t stp_space_handle(struct stp_space *space);

/* SHMEM_SPACE_INVALID, or the constant of a space that was not made here. */
static inline bool stp_space_is_invalid(shmem_space_t space)
{
    uintptr_t number = (uintptr_t)space;

    if (number >= STP_HANDLE_CONSTANTS) return false;
    return number == 0 || (number >= STP_HANDLE_ENV && stp_space_of_constant(space) == NULL);
}

/* One team or context more, or less, that keeps the space from being destroyed. */
void stp_space_use(struct stp_space *space, int n);
int stp_space_users(const struct stp_space *space); /* how many there are */

/* The live space behind a handle; fatal when it is none. */
struct stp_space *stp_space_check(shmem_space_t handle, const char *fn);

/* The internal, data and default spaces; the last two are registered with the fabric too. */
void stp_space_init(struct stp_card *card);
void stp_space_attach(void);     /* peers' parts of the default space, once the cards are known */
void stp_space_teams_init(void); /* once the world team stands */
void stp_space_detach_all(void); /* let go of peers' parts; then meet; then: */
void stp_space_fini(void);

#define STP_N_DEVICE_TYPES 4 /* SHMEM_DEVICE_CPU .. SHMEM_DEVICE_FAM */

/* How messages call a device type: "CPU". */
const char *stp_space_type_name(int type);

/* The space is what SHMEM_SPACE_<KIND> of that device type means from now on; forget all. */
void stp_space_set_constant(int type, struct stp_space *space);
void stp_space_forget_constants(void);

/* The variables that shape spaces, as the card carries them. */
void stp_space_card(int64_t spaces[STP_CARD_SPACES]);

/* The spaces of SHMEM_ENABLE_<KIND>; collective over the world. Fatal when one cannot be made. */
void stp_space_create_env(void);

/*
 * Create a space: collective over attr->parent (NULL attr: over the world). Sets both NULL on
 * members of the parent that have no such memory. 0, or 1 on all of them, logged.
 */
int stp_space_make(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                   struct stp_space **space, struct stp_team **team, const char *fn);

/*
 * Memory and registration of this PE's part: 0, -EEXIST when another thread took the number or
 * the place, or another -errno, logged; nothing is kept then. And their end.
 */
int stp_space_open(struct stp_space *space, const struct stp_space_wish *wish, bool with_heap,
                   struct stp_share *share, struct stp_fabric_region *mine);
void stp_space_shut(struct stp_space *space);

/* A space that has no memory yet; stp_space_delete() when it is not wanted. NULL: no memory. */
struct stp_space *stp_space_prepare(const struct stp_kind *kind, size_t nbytes);

/* The capabilities that hold for what was found. */
uint64_t stp_space_measure(const struct stp_space *space, bool ident, bool world);

/* Collective allocation in a space, as spaces and heap routines share it. fn for messages. */
void *stp_space_alloc(struct stp_space *space, size_t nbytes, size_t align, bool zero,
                      const char *fn);
void *stp_space_align(struct stp_space *space, size_t alignment, size_t nbytes, const char *fn);
void stp_space_free(struct stp_space *space, void *ptr, const char *fn);
void *stp_space_resize(struct stp_space *space, void *ptr, size_t nbytes, const char *fn);

/* ---- collectives (src/coll); return 0 ------------------------------------ */

int stp_coll_sync(struct stp_team *team);
/* The last sync of a team: on return nobody reads or writes this PE's area any more. */
void stp_coll_leave(struct stp_team *team);
/*
 * Meet all members once in the life of a team, by words that no other collective touches. word: not
 * 0, told to some other nodes. Returns the PE whose word is the smallest of those that came from
 * others, with *least, or -1.
 */
int stp_coll_close(struct stp_team *team, uint64_t word, uint64_t *least);

/* Bytes of the internal space, and how many teams' areas fit. */
size_t stp_coll_internal_bytes(size_t window_capacity);

/* Give a team its plan and its area (slot of the internal space, zeroed). 0 or -ENOMEM. */
int stp_coll_attach(struct stp_team *team, size_t slot);
void stp_coll_detach(struct stp_team *team);
size_t stp_coll_find_slot(size_t from); /* lowest free here, SIZE_MAX when none is */
bool stp_coll_take_slot(size_t slot);   /* false when another thread was quicker */
void stp_coll_settle_slot(void); /* once for each taken, when it is sure: kept, or given back */
void stp_coll_release_slot(size_t slot);
/* May a search since *seen, which is moved on, have missed a slot that is free now or soon? */
bool stp_coll_slots_moved(unsigned *seen);

/* All-reduce of up to STP_AGREE_MAX numbers by maximum, in place; needs no user memory. */
#define STP_AGREE_MAX 32
void stp_coll_agree(struct stp_team *team, int64_t *values, size_t n_values);

/* Every member's nbytes (up to 384) to every member, in rank order; needs no user memory. */
void stp_coll_gather(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/* The same among the members on this node alone, in order of their places in the plan. */
void stp_coll_gather_node(struct stp_team *team, void *all, const void *mine, size_t nbytes);

/*
 * The lowest index that find(from, arg) offers on every member; SIZE_MAX when some member runs out.
 * find: lowest index >= from that is free here, SIZE_MAX when there is none.
 */
size_t stp_coll_agree_index(struct stp_team *team, size_t (*find)(size_t from, void *arg),
                            void *arg);

int stp_coll_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                       int root, const char *fn);
int stp_coll_collect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                     const char *fn);
int stp_coll_fcollect(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn);
int stp_coll_alltoall(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                      const char *fn);
int stp_coll_alltoalls(struct stp_team *team, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t size, size_t nelems, const char *fn);
int stp_coll_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                    const void *source, size_t nreduce, const char *fn);

/* Sums over the ranks up to mine; exclusive: before mine, zeros on rank 0. */
int stp_coll_scan(struct stp_team *team, enum stp_dtype dtype, void *dest, const void *source,
                  size_t nelems, bool exclusive, const char *fn);

/* ---- active sets (src/coll/active.c) ------------------------------------------- */

/*
 * The team of PEs PE_start + i * 2^logPE_stride, i < PE_size, that goes with this pSync. The first
 * call with them is collective over the set and uses pSync, which is restored on return; later
 * ones look it up. Fatal when an argument is wrong, or this PE is no member. Any thread; two may
 * not use the same pSync at once. Spec 1.6, 9.10.
 */
struct stp_team *stp_active_set(int PE_start, int logPE_stride, int PE_size, long *pSync,
                                const char *fn);

/* Before a barrier that precedes forgetting: what was sent for active sets has arrived. */
void stp_active_quiet(void);

/*
 * Let go of the sets whose pSync begins in nbytes at base, memory that goes away. Behind a barrier
 * of all PEs that have that memory, and on all of them: the next call with a pSync there is a
 * first one everywhere.
 */
void stp_active_forget(const void *base, size_t nbytes);

#endif /* STP_STEPPE_H */
