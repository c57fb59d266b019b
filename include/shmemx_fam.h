/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routines for spaces of fabric-attached memory (FAM) that outlive a job. This header is part of
 * shmemx.h. shmemx_space_create_attr() creates such a space with a name and SHMEMX_SPACE_KEEP.
 * SHMEMX_SPACE_RESHAPE adds parts to an existing space.
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
 * Describes the space called name in SHMEM_FAM_PATH without opening it. info->struct_size must be
 * set before the call. Sets device_type, kind, nbytes (bytes of a part), n_parts, found, in_use and
 * flags. flags is SHMEMX_SPACE_KEEP if a job created or opened the space with this flag. All other
 * fields get the values of the initializer. Local. Returns 0, or ENOENT if no space has the name.
 * If the space cannot be read, prints a message and returns another number.
 */
int shmemx_space_stat(const char *name, shmemx_space_info_t *info);

/* Former names of shmemx_space_info_t and its initializer for shmemx_space_stat(). */
typedef shmemx_space_info_t shmemx_space_stat_t;
#define SHMEMX_SPACE_STAT_INITIALIZER SHMEMX_SPACE_INFO_INITIALIZER

/*
 * Makes nbytes at addr durable. The bytes must be in this PE's part of a FAM space. On return the
 * bytes survive a power failure. If the space is kept, they also survive the end of the job. Bytes
 * that other PEs put there are durable, too, if those PEs called quiet and a sync followed before
 * this call. Local. Returns 0. Returns nonzero for SHMEM_SPACE_INVALID, if the bytes are not in
 * this PE's part, if the space is not FAM, or if the system cannot write.
 */
int shmemx_space_persist(shmem_space_t space, const void *addr, size_t nbytes);

/*
 * Maps a part of a named space for reading and sets *base to its address. index is the number of
 * the part, from 0 to n_parts - 1 of shmemx_space_query(). The part need not belong to a member of
 * this job. It stays mapped until the space is destroyed or a reshape is committed. Local. Returns
 * 0. If this host does not have the part, prints a message that names the part, and returns
 * nonzero.
 */
int shmemx_space_part(shmem_space_t space, int index, const void **base);

/*
 * Replaces the old parts of a space by the new parts that SHMEMX_SPACE_RESHAPE added. The program
 * must have copied all data that it needs from the old parts.
 *
 * Before the call, n_parts and shmemx_space_part() refer to the old parts. If the job ends or is
 * killed before the call, the old parts remain unchanged. The new parts hold zeros where the
 * program has not written. Named blocks have the same offsets in the new parts and are allocated
 * there.
 *
 * The call begins with a quiet of the default context and a sync of the members. It then makes the
 * new parts durable, moves the name to them in one step, and frees the old parts. Pointers to the
 * old parts become invalid. If there is no reshape to commit, only the quiet and the sync happen.
 * Collective over the members of the space. Returns 0, or nonzero on all members.
 */
int shmemx_space_reshape_commit(shmem_space_t space);

/*
 * Stores a name of 1 to 63 bytes for bytes of a block in a named space. Later jobs find the bytes
 * by this name. A space keeps up to 85 names. Collective over the members of the space. Each member
 * passes its address of the same bytes of one allocated block. A name that is in use gets the new
 * meaning. If addr is NULL or nbytes is 0, the name is removed. On return the name is durable, but
 * the contents of the block are not. If the job is killed during the call, the name has the old or
 * the new meaning. A block with a name is still allocated when the space is opened again. Freeing
 * or resizing such a block ends the job; remove its name first. Returns 0, or nonzero on all
 * members if the name cannot be set.
 */
int shmemx_space_root_set(shmem_space_t space, const char *name, const void *addr, size_t nbytes);
/*
 * Finds the bytes for which shmemx_space_root_set() stored the name, perhaps in an earlier job.
 * Sets *addr to their address in this PE's part, and *nbytes to their number. Local. Returns 0. If
 * the name does not exist, sets *addr to NULL and *nbytes to 0, and returns nonzero.
 */
int shmemx_space_root_get(shmem_space_t space, const char *name, void **addr, size_t *nbytes);

int pshmemx_space_root_set(shmem_space_t space, const char *name, const void *addr, size_t nbytes);
int pshmemx_space_root_get(shmem_space_t space, const char *name, void **addr, size_t *nbytes);
int pshmemx_space_part(shmem_space_t space, int index, const void **base);
int pshmemx_space_reshape_commit(shmem_space_t space);
int pshmemx_space_stat(const char *name, shmemx_space_info_t *info);
int pshmemx_space_persist(shmem_space_t space, const void *addr, size_t nbytes);

/* Former names of shmemx_space_reshape_commit() and its twin. */
#define shmemx_space_part_release shmemx_space_reshape_commit
#define pshmemx_space_part_release pshmemx_space_reshape_commit

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__) && !defined(SHMEM_IMPL_PLAIN)
#pragma GCC visibility pop
#endif

#endif /* SHMEMX_FAM_H */
