/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the creation and destruction of spaces, and allocation in them. Design:
 * docs/design/spaces.md.
 */
#ifndef STP_SPACE_LIFECYCLE_H
#define STP_SPACE_LIFECYCLE_H

#include "boot/boot.h"
#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

/*
 * Creates the internal, data and default spaces and registers them with the fabric. on_change is
 * called for each space that has been created (by 1) or is about to be destroyed (-1).
 */
void stp_space_make_internal_data_heap(struct stp_pe_info *pe_info,
                                       void (*on_change)(const struct stp_space *space, int by));
void stp_space_notify_change(const struct stp_space *space, int by); /* calls on_change */
void stp_space_attach(void);            /* attaches peers' parts, after the exchange of PE infos */
void stp_space_finish_heap_setup(void); /* after the creation of the world team */
void stp_space_detach_all(void);        /* detaches peers' parts; a barrier must follow */
void stp_space_fini(void);              /* frees all spaces, after that barrier */

/* Creates the spaces of SHMEM_ENABLE_<KIND>, collectively over the world. Fatal if one fails. */
void stp_space_create_env(void);

/*
 * Creates a space, collectively over attr->parent, or over the world if attr is NULL. Sets *space
 * and *team to NULL on a PE that has no such memory. wrong means that this PE has logged a wrong
 * argument. Returns 0, or 1 on all PEs of the parent, logged.
 */
int stp_space_make(const shmem_space_config_t *config, const shmemx_space_attr_t *attr, bool wrong,
                   struct stp_space **space, struct stp_team **team, const char *fn);

/*
 * Makes a buffer of the program a space, collectively over team. Returns 0, or 1 on all, logged.
 */
int stp_space_adopt(shmem_team_t team, void *buffer, size_t nbytes, const struct stp_adopt *adopt,
                    bool wrong, struct stp_space **space, const char *fn);

/*
 * stp_space_open() creates and registers this PE's part. Returns 0, -EEXIST if another thread took
 * the number or the place, or another -errno; then nothing is kept. The other frees the part.
 */
int stp_space_open(struct stp_space *space, const struct stp_space_params *params, bool with_heap,
                   struct stp_part_export *share, struct stp_fabric_region *mine);
void stp_space_shut(struct stp_space *space);

/*
 * Registers [base, base + nbytes) as the fabric region of the space. Device memory and private
 * pages that the provider rejects are no error. Returns 0, or -errno.
 */
int stp_space_register_memory(struct stp_space *space, void *base, size_t nbytes,
                              struct stp_fabric_region *mine);

/* Returns whether this is the default space of SHMEM_SYMMETRIC_SIZE=0, a page without a heap. */
static inline bool stp_space_has_no_heap(const struct stp_space *space)
{
    return space->number == STP_SPACE_HEAP && stp_env.symmetric.max == 0;
}

/*
 * Checks, before parts are created, whether the parts of all members on this host fit its memory
 * together (host_fit_check.c). Collective over team, the members. Returns 0, or -errno, equal on
 * all PEs whose memory comes from one place; the first of these PEs logs the error.
 */
int stp_space_check_host_fit(struct stp_space *space, struct stp_team *team,
                             const struct stp_space_params *params, const char *fn);

/* Makes the named blocks live when a space is opened. Returns 0, or -errno, not logged. */
int stp_space_restore_named_blocks(struct stp_space *space);

/* Fatal if the block at offset has a name, because malloc could hand out the named memory. */
void stp_space_fatal_if_named(struct stp_space *space, size_t offset, const char *fn);

/* Returns the number of live blocks that have names. */
size_t stp_space_named_blocks(const struct stp_space *space);

/*
 * Returns every member's descriptor, by PE, in an array that the caller frees, or NULL if the
 * provider neither chooses keys nor needs addresses. Collective over the members.
 */
struct stp_fabric_region *stp_space_gather_regions_if_used(struct stp_space *space,
                                                           const struct stp_fabric_region *mine,
                                                           const char *fn);

/*
 * Pins bytes from..to of the parts of the node's other members, which have pinned their own parts.
 * Returns 0, or -errno with the reason in why.
 */
int stp_space_pin_peers(struct stp_space *space, size_t from, size_t to, char *why, size_t len);

/*
 * Returns a new space without memory, for stp_space_struct_free() if unused, or NULL on failure.
 */
struct stp_space *stp_space_prepare(const struct stp_kind *kind, size_t nbytes);

/* Sets the size up to which a space that has no memory yet may grow later. */
void stp_space_set_max(struct stp_space *space, size_t max_bytes);

/*
 * Grows the space to at least need bytes (grow.c). Collective over its private team, whose members'
 * heaps are equal. Returns 0, or -ENOMEM on all members, without any change, if need is above the
 * maximum or a member cannot grow its part. That member logs the reason once.
 */
int stp_space_grow(struct stp_space *space, size_t need, const char *fn);

/*
 * Returns the capabilities. Some of them hold for every space of a kind by construction. The
 * arguments are the two that were determined at creation.
 */
uint64_t stp_space_caps(const struct stp_space *space, bool ident, bool world);

/* Perform collective allocation for the routines of spaces and of the heap. Messages name fn. */
void *stp_space_alloc(struct stp_space *space, size_t nbytes, size_t align, bool zero,
                      const char *fn);
void *stp_space_align(struct stp_space *space, size_t alignment, size_t nbytes, const char *fn);
void stp_space_free(struct stp_space *space, void *ptr, const char *fn);
void *stp_space_resize(struct stp_space *space, void *ptr, size_t nbytes, const char *fn);

#endif /* STP_SPACE_LIFECYCLE_H */
