/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making spaces, memory in them, and their end. Design: docs/design/spaces.md.
 */
#ifndef STP_SPACE_LIFECYCLE_H
#define STP_SPACE_LIFECYCLE_H

#include "boot/boot.h"
#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

/*
 * The internal, data and default spaces; the last two are registered with the fabric too.
 * on_change is called for each space that has been made (by 1) or is about to be destroyed (-1).
 */
void stp_space_make_internal_data_heap(struct stp_pe_info *pe_info,
                                       void (*on_change)(const struct stp_space *space, int by));
void stp_space_notify_change(const struct stp_space *space, int by); /* calls it */
void stp_space_attach(void);            /* peers' parts of the default space; after the exchange */
void stp_space_finish_heap_setup(void); /* once the world team stands */
void stp_space_detach_all(void);        /* let go of peers' parts; then meet; then: */
void stp_space_fini(void);

/* The spaces of SHMEM_ENABLE_<KIND>; collective over the world. Fatal when one cannot be made. */
void stp_space_create_env(void);

/*
 * Create a space: collective over attr->parent (NULL attr: over the world). Sets both NULL on
 * members of the parent that have no such memory. wrong: this PE's arguments are, which it has
 * said. 0, or 1 on all of them, logged.
 */
int stp_space_make(const shmem_space_config_t *config, const shmemx_space_attr_t *attr, bool wrong,
                   struct stp_space **space, struct stp_team **team, const char *fn);

/*
 * Make a buffer of the program's a space, collective over team. 0, or 1 on all of them, logged.
 */
int stp_space_adopt(shmem_team_t team, void *buffer, size_t nbytes, const struct stp_adopt *adopt,
                    bool wrong, struct stp_space **space, const char *fn);

/*
 * Memory and registration of this PE's part: 0, -EEXIST when another thread took the number or
 * the place, or another -errno, logged; nothing is kept then. And their end.
 */
int stp_space_open(struct stp_space *space, const struct stp_space_params *params, bool with_heap,
                   struct stp_part_export *share, struct stp_fabric_region *mine);
void stp_space_shut(struct stp_space *space);

/*
 * Make [base, base + nbytes) the region of the space. Hosts always take part in the fabric;
 * devices where the provider reaches them. 0 or -errno.
 */
int stp_space_register_memory(struct stp_space *space, void *base, size_t nbytes,
                              struct stp_fabric_region *mine);

/* SHMEM_SYMMETRIC_SIZE=0: the default space has a page, of which malloc gives nothing. */
static inline bool stp_space_has_no_heap(const struct stp_space *space)
{
    return space->number == STP_SPACE_HEAP && stp_env.symmetric.max == 0;
}

/*
 * Do the parts of the members that share this host fit it together, where one alone does? Before
 * any is made; collective over team, the members. 0 or -errno, the same on all whose memory comes
 * from one place, and logged by the first of them (host_fit_check.c).
 */
int stp_space_check_host_fit(struct stp_space *space, struct stp_team *team,
                             const struct stp_space_params *params, const char *fn);

/* The blocks that have names are live from the start. 0 or -errno, logged. */
int stp_space_restore_named_blocks(struct stp_space *space);

/* Fatal when the block at offset has a name: it would be handed out under it. */
void stp_space_fatal_if_named(struct stp_space *space, size_t offset, const char *fn);

/* Live blocks that have names. */
size_t stp_space_named_blocks(const struct stp_space *space);

/*
 * Every member's descriptor, by PE, to free, where the provider picks keys or wants addresses; NULL
 * where it does not. Collective over the members.
 */
struct stp_fabric_region *stp_space_gather_regions_if_used(struct stp_space *space,
                                                           const struct stp_fabric_region *mine,
                                                           const char *fn);

/*
 * Pins bytes from..to of the parts of the node's other members, who have pinned their own. 0, or
 * -errno with the reason as text.
 */
int stp_space_pin_peers(struct stp_space *space, size_t from, size_t to, char *why, size_t len);

/*
 * A space that has no memory yet; stp_space_struct_free() when it is not wanted. NULL: no memory.
 */
struct stp_space *stp_space_prepare(const struct stp_kind *kind, size_t nbytes);

/* Before it has any: what it may grow to. */
void stp_space_set_max(struct stp_space *space, size_t max_bytes);

/*
 * Grow the space so that it has need bytes at least (grow.c). Collective over its private team,
 * whose members' heaps are equal. 0, or -ENOMEM on all members: need is more than it may have, or
 * one of them could not, which is told there once; then nothing has changed anywhere.
 */
int stp_space_grow(struct stp_space *space, size_t need, const char *fn);

/*
 * The capabilities: some hold for each space of a kind by construction, the last two, of which the
 * arguments tell, were found.
 */
uint64_t stp_space_caps(const struct stp_space *space, bool ident, bool world);

/* Collective allocation in a space, as spaces and heap routines share it. fn for messages. */
void *stp_space_alloc(struct stp_space *space, size_t nbytes, size_t align, bool zero,
                      const char *fn);
void *stp_space_align(struct stp_space *space, size_t alignment, size_t nbytes, const char *fn);
void stp_space_free(struct stp_space *space, void *ptr, const char *fn);
void *stp_space_resize(struct stp_space *space, void *ptr, size_t nbytes, const char *fn);

#endif /* STP_SPACE_LIFECYCLE_H */
