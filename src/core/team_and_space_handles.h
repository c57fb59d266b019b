/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the structure of a team, and the handles of teams and spaces with their checks. No
 * function here communicates.
 */
#ifndef STP_TEAM_AND_SPACE_HANDLES_H
#define STP_TEAM_AND_SPACE_HANDLES_H

#include "job_state.h"

/* ---- teams (team_registry.c) ----------------------------------------------------- */

#define STP_TEAM_MAGIC 0x5354454du

/* This PE's view of a team. The members on one node form a group. */
struct stp_team_hierarchy {
    int n_groups;  /* number of nodes with members */
    int group;     /* number of this PE's group; rank 0 is in group 0 */
    int n_local;   /* number of members on this node */
    int local;     /* index of this PE among the local members, in rank order */
    int max_local; /* maximum number of members on one node; 0 if order is NULL */
    /*
     * Whether the node has a core for each local member, and sync_flat() has enough rounds for
     * them. Only then may the local members spin on flags.
     */
    bool flat;
    /*
     * Whether long waits sleep. This is so if flat is false, or if the fabric needs system calls.
     */
    bool sleeps;
    int *local_pes;   /* world numbers of the local members, in rank order */
    int *local_ranks; /* ranks of the local members, in rank order */
    int *leaders;     /* world number of the first member of each group */
    /* Ranks sorted by group. NULL if the job has one node, or if the team has too many members. */
    int *order;
    /* Index in the array order at which each group begins (n_groups + 1 entries). */
    int *first;
};

struct stp_team_sync_area;
struct stp_coll_doorbell;
struct stp_ctx;

struct stp_team {
    uint32_t magic;
    int n_pes;
    int rank; /* rank of this PE */
    /* World number of the first member, and stride. Used only if table is NULL. */
    int start, stride;
    /* World numbers of the members by rank. NULL if the team is stored as a start and a stride. */
    int *table;
    /* Whether the numbers in table ascend. This is so after splits with a positive stride. */
    bool ascending;
    bool predefined;
    bool active_set; /* whether the team belongs to an active set (docs/design/teams.md) */
    shmem_team_config_t config;
    /* Space to which the team belongs. The team descends from the space's own team. */
    struct stp_space *space;
    shmem_team_t handle;  /* constant by which users denote the team, or NULL */
    struct stp_ctx *ctxs; /* contexts of the team, guarded by stp_rt.lock */
    struct stp_team_hierarchy plan;
    size_t slot;                        /* slot of the team's area in the internal space */
    struct stp_team_sync_area *area;    /* this PE's copy of the team's area */
    struct stp_coll_doorbell *doorbell; /* doorbell of the members on this node */
    /* Number of syncs. Other threads read this field of the world team. */
    uint64_t sync_epoch;
    uint64_t node_epoch; /* number of syncs of the members on this node only */
    /* Number of collectives that used a cell. Other threads read this field of the world team. */
    uint64_t sequence;
    uint64_t n_chunked; /* number of collectives that took a chunk */
    /*
     * Number of collectives that were called on streams. All members call them in the same order.
     */
    uint64_t stream_called;
    uint64_t stream_done;         /* number of completed collectives on streams */
    uint64_t stream_epoch;        /* number of syncs on streams, counted by the stream thread */
    unsigned char *scratch;       /* buffer for large reductions, because thread stacks are small */
    struct stp_team *next, *prev; /* links in the list of live teams, guarded by stp_rt.lock */
};

extern struct stp_team *stp_team_world, *stp_team_shared;

/* Handles below this value are constants. All other handles were made at run time. */
#define STP_HANDLE_CONSTANTS ((uintptr_t)64)

struct stp_team *stp_team_of_constant(shmem_team_t team);

/*
 * Value of the first constant handle for a space that an environment variable requests. The
 * constants for the teams of these spaces begin at the same value.
 */
#define STP_HANDLE_ENV ((uintptr_t)SHMEM_SPACE_CPU)

/* Returns true for SHMEM_TEAM_INVALID and for the constant of a team that this PE does not have. */
static inline bool stp_team_is_invalid(shmem_team_t team)
{
    uintptr_t number = (uintptr_t)team;

    if (STP_LIKELY(number >= STP_HANDLE_CONSTANTS)) return false;
    return number == 0 || (number >= STP_HANDLE_ENV && stp_team_of_constant(team) == NULL);
}

/*
 * Returns the team that a handle denotes. Returns NULL for SHMEM_TEAM_INVALID and for the constant
 * of a team that this PE does not have.
 */
