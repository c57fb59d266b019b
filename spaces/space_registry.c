/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of spaces. It finds spaces by address, by number and by handle, and it keeps records
 * of destroyed spaces for error messages. It also allocates the structures of spaces from a pool.
 * The memory of the pool is never freed, because another thread may have found a structure earlier
 * and may still be reading it. Design: docs/design/memory.md.
 */
#include "spaces/address_range_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_CHUNK 64

/*
 * A handle consists of a tag, the generation and the number of the space. No valid address has the
 * tag in its upper bits. Programs only compare handles and pass them to the library.
 */
#define HANDLE_TAG ((uintptr_t)0x5350 << 48)
#define HANDLE_GENERATION 12 /* position of the lowest bit of the generation */
#define HANDLE_GENERATIONS (((uint64_t)1 << 36) - 1)
_Static_assert(STP_SPACE_NUMBERS == 1 << HANDLE_GENERATION,
               "a space number must fit below the generation");
_Static_assert(sizeof(uintptr_t) == 8, "a generation must fit a handle");

/* Number of destroyed spaces of which the registry keeps a record for error messages. */
#define REGISTRY_DESTROYED 256

struct destroyed_range {
    uintptr_t base;
    size_t nbytes;
    unsigned number;
    const char *kind;
};

struct pool_chunk {
    struct pool_chunk *next;
    struct stp_space spaces[POOL_CHUNK];
};

static struct {
    struct stp_space *by_number[STP_SPACE_NUMBERS];
    struct stp_ranges ranges;
    pthread_mutex_t lock;     /* guards all writes to this structure */
    unsigned n_attempts;      /* number of creations of spaces in progress */
    unsigned n_released;      /* number of spaces that have released their number */
    uint64_t last_generation; /* generation of the structure that was allocated last */
    struct destroyed_range
        destroyed[REGISTRY_DESTROYED]; /* ring buffer of the last destroyed spaces */
    unsigned n_destroyed;              /* number of spaces destroyed since the start */
    struct pool_chunk *chunks;
    struct stp_space *free;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

void stp_space_lookup_resize(struct stp_space *space, size_t nbytes)
{
    pthread_mutex_lock(&registry.lock);
    stp_ranges_resize(&registry.ranges, space->base, nbytes);
    __atomic_store_n(&space->nbytes, nbytes, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&registry.lock);
}

int stp_space_register_by_number(struct stp_space *space)
{
    int rc = 0;

    pthread_mutex_lock(&registry.lock);
    if (registry.by_number[space->number] != NULL)
        rc = -EEXIST;
    else
        /* Pairs with the acquire load in stp_space_at(). */
        __atomic_store_n(&registry.by_number[space->number], space, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&registry.lock);
    return rc;
}

void stp_space_unregister_number(struct stp_space *space)
{
    pthread_mutex_lock(&registry.lock);
    /* Pairs with the acquire load in stp_space_at(). */
    __atomic_store_n(&registry.by_number[space->number], NULL, __ATOMIC_RELEASE);
    registry.n_released++;
    pthread_mutex_unlock(&registry.lock);
}

void stp_space_n_attempts_inc(void)
{
    pthread_mutex_lock(&registry.lock);
    registry.n_attempts++;
    pthread_mutex_unlock(&registry.lock);
}

void stp_space_n_attempts_dec(void)
{
    pthread_mutex_lock(&registry.lock);
    registry.n_attempts--;
    pthread_mutex_unlock(&registry.lock);
}

bool stp_space_room_freed_since(unsigned *last_count)
{
    bool freed;

    pthread_mutex_lock(&registry.lock);
    freed = registry.n_attempts > 0 || registry.n_released != *last_count;
    *last_count = registry.n_released;
    pthread_mutex_unlock(&registry.lock);
    return freed;
}

void stp_space_lookup_insert(struct stp_space *space)
{
    pthread_mutex_lock(&registry.lock);
    space->magic = STP_SPACE_MAGIC;
    (void)stp_ranges_add(&registry.ranges, space->base, space->nbytes, (uintptr_t)space);
    pthread_mutex_unlock(&registry.lock);
}

/*
 * Adds a space to the ring buffer of destroyed spaces. A concurrent reader can get a mixture of two
 * entries. This is harmless, because the reader uses the entry only in a message.
 */
static void registry_remember_locked(const struct stp_space *space)
{
    struct destroyed_range *destroyed =
        &registry.destroyed[registry.n_destroyed % REGISTRY_DESTROYED];

    __atomic_store_n(&destroyed->nbytes, 0, __ATOMIC_RELAXED);
    /* Pairs with the acquire fence in stp_space_lookup_destroyed(). */
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&destroyed->base, (uintptr_t)space->base, __ATOMIC_RELAXED);
    __atomic_store_n(&destroyed->number, space->number, __ATOMIC_RELAXED);
    __atomic_store_n(&destroyed->kind, space->kind->name, __ATOMIC_RELAXED);
    /* These two stores pair with the acquire loads in stp_space_lookup_destroyed(). */
    __atomic_store_n(&destroyed->nbytes, space->nbytes, __ATOMIC_RELEASE);
    __atomic_store_n(&registry.n_destroyed, registry.n_destroyed + 1, __ATOMIC_RELEASE);
}

