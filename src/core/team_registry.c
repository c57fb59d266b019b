/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the structures of teams, maps handles to teams, and finds the ranks of PEs. No function in
 * this file communicates. Design: docs/design/teams.md.
 */
#include "team_and_space_handles.h"

#include "argument_errors.h"

#include <stdlib.h>
#include <string.h>

#define POOL_CHUNK 64

/*
 * A chunk of team structures. The chunks are never unmapped. The library can therefore read the
 * structure to which a stale handle points, and recognizes the stale handle.
 */
struct pool_chunk {
    struct pool_chunk *next;
    struct stp_team teams[POOL_CHUNK];
};

static struct {
    struct pool_chunk *chunks;
    struct stp_team *free; /* unused structures, linked by the field next */
    struct stp_team *live; /* live teams except the predefined ones */
} pool;                    /* pool of team structures, guarded by stp_rt.lock */

struct stp_team *stp_team_world, *stp_team_shared;

struct stp_team *stp_team_struct_alloc(void)
{
    struct stp_team *team;

    pthread_mutex_lock(&stp_rt.lock);
    if (pool.free == NULL) {
        struct pool_chunk *chunk = calloc(1, sizeof(*chunk));
        if (chunk != NULL) {
            chunk->next = pool.chunks;
            pool.chunks = chunk;
            for (int i = POOL_CHUNK - 1; i >= 0; i--) {
                chunk->teams[i].next = pool.free;
                pool.free = &chunk->teams[i];
            }
        }
    }
    team = pool.free;
    if (team != NULL) {
        pool.free = team->next;
        memset(team, 0, sizeof(*team));
    }
    pthread_mutex_unlock(&stp_rt.lock);
    return team;
}

void stp_team_struct_free(struct stp_team *team)
{
    free(team->table);
    pthread_mutex_lock(&stp_rt.lock);
    team->magic = 0;
    team->next = pool.free;
    pool.free = team;
    pthread_mutex_unlock(&stp_rt.lock);
}

void stp_team_link(struct stp_team *team)
{
    pthread_mutex_lock(&stp_rt.lock);
    team->magic = STP_TEAM_MAGIC;
    team->next = pool.live;
    if (team->next != NULL) team->next->prev = team;
    pool.live = team;
    if (team->space != NULL) team->space->n_users++;
    pthread_mutex_unlock(&stp_rt.lock);
}

void stp_team_unlink(struct stp_team *team)
{
    pthread_mutex_lock(&stp_rt.lock);
    if (team->prev != NULL)
        team->prev->next = team->next;
    else
        pool.live = team->next;
    if (team->next != NULL) team->next->prev = team->prev;
    if (team->space != NULL) team->space->n_users--;
    pthread_mutex_unlock(&stp_rt.lock);
}

struct stp_team *stp_team_first(void)
{
    return pool.live;
}

void stp_team_forget_all_in_child(void (*forget)(struct stp_team *team))
{
    /* Takes no lock, because another thread of the PE may have held the lock at the fork. */
    for (struct pool_chunk *chunk = pool.chunks; chunk != NULL; chunk = chunk->next)
        for (int i = 0; i < POOL_CHUNK; i++) {
            forget(&chunk->teams[i]);
            chunk->teams[i].magic = 0;
        }
}

bool stp_team_is_live(const struct stp_team *team)
{
    bool live = false;

    if (team == NULL) return false;
    if (team == stp_team_world || team == stp_team_shared) return true;
    pthread_mutex_lock(&stp_rt.lock);
    for (struct pool_chunk *chunk = pool.chunks; chunk != NULL && !live; chunk = chunk->next) {
        size_t offset = (size_t)((const char *)team - (const char *)chunk->teams);
        live = offset < sizeof(chunk->teams) && offset % sizeof(*team) == 0 &&
               team->magic == STP_TEAM_MAGIC;
    }
    pthread_mutex_unlock(&stp_rt.lock);
    return live;
}

static int team_table_rank(const struct stp_team *team, int pe)
{
    if (team->ascending) return stp_ascending_find(team->table, team->n_pes, pe);
    for (int rank = 0; rank < team->n_pes; rank++)
        if (team->table[rank] == pe) return rank;
    return -1;
}

int stp_team_rank_of(const struct stp_team *team, int pe)
{
    int distance = pe - team->start;
    int rank;

    if (team->table != NULL) return team_table_rank(team, pe);
    if (team->stride == 0) return distance == 0 ? 0 : -1;
    rank = distance / team->stride;
    return distance % team->stride == 0 && rank >= 0 && rank < team->n_pes ? rank : -1;
}

/* ---- handles ---------------------------------------------------------------------- */

struct stp_team *stp_team_of_constant(shmem_team_t team)
{
    struct stp_space *space;

    if (team == SHMEM_TEAM_WORLD) return stp_team_world;
    if (team == SHMEM_TEAM_SHARED) return stp_team_shared;
    space = stp_space_of_constant(
        (shmem_space_t)((uintptr_t)SHMEM_SPACE_CPU + (uintptr_t)team - (uintptr_t)SHMEM_TEAM_CPU));
    return space != NULL ? space->user_team : NULL;
}

_Noreturn void stp_fatal_team(const char *fn, shmem_team_t team)
{
    stp_check_live(fn);
    if (stp_team_is_invalid(team))
        stp_fatal(fn, "team is " STP_INVALID_TEAM ": pass a team of which this PE is a member");
    stp_fatal(fn, "team %p is not a live team: was it destroyed?", (void *)team);
}
