/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routines for spaces of fabric-attached memory (FAM) that outlive a job. Part of shmemx.h.
 * shmemx_space_create_attr() creates such a space with a name and SHMEMX_SPACE_KEEP;
 * SHMEMX_SPACE_RESHAPE adds parts to an existing one.
 */
#ifndef SHMEMX_FAM_H
#define SHMEMX_FAM_H

#include <shmemx.h>

#if defined(__GNUC__) && !defined(SHMEM_IMPL_PLAIN)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/*
 * Describes the named space in SHMEM_FAM_PATH without opening it. Sets device_type, kind, nbytes
 * (of a part), n_parts, found, in_use and flags (SHMEMX_SPACE_KEEP if a job made or opened the
 * space with it), and the other fields to the initializer's values; struct_size must be set. Local.
 * Returns 0; ENOENT if there is no such space; another number, with a message, if it cannot be
 * read.
 */
int shmemx_space_stat(const char *name, shmemx_space_info_t *info);

/* Names that the structure had in an earlier interface. */
typedef shmemx_space_info_t shmemx_space_stat_t;
#define SHMEMX_SPACE_STAT_INITIALIZER SHMEMX_SPACE_INFO_INITIALIZER

/*
 * Makes the bytes [addr, addr + nbytes) of this PE's part of a FAM space durable: on return they
 * survive a power failure and, if the space is kept, the end of the job. Includes bytes that other
 * PEs put there, if these called quiet and a sync followed before this call. Local. Returns 0;
 * nonzero for SHMEM_SPACE_INVALID, if the bytes do not lie in this PE's part, if the space is not
 * FAM, or if the system cannot write.
 */
int shmemx_space_persist(shmem_space_t space, const void *addr, size_t nbytes);

/*
 * Maps part number index (0 to n_parts - 1 of shmemx_space_query()) of a named space for reading,
 * also a part that no member of this job owns, and sets *base to its address. The part stays mapped
 * until the space is destroyed or a reshape is committed. Local. Returns 0, or nonzero with a
 * message that names the part if this host does not have it.
 */
int shmemx_space_part(shmem_space_t space, int index, const void **base);

/*
 * Replaces the old parts of a space by the new ones that SHMEMX_SPACE_RESHAPE added. The program
 * first copies all that it needs. Until the call the new parts hold zeros where the program has not
 * written, with the named blocks allocated at their places; n_parts and shmemx_space_part() refer
 * to the old parts, which remain unchanged if the job ends or is killed. The call begins with a
 * quiet of the default context and a sync of the members. It then makes the new parts durable,
 * moves the name to them in one step, and frees the old parts; pointers to these become invalid.
 * Without a reshape only the quiet and the sync happen. Collective over the members of the space.
 * Returns 0, or nonzero on all members.
 */
int shmemx_space_reshape_commit(shmem_space_t space);

/*
 * Give a block of a named space a name of 1 to 63 bytes, and find a block by its name in a later
 * job. A space keeps up to 85 names. set is collective over the members of the space: each passes
 * its address of the same bytes of one allocated block. A name in use gets the new meaning; addr
 * NULL or nbytes 0 removes it. On return the name is durable, but not the contents, and a job that
 * is killed leaves the old or the new meaning. A block with a name is still allocated when the
 * space is opened again. To free or resize it ends the job: remove its name first. get is local.
 * Both return 0, or nonzero (set on all members) if it cannot be done or there is no such name.
 */
int shmemx_space_root_set(shmem_space_t space, const char *name, const void *addr, size_t nbytes);
int shmemx_space_root_get(shmem_space_t space, const char *name, void **addr, size_t *nbytes);

int pshmemx_space_root_set(shmem_space_t space, const char *name, const void *addr, size_t nbytes);
int pshmemx_space_root_get(shmem_space_t space, const char *name, void **addr, size_t *nbytes);
int pshmemx_space_part(shmem_space_t space, int index, const void **base);
int pshmemx_space_reshape_commit(shmem_space_t space);
int pshmemx_space_stat(const char *name, shmemx_space_info_t *info);
int pshmemx_space_persist(shmem_space_t space, const void *addr, size_t nbytes);

/* The former names of the routine. */
#define shmemx_space_part_release shmemx_space_reshape_commit
#define pshmemx_space_part_release pshmemx_space_reshape_commit

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__) && !defined(SHMEM_IMPL_PLAIN)
#pragma GCC visibility pop
#endif

#endif /* SHMEMX_FAM_H */
