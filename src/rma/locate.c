/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locates symmetric objects that the inlined path (stp_ptr_inline()) cannot locate. Such objects
 * are in the data segment, in device memory, on PEs of this node whose PE numbers are not
 * contiguous, or on other nodes. The functions return the address of an object on a PE, or the
 * access path to the object. This file also reports why an address is not valid. Design:
 * docs/design/memory.md.
 */
#include "rma.h"

#include <stdio.h>

static void *locate_segment(const void *addr, size_t offset, int pe, int local)
{
    const struct stp_pe_info *pe_info;

    if (pe == stp_rt.pe) return (void *)(uintptr_t)addr;
    pe_info = stp_boot_local_pe_info(pe);
    if (stp_data_segment.fd < 0 || pe_info->segment_fd < 0) return NULL;
    return stp_data_segment_reach(local, pe_info->pid, pe_info->segment_fd, offset);
}

/*
 * Returns the address at which this PE accesses an object in a space outside the window. The window
 * is the address range of the shared host memory. Returns NULL if there is no such address. Ends
 * the job if the object reaches past the end of the space, because the bytes after the space may
 * belong to another object.
 */
static void *locate_outside(const void *addr, size_t nbytes, int pe, int local, const char *fn,
                            const char *argument)
{
    struct stp_space *space;
    size_t offset;
    char *part;

    if (STP_LIKELY(!stp_any_outside())) return NULL;
    space = stp_space_lookup(addr, &offset);
    if (space == NULL || (space->shm_attach == NULL && !stp_space_is_private(space))) return NULL;
    if (STP_UNLIKELY(nbytes > stp_space_nbytes(space) - offset))
        (void)stp_symmetric(addr, nbytes, pe, NULL, fn, argument);
    if (pe == stp_rt.pe) return (void *)(uintptr_t)addr;
    if (space->shm_attach == NULL) return NULL;
    part = stp_own_file_map_peer(space, local);
    if (STP_LIKELY(part != NULL)) return part + offset;
    if (stp_team_rank_of(space->team, pe) >= 0)
        stp_fatal(NULL, "cannot map the part that PE %d has in space %u", pe, space->number);
    return NULL; /* the caller reports that PE pe has no part of the space */
}

/*
 * Returns what stp_ptr_slow() returns. In addition, ends the job if the object of nbytes bytes at
 * addr reaches past the last space of the window, or past a space outside the window. If nbytes is
 * 0, the size of the object is unknown and is not checked. Error messages name fn and argument.
 */
static void *locate_host(const void *addr, size_t nbytes, int pe, const char *fn,
                         const char *argument)
{
    size_t offset = (uintptr_t)addr - stp_win.base;
    int local = stp_local_of(pe);

    if (local < 0) return NULL;
    if (offset < stp_window_end()) {
        if (STP_UNLIKELY(nbytes > stp_window_end() - offset))
            (void)stp_symmetric(addr, nbytes, pe, NULL, fn, argument);
        if (STP_UNLIKELY(stp_window_open_peer(local) != 0))
            stp_fatal(NULL, "cannot open the symmetric memory of PE %d", pe);
        return stp_window_part(local) + offset;
    }
    if (stp_data_segment_offset(addr, &offset)) return locate_segment(addr, offset, pe, local);
    return locate_outside(addr, nbytes, pe, local, fn, argument);
}

void *stp_ptr_slow(const void *addr, int pe)
{
    return locate_host(addr, 0, pe, NULL, NULL);
}

void stp_check_end(const void *addr, size_t nbytes, const char *fn, const char *argument)
{
    size_t offset;
    const struct stp_space *space = stp_space_lookup(addr, &offset);

    if (space != NULL && nbytes > stp_space_nbytes(space) - offset)
        (void)stp_symmetric(addr, nbytes, stp_rt.pe, NULL, fn, argument);
}

