/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements the routines of the symmetric heap, which are collective. It also implements
 * the functions that allocate and free memory in other spaces. Each allocation ends with a barrier,
 * and each release of memory begins with a barrier. The barrier consists of a quiet of the default
 * context and a sync of the private team of the space. Design: docs/design/spaces.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"
#include "rma/rma.h"

#include <errno.h>
#include <stdio.h>

static void memory_barrier(struct stp_space *space)
{
    stp_quiet(&stp_ctx_default);
    stp_coll_sync(space->team);
}

/*
 * Called on all members before memory is freed. After this call, no PE uses the memory. All members
 * have completed their operations on the default context, and their messages for active sets.
 */
static void memory_barrier_leave(struct stp_space *space)
{
    stp_active_sets_quiet();
    memory_barrier(space);
}

/*
 * Returns advice on how to make the space larger. The result is a constant string or `text`, a
 * buffer of len bytes.
 */
static const char *memory_remedy(const struct stp_space *space, size_t needed, char *text,
                                 size_t len)
{
    uintptr_t type = (uintptr_t)space->handle - (uintptr_t)SHMEM_SPACE_CPU;

    if (space->may_grow && needed <= space->max_bytes)
        return "a PE could not grow its part, and the output of that PE gives the reason";
    if (space->number == STP_SPACE_HEAP)
        return space->may_grow ? "raise the second number of SHMEM_SYMMETRIC_SIZE"
                               : "raise SHMEM_SYMMETRIC_SIZE";
    if (space->single_block) return "register the buffer with SHMEMX_ADOPT_HEAP";
    if (space->adopted) return "register a larger buffer";
    if (!space->permanent && space->may_grow)
        return "raise attr->max_size when you create the space";
    if (!space->permanent) return "raise config->size when you create the space";
    snprintf(text, len, "raise SHMEM_%s_SYMMETRIC_SIZE", stp_space_type_name((int)type));
    return text;
}

/*
 * Logs the failed request, the available memory and a remedy. The standard allows an allocation to
 * return NULL, but many programs do not check the result. Only the first member of the space logs,
 * and only once. The field alloc_failure_reported needs no lock, because all members take part in
 * each allocation, and a space has only one allocation at a time.
 */
STP_COLD static void memory_log_full(struct stp_space *space, size_t nbytes, size_t align,
                                     const char *fn)
{
    const struct stp_team *team = space->team;
    char location[32] = "the symmetric heap", text[64], request[96] = "more bytes than SIZE_MAX";
    struct stp_heap_stats stats;

    if (space->alloc_failure_reported || team->rank != 0) return;
    space->alloc_failure_reported = true;
    stp_heap_stats(space->heap, &stats);
    if (space->number != STP_SPACE_HEAP)
        snprintf(location, sizeof(location), "space %u", space->number);
    if (align > STP_HEAP_ALIGN)
        snprintf(request, sizeof(request), "%zu bytes at a multiple of %zu", nbytes, align);
    else if (nbytes != SIZE_MAX)
        snprintf(request, sizeof(request), "%zu bytes", nbytes);
    if (stats.size == 0 && !space->may_grow)
        stp_warn(
            "%s: the result is NULL because SHMEM_SYMMETRIC_SIZE is 0, so there is no symmetric "
            "heap for %s: raise this variable, or create a space (printed once; SHMEM_WARN=off "
            "hides it)",
            stp_public_name(fn), request);
    else if (align > space->base_align)
        stp_warn(
            "%s: the result is NULL because %s are not possible: the largest possible alignment in "
            "%s is %zu (printed once; SHMEM_WARN=off hides it)",
            stp_public_name(fn), request, location, space->base_align);
    else
        stp_warn("%s: the result is NULL because %s do not fit into %s: %zu of its %zu bytes are "
                 "in use, the largest free block has %zu bytes: %s (printed once; SHMEM_WARN=off "
                 "hides it)",
                 stp_public_name(fn), request, location, stats.used, stats.size, stats.largest_free,
                 memory_remedy(space, stp_heap_size_needed(space->heap, nbytes, align), text,
                               sizeof(text)));
}