static inline struct stp_team *stp_team_of(shmem_team_t team)
{
    if (STP_LIKELY(team == SHMEM_TEAM_WORLD)) return stp_team_world;
    if (STP_UNLIKELY((uintptr_t)team < STP_HANDLE_CONSTANTS)) return stp_team_of_constant(team);
    return (struct stp_team *)team;
}

/* Texts for stp_reject() after stp_team_is_invalid() or stp_space_is_invalid(). */
#define STP_INVALID_TEAM "SHMEM_TEAM_INVALID or a predefined team to which this PE does not belong"
#define STP_INVALID_SPACE                                                                          \
    "SHMEM_SPACE_INVALID or a predefined space to which this PE does not belong"

_Noreturn void stp_fatal_team(const char *fn, shmem_team_t team) STP_COLD;

/* Returns the team that was passed to a collective. Fatal if the handle is invalid or not live. */
static inline struct stp_team *stp_team_check(shmem_team_t team, const char *fn)
{
    struct stp_team *t = stp_team_of(team);

    if (STP_UNLIKELY(t == NULL || t->magic != STP_TEAM_MAGIC)) stp_fatal_team(fn, team);
    return t;
}

/* Returns the handle by which users denote the team. */
static inline shmem_team_t stp_team_handle(struct stp_team *team)
{
    return team->handle != NULL ? team->handle : (shmem_team_t)team;
}

/* Returns the world number of the member with this rank. */
static inline int stp_team_pe(const struct stp_team *team, int rank)
{
    return team->table != NULL ? team->table[rank] : team->start + rank * team->stride;
}

/* Returns the rank of the PE with this world number, or -1 if the PE is not a member. */
int stp_team_rank_of(const struct stp_team *team, int pe);

/* Returns a team structure filled with zeros, or NULL if there is no memory. */
struct stp_team *stp_team_struct_alloc(void);
/* Frees a team structure and its table. */
void stp_team_struct_free(struct stp_team *team);

/* Adds a team that the user made to the list of live teams. */
void stp_team_link(struct stp_team *team);
/* Removes a team from the list of live teams. */
void stp_team_unlink(struct stp_team *team);
/* Returns the first live team. Meanwhile no other thread may change the list of live teams. */
struct stp_team *stp_team_first(void);

/* Calls forget for each team, and makes its handle invalid. Called in a forked child. */
void stp_team_forget_all_in_child(void (*forget)(struct stp_team *team));

/* Returns true if team is a live team of this PE. The pointer may have any value. */
bool stp_team_is_live(const struct stp_team *team);

/* ---- spaces (space_handle.c) ------------------------------------------------------ */

/* Returns the space that SHMEM_SPACE_<KIND> denotes, or NULL if this PE does not have it. */
struct stp_space *stp_space_of_constant(shmem_space_t space);

/*
 * Returns the space that a handle denotes. Returns NULL for SHMEM_SPACE_INVALID and for a space
 * that does not exist. Sets *destroyed to whether the handle denotes a space that was destroyed.
 */
struct stp_space *stp_space_of(shmem_space_t space, bool *destroyed);
/* Returns the handle by which users denote the space. */
shmem_space_t stp_space_handle(const struct stp_space *space);

/*
 * Returns true for SHMEM_SPACE_INVALID and for the constant of a space that this PE does not have.
 */
static inline bool stp_space_is_invalid(shmem_space_t space)
{
    uintptr_t number = (uintptr_t)space;

    if (number >= STP_HANDLE_CONSTANTS) return false;
    return number == 0 || (number >= STP_HANDLE_ENV && stp_space_of_constant(space) == NULL);
}

/*
 * Adds n to the number of users of the space. The argument n may be negative. The users of a space
 * are teams, contexts and device handles. They keep the space alive.
 */
void stp_space_use(struct stp_space *space, int n);

/* Allows other parts of the library to use the whole space without a handle of the space. */
void stp_space_allow_use_without_handle(struct stp_space *space);
/* Ends the use without a handle, unless the space has users. Returns the number of users. */
int stp_space_end_use_without_handle_if_unused(struct stp_space *space);

/* Returns the live space that a handle denotes. Fatal if the handle denotes no live space. */
struct stp_space *stp_space_check(shmem_space_t handle, const char *fn, const char *argument);

/* Returns the name of a device type for messages, such as "CPU". */
const char *stp_space_type_name(int type);

/* Makes the constant SHMEM_SPACE_<KIND> of a device type denote the space. */
void stp_space_set_constant(int type, struct stp_space *space);
/* Makes the constants of all device types denote no space. */
void stp_space_forget_constants(void);

#endif /* STP_TEAM_AND_SPACE_HANDLES_H */