_Noreturn static void locate_fatal_address(const void *addr, const char *fn, const char *argument)
{
    const struct stp_space *heap = stp_space_at(STP_SPACE_HEAP), *space;
    size_t offset;
    char globals[256], description[1792]; /* a message of 2048 bytes has room for both texts */

    if (heap == NULL) stp_fatal(fn, "called before shmem_init or after shmem_finalize");
    space = stp_space_lookup_growth_room(addr, &offset);
    if (space != NULL)
        stp_fatal(
            fn,
            "%s %p is not symmetric: it is at offset %zu of space %u, past the end of the space, "
            "which has %zu bytes now and may grow to %zu",
            argument, addr, offset, space->number, stp_space_nbytes(space), space->max_bytes);
    if (stp_space_lookup_destroyed(addr, description, sizeof(description)))
        stp_fatal(fn, "%s %p is not symmetric: it was in %s", argument, addr, description);
    if (stp_describe_loaded_object_addr(addr, description, sizeof(description)))
        stp_fatal(fn, "%s %p is not symmetric: %s", argument, addr, description);
    snprintf(description, sizeof(description), "%p..%p", (void *)heap->base,
             (void *)(heap->base + stp_space_nbytes(heap)));
    stp_fatal(fn,
              "%s %p is not symmetric: it is neither in the symmetric heap (%s), nor in a space, "
              "nor a global or static of the executable (%s)",
              argument, addr, description, stp_data_segment_format(globals, sizeof(globals)));
}

/* Ends the job unless the bytes are in one live allocation. Called only if stp_rt.check is set. */
static void locate_check(const struct stp_space *space, size_t offset, const void *addr,
                         size_t nbytes, const char *fn, const char *argument)
{
    size_t start, block;

    stp_check_not_forked(fn);
    if (space->heap == NULL || nbytes == 0) return;
    if (stp_heap_find(space->heap, offset, &start, &block) != 0)
        stp_fatal(fn, "%s %p is in no live allocation of its space: was the allocation freed?",
                  argument, addr);
    if (offset + nbytes > start + block)
        stp_fatal(fn, "%s %p with %zu bytes reaches %zu bytes past its allocation of %zu bytes",
                  argument, addr, nbytes, offset + nbytes - start - block, block);
}

struct stp_space *stp_symmetric(const void *addr, size_t nbytes, int pe, size_t *offset,
                                const char *fn, const char *argument)
{
    size_t space_offset, space_bytes;
    struct stp_space *space = stp_space_lookup(addr, &space_offset);

    if (space == NULL) locate_fatal_address(addr, fn, argument);
    space_bytes = stp_space_nbytes(space);
    if (nbytes > space_bytes - space_offset)
        stp_fatal(fn, "%s %p with %zu bytes reaches %zu bytes past the end of its space (%p..%p)",
                  argument, addr, nbytes, nbytes - (space_bytes - space_offset),
                  (void *)space->base, (void *)(space->base + space_bytes));
    if (space->team != NULL && stp_team_rank_of(space->team, pe) < 0)
        stp_fatal(fn, "%s %p is in space %u, but PE %d is not a member of this space", argument,
                  addr, space->number, pe);
    if (STP_UNLIKELY(stp_rt.check)) locate_check(space, space_offset, addr, nbytes, fn, argument);
    if (offset != NULL) *offset = space->region_offset + space_offset;
    return space;
}

/*
 * Returns the path to private memory of PE pe. The owner performs atomics on its private memory,
 * because copies by the kernel are not atomic.
 */
static enum stp_access_path locate_path_to_private(const struct stp_space *space, int pe, int local,
                                                   enum stp_use use)
{
    uintptr_t base;
    pid_t pid;

    if (use == STP_USE_ATOMIC) return STP_PATH_STAGED;
    if (pe == stp_rt.pe) return STP_PATH_HOST;
    if (local >= 0 && stp_private_peer(space, local, &pid, &base)) return STP_PATH_CMA;
    return local < 0 && space->on_fabric ? STP_PATH_FABRIC : STP_PATH_STAGED;
}

enum stp_access_path stp_access_path_to(struct stp_space *space, int pe, enum stp_use use)
{
    int local = stp_local_of(pe);
    bool cpu = use != STP_USE_ATOMIC || stp_win.cpu_atomics;

