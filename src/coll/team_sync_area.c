/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans and areas: what a team looks like from here, and its share of the internal space.
 */
#include "coll_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLL_YIELDS 32 /* looks with a yield between before going to sleep */
#define COLL_LOOKS 4   /* the same where other nodes are waited for, by system calls */
#define N_CHUNKS 64    /* slots with a chunk, */
#define CHUNKS_PART 8  /* which take no more than this part of all areas */
#define COLL_RAISE (STP_FABRIC_WORD_GROWS / 2)
#define AREA_STRIDE (((sizeof(struct stp_team_sync_area) + 4095) / 4096) * 4096)

_Static_assert(COLL_RAISE % COLL_RING == 0, "where the ring comes round");

static struct {
    pthread_mutex_t lock; /* guards which slots teams have */
    uint64_t *used;       /* one bit a slot */
    size_t n_slots;
    size_t n_chunks;               /* those of the first slots lie behind the areas */
    const struct stp_team **teams; /* by slot; read without the lock */
    size_t offset;                 /* of the first in the internal space */
    size_t hint;                   /* no slot below it is free */
    unsigned n_doubtful;           /* taken by who may give it back at once */
    unsigned n_released;           /* ever */
} slots = {.lock = PTHREAD_MUTEX_INITIALIZER};

size_t stp_coll_lay_out_internal(size_t window_capacity)
{
    size_t most = (size_t)4 << 30;
    size_t nbytes = window_capacity / 16 < most ? window_capacity / 16 : most;

    slots.n_chunks = nbytes / CHUNKS_PART / (2 * COLL_CHUNK);
    if (slots.n_chunks > N_CHUNKS) slots.n_chunks = N_CHUNKS;
    slots.n_slots = (nbytes - slots.n_chunks * 2 * COLL_CHUNK) / AREA_STRIDE;
    free(slots.used);
    slots.used = calloc(slots.n_slots / 64 + 1, sizeof(*slots.used));
    free(slots.teams);
    slots.teams = calloc(slots.n_slots + 1, sizeof(struct stp_team *));
    if (slots.used == NULL || slots.teams == NULL)
        stp_fatal("shmem_init", "no memory for the table of team slots");
    slots.hint = 0;
    slots.offset = stp_stage_internal_bytes(window_capacity);
    return slots.offset + slots.n_slots * AREA_STRIDE + slots.n_chunks * 2 * COLL_CHUNK;
}

bool stp_coll_has_chunk(const struct stp_team *team)
{
    return !team->active_set && team->slot < slots.n_chunks;
}

char *stp_coll_alternate_chunk(struct stp_team *team)
{
    char *areas = stp_space_at(STP_SPACE_INTERNAL)->base + slots.offset;
    size_t half = ++team->n_chunked & 1;

    if (!stp_coll_has_chunk(team)) return NULL;
    return areas + slots.n_slots * AREA_STRIDE + (2 * team->slot + half) * COLL_CHUNK;
}

static bool slot_used(size_t slot)
{
    return slots.used[slot / 64] >> (slot % 64) & 1;
}

size_t stp_coll_find_slot(size_t from)
{
    size_t slot;

    pthread_mutex_lock(&slots.lock);
    slot = from > slots.hint ? from : slots.hint;
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
    slots.n_doubtful += taken;
    pthread_mutex_unlock(&slots.lock);
    return taken;
}

void stp_coll_slot_decided(void)
{
    pthread_mutex_lock(&slots.lock);
    slots.n_doubtful--;
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
    bool moved;

    pthread_mutex_lock(&slots.lock);
    moved = slots.n_doubtful > 0 || slots.n_released != *seen;
    *seen = slots.n_released;
    pthread_mutex_unlock(&slots.lock);
    return moved;
}

int stp_coll_group_of(const struct stp_team *team, int rank)
{
    int node = stp_node_of(stp_team_pe(team, rank));
    int group = 0;

    if (team->plan.n_groups == 1) return 0;
    while (stp_node_of(team->plan.leaders[group]) != node)
        group++;
    return group;
}

