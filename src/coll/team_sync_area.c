/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manages the memory of teams in the internal space. Each team has a slot. A slot has an area with
 * sync words and cells, and may have two chunks. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define N_CHUNKS 64   /* maximum number of slots that have chunks */
#define CHUNKS_PART 8 /* chunks take at most 1/CHUNKS_PART of the memory for teams */
#define OPEN_FIRST ((size_t)64 << 20) /* accessible bytes of the internal space at the start */
#define COLL_RAISE (STP_FABRIC_WORD_GROWS / 2)
#define AREA_STRIDE (((sizeof(struct stp_team_sync_area) + 4095) / 4096) * 4096)

_Static_assert(COLL_RAISE % COLL_RING == 0, "COLL_RAISE is a multiple of the ring's length");

static struct {
    pthread_mutex_t lock; /* lock that guards the assignment of slots to teams */
    uint64_t *used;       /* bit map of slots in use */
    size_t n_slots;
    /* Number of slots that have chunks. They are the slots with the lowest numbers. */
    size_t n_chunks;
    const struct stp_team **teams; /* team in each slot, read without the lock */
    size_t chunks;                 /* offset of the first chunk in the internal space */
    size_t offset;                 /* offset of the first area in the internal space */
    /* All slots below this number are in use. */
    size_t hint;
    unsigned n_undecided; /* number of slots that are taken but may be given back soon */
    unsigned n_released;  /* number of times that a slot was released */
} slots = {.lock = PTHREAD_MUTEX_INITIALIZER};

size_t stp_coll_lay_out_internal(size_t window_capacity)
{
    size_t max_bytes = (size_t)4 << 30;
    size_t nbytes = window_capacity / 16 < max_bytes ? window_capacity / 16 : max_bytes;

    slots.n_chunks = nbytes / CHUNKS_PART / (2 * COLL_CHUNK);
    if (slots.n_chunks > N_CHUNKS) slots.n_chunks = N_CHUNKS;
    slots.n_slots = (nbytes - slots.n_chunks * 2 * COLL_CHUNK) / AREA_STRIDE;
    free(slots.used);
    slots.used = calloc(slots.n_slots / 64 + 1, sizeof(*slots.used));
    free(slots.teams);
    slots.teams = calloc(slots.n_slots + 1, sizeof(struct stp_team *));
    if (slots.used == NULL || slots.teams == NULL)
        stp_fatal("shmem_init", "out of memory: cannot allocate the table of teams");
    slots.hint = 0;
    slots.chunks = stp_stage_internal_bytes(window_capacity);
    slots.offset = slots.chunks + slots.n_chunks * 2 * COLL_CHUNK;
    return slots.offset + slots.n_slots * AREA_STRIDE;
}

size_t stp_coll_accessible_bytes(size_t slot, size_t space_bytes)
{
    size_t needed = slots.offset + (slot + 1) * AREA_STRIDE, nbytes = OPEN_FIRST;

    while (nbytes < needed)
        nbytes *= 2;
    return nbytes < space_bytes ? nbytes : space_bytes;
}

bool stp_coll_has_chunk(const struct stp_team *team)
{
    return !team->active_set && team->slot < slots.n_chunks;
}

char *stp_coll_alternate_chunk(struct stp_team *team)
{
    char *chunks = stp_space_at(STP_SPACE_INTERNAL)->base + slots.chunks;
    size_t half = ++team->n_chunked & 1;

    if (!stp_coll_has_chunk(team)) return NULL;
    return chunks + (2 * team->slot + half) * COLL_CHUNK;
}

static bool slot_used(size_t slot)
{
    return slots.used[slot / 64] >> (slot % 64) & 1;
}

size_t stp_coll_find_slot(size_t start)
{
    size_t slot;

    pthread_mutex_lock(&slots.lock);
    slot = start > slots.hint ? start : slots.hint;
    while (slot < slots.n_slots && slot_used(slot))
        slot++;
    pthread_mutex_unlock(&slots.lock);
    return slot < slots.n_slots ? slot : SIZE_MAX;
}

bool stp_coll_take_slot(size_t slot)
{
    bool taken;

    pthread_mutex_lock(&slots.lock);
    taken = !slot_used(slot);
    slots.used[slot / 64] |= (uint64_t)1 << (slot % 64);
    while (slots.hint < slots.n_slots && slot_used(slots.hint))
        slots.hint++;
    slots.n_undecided += taken;
    pthread_mutex_unlock(&slots.lock);
    return taken;
}

void stp_coll_slot_decided(void)
{
    pthread_mutex_lock(&slots.lock);
    slots.n_undecided--;
    pthread_mutex_unlock(&slots.lock);
}