    if (space->host) return local >= 0 && cpu ? STP_PATH_HOST : STP_PATH_FABRIC;
    if (stp_space_is_private(space)) return locate_path_to_private(space, pe, local, use);
    if (use == STP_USE_ATOMIC) return STP_PATH_STAGED;
    if (local >= 0 && stp_kind_reach(space, local) != NULL) return STP_PATH_DEVICE;
    return local < 0 && space->on_fabric ? STP_PATH_FABRIC : STP_PATH_STAGED;
}

/*
 * Returns whether space equals bound, which is the space to which a context is bound. Globals and
 * statics count as part of the symmetric heap.
 */
static bool locate_is_bound_space(struct stp_space *space, const struct stp_space *bound)
{
    if (space->number == STP_SPACE_DATA) return bound->number == STP_SPACE_HEAP;
    return space == bound;
}

/* Checks an address before the access path is chosen. Called only if stp_rt.check is set. */
static void locate_check_all(const struct stp_ctx *ctx, const void *addr, size_t nbytes, int pe,
                             const char *fn, const char *argument)
{
    size_t offset;
    struct stp_space *space = ctx->space != NULL ? stp_space_lookup(addr, &offset) : NULL;

    if (ctx->space != NULL && (space == NULL || !locate_is_bound_space(space, ctx->space)))
        stp_fatal(fn, "%s %p is not in space %u, but the context is bound to this space", argument,
                  addr, ctx->space->number);
    (void)stp_symmetric(addr, nbytes, pe, NULL, fn, argument);
}

/*
 * Returns whether nbytes bytes at the offset are in the space, and PE pe has a part of the space.
 * Returns false if space is NULL.
 */
static bool locate_is_in_part(const struct stp_space *space, size_t offset, size_t nbytes, int pe)
{
    return space != NULL && nbytes <= stp_space_nbytes(space) - offset &&
           (space->team == NULL || stp_team_rank_of(space->team, pe) >= 0);
}

/* Transfers of more bytes are always checked, because a check takes little time beside the copy. */
#define LOCATE_CHECKED_BYTES ((size_t)64 << 10)

struct stp_target stp_locate(const struct stp_ctx *ctx, const void *addr, size_t nbytes, int pe,
                             enum stp_use use, const char *fn, const char *argument)
{
    struct stp_target target = {.fn = fn, .pe = pe, .path = STP_PATH_HOST};
    size_t offset;

    if (STP_UNLIKELY(stp_rt.check)) locate_check_all(ctx, addr, nbytes, pe, fn, argument);
    if (nbytes > LOCATE_CHECKED_BYTES) (void)stp_symmetric(addr, nbytes, pe, NULL, fn, argument);
    if (stp_local_of(pe) >= 0 && (use != STP_USE_ATOMIC || stp_win.cpu_atomics))
        target.addr = locate_host(addr, nbytes, pe, fn, argument);
    if (target.addr != NULL) return target;
    target.space = stp_space_lookup(addr, &offset);
    if (!locate_is_in_part(target.space, offset, nbytes, pe))
        target.space = stp_symmetric(addr, nbytes, pe, NULL, fn, argument);
    target.offset = target.space->region_offset + offset;
    target.number = target.space->number;
    target.path = stp_access_path_to(target.space, pe, use);
    /*
     * At this point the path is STP_PATH_HOST only if the object is a global that PE pe does not
     * share with the PEs of its node. The fabric must access such a global.
     */
    if (target.path == STP_PATH_HOST) target.path = STP_PATH_FABRIC;
    if (target.path == STP_PATH_FABRIC && !stp_rt.has_fabric)
        stp_fatal_global_unreachable(addr, pe, fn);
    if (target.path == STP_PATH_DEVICE)
        target.addr = (char *)stp_kind_reach(target.space, stp_local_of(pe)) + target.offset;
    return target;
}

_Noreturn void stp_fatal_global_unreachable(const void *addr, int pe, const char *fn)
{
    stp_peer_require_local_alive(pe);
    stp_fatal(fn,
              "%p is a global or static variable, but this PE cannot access the variables of "
              "PE %d: %s",
              addr, pe,
              stp_data_segment.private_reason != NULL ? stp_data_segment.private_reason
                                                      : "that PE does not share its variables");
}
