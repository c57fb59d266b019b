/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structure of a team, what the handles of teams and spaces mean, and which are live. Nothing
 * here communicates.
 */
#ifndef STP_TEAM_AND_SPACE_HANDLES_H
#define STP_TEAM_AND_SPACE_HANDLES_H

#include "job_state.h"

/* ---- teams (team_registry.c) ----------------------------------------------------- */

#define STP_TEAM_MAGIC 0x5354454du

/* What a team looks like from here: its members grouped by node. */
struct stp_team_hierarchy {
    int n_groups;     /* nodes with members */
    int group;        /* mine; group 0 holds rank 0 */
    int n_local;      /* members on my node */
    int local;        /* my index among them, in rank order */
    int most_local;   /* members of the node that has most; 0: no order */
    bool flat;        /* few enough local members to spin on each other's flags */
    bool sleeps;      /* else, or where other nodes take long: waits for them end asleep */
    int *local_pes;   /* world numbers of the local members, in rank order */
    int *local_ranks; /* and their ranks */
    int *leaders;     /* world number of the first member of each group */
    int *order;       /* ranks, those of a group together; NULL: on one node, or too many */
    int *first;       /* where each group begins there; n_groups + 1 */
};

struct stp_team_sync_area;
struct stp_coll_doorbell;
struct stp_ctx;

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
    struct stp_team_hierarchy plan;
    size_t slot;                        /* of its area in the internal space */
    struct stp_team_sync_area *area;    /* this PE's part */
    struct stp_coll_doorbell *doorbell; /* of this node's members */
    uint64_t sync_epoch;                /* syncs done; the world's is read by other threads too */
    uint64_t node_epoch;                /* node-only syncs done */
    uint64_t sequence;                  /* collectives that took a cell; read likewise */
    uint64_t n_chunked;                 /* collectives that took a chunk */
    uint64_t stream_called;             /* collectives on streams: called, in the order of all; */
    uint64_t stream_done;               /* done; and syncs of such: the stream thread's */
    uint64_t stream_epoch;
    unsigned char *scratch;       /* of large reductions: threads have small stacks */
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
struct stp_team *stp_team_struct_alloc(void);
void stp_team_struct_free(struct stp_team *team);

/* Teams that users made: into their list, out of it, and its first, for when it does not change. */
void stp_team_link(struct stp_team *team);
void stp_team_unlink(struct stp_team *team);
struct stp_team *stp_team_first(void);

/* True when team is a live team of this PE; safe on any pointer value. */
bool stp_team_is_live(const struct stp_team *team);

/* ---- spaces (space_handle.c) ------------------------------------------------------ */

/* Of SHMEM_SPACE_<KIND>; NULL when it was not made on this PE. */
struct stp_space *stp_space_of_constant(shmem_space_t space);

/*
 * The space behind a handle, NULL for SHMEM_SPACE_INVALID, for spaces that were not made, and for
 * those that were destroyed, which *destroyed tells.
 */
struct stp_space *stp_space_of(shmem_space_t space, bool *destroyed);
shmem_space_t stp_space_handle(const struct stp_space *space);

/* SHMEM_SPACE_INVALID, or the constant of a space that was not made here. */
static inline bool stp_space_is_invalid(shmem_space_t space)
{
    uintptr_t number = (uintptr_t)space;

    if (number >= STP_HANDLE_CONSTANTS) return false;
    return number == 0 || (number >= STP_HANDLE_ENV && stp_space_of_constant(space) == NULL);
}

/* One team or context more, or less, that keeps the space from being destroyed. */
void stp_space_use(struct stp_space *space, int n);

/*
 * Who has no handle of a space may use it while the program has one: offer, with all its ranges,
 * and withdraw, unless somebody uses it. How many do.
 */
void stp_space_allow_use_without_handle(struct stp_space *space);
int stp_space_end_use_without_handle_if_unused(struct stp_space *space);

/* The live space behind a handle; fatal, naming fn and the argument, when it is none. */
struct stp_space *stp_space_check(shmem_space_t handle, const char *fn, const char *argument);

/* How messages call a device type: "CPU". */
const char *stp_space_type_name(int type);

/* The space is what SHMEM_SPACE_<KIND> of that device type means from now on; forget all. */
void stp_space_set_constant(int type, struct stp_space *space);
void stp_space_forget_constants(void);

#endif /* STP_TEAM_AND_SPACE_HANDLES_H */
