/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets the members of an active set agree on a slot of the internal space. The members do this in
 * the first call with the set. They communicate only through pSync, because no team has exactly
 * these members. Design: docs/design/teams.md.
 */
#include "coll_internal.h"

/*
 * The members of the set form a binary tree and exchange words through pSync. Each member uses
 * three elements of its own pSync. The parent of the member writes element 0, and its two children
 * write elements 1 and 2. Each element therefore has only one writer. A writer waits for a reply
 * before it writes the same element again.
 *
 * In one exchange, the first member sends a word down the tree to all other members. Their replies
 * then come back up the tree. The last exchange sends WORD_GO, and has no replies.
 *
 * A word has five fields:
 * - bits 56 to 63: the tag WORD_TAG
 * - bits 54 and 55: the kind of the word (enum word_kind)
 * - bits 44 to 53: the low bits of the number of the exchange
 * - bits 20 to 43: the low bits of a hash of the set
 * - bits 0 to 19: a slot number, or WORD_NO_SLOT
 */
#define WORD_TAG 0xa5u
#define WORD_HASH 0xffffffu
#define WORD_NO_SLOT 0xfffffu

#define AGREE_PASSES 4

enum word_kind { WORD_PROPOSE, WORD_GO, WORD_YES, WORD_NO };

/* State of the agreement in the first call with a set. */
struct agreement {
    struct stp_team *team;
    long *psync;
    const char *fn;
    uint64_t hash;     /* hash of the set */
    unsigned exchange; /* number of the current exchange, counted from 1 */
    /*
     * True if this PE has reserved the slot with number `slot` and has attached the team's area to
     * this slot.
     */
    bool taken;
    size_t slot;
    int passes; /* number of times that the first member has searched all slots */
};

static uint64_t word_make(const struct agreement *a, enum word_kind kind, size_t slot)
{
    uint64_t low = slot < WORD_NO_SLOT ? slot : WORD_NO_SLOT;

    return (uint64_t)WORD_TAG << 56 | (uint64_t)kind << 54 | (uint64_t)(a->exchange & 1023) << 44 |
           a->hash << 20 | low;
}

static enum word_kind word_kind(uint64_t word)
{
    return (enum word_kind)(word >> 54 & 3);
}

/* Returns the slot number in a word, or SIZE_MAX if the word contains no slot number. */
static size_t word_slot(uint64_t word)
{
    return (word & WORD_NO_SLOT) == WORD_NO_SLOT ? SIZE_MAX : word & WORD_NO_SLOT;
}

_Noreturn static void word_fatal_element(const struct agreement *a, int i, uint64_t word)
{
    stp_fatal(
        a->fn,
        "pSync[%d] at %p is %lld: every element must be SHMEM_SYNC_VALUE (%ld) on all "
        "members before the call, and no other active set or collective may use the array at the "
        "same time",
        i, (void *)&a->psync[i], (long long)word, SHMEM_SYNC_VALUE);
}

_Noreturn static void word_fatal_other_set(const struct agreement *a, int i)
{
    stp_fatal(
        a->fn,
        "another member of the active set passed other arguments than this PE, which passed "
        "PE_start %d, logPE_stride %d, PE_size %d and pSync %p (found in pSync[%d]): all members "
        "must pass the same arguments",
        a->team->start, __builtin_ctz((unsigned)a->team->stride), a->team->n_pes, (void *)a->psync,
        i);
}

/*
 * Returns true if the word belongs to the current exchange. Returns false if the element still
 * holds its initial value or the word of the previous exchange. Any other word is fatal.
 */
static bool word_check(const struct agreement *a, int i, uint64_t word)
{
    unsigned distance = ((unsigned)(word >> 44) - a->exchange) & 1023;

    if (word == (uint64_t)SHMEM_SYNC_VALUE && a->exchange == 1) return false;
    if (word >> 56 != WORD_TAG) word_fatal_element(a, i, word);
    if ((word >> 20 & WORD_HASH) != a->hash) word_fatal_other_set(a, i);
    if (distance == 0) return true;
    if (distance != 1023 || a->exchange == 1) word_fatal_element(a, i, word);
    return false; /* word of the previous exchange */
}

static uint64_t word_wait(const struct agreement *a, int i)
{
    const uint64_t *element = (const uint64_t *)&a->psync[i];
    struct stp_wait wait = {0};

    for (;;) {
        /*
         * Pairs with the release store in word_post(). If the word came from another node, pairs
         * with the release store by which the fabric wrote the word.
         */
        uint64_t word = __atomic_load_n(element, __ATOMIC_ACQUIRE);
        if (word_check(a, i, word)) return word;
        stp_wait_idle_once(&wait);
    }
}

static void word_post(const struct agreement *a, int i, uint64_t word, int rank)
{
    uint64_t *element = (uint64_t *)&a->psync[i];
    int pe = stp_team_pe(a->team, rank);
    uint64_t *peer_ptr = stp_ptr(element, pe);

    if (peer_ptr != NULL) /* Pairs with the acquire load in word_wait(). */
        __atomic_store_n(peer_ptr, word, __ATOMIC_RELEASE);
    else
        stp_store_slow(&stp_ctx_coll, element, &word, sizeof(word), pe, a->fn);
}

/* ---- the first call ----------------------------------------------------------------- */

/* Returns the rank of child i (0 or 1), or -1 if that child does not exist. */
static int agree_child(const struct agreement *a, int i)
{
    int64_t child = 2 * (int64_t)a->team->rank + 1 + i;

    return child < a->team->n_pes ? (int)child : -1;
}

