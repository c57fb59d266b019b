/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spaces of fabric-attached memory (FAM) that outlive a job: part of shmemx.h. They are made by
 * shmemx_space_create_attr() with a name, SHMEMX_SPACE_KEEP and SHMEMX_SPACE_RESHAPE.
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
 * What a name stands for in SHMEM_FAM_PATH, without opening it: device_type, kind, nbytes of a
 * part, n_parts, found, in_use, and SHMEMX_SPACE_KEEP in flags, if it stays when nobody uses it;
 * the other fields as the initializer has them. Local. 0; ENOENT when there is no such space;
 * another number, with a message, when it cannot be told.
 */
int shmemx_space_stat(const char *name, shmemx_space_info_t *info);

/* Names of an earlier interface for the structure. */
typedef shmemx_space_info_t shmemx_space_stat_t;
#define SHMEMX_SPACE_STAT_INITIALIZER SHMEMX_SPACE_INFO_INITIALIZER

/*
 * Make what this PE's part of a FAM space holds in [addr, addr + nbytes) durable: on return it
 * survives the end of the job and a failure of power. Local. Bytes that other PEs put there are
 * meant too when they have arrived: their quiet, and a sync, come before. Returns 0; nonzero for
 * SHMEM_SPACE_INVALID, for bytes that do not lie in this PE's part, for memory that does not
 * outlive jobs (any but FAM), and when the system cannot write it.
 */
int shmemx_space_persist(shmem_space_t space, const void *addr, size_t nbytes);

/*
 * Part index of a named space, 0 to n_parts - 1 of shmemx_space_query(), to read: also a part that
 * no member of this job owns. It is mapped until the space is destroyed. Local. 0; nonzero, with a
 * message that names the part, where this host has no such part.
 */
int shmemx_space_part(shmem_space_t space, int index, const void **base);

/*
 * What a reshaped space needed of its old parts is in the new ones. While SHMEMX_SPACE_RESHAPE
 * gives a named space more parts, the new ones being zero with the named blocks at their places,
 * n_parts and shmemx_space_part() are those of the old ones, and a job that ends or is killed
 * leaves these alone. The commit makes the new parts durable, gives them the name, at one moment,
 * and the old ones go; pointers to them end. Collective over the space; nothing happens to one that
 * is not being reshaped. Returns 0; nonzero on all members.
 */
int shmemx_space_reshape_commit(shmem_space_t space);

/*
 * Blocks of a named space that later jobs find by a name of 1 to 63 bytes, 85 at most. set:
 * collective over the members of the space, each with its address of the same bytes of one
 * allocated block; replaces what the name stood for; addr NULL or nbytes 0: forgets it. On return
 * the name, not the contents, is durable, and a job that is killed leaves the old or the new
 * meaning. A block that has a name is allocated when the space is opened again, and an error to
 * free or resize: forget its name before that. get: local. 0; nonzero, on all members for set, when
 * it cannot be done or there is no such name.
 */
int shmemx_space_root_set(shmem_space_t space, const char *name, const void *addr, size_t nbytes);
int shmemx_space_root_get(shmem_space_t space, const char *name, void **addr, size_t *nbytes);

int pshmemx_space_root_set(shmem_space_t space, const char *name, const void *addr, size_t nbytes);
int pshmemx_space_root_get(shmem_space_t space, const char *name, void **addr, size_t *nbytes);
int pshmemx_space_part(shmem_space_t space, int index, const void **base);
int pshmemx_space_reshape_commit(shmem_space_t space);
int pshmemx_space_stat(const char *name, shmemx_space_info_t *info);
int pshmemx_space_persist(shmem_space_t space, const void *addr, size_t nbytes);

/* The name that shmemx_space_reshape_commit() had before. */
static __inline__ int shmemx_space_part_release(shmem_space_t space)
{
    return shmemx_space_reshape_commit(space);
}

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__) && !defined(SHMEM_IMPL_PLAIN)
#pragma GCC visibility pop
#endif

#endif /* SHMEMX_FAM_H */