/*
 * Grows the space to at least `needed` bytes. If `needed` is 0, does not grow the space. The heap
 * then has enough room, and the allocation has failed because there was no memory for a record. All
 * members make this call, because their heaps are equal. Returns 0, or -ENOMEM.
 */
STP_COLD static int memory_grow(struct stp_space *space, size_t needed, const char *fn)
{
    if (!space->may_grow || needed == 0 || needed > space->max_bytes) return -ENOMEM;
    return stp_space_grow(space, needed, fn);
}

static int memory_take(struct stp_space *space, size_t nbytes, size_t align, size_t *offset,
                       const char *fn)
{
    int rc;

    if (align > space->base_align) return -ENOMEM;
    rc = stp_heap_alloc(space->heap, nbytes, align, offset);
    if (STP_UNLIKELY(rc == -ENOMEM) &&
        memory_grow(space, stp_heap_size_needed(space->heap, nbytes, align), fn) == 0)
        rc = stp_heap_alloc(space->heap, nbytes, align, offset);
    return rc;
}

void *stp_space_alloc(struct stp_space *space, size_t nbytes, size_t align, bool zero,
                      const char *fn)
{
    size_t offset;
    int rc;

    STP_COLL_CHECK_CALL(space->team, fn, {zero ? "count * size" : "size", (int64_t)nbytes},
                        {"alignment", (int64_t)align});
    rc = memory_take(space, nbytes, align, &offset, fn);
    if (rc == 0 && zero) stp_copy_zero(space, offset, nbytes, fn);
    if (STP_UNLIKELY(rc == -ENOMEM)) memory_log_full(space, nbytes, align, fn);
    memory_barrier(space);
    return rc == 0 ? space->base + offset : NULL;
}

/*
 * With SHMEM_CHECK=1, logs a wrong alignment. Only the first member logs, because all members
 * should pass the same alignment.
 */
static void memory_check_alignment(const struct stp_space *space, size_t alignment, bool valid,
                                   const char *fn)
{
    const struct stp_team *team = space->team;

    if (!stp_rt.check || team->rank != 0) return;
    if (!valid)
        stp_warn("%s: alignment is %zu, which is not a power of two: the result is NULL",
                 stp_public_name(fn), alignment);
    else if (alignment < sizeof(void *))
        stp_warn(
            "%s: alignment is %zu, but the standard requires a multiple of %zu: the library uses "
            "this value instead",
            stp_public_name(fn), alignment, sizeof(void *));
}

