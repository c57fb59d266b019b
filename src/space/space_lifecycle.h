/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the creation and destruction of spaces, and the allocation of memory in
 * them. Design: docs/design/spaces.md.
 */
#ifndef STP_SPACE_LIFECYCLE_H
#define STP_SPACE_LIFECYCLE_H

#include "boot/boot.h"
#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

/*
 * Creates the internal space, the space of the data segment and the default space, and registers
 * them with the fabric. The library calls on_change() when the default space or a later space has
 * been created (`change` is 1). It also calls on_change() before shmem_space_destroy() frees a
 * space (`change` is -1).
 */
void stp_space_make_internal_data_heap(struct stp_pe_info *pe_info,
                                       void (*on_change)(const struct stp_space *space,
                                                         int change));
void stp_space_notify_change(const struct stp_space *space, int change); /* calls on_change() */
void stp_space_attach(void);            /* attaches peers' parts, after the exchange of PE infos */
void stp_space_finish_heap_setup(void); /* called after the creation of the world team */
void stp_space_detach_all(void);        /* detaches peers' parts; a barrier must follow */
void stp_space_fini(void);              /* frees all spaces; called after that barrier */

/* Creates the spaces of SHMEM_ENABLE_<KIND>. Collective over all PEs. Fatal if this fails. */
void stp_space_create_env(void);

/*
 * Creates a space, collectively over attr->parent, or over the world if attr is NULL. Sets *space
 * and *team to NULL on a PE that has no memory of the kind. The argument `invalid` is true if this
 * PE has already logged an invalid argument. Returns 0, or 1 after logging. The result is the same
 * on all PEs of the parent.
 */
int stp_space_make(const shmem_space_config_t *config, const shmemx_space_attr_t *attr,
                   bool invalid, struct stp_space **space, struct stp_team **team, const char *fn);

/*
 * Turns a buffer of the program into a space, collectively over team. Returns 0, or 1 on all
 * members after logging.
 */
int stp_space_adopt(shmem_team_t team, void *buffer, size_t nbytes, const struct stp_adopt *adopt,
                    bool invalid, struct stp_space **space, const char *fn);

/*
 * Creates and registers this PE's part of a space. Returns 0, or -errno. Returns -EEXIST if another
 * thread has taken the space number or the range of the window first. After an error, no memory of
 * the part remains allocated.
 */
int stp_space_open(struct stp_space *space, const struct stp_space_params *params, bool with_heap,
                   struct stp_part_export *share, struct stp_fabric_region *region);
/* Frees the part that stp_space_open() has created. */
void stp_space_shut(struct stp_space *space);

/*
 * Registers nbytes bytes at base as the fabric region of the space. It is no error if the provider
 * rejects device memory or private pages. Returns 0, or -errno.
 */
int stp_space_register_memory(struct stp_space *space, void *base, size_t nbytes,
                              struct stp_fabric_region *region);

/*
 * Returns whether this is the default space and SHMEM_SYMMETRIC_SIZE is 0. The space is then one
 * page, in which nothing can be allocated.
 */
static inline bool stp_space_has_no_heap(const struct stp_space *space)
{
    return space->number == STP_SPACE_HEAP && stp_env.symmetric.max == 0;
}

/*
 * Checks whether this host has enough memory for the parts of all members on this host
 * (host_fit_check.c). Must be called before the pages of these parts are used. Collective over
 * team, which has all members of the space. Returns 0, or -errno. The result is the same on all PEs
 * that take memory from the same place, for example a NUMA node. The first of these PEs logs the
 * error.
 */
int stp_space_check_host_fit(struct stp_space *space, struct stp_team *team,
                             const struct stp_space_params *params, const char *fn);

/* Reserves the named blocks when a space is opened. Returns 0, or -errno without logging. */
int stp_space_restore_named_blocks(struct stp_space *space);

/* Fatal if the block at offset has a name, because malloc could reuse it while the name remains. */
void stp_space_fatal_if_named(struct stp_space *space, size_t offset, const char *fn);

/* Returns the number of allocated blocks that have a name. */
size_t stp_space_named_blocks(const struct stp_space *space);

/*
 * Returns an array of the members' region descriptors, indexed by PE. The caller frees the array.
 * Returns NULL if the provider does not need the descriptors of peers. A provider needs them if it
 * chooses the memory keys, or if it uses addresses instead of offsets. Collective over the members.
 */
struct stp_fabric_region *stp_space_gather_regions_if_used(
    struct stp_space *space, const struct stp_fabric_region *my_region, const char *fn);

/*
 * Pins the bytes in [start, end) of the parts of the other members on this node. These members have
 * pinned their own parts. Returns 0, or -errno with the reason in `reason`.
 */
int stp_space_pin_peers(struct stp_space *space, size_t start, size_t end, char *reason,
                        size_t len);

/*
 * Returns a new space without memory, or NULL on failure. Only stp_space_open() gives memory to the
 * space. A caller that does not open the space must call stp_space_struct_free().
 */
struct stp_space *stp_space_prepare(const struct stp_kind *kind, size_t nbytes);

/* Sets the size up to which a space may grow. Called before the space has memory. */
void stp_space_set_max(struct stp_space *space, size_t max_bytes);

/*
 * Grows the space to at least `needed` bytes (grow.c). Collective over the private team of the
 * space, because the heaps of its members are equal. Returns 0, or -ENOMEM on all members. After an
 * error, the space is unchanged. An error occurs if `needed` is above the maximum, or if a member
 * cannot grow its part. This member logs the reason once.
 */
int stp_space_grow(struct stp_space *space, size_t needed, const char *fn);

/*
 * Returns the capabilities of a space (SHMEM_SPACE_CAP_ bits). Some capabilities depend only on the
 * kind of memory. The argument `ident` is true if all parts have the same address. The argument
 * `world` is true if all PEs are members.
 */
uint64_t stp_space_caps(const struct stp_space *space, bool ident, bool world);

/*
 * The next four functions allocate and free memory for the routines of spaces and of the heap. They
 * are collective over the members. The argument fn is the name of the routine for messages.
 */
/* Allocates nbytes bytes at a multiple of `align`. If `zero` is true, the bytes are zeroed. */
void *stp_space_alloc(struct stp_space *space, size_t nbytes, size_t align, bool zero,
                      const char *fn);
/* Allocates nbytes bytes at a multiple of `alignment`. Returns NULL if `alignment` is invalid. */
void *stp_space_align(struct stp_space *space, size_t alignment, size_t nbytes, const char *fn);
/* Frees a block. Fatal if ptr is not the address of a block in the space. */
void stp_space_free(struct stp_space *space, void *ptr, const char *fn);
/* Resizes a block, and moves it if necessary. Returns its address, or NULL if there is no room. */
void *stp_space_resize(struct stp_space *space, void *ptr, size_t nbytes, const char *fn);

#endif /* STP_SPACE_LIFECYCLE_H */
