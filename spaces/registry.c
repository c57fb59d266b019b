/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry: which space an address belongs to, spaces by number, and the pool their
 * structures come from. Pool memory is never unmapped, so a stale handle can be told from a
 * live one without a fault. Design: docs/design/memory.md.
 */
#include "spaces/spaces.h"

#include <stdlib.h>
#include <string.h>

#define POOL_CHUNK 64

struct pool_chunk {
    struct pool_chunk *next;
    struct stp_space spaces[POOL_CHUNK];
};

static struct {
    struct stp_space *by_number[STP_SPACE_NUMBERS];
    unsigned top; /* numbers from here on are free */
    struct pool_chunk *chunks;
    struct stp_space *free;
} registry;

void stp_space_enter(struct stp_space *space)
{
    space->magic = STP_SPACE_MAGIC;
    __atomic_store_n(&registry.by_number[space->number], space, __ATOMIC_RELEASE);
    if (space->number >= registry.top) registry.top = space->number + 1;
}

void stp_space_leave(struct stp_space *space)
{
    space->magic = 0;
    __atomic_store_n(&registry.by_number[space->number], NULL, __ATOMIC_RELEASE);
    while (registry.top > 0 && registry.by_number[registry.top - 1] == NULL) registry.top--;
}

size_t stp_space_find_number(size_t from)
{
    size_t n = from > STP_SPACE_FIRST_USER ? from : STP_SPACE_FIRST_USER;

    while (n < STP_SPACE_NUMBERS && registry.by_number[n] != NULL) n++;
    return n < STP_SPACE_NUMBERS ? n : SIZE_MAX;
}

struct stp_space *stp_space_at(unsigned number)
{
    if (number >= STP_SPACE_NUMBERS) return NULL;
    return __atomic_load_n(&registry.by_number[number], __ATOMIC_ACQUIRE);
}

struct stp_space *stp_space_find(const void *addr, size_t *offset)
{
    static __thread struct stp_space *last; /* addresses come in runs */
    struct stp_space *space = last;

    if (space != NULL && space->magic == STP_SPACE_MAGIC) {
        *offset = (size_t)((const char *)addr - space->base);
        if (*offset < space->nbytes) return space;
    }
    for (unsigned n = 0; n < registry.top; n++) {
        space = stp_space_at(n);
        if (space == NULL) continue;
        *offset = (size_t)((const char *)addr - space->base);
        if (*offset < space->nbytes) return last = space;
    }
    return NULL;
}

bool stp_space_is_live(const struct stp_space *space)
{
    for (const struct pool_chunk *chunk = registry.chunks; chunk != NULL; chunk = chunk->next) {
        size_t at = (size_t)((const char *)space - (const char *)chunk->spaces);
        if (at < sizeof chunk->spaces)
            return at % sizeof *space == 0 && space->magic == STP_SPACE_MAGIC;
    }
    return false;
}

struct stp_space *stp_space_new(void)
{
    struct stp_space *space;

    if (registry.free == NULL) {
        struct pool_chunk *chunk = calloc(1, sizeof *chunk);
        if (chunk == NULL) return NULL;
        chunk->next = registry.chunks;
        registry.chunks = chunk;
        for (int i = POOL_CHUNK - 1; i >= 0; i--) stp_space_delete(&chunk->spaces[i]);
    }
    space = registry.free;
    registry.free = space->next_free;
    memset(space, 0, sizeof *space);
    return space;
}

void stp_space_delete(struct stp_space *space)
{
    space->magic = 0;
    space->next_free = registry.free;
    registry.free = space;
}