static bool memory_is_power_of_two(size_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

void *stp_space_align(struct stp_space *space, size_t alignment, size_t nbytes, const char *fn)
{
    bool valid = memory_is_power_of_two(alignment);
    void *ptr = NULL;

    if (nbytes == 0) return NULL;
    if (valid) {
        ptr = stp_space_alloc(space, nbytes, alignment, false, fn);
    } else {
        /* Take part in the allocation, because other members may have passed a valid alignment. */
        STP_COLL_CHECK_CALL(space->team, fn, {"size", (int64_t)nbytes},
                            {"alignment", (int64_t)alignment});
        memory_barrier(space);
    }
    memory_check_alignment(space, alignment, valid, fn);
    return ptr;
}

/* Returns the offset of the block at ptr. Fatal, with the reason, if no block begins there. */
static size_t memory_block(const struct stp_space *space, const void *ptr, const char *fn)
{
    size_t offset, start, nbytes;
    const struct stp_space *owner = stp_space_lookup(ptr, &offset);
    char text[96];

    if (owner == NULL && stp_space_lookup_destroyed(ptr, text, sizeof(text)))
        stp_fatal(fn, "ptr %p was allocated from %s", ptr, text);
    if (owner == NULL || owner->heap == NULL)
        stp_fatal(fn, "ptr %p was not allocated from symmetric memory", ptr);
    if (owner != space)
        stp_fatal(fn, "ptr %p belongs to space %u (%s, %zu bytes), not to space %u", ptr,
                  owner->number, owner->kind->name, owner->nbytes, space->number);
    if (space->single_block)
        stp_fatal(fn,
                  "ptr %p is in space %u, which is a registered buffer without a heap: "
                  "destroy the space instead",
                  ptr, space->number);
    if (stp_heap_find(space->heap, offset, &start, &nbytes) != 0)
        stp_fatal(fn, "ptr %p is not allocated: was it freed before?", ptr);
    if (start != offset)
        stp_fatal(fn,
                  "ptr %p is %zu bytes inside the allocation of %zu bytes at %p: pass the "
                  "address of the allocation",
                  ptr, offset - start, nbytes, (void *)(space->base + start));
    return offset;
}

void stp_space_free(struct stp_space *space, void *ptr, const char *fn)
{
    size_t offset = memory_block(space, ptr, fn), start, nbytes;

    STP_COLL_CHECK_CALL(space->team, fn, {"the offset of ptr in its space", (int64_t)offset},
                        {"size", 0}); /* as for shmem_realloc() of a size that is not 0 */
    stp_space_fatal_if_named(space, offset, fn);
    memory_barrier_leave(space);
    stp_heap_find(space->heap, offset, &start, &nbytes);
    stp_active_set_forget(ptr, nbytes);
    stp_heap_free(space->heap, offset);
}

/* Resizes a block in place. If it is the last block in the heap, the space may grow for this. */
static int memory_resize(struct stp_space *space, size_t offset, size_t nbytes, const char *fn)
{
    int rc = stp_heap_resize(space->heap, offset, nbytes);

    if (STP_UNLIKELY(rc == -ENOMEM) && stp_heap_size_needed(space->heap, nbytes, 0) != 0 &&
        memory_grow(space, stp_heap_size_to_extend_block(space->heap, offset, nbytes), fn) == 0)
        rc = stp_heap_resize(space->heap, offset, nbytes);
    return rc;
}

void *stp_space_resize(struct stp_space *space, void *ptr, size_t nbytes, const char *fn)
{
    size_t offset = memory_block(space, ptr, fn), start, old_bytes, target = offset;
    int rc;

    STP_COLL_CHECK_CALL(space->team, fn, {"the offset of ptr in its space", (int64_t)offset},
                        {"size", (int64_t)nbytes});
    stp_space_fatal_if_named(space, offset, fn);
    memory_barrier_leave(space);
    stp_heap_find(space->heap, offset, &start, &old_bytes);
    stp_active_set_forget(ptr,
                          old_bytes); /* because pSync arrays in the block may move or vanish */
    rc = memory_resize(space, offset, nbytes, fn);
    if (rc == -ENOMEM) {
        rc = memory_take(space, nbytes, 0, &target, fn);
        if (rc == 0) {
            stp_copy_any(space->base + target, space->base + offset,
                         old_bytes < nbytes ? old_bytes : nbytes, fn);
            stp_heap_free(space->heap, offset);
        }
    }
    if (STP_UNLIKELY(rc == -ENOMEM)) memory_log_full(space, nbytes, 0, fn);
    memory_barrier(space); /* no PE writes to the block before all copies are complete */
    return rc == 0 ? space->base + target : NULL;
}

static struct stp_space *memory_heap(const char *fn)
{
    stp_check_live(fn);
    return stp_space_at(STP_SPACE_HEAP);
}

/* Returns the space whose heap contains ptr. Returns the default heap if there is no such space. */
static struct stp_space *space_of_ptr_or_default(const void *ptr, const char *fn)
{
    struct stp_space *heap = memory_heap(fn);
    size_t offset;
    struct stp_space *owner = stp_space_lookup(ptr, &offset);

    return owner != NULL && owner->heap != NULL ? owner : heap;
}

/* ---- the standard's routines -------------------------------------------------- */

static void *memory_malloc(size_t size, const char *fn)
{
    struct stp_space *heap = memory_heap(fn);

    return size == 0 ? NULL : stp_space_alloc(heap, size, 0, false, fn);
}

void *pshmem_malloc(size_t size)
{
    return memory_malloc(size, __func__);
}
STP_PROFILED(shmem_malloc);

/* Ignores the hints, because remote atomics and signals are equally fast in all memory. */
void *pshmem_malloc_with_hints(size_t size, long hints)
{
    (void)hints;
    return memory_malloc(size, __func__);
}
STP_PROFILED(shmem_malloc_with_hints);

/*
 * Returns the smallest power of two that is at least alignment, or the largest power of two of
 * size_t. Many programs do not check the result of shmem_align(), so this is better than NULL.
 */
STP_COLD static size_t memory_round_alignment(struct stp_space *heap, size_t alignment,
                                              const char *fn)
{
    const struct stp_team *team = heap->team;
    size_t rounded = 1;

    while (rounded < alignment && rounded <= SIZE_MAX / 2)
        rounded *= 2;
    if (!heap->alignment_reported && team->rank == 0)
        stp_warn("%s: alignment is %zu, which is not a power of two: the library uses %zu instead "
                 "(printed once; SHMEM_WARN=off hides it)",
                 stp_public_name(fn), alignment, rounded);
    heap->alignment_reported = true;
    return rounded;
}

/* With SHMEM_CHECK=1, an alignment that is not a power of two is an error: the result is NULL. */
static void *memory_align(size_t alignment, size_t size, const char *fn)
{
    struct stp_space *heap = memory_heap(fn);

    if (!memory_is_power_of_two(alignment) && size != 0 && !stp_rt.check)
        alignment = memory_round_alignment(heap, alignment, fn);
    return stp_space_align(heap, alignment, size, fn);
}

void *pshmem_align(size_t alignment, size_t size)
{
    return memory_align(alignment, size, __func__);
}
STP_PROFILED(shmem_align);

void *pshmem_calloc(size_t count, size_t size)
{
    struct stp_space *heap = memory_heap(__func__);
    size_t nbytes;

    if (count == 0 || size == 0) return NULL;
    /*
     * If the product overflows, use a size that no space has. The allocation then returns NULL, but
     * this PE still enters the barrier at the end of the allocation.
     */
    if (__builtin_mul_overflow(count, size, &nbytes)) nbytes = SIZE_MAX;
    return stp_space_alloc(heap, nbytes, 0, true, __func__);
}
STP_PROFILED(shmem_calloc);

static void memory_free(void *ptr, const char *fn)
{
    if (ptr != NULL) stp_space_free(space_of_ptr_or_default(ptr, fn), ptr, fn);
}

void pshmem_free(void *ptr)
{
    memory_free(ptr, __func__);
}
STP_PROFILED(shmem_free);

static void *memory_realloc(void *ptr, size_t size, const char *fn)
{
    if (ptr == NULL) return memory_malloc(size, fn);
    if (size > 0) return stp_space_resize(space_of_ptr_or_default(ptr, fn), ptr, size, fn);
    memory_free(ptr, fn);
    return NULL;
}

void *pshmem_realloc(void *ptr, size_t size)
{
    return memory_realloc(ptr, size, __func__);
}
STP_PROFILED(shmem_realloc);

/* ---- the old names -------------------------------------------------------------- */

void *pshmalloc(size_t size)
{
    return memory_malloc(size, __func__);
}
STP_PROFILED(shmalloc);

void pshfree(void *ptr)
{
    memory_free(ptr, __func__);
}
STP_PROFILED(shfree);

void *pshrealloc(void *ptr, size_t size)
{
    return memory_realloc(ptr, size, __func__);
}
STP_PROFILED(shrealloc);

void *pshmemalign(size_t alignment, size_t size)
{
    return memory_align(alignment, size, __func__);
}
STP_PROFILED(shmemalign);
