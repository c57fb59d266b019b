/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the structure of a team, the handles of teams and spaces, and their checks. Nothing here
 * communicates.
 */
#ifndef STP_TEAM_AND_SPACE_HANDLES_H
#define STP_TEAM_AND_SPACE_HANDLES_H

#include "job_state.h"

/* ---- teams (team_registry.c) ----------------------------------------------------- */

#define STP_TEAM_MAGIC 0x5354454du

/* A team as this PE sees it: its members grouped by node. */
struct stp_team_hierarchy {
    int n_groups;     /* number of nodes with members */
    int group;        /* group of this PE; group 0 holds rank 0 */
    int n_local;      /* number of members on this node */
    int local;        /* index of this PE on its node, in rank order */
    int most_local;   /* most members on one node; 0 if order is NULL */
    bool flat;        /* whether local members are few enough to spin on flags */
    bool sleeps;      /* whether long waits sleep (not flat, or slow other nodes) */
    int *local_pes;   /* world numbers of the local members, in rank order */
    int *local_ranks; /* ranks of the local members, in rank order */
    int *leaders;     /* world number of the first member of each group */
    int *order;       /* ranks sorted by group; NULL on one node, or if too many */
    int *first;       /* start of each group in order; n_groups + 1 entries */
};

struct stp_team_sync_area;
struct stp_coll_doorbell;
struct stp_ctx;

struct stp_team {
    uint32_t magic;
    int n_pes;
    int rank;          /* rank of this PE */
    int start, stride; /* first member and stride, if table is NULL */
    int *table;        /* world numbers by rank, for members without a stride */
    bool ascending;    /* whether table ascends, as in splits with positive stride */
    bool predefined;
    bool active_set; /* whether an active set uses the team: docs/design/active-sets.md */
    shmem_team_config_t config;
    struct stp_space *space; /* space from which the team descends */
    shmem_team_t handle;     /* constant that users compare, or NULL */
    struct stp_ctx *ctxs;    /* contexts of the team, guarded by stp_rt.lock */
    struct stp_team_hierarchy plan;
    size_t slot;                        /* slot of the area in the internal space */
    struct stp_team_sync_area *area;    /* this PE's part of the area */
    struct stp_coll_doorbell *doorbell; /* doorbell of this node's members */
    uint64_t sync_epoch;                /* number of syncs; other threads read the world's */
    uint64_t node_epoch;                /* number of syncs on the node only */
    uint64_t sequence;            /* number of collectives with a cell; read like sync_epoch */
    uint64_t n_chunked;           /* number of collectives that took a chunk */
    uint64_t stream_called;       /* number of collectives called on streams, in one order on all */
    uint64_t stream_done;         /* number of collectives done on streams */
    uint64_t stream_epoch;        /* number of syncs on streams, counted by the stream thread */
    unsigned char *scratch;       /* buffer of large reductions, because thread stacks are small */
    struct stp_team *next, *prev; /* links in the list of live teams, guarded by stp_rt.lock */
};

extern struct stp_team *stp_team_world, *stp_team_shared;

/* Lowest value of a handle that is not a constant. */
#define STP_HANDLE_CONSTANTS ((uintptr_t)64)

struct stp_team *stp_team_of_constant(shmem_team_t team);

/* First constant of the spaces that the environment asks for, and of their teams. */
#define STP_HANDLE_ENV ((uintptr_t)SHMEM_SPACE_CPU)

/* Returns true for SHMEM_TEAM_INVALID and for the constant of a team that was not made here. */
static inline bool stp_team_is_invalid(shmem_team_t team)
{
    uintptr_t number = (uintptr_t)team;

    if (STP_LIKELY(number >= STP_HANDLE_CONSTANTS)) return false;
    return number == 0 || (number >= STP_HANDLE_ENV && stp_team_of_constant(team) == NULL);
}