static void agree_send_children(const struct agreement *a, enum word_kind kind, size_t slot)
{
    for (int i = 0; i < 2; i++)
        if (agree_child(a, i) >= 0) word_post(a, 0, word_make(a, kind, slot), agree_child(a, i));
}

/*
 * Takes the slot if it is free on this PE, and gives its area to the team. Sets a->taken to whether
 * this PE got the slot.
 */
static void agree_take(struct agreement *a, size_t slot)
{
    a->slot = slot;
    a->taken = stp_coll_find_slot(slot) == slot && stp_coll_take_slot(slot);
    if (a->taken && stp_coll_attach(a->team, slot) != 0)
        stp_fatal(a->fn, "out of memory: cannot allocate the data of an active set of size %d",
                  a->team->n_pes);
}

static void agree_give_back(struct agreement *a)
{
    if (!a->taken) return;
    stp_coll_detach(a->team);
    stp_coll_release_slot(a->slot);
    stp_coll_slot_decided();
    a->taken = false;
}

/*
 * Waits for the replies of this PE's children in the tree. Returns true if this PE and all PEs
 * below it in the tree have taken the slot. Otherwise returns false. Each of these PEs proposes a
 * slot for the next exchange. Sets *next to the highest proposed slot.
 */
static bool agree_gather(const struct agreement *a, size_t *next)
{
    bool all_taken = a->taken;

    *next = a->taken ? a->slot + 1 : stp_coll_find_slot(a->slot + 1);
    for (int i = 0; i < 2; i++) {
        uint64_t word;
        if (agree_child(a, i) < 0) continue;
        word = word_wait(a, 1 + i);
        if (word_kind(word) == WORD_YES) continue;
        all_taken = false;
        if (word_slot(word) > *next) *next = word_slot(word);
    }
    return all_taken;
}

/*
 * Restores SHMEM_SYNC_VALUE in this PE's pSync. Called when no other member will write to this
 * pSync any more.
 */
static void agree_restore(const struct agreement *a)
{
    for (int i = 0; i < ACTIVE_N_WORDS; i++)
        __atomic_store_n(&a->psync[i], SHMEM_SYNC_VALUE, __ATOMIC_RELAXED);
}

/* Runs the agreement on every member except the first one. */
static void agree_follow(struct agreement *a)
{
    int rank = a->team->rank;

    for (a->exchange = 1;; a->exchange++) {
        uint64_t word = word_wait(a, 0);
        size_t next;
        bool all_taken;

        agree_send_children(a, word_kind(word), word_slot(word));
        if (word_kind(word) == WORD_GO) return;
        agree_give_back(a);
        agree_take(a, word_slot(word));
        all_taken = agree_gather(a, &next);
        /*
         * Make the zeroed area visible before any other member learns that this PE has taken the
         * slot. Pairs with the acquire load in word_wait().
         */
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        word_post(a, 1 + (rank - 1) % 2, word_make(a, all_taken ? WORD_YES : WORD_NO, next),
                  (rank - 1) / 2);
    }
}

/*
 * Takes the lowest slot that is free on this PE and not below the argument start. Runs only on the
 * first member. After the last slot the search continues at slot 0, because other sets may have
 * released slots. While this PE holds the slot, no other thread of this PE can propose it for
 * another set.
 */
static void agree_take_lowest(struct agreement *a, size_t start)
{
    do {
        size_t slot = stp_coll_find_slot(start);
        if (slot == SIZE_MAX && (start == 0 || ++a->passes > AGREE_PASSES))
            stp_fatal(a->fn, "the internal memory for active sets and teams is full: use fewer "
                             "pSync arrays or teams, or raise SHMEM_WINDOW_SIZE");
        if (slot == SIZE_MAX)
            start = 0;
        else
            agree_take(a, slot);
    } while (!a->taken);
}

/*
 * Returns the slot at which the first member starts its next search. This slot is the argument next
 * plus a step, or next itself if no slot is free from there on. The step is derived from a hash of
 * the PE's number and the number of the exchange. The first members of other sets may search at the
 * same time. Their steps usually differ, so they try different slots.
 */
static size_t agree_next_start(const struct agreement *a, size_t next)
{
    uint64_t hash = stp_active_set_mix((uint64_t)(unsigned)stp_rt.pe << 32 | a->exchange);
    size_t step = hash % (a->exchange < 6 ? 2u << a->exchange : 128);

    return next < WORD_NO_SLOT && stp_coll_find_slot(next + step) != SIZE_MAX ? next + step : next;
}

static void agree_lead(struct agreement *a)
{
    size_t next = 0;

    for (a->exchange = 1;; a->exchange++) {
        agree_take_lowest(a, next);
        agree_send_children(a, WORD_PROPOSE, a->slot);
        if (agree_gather(a, &next)) break;
        agree_give_back(a);
        next = agree_next_start(a, next);
    }
    a->exchange++;
    agree_send_children(a, WORD_GO, a->slot);
}

void stp_active_set_agree_slot(struct stp_team *team, long *psync, uint64_t hash, const char *fn)
{
    struct agreement a = {.team = team, .psync = psync, .fn = fn, .hash = hash & WORD_HASH};

    /*
     * Check that pSync holds its initial values. The children write only after this PE has sent
     * them a proposal. The parent may already have written element 0. Therefore only the first
     * member, which has no parent, checks element 0.
     */
    for (int i = team->rank == 0 ? 0 : 1; i < ACTIVE_N_WORDS; i++)
        if (psync[i] != SHMEM_SYNC_VALUE) word_fatal_element(&a, i, (uint64_t)psync[i]);
    if (team->rank == 0)
        agree_lead(&a);
    else
        agree_follow(&a);
    stp_coll_slot_decided();
    agree_restore(&a);
}