void stp_space_lookup_remove(struct stp_space *space)
{
    pthread_mutex_lock(&registry.lock);
    if (space->magic == STP_SPACE_MAGIC) {
        if (space->kind != NULL) registry_remember_locked(space);
        stp_ranges_remove(&registry.ranges, space->base);
    }
    space->magic = 0;
    pthread_mutex_unlock(&registry.lock);
}

size_t stp_space_number_find(size_t min)
{
    size_t n = min > STP_SPACE_FIRST_USER ? min : STP_SPACE_FIRST_USER;

    while (n < STP_SPACE_NUMBERS && stp_space_at((unsigned)n) != NULL)
        n++;
    return n < STP_SPACE_NUMBERS ? n : SIZE_MAX;
}

struct stp_space *stp_space_at(unsigned number)
{
    if (number >= STP_SPACE_NUMBERS) return NULL;
    /*
     * Pairs with the release stores in stp_space_register_by_number() and
     * stp_space_unregister_number().
     */
    return __atomic_load_n(&registry.by_number[number], __ATOMIC_ACQUIRE);
}

bool stp_space_with_locked(unsigned number, void (*visit)(const struct stp_space *space, void *arg),
                           void *arg)
{
    const struct stp_space *space;
    bool visible;

    pthread_mutex_lock(&registry.lock);
    space = registry.by_number[number];
    visible = space != NULL && space->magic == STP_SPACE_MAGIC;
    if (visible) visit(space, arg);
    pthread_mutex_unlock(&registry.lock);
    return visible;
}

struct stp_space *stp_space_lookup(const void *addr, size_t *offset)
{
    /* The range that this thread found last. Successive lookups often find the same range. */
    static __thread struct stp_range last __attribute__((tls_model("initial-exec")));
    struct stp_range found;

    *offset = (uintptr_t)addr - last.base;
    if (*offset < last.nbytes && stp_ranges_unchanged(&registry.ranges, last.version))
        return (struct stp_space *)last.value;
    if (!stp_ranges_find(&registry.ranges, addr, &found)) return NULL;
    *offset = (uintptr_t)addr - found.base;
    last = found;
    return (struct stp_space *)found.value;
}

const struct stp_space *stp_space_lookup_growth_room(const void *addr, size_t *offset)
{
    for (unsigned n = 0; n < STP_SPACE_NUMBERS; n++) {
        const struct stp_space *space = stp_space_at(n);

        if (space == NULL || !space->may_grow) continue;
        *offset = (size_t)((uintptr_t)addr - (uintptr_t)space->base);
        if (*offset >= stp_space_nbytes(space) && *offset < space->max_bytes) return space;
    }
    return NULL;
}

void *stp_space_encode_handle(const struct stp_space *space)
{
    return (void *)(HANDLE_TAG | (space->generation & HANDLE_GENERATIONS) << HANDLE_GENERATION |
                    space->number);
}

