/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps the handles of spaces to spaces, and names the device types. No function in this file
 * communicates. Design: docs/design/spaces.md.
 */
#include "team_and_space_handles.h"

#include <string.h>

#define TYPE_NAME(NAME, name) #NAME,
#define TYPE_CHECK(NAME, name)                                                                     \
    _Static_assert((int)STP_DEVICE_##NAME == (int)SHMEM_DEVICE_##NAME,                             \
                   "STP_KINDS has the order of the public constants");

STP_KINDS(TYPE_CHECK)

static const char *const space_type_names[STP_N_DEVICE_TYPES] = {STP_KINDS(TYPE_NAME)};

/*
 * Spaces that SHMEM_ENABLE_<KIND> requested. The index is the device type. An entry is NULL if this
 * PE has no such space.
 */
static struct stp_space *space_of_env[STP_N_DEVICE_TYPES];

const char *stp_space_type_name(int type)
{
    return space_type_names[type];
}

struct stp_space *stp_space_of_constant(shmem_space_t space)
{
    uintptr_t type = (uintptr_t)space - (uintptr_t)SHMEM_SPACE_CPU;

    return type < STP_N_DEVICE_TYPES ? space_of_env[type] : NULL;
}

void stp_space_set_constant(int type, struct stp_space *space)
{
    space->handle = (void *)((uintptr_t)SHMEM_SPACE_CPU + (uintptr_t)type);
    space_of_env[type] = space;
}

void stp_space_forget_constants(void)
{
    memset(space_of_env, 0, sizeof(space_of_env));
}

struct stp_space *stp_space_of(shmem_space_t space, bool *destroyed)
{
    *destroyed = false;
    if (space == SHMEM_SPACE_DEFAULT) return stp_space_at(STP_SPACE_HEAP);
    if ((uintptr_t)space < STP_HANDLE_CONSTANTS) return stp_space_of_constant(space);
    return stp_space_of_handle(space, destroyed);
}

shmem_space_t stp_space_handle(const struct stp_space *space)
{
    return space->handle != NULL ? space->handle : stp_space_encode_handle(space);
}

struct stp_space *stp_space_check(shmem_space_t handle, const char *fn, const char *argument)
{
    struct stp_space *space;
    bool destroyed;

    stp_check_live(fn);
    space = stp_space_of(handle, &destroyed);
    if (space == NULL)
        stp_fatal(fn, "%s %p is not a live space: %s", argument, handle,
                  destroyed ? "the space was destroyed" : "no routine has returned this handle");
    return space;
}

void stp_space_use(struct stp_space *space, int n)
{
    pthread_mutex_lock(&stp_rt.lock);
    space->n_users += n;
    pthread_mutex_unlock(&stp_rt.lock);
}

void stp_space_allow_use_without_handle(struct stp_space *space)
{
    pthread_mutex_lock(&stp_rt.lock);
    space->usable = true;
    pthread_mutex_unlock(&stp_rt.lock);
}

int stp_space_end_use_without_handle_if_unused(struct stp_space *space)
{
    int n_users;

    pthread_mutex_lock(&stp_rt.lock);
    n_users = space->n_users;
    if (n_users == 0) space->usable = false;
    pthread_mutex_unlock(&stp_rt.lock);
    return n_users;
}
