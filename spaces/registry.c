/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry: which space an address belongs to, spaces by number, and the pool their
 * structures come from. Pool memory is never unmapped, so a stale handle can be told from a
 * live one without a fault. Design: docs/design/memory.md.
 */
#include "spaces/spaces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POOL_CHUNK 64

struct pool_chunk {
    struct pool_chunk *next;
    struct stp_space spaces[POOL_CHUNK];
};

/* Where a space lies, for the search by address. */
struct range {
    uintptr_t base;
    size_t nbytes;
    struct stp_space *space;
};

static struct {
    struct stp_space *by_number[STP_SPACE_NUMBERS];
    struct range ranges[STP_SPACE_NUMBERS]; /* by base; changes only while version is odd */
    unsigned n_ranges;
    unsigned version;
    pthread_mutex_t lock; /* of whoever changes any of this */
    struct pool_chunk *chunks;
    struct stp_space *free;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Readers take no lock: they see an odd or a changed version and look again. */
static void registry_begin_change_locked(void)
{
    __atomic_store_n(&registry.version, registry.version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* pairs with the acquire fence of registry_search */
}

static void registry_end_change_locked(void)
{
    __atomic_store_n(&registry.version, registry.version + 1, __ATOMIC_RELEASE);
}

static void registry_insert_locked(struct stp_space *space)
{
    unsigned i = registry.n_ranges;

    registry_begin_change_locked();
    for (; i > 0 && registry.ranges[i - 1].base > (uintptr_t)space->base; i--)
        registry.ranges[i] = registry.ranges[i - 1];
    registry.ranges[i] = (struct range){(uintptr_t)space->base, space->nbytes, space};
    registry.n_ranges++;
    registry_end_change_locked();
}

static void registry_take_out_locked(const struct stp_space *space)
{
    unsigned i = 0;

    while (i < registry.n_ranges && registry.ranges[i].space != space) i++;
    if (i == registry.n_ranges) return;
    registry_begin_change_locked();
    for (; i + 1 < registry.n_ranges; i++) registry.ranges[i] = registry.ranges[i + 1];
    registry.n_ranges--;
    registry_end_change_locked();
}

int stp_space_enter(struct stp_space *space)
{
    int rc = 0;

    pthread_mutex_lock(&registry.lock);
    if (registry.by_number[space->number] != NULL) {
        rc = -EEXIST;
    } else {
        space->magic = STP_SPACE_MAGIC;
        __atomic_store_n(&registry.by_number[space->number], space, __ATOMIC_RELEASE);
        registry_insert_locked(space);
    }
    pthread_mutex_unlock(&registry.lock);
    return rc;
}

void stp_space_leave(struct stp_space *space)
{
    pthread_mutex_lock(&registry.lock);
    if (space->magic == STP_SPACE_MAGIC) {
        space->magic = 0;
        __atomic_store_n(&registry.by_number[space->number], NULL, __ATOMIC_RELEASE);
        registry_take_out_locked(space);
    }
    pthread_mutex_unlock(&registry.lock);
}

size_t stp_space_find_number(size_t from)
{
    size_t n = from > STP_SPACE_FIRST_USER ? from : STP_SPACE_FIRST_USER;

    while (n < STP_SPACE_NUMBERS && stp_space_at((unsigned)n) != NULL) n++;
    return n < STP_SPACE_NUMBERS ? n : SIZE_MAX;
}

struct stp_space *stp_space_at(unsigned number)
{
    if (number >= STP_SPACE_NUMBERS) return NULL;
    return __atomic_load_n(&registry.by_number[number], __ATOMIC_ACQUIRE);
}

/* The last range that begins at or below addr, when addr lies in it. */
static struct stp_space *registry_search_once(uintptr_t addr)
{
    unsigned low = 0, high = registry.n_ranges;

    if (high > STP_SPACE_NUMBERS) return NULL; /* torn: the caller looks again */
    while (low < high) {
        unsigned mid = (low + high) / 2;
        if (registry.ranges[mid].base <= addr) low = mid + 1;
        else high = mid;
    }
    if (low == 0 || addr - registry.ranges[low - 1].base >= registry.ranges[low - 1].nbytes)
        return NULL;
    return registry.ranges[low - 1].space;
}

static struct stp_space *registry_search(uintptr_t addr)
{
    for (;;) {
        unsigned version = __atomic_load_n(&registry.version, __ATOMIC_ACQUIRE);
        struct stp_space *space = version & 1 ? NULL : registry_search_once(addr);

        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* what was read, before the second look */
        if (!(version & 1) && __atomic_load_n(&registry.version, __ATOMIC_RELAXED) == version)
            return space;
    }
}

struct stp_space *stp_space_find(const void *addr, size_t *offset)
{
    static __thread struct stp_space *last __attribute__((tls_model("initial-exec"))); /* addresses come in runs */
    struct stp_space *space = last;

    if (space != NULL && space->magic == STP_SPACE_MAGIC) {
        *offset = (size_t)((const char *)addr - space->base);
        if (*offset < space->nbytes) return space;
    }
    space = registry_search((uintptr_t)addr);
    if (space == NULL) return NULL;
    *offset = (size_t)((const char *)addr - space->base);
    return last = space;
}

bool stp_space_is_live(const struct stp_space *space)
{
    bool live = false;

    pthread_mutex_lock(&registry.lock);
    for (const struct pool_chunk *chunk = registry.chunks; chunk != NULL; chunk = chunk->next) {
        size_t at = (size_t)((const char *)space - (const char *)chunk->spaces);
        if (at >= sizeof chunk->spaces) continue;
        live = at % sizeof *space == 0 && space->magic == STP_SPACE_MAGIC;
        break;
    }
    pthread_mutex_unlock(&registry.lock);
    return live;
}

static int pool_grow_locked(void)
{
    struct pool_chunk *chunk = calloc(1, sizeof *chunk);

    if (chunk == NULL) return -ENOMEM;
    chunk->next = registry.chunks;
    registry.chunks = chunk;
    for (int i = POOL_CHUNK - 1; i >= 0; i--) {
        chunk->spaces[i].next_free = registry.free;
        registry.free = &chunk->spaces[i];
    }
    return 0;
}

struct stp_space *stp_space_new(void)
{
    struct stp_space *space = NULL;

    pthread_mutex_lock(&registry.lock);
    if (registry.free != NULL || pool_grow_locked() == 0) {
        space = registry.free;
        registry.free = space->next_free;
        memset(space, 0, sizeof *space);
    }
    pthread_mutex_unlock(&registry.lock);
    return space;
}

void stp_space_delete(struct stp_space *space)
{
    pthread_mutex_lock(&registry.lock);
    space->magic = 0;
    space->next_free = registry.free;
    registry.free = space;
    pthread_mutex_unlock(&registry.lock);
}