struct stp_space *stp_space_of_handle(const void *handle, bool *destroyed)
{
    uintptr_t word = (uintptr_t)handle;
    uint64_t generation = word >> HANDLE_GENERATION & HANDLE_GENERATIONS;
    struct stp_space *space;

    *destroyed = false;
    if (word >> 48 != HANDLE_TAG >> 48) return NULL;
    pthread_mutex_lock(&registry.lock);
    space = registry.by_number[word % STP_SPACE_NUMBERS];
    if (space != NULL &&
        (space->magic != STP_SPACE_MAGIC || stp_space_encode_handle(space) != handle))
        space = NULL;
    *destroyed = space == NULL && generation != 0 && generation <= registry.last_generation;
    pthread_mutex_unlock(&registry.lock);
    return space;
}

bool stp_space_lookup_destroyed(const void *addr, char *text, size_t len)
{
    /*
     * This load pairs with the release store of n_destroyed in registry_remember_locked(). The
     * first load of nbytes pairs with the release store of nbytes there.
     */
    unsigned n = __atomic_load_n(&registry.n_destroyed, __ATOMIC_ACQUIRE);

    for (unsigned i = n; i > 0 && n - i < REGISTRY_DESTROYED; i--) {
        const struct destroyed_range *destroyed = &registry.destroyed[(i - 1) % REGISTRY_DESTROYED];
        size_t nbytes = __atomic_load_n(&destroyed->nbytes, __ATOMIC_ACQUIRE);

        uintptr_t base = __atomic_load_n(&destroyed->base, __ATOMIC_RELAXED);
        unsigned number = __atomic_load_n(&destroyed->number, __ATOMIC_RELAXED);
        const char *kind = __atomic_load_n(&destroyed->kind, __ATOMIC_RELAXED);

        if ((uintptr_t)addr - base >= nbytes) continue;
        /*
         * The fence orders the second read of nbytes after the reads of the entry. Pairs with the
         * fence in registry_remember_locked().
         */
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        /* If nbytes has changed, another thread has overwritten the entry. */
        if (__atomic_load_n(&destroyed->nbytes, __ATOMIC_RELAXED) != nbytes) continue;
        snprintf(text, len, "space %u (%s, %zu bytes), which was destroyed", number, kind, nbytes);
        return true;
    }
    return false;
}

bool stp_space_lookup_overlap(const void *base, size_t nbytes, char *text, size_t len)
{
    uintptr_t start = (uintptr_t)base;
    bool found = false;

    pthread_mutex_lock(&registry.lock);
    for (unsigned i = 0; i < registry.ranges.n && !found; i++) {
        const struct stp_space *space = (struct stp_space *)registry.ranges.value[i];

        found = start < registry.ranges.bases[i] + registry.ranges.sizes[i] &&
                registry.ranges.bases[i] < start + nbytes;
        if (found)
            snprintf(text, len, "space %u (%s, %zu bytes at %p)", space->number,
                     space->kind != NULL ? space->kind->name : "globals", space->nbytes,
                     (void *)space->base);
    }
    pthread_mutex_unlock(&registry.lock);
    return found;
}

static int struct_pool_grow_locked(void)
{
    struct pool_chunk *chunk = calloc(1, sizeof(*chunk));

    if (chunk == NULL) return -ENOMEM;
    chunk->next = registry.chunks;
    registry.chunks = chunk;
    for (int i = POOL_CHUNK - 1; i >= 0; i--) {
        chunk->spaces[i].next_free = registry.free;
        registry.free = &chunk->spaces[i];
    }
    return 0;
}

struct stp_space *stp_space_struct_alloc(void)
{
    struct stp_space *space = NULL;

    pthread_mutex_lock(&registry.lock);
    if (registry.free != NULL || struct_pool_grow_locked() == 0) {
        space = registry.free;
        registry.free = space->next_free;
        memset(space, 0, sizeof(*space));
        space->generation = ++registry.last_generation;
    }
    pthread_mutex_unlock(&registry.lock);
    return space;
}

void stp_space_struct_free(struct stp_space *space)
{
    pthread_mutex_lock(&registry.lock);
    space->magic = 0;
    space->next_free = registry.free;
    registry.free = space;
    pthread_mutex_unlock(&registry.lock);
}
