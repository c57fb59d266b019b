/* SPDX-License-Identifier: BSD-3-Clause */
/* This file implements queries about PE numbers, accessible memory and the library. */
#include "rma/rma.h"

#include "pshmem.h"

#include <string.h>

int pshmem_my_pe(void)
{
    return stp_rt.pe;
}
STP_PROFILED(shmem_my_pe);

int pshmem_n_pes(void)
{
    return stp_rt.n_pes;
}
STP_PROFILED(shmem_n_pes);

int p_my_pe(void)
{
    return stp_rt.pe;
}
STP_PROFILED(_my_pe);

int p_num_pes(void)
{
    return stp_rt.n_pes;
}
STP_PROFILED(_num_pes);

int pshmem_pe_accessible(int pe)
{
    return pe >= 0 && pe < stp_rt.n_pes;
}
STP_PROFILED(shmem_pe_accessible);

/*
 * Returns the space of the object at addr, if the program may access this object on the PE with the
 * number pe. Returns NULL otherwise. Sets *offset to the offset of the object in the space.
 */
static struct stp_space *query_space(const void *addr, int pe, size_t *offset)
{
    struct stp_space *space;

    if (pe < 0 || pe >= stp_rt.n_pes) return NULL;
    space = stp_space_lookup(addr, offset);
    if (space == NULL || space->number == STP_SPACE_INTERNAL) return NULL;
    return space->team == NULL || stp_team_rank_of(space->team, pe) >= 0 ? space : NULL;
}

int pshmem_addr_accessible(const void *addr, int pe)
{
    size_t offset;
    const struct stp_space *space = query_space(addr, pe, &offset);

    if (space == NULL) return 0;
    if (!space->host) return 1; /* the PE's proxy thread accesses memory that CPUs cannot access */
    return stp_rt.has_fabric || stp_ptr(addr, pe) != NULL;
}
STP_PROFILED(shmem_addr_accessible);

void *pshmem_ptr(const void *dest, int pe)
{
    size_t offset;
    struct stp_space *space = query_space(dest, pe, &offset);
    char *base;
    int local;

    if (space == NULL) return NULL;
    if (pe == stp_rt.pe) return (void *)(uintptr_t)dest;
    if (space->host) return stp_ptr(dest, pe);
    local = stp_local_of(pe);
    base = local >= 0 ? stp_kind_reach(space, local) : NULL;
    return base != NULL ? base + offset : NULL; /* this address is valid in this PE's device code */
}
STP_PROFILED(shmem_ptr);

void *pshmem_team_ptr(shmem_team_t team, const void *dest, int pe)
{
    const struct stp_team *t;

    if (stp_team_is_invalid(team)) return NULL;
    t = stp_team_check(team, __func__);
    return pe < 0 || pe >= t->n_pes ? NULL : pshmem_ptr(dest, stp_team_pe(t, pe));
}
STP_PROFILED(shmem_team_ptr);

void pshmem_info_get_version(int *major, int *minor)
{
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}
STP_PROFILED(shmem_info_get_version);

const char *pshmemx_version(void)
{
    return STP_VERSION;
}
STP_PROFILED(shmemx_version);

void pshmem_info_get_name(char *name)
{
    _Static_assert(sizeof(SHMEM_VENDOR_STRING) <= SHMEM_MAX_NAME_LEN, "the name fits");
    memcpy(name, SHMEM_VENDOR_STRING, sizeof(SHMEM_VENDOR_STRING));
}
STP_PROFILED(shmem_info_get_name);

/* Does nothing. Profiling tools replace this weak symbol by their own function. */
void pshmem_pcontrol(int level, ...)
{
    (void)level;
}
STP_PROFILED(shmem_pcontrol);