/* Walk the members once: first member of each node, and all members of mine. */
static void plan_fill(struct stp_team *team, int *group_of_node)
{
    struct stp_team_hierarchy *plan = &team->plan;
    int mine = stp_node_of(stp_rt.pe);

    for (int rank = 0; rank < team->n_pes; rank++) {
        int pe = stp_team_pe(team, rank);
        int node = stp_node_of(pe);
        if (group_of_node[node] < 0) {
            group_of_node[node] = plan->n_groups;
            plan->leaders[plan->n_groups++] = pe;
        }
        if (node != mine) continue;
        if (pe == stp_rt.pe) plan->local = plan->n_local;
        plan->local_ranks[plan->n_local] = rank;
        plan->local_pes[plan->n_local++] = pe;
    }
    plan->group = group_of_node[mine];
}

/*
 * Ranks by group, each group's ascending. first[group + 1] counts the group's members, then says
 * where the next of them goes, and so in the end where the next group begins.
 */
static void plan_sort(struct stp_team *team, const int *group_of_node)
{
    struct stp_team_hierarchy *plan = &team->plan;
    int before = 0;

    memset(plan->first, 0, ((size_t)plan->n_groups + 1) * sizeof(*plan->first));
    for (int rank = 0; rank < team->n_pes; rank++)
        plan->first[group_of_node[stp_node_of(stp_team_pe(team, rank))] + 1]++;
    for (int group = 0; group < plan->n_groups; group++) {
        int n = plan->first[group + 1];

        if (n > plan->most_local) plan->most_local = n;
        plan->first[group + 1] = before;
        before += n;
    }
    for (int rank = 0; rank < team->n_pes; rank++) {
        int group = group_of_node[stp_node_of(stp_team_pe(team, rank))];

        plan->order[plan->first[group + 1]++] = rank;
    }
}

static int plan_make(struct stp_team *team)
{
    struct stp_team_hierarchy *plan = &team->plan;
    size_t n_nodes = (size_t)stp_rt.n_nodes, n_pes = (size_t)team->n_pes;
    size_t n_leaders = n_nodes < n_pes ? n_nodes : n_pes;
    int *group_of_node = malloc(n_nodes * sizeof(*group_of_node));
    bool sorted = n_nodes > 1 && n_pes <= COLL_CHUNK / sizeof(uint64_t);

    if (sorted) {
        plan->order = malloc(n_pes * sizeof(*plan->order));
        plan->first = malloc((n_leaders + 1) * sizeof(*plan->first));
    }
    plan->leaders = malloc(n_leaders * sizeof(*plan->leaders));
    plan->local_pes = malloc(n_pes * sizeof(*plan->local_pes));
    plan->local_ranks = malloc(n_pes * sizeof(*plan->local_ranks));
    if (group_of_node == NULL || plan->leaders == NULL || plan->local_pes == NULL ||
        plan->local_ranks == NULL || (sorted && (plan->order == NULL || plan->first == NULL))) {
        free(group_of_node);
        return -ENOMEM;
    }
    memset(group_of_node, -1, n_nodes * sizeof(*group_of_node));
    plan_fill(team, group_of_node);
    if (sorted) plan_sort(team, group_of_node);
    free(group_of_node);
    plan->flat = plan->n_local <= stp_rt.host_cores && plan->n_local <= 1 << COLL_FLAT_ROUNDS;
    plan->sleeps =
        !plan->flat || (plan->n_groups > 1 && stp_rt.has_fabric && stp_rt.fabric.needs_syscalls);
    return 0;
}

int stp_coll_attach(struct stp_team *team, size_t slot)
{
    struct stp_space *internal = stp_space_at(STP_SPACE_INTERNAL);

    memset(&team->plan, 0, sizeof(team->plan));
    if (plan_make(team) != 0) {
        stp_coll_detach(team);
        return -ENOMEM;
    }
    team->slot = slot;
    team->area = (struct stp_team_sync_area *)(internal->base + slots.offset + slot * AREA_STRIDE);
    /* Peers may already post to the predefined teams; their memory is fresh. */
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

bool stp_coll_slot_at(size_t offset, size_t *slot, size_t *at)
{
    *slot = (offset - slots.offset) / AREA_STRIDE;
    *at = (offset - slots.offset) % AREA_STRIDE;
    return offset >= slots.offset && *slot < slots.n_slots;
}

void stp_coll_detach(struct stp_team *team)
{
    const struct stp_team *here = team;

    /*
     * Pairs with the release store in stp_coll_attach(), which another team of this slot may
     * have made.
     */
    if (team->slot < slots.n_slots) /* active sets have a team of the same slot meanwhile */
        __atomic_compare_exchange_n(&slots.teams[team->slot], &here, NULL, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
    free(team->plan.leaders);
    free(team->plan.local_pes);
    free(team->plan.local_ranks);
    free(team->plan.order);
    free(team->plan.first);
    free(team->scratch);
    team->scratch = NULL;
    memset(&team->plan, 0, sizeof(team->plan));
}

/*
 * The words that others send to this PE, as if collective n had sent all of them: what travels with
 * data are low bits, and a team may go without some words for as long as it likes. None is under
 * way, and none will be before this PE has come to the next sync.
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
        /* Every word is waited for by whom it is sent to: behind the sync none is under way. */
        stp_coll_sync(team);
    }
    *sequence = n + 1; /* never the zero of a fresh area */
    return &team->area->cells[n % COLL_RING];
}