/* Returns the team of a handle, or NULL for SHMEM_TEAM_INVALID and for teams that were not made. */
static inline struct stp_team *stp_team_of(shmem_team_t team)
{
    if (STP_LIKELY(team == SHMEM_TEAM_WORLD)) return stp_team_world;
    if (STP_UNLIKELY((uintptr_t)team < STP_HANDLE_CONSTANTS)) return stp_team_of_constant(team);
    return (struct stp_team *)team;
}

_Noreturn void stp_fatal_team(const char *fn, shmem_team_t team) STP_COLD;

/* Returns the team of a collective's handle. Fatal if the handle is invalid or not live. */
static inline struct stp_team *stp_team_check(shmem_team_t team, const char *fn)
{
    struct stp_team *t = stp_team_of(team);

    if (STP_UNLIKELY(t == NULL || t->magic != STP_TEAM_MAGIC)) stp_fatal_team(fn, team);
    return t;
}

/* Returns the handle that users compare. */
static inline shmem_team_t stp_team_handle(struct stp_team *team)
{
    return team->handle != NULL ? team->handle : (shmem_team_t)team;
}

/* Returns the world number of a rank. */
static inline int stp_team_pe(const struct stp_team *team, int rank)
{
    return team->table != NULL ? team->table[rank] : team->start + rank * team->stride;
}

/* Returns the rank of a world number, or -1 if that PE is not a member. */
int stp_team_rank_of(const struct stp_team *team, int pe);

/* Returns a cleared team structure, or NULL without memory. Freeing it also frees its table. */
struct stp_team *stp_team_struct_alloc(void);
void stp_team_struct_free(struct stp_team *team);

/*
 * stp_team_link() adds a team that users made to the list of live teams, and stp_team_unlink()
 * removes it. stp_team_first() returns the first team, for callers that know that the list does not
 * change.
 */
void stp_team_link(struct stp_team *team);
void stp_team_unlink(struct stp_team *team);
struct stp_team *stp_team_first(void);

/* Returns true if team is a live team of this PE. Safe on any pointer value. */
bool stp_team_is_live(const struct stp_team *team);

/* ---- spaces (space_handle.c) ------------------------------------------------------ */

/* Returns the space of SHMEM_SPACE_<KIND>, or NULL if it was not made on this PE. */
struct stp_space *stp_space_of_constant(shmem_space_t space);

/*
 * Returns the space of a handle. Returns NULL for SHMEM_SPACE_INVALID, for spaces that were not
 * made, and for destroyed spaces, for which it sets *destroyed.
 */
struct stp_space *stp_space_of(shmem_space_t space, bool *destroyed);
shmem_space_t stp_space_handle(const struct stp_space *space);

/* Returns true for SHMEM_SPACE_INVALID and for the constant of a space that was not made here. */
static inline bool stp_space_is_invalid(shmem_space_t space)
{
    uintptr_t number = (uintptr_t)space;

    if (number >= STP_HANDLE_CONSTANTS) return false;
    return number == 0 || (number >= STP_HANDLE_ENV && stp_space_of_constant(space) == NULL);
}

/* Adds n to the number of users (teams, contexts, device handles) that keep the space alive. */
void stp_space_use(struct stp_space *space, int n);

/*
 * stp_space_allow_use_without_handle() lets parts of the library that have no handle use the space,
 * with all its ranges. The other function ends this, unless the space has users, and returns the
 * number of users.
 */
void stp_space_allow_use_without_handle(struct stp_space *space);
int stp_space_end_use_without_handle_if_unused(struct stp_space *space);

/* Returns the live space of a handle. Fatal, naming fn and the argument, if there is none. */
struct stp_space *stp_space_check(shmem_space_t handle, const char *fn, const char *argument);

/* Returns the name of a device type for messages, such as "CPU". */
const char *stp_space_type_name(int type);

/* Makes SHMEM_SPACE_<KIND> of a device type mean the space. The other function drops all spaces. */
void stp_space_set_constant(int type, struct stp_space *space);
void stp_space_forget_constants(void);

#endif /* STP_TEAM_AND_SPACE_HANDLES_H */
