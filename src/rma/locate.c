/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slow half of "where is this object on that PE": the data segment, scattered local
 * PEs, and the checks that name what is wrong with an address.
 */
#include "rma.h"

static void *reach_segment(const void *addr, size_t offset, int pe, int local)
{
    const struct stp_card *card;

    if (pe == stp_rt.pe) return (void *)(uintptr_t)addr;
    card = stp_boot_card(pe);
    if (stp_segment.fd < 0 || card->segment_fd < 0) return NULL;
    return stp_segment_reach(local, card->pid, card->segment_fd, offset);
}

void *stp_reach_slow(const void *addr, int pe)
{
    size_t offset = (uintptr_t)addr - stp_win.base;
    int local = stp_local_of(pe);

    if (local < 0) return NULL;
    if (offset < stp_window_top()) return stp_win.view + ((size_t)local << stp_win.shift) + offset;
    if (stp_segment_offset(addr, &offset)) return reach_segment(addr, offset, pe, local);
    return NULL;
}

/* Atomics on the data segment by CPU are ruled by the same switch as those on the heap. */
void *stp_reach_amo_slow(const void *addr, int pe)
{
    if (!stp_win.cpu_atomics) return NULL;
    return stp_reach_slow(addr, pe);
}

_Noreturn static void reach_fatal_address(const void *addr, const char *fn, const char *argument)
{
    const struct stp_space *heap = stp_space_at(STP_SPACE_HEAP);
    char globals[256], whose[1792]; /* a line has 2048 */

    if (heap == NULL)
        stp_fatal(fn, "called before shmem_init or after shmem_finalize");
    if (stp_whose(addr, whose, sizeof whose))
        stp_fatal(fn, "%s %p is not symmetric: %s", argument, addr, whose);
    stp_fatal(fn,
              "%s %p is not symmetric: it is neither in the symmetric heap (%p..%p), nor in a space, "
              "nor a global or static of the executable (%s)",
              argument, addr, (void *)heap->base, (void *)(heap->base + heap->nbytes),
              stp_segment_format(globals, sizeof globals));
}

struct stp_place stp_place_of(const void *addr, size_t nbytes, int pe, const char *fn,
                              const char *argument)
{
    size_t offset;
    const struct stp_space *space = stp_space_find(addr, &offset);

    if (space == NULL) reach_fatal_address(addr, fn, argument);
    if (nbytes > space->nbytes - offset)
        stp_fatal(fn, "%s %p with %zu bytes reaches %zu bytes past the end of its space (%p..%p)",
                  argument, addr, nbytes, nbytes - (space->nbytes - offset), (void *)space->base,
                  (void *)(space->base + space->nbytes));
    if (space->team != NULL && stp_team_rank_of(space->team, pe) < 0)
        stp_fatal(fn, "%s %p is in a space that PE %d has no part of", argument, addr, pe);
    return (struct stp_place){space->number, space->at + offset};
}

enum stp_way stp_space_way(struct stp_space *space, int pe)
{
    bool host = space->kind == NULL || space->kind->in_window;
    int local = stp_local_of(pe);

    if (local >= 0 && host) return STP_WAY_HOST;
    if (local >= 0 && space->kind->reach(space, local) != NULL) return STP_WAY_DEVICE;
    return host || (local < 0 && space->on_fabric) ? STP_WAY_FABRIC : STP_WAY_STAGED;
}

struct stp_target stp_aim(const void *addr, size_t nbytes, int pe, const char *fn,
                          const char *argument)
{
    struct stp_target target = {.way = STP_WAY_HOST};
    struct stp_place place;

    if (STP_UNLIKELY(stp_rt.check)) stp_check_range(addr, nbytes, pe, fn, argument);
    target.there = stp_reach_slow(addr, pe);
    if (target.there != NULL) return target;
    place = stp_place_of(addr, nbytes, pe, fn, argument);
    target.space = stp_space_at(place.number);
    target.offset = place.offset;
    target.way = stp_space_way(target.space, pe);
    if (target.way == STP_WAY_HOST) { /* a data segment that is not shared */
        if (!stp_rt.has_fabric) stp_fatal_unshared(addr, pe, fn);
        target.way = STP_WAY_FABRIC;
    }
    if (target.way == STP_WAY_DEVICE)
        target.there = (char *)target.space->kind->reach(target.space, stp_local_of(pe)) +
                       target.offset;
    return target;
}

void stp_check_range(const void *addr, size_t nbytes, int pe, const char *fn, const char *argument)
{
    struct stp_place place = stp_place_of(addr, nbytes, pe, fn, argument);
    const struct stp_space *space = stp_space_at(place.number);
    size_t start, block;

    if (space->heap == NULL || nbytes == 0) return;
    if (stp_heap_find(space->heap, place.offset, &start, &block) != 0)
        stp_fatal(fn, "%s %p is in no live allocation of its space", argument, addr);
    if (place.offset + nbytes > start + block)
        stp_fatal(fn, "%s %p with %zu bytes reaches %zu bytes past its allocation of %zu bytes",
                  argument, addr, nbytes, place.offset + nbytes - start - block, block);
}

void stp_check_bound(const struct stp_ctx *ctx, const void *addr, const char *fn,
                     const char *argument)
{
    size_t offset;

    if (ctx->space != NULL && stp_space_find(addr, &offset) != ctx->space)
        stp_fatal(fn, "%s %p is not in space %u, to which the context is bound", argument, addr,
                  ctx->space->number);
}

_Noreturn void stp_fatal_unshared(const void *addr, int pe, const char *fn)
{
    stp_fatal(fn, "%p is a global or static, and those of PE %d cannot be reached: %s", addr, pe,
              stp_segment.why_not != NULL ? stp_segment.why_not : "its process does not share them");
}