void stp_coll_release_slot(size_t slot)
{
    pthread_mutex_lock(&slots.lock);
    slots.used[slot / 64] &= ~((uint64_t)1 << (slot % 64));
    if (slot < slots.hint) slots.hint = slot;
    slots.n_released++;
    pthread_mutex_unlock(&slots.lock);
}

bool stp_coll_slots_freed_since(unsigned *seen)
{
    bool freed;

    pthread_mutex_lock(&slots.lock);
    freed = slots.n_undecided > 0 || slots.n_released != *seen;
    *seen = slots.n_released;
    pthread_mutex_unlock(&slots.lock);
    return freed;
}

int stp_coll_attach(struct stp_team *team, size_t slot)
{
    struct stp_space *internal = stp_space_at(STP_SPACE_INTERNAL);

    memset(&team->plan, 0, sizeof(team->plan));
    if (stp_coll_hierarchy_make(team) != 0 ||
        stp_window_grow(internal->offset, stp_coll_accessible_bytes(slot, internal->nbytes)) != 0) {
        stp_coll_detach(team);
        return -ENOMEM;
    }
    team->slot = slot;
    team->area = (struct stp_team_sync_area *)(internal->base + slots.offset + slot * AREA_STRIDE);
    /*
     * Do not zero the areas of predefined teams, because peers may already have posted words there.
     * The memory of these areas is new, so it is already 0.
     */
    if (!team->predefined) memset(team->area, 0, sizeof(*team->area));
    team->doorbell = stp_ptr(&team->area->doorbell, team->plan.local_pes[0]);
    team->sync_epoch = team->node_epoch = team->sequence = team->n_chunked = 0;
    team->stream_called = team->stream_done = team->stream_epoch = 0;
    /* Pairs with the acquire load in stp_coll_team_at(). */
    __atomic_store_n(&slots.teams[slot], team, __ATOMIC_RELEASE);
    return 0;
}

const struct stp_team *stp_coll_team_at(size_t slot)
{
    /* Pairs with the release store in stp_coll_attach(). */
    return slot < slots.n_slots ? __atomic_load_n(&slots.teams[slot], __ATOMIC_ACQUIRE) : NULL;
}

bool stp_coll_slot_at(size_t offset, size_t *slot, size_t *area_offset)
{
    *slot = (offset - slots.offset) / AREA_STRIDE;
    *area_offset = (offset - slots.offset) % AREA_STRIDE;
    return offset >= slots.offset && *slot < slots.n_slots;
}

void stp_coll_detach(struct stp_team *team)
{
    const struct stp_team *expected = team;

    /*
     * Clear the entry, unless another team has taken the slot meanwhile. Pairs with the release
     * store in stp_coll_attach() that set the entry.
     */
    if (team->slot < slots.n_slots)
        __atomic_compare_exchange_n(&slots.teams[team->slot], &expected, NULL, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    stp_coll_hierarchy_free(team);
    free(team->scratch);
    team->scratch = NULL;
}

/*
 * Gives the value n to all words that other PEs write on this PE, as if collective n had written
 * them. The fabric may transfer only the low bits of a word together with data. The old value of
 * the word must therefore not be far below the new value. However, a team may leave some words
 * unused for a long time. The change is safe, because all words of earlier collectives have
 * arrived. No PE sends a new word before this PE has entered the next sync.
 */
static void raise_words(struct stp_team *team, uint64_t n)
{
    for (int i = 0; i < COLL_RING; i++) {
        uint64_t *flags = team->area->cells[i].flags;
        __atomic_store_n(&flags[COLL_RESULT], n, __ATOMIC_RELAXED);
        for (int round = 0; round < COLL_ROUNDS; round++)
            __atomic_store_n(&flags[COLL_CHILD + round], n, __ATOMIC_RELAXED);
    }
}

struct stp_coll_cell *stp_coll_take_cell(struct stp_team *team, uint64_t *sequence)
{
    uint64_t n = team->sequence;

    __atomic_store_n(&team->sequence, n + 1, __ATOMIC_RELAXED);
    if (n != 0 && n % COLL_RING == 0) {
        if (STP_UNLIKELY(n % COLL_RAISE == 0)) raise_words(team, n);
        /*
         * After this sync, all words of earlier collectives have arrived, because the receiver of
         * each word has waited for the word.
         */
        stp_coll_sync(team);
    }
    /* The sequence number is never 0, because words of a new area are 0. */
    *sequence = n + 1;
    return &team->area->cells[n % COLL_RING];
}