/* ---- posting and waiting ------------------------------------------------------- */

static bool coll_reached(const uint64_t *word, uint64_t value)
{
    /*
     * Pairs with the release stores in stp_coll_post(), stp_coll_post_node() and
     * stp_ofi_cqdata_locked().
     */
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= value;
}

/* Without its proxy thread a PE must serve the fabric itself and may not sleep. */
static bool coll_may_sleep(void)
{
    return !stp_rt.has_fabric || stp_env.ofi_progress_thread;
}

void stp_coll_show_wait(const uint64_t *word)
{
    stp_wait_publish_subject(
        &(struct stp_wait_subject){.kind = STP_WAIT_COLL, .addr = word, .pe = -1});
}

/* Out of line, so that a word that is there costs a load and a compare. */
void stp_coll_wait_slow(const uint64_t *word, uint64_t value)
{
    struct stp_wait wait = {0};

    do {
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) stp_coll_show_wait(word);
    } while (!coll_reached(word, value));
    stp_wait_end(&wait);
}

void stp_coll_wait_node_slow(struct stp_team *team, const uint64_t *word, uint64_t value)
{
    struct stp_coll_doorbell *doorbell = team->doorbell;
    bool far = team->plan.n_groups > 1 && stp_rt.has_fabric && stp_rt.fabric.needs_syscalls;
    int patience = far ? COLL_LOOKS : stp_wait_spin + COLL_YIELDS;
    struct stp_wait wait = {0};

    if (coll_reached(word, value)) return;
    for (int i = 0; i < patience; i++) {
        if (coll_reached(word, value)) break;
        if (STP_UNLIKELY(stp_wait_idle_once(&wait))) stp_coll_show_wait(word);
        if (far) stp_yield_and_watch_peers(wait.turns);
    }
    while (!coll_reached(word, value)) {
        uint32_t seen;
        if (!coll_may_sleep()) {
            if (STP_UNLIKELY(stp_wait_idle_once(&wait))) stp_coll_show_wait(word);
            continue;
        }
        if (stp_wait_show_due(&wait)) stp_coll_show_wait(word);
        /*
         * Pairs with the fence in stp_coll_wake_slow(): this PE sees the word or the ringer sees
         * this PE.
         */
        __atomic_fetch_add(&doorbell->sleepers, 1, __ATOMIC_SEQ_CST);
        seen = __atomic_load_n(&doorbell->rings, __ATOMIC_SEQ_CST);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (!coll_reached(word, value)) stp_wait_sleep(&doorbell->rings, seen);
        __atomic_fetch_sub(&doorbell->sleepers, 1, __ATOMIC_RELAXED);
    }
    stp_wait_end(&wait);
}

void stp_coll_wake_slow(struct stp_team *team)
{
    struct stp_coll_doorbell *doorbell = team->doorbell;

    /*
     * Pairs with the fence in stp_coll_wait_node_slow(), between sleepers and the look at the
     * word.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&doorbell->sleepers, __ATOMIC_RELAXED) == 0) return;
    /* Pairs with the load of rings in stp_coll_wait_node_slow(), which the kernel compares. */
    __atomic_fetch_add(&doorbell->rings, 1, __ATOMIC_SEQ_CST);
    stp_wake(&doorbell->rings, INT_MAX);
}

void stp_coll_post(uint64_t *word, uint64_t value, int pe)
{
    uint64_t *there = stp_ptr(word, pe);

    if (STP_LIKELY(there != NULL))
        /*
         * Pairs with the acquire loads in stp_coll_wait(), coll_reached() and
         * stp_coll_wait_far().
         */
        __atomic_store_n(there, value, __ATOMIC_RELEASE);
    else
        stp_coll_post_far(word, value, pe);
}
