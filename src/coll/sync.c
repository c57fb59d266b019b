/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the sync. The members of a node arrive at a barrier of the node. Then the leaders of
 * the nodes meet, and finally all members are released. Some sync words count arrivals. All other
 * sync words have a single writer, which stores the number of the sync (the epoch). The values only
 * grow, so one sync can directly follow another.
 */
#include "coll_internal.h"

/*
 * Syncs the members of a team on one node, if the node has a core for each member. Uses
 * dissemination in log2(n) rounds.
 */
static void sync_flat(struct stp_team *team, uint64_t epoch)
{
    const struct stp_team_hierarchy *plan = &team->plan;

    for (int step = 1, round = 0; step < plan->n_local; step <<= 1, round++) {
        int to_pe = plan->local_pes[(plan->local + step) % plan->n_local];
        stp_coll_post(&team->area->flat[round].value, epoch, to_pe);
        stp_coll_wait(&team->area->flat[round].value, epoch);
    }
}

/*
 * Counts the arrival of this member in the barrier of the first local member. Returns true on the
 * last member to arrive. The atomic addition has acquire order, because the last member then acts
 * for the other members.
 */
static bool sync_arrive(struct stp_coll_barrier *barrier, uint64_t epoch, int n_local)
{
    uint64_t n_expected = epoch * (uint64_t)n_local;

    /*
     * Each arrival releases the writes of its PE. The last arrival acquires the writes of all PEs.
     */
    return __atomic_add_fetch(&barrier->arrived.value, 1, __ATOMIC_ACQ_REL) == n_expected;
}

static void sync_internode(struct stp_team *team, uint64_t epoch)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    uint64_t *words = team->area->internode[epoch & 1];

    /*
     * Use two sets of words alternately. A word of the previous sync may still be in transfer. It
     * cannot overwrite a word of this sync, because the previous sync used the other set. The set
     * of this sync was last used two syncs ago. All words of that sync have arrived, because all
     * members have since taken part in the previous sync.
     */
    for (int step = 1, round = 0; step < plan->n_groups; step <<= 1, round++) {
        int to_pe = plan->leaders[(plan->group + step) % plan->n_groups];
        stp_coll_post(&words[round], epoch, to_pe);
        stp_coll_wait_far(&words[round], epoch);
    }
}

/*
 * Releases each local member by a word in the member's own memory. No member then polls the memory
 * of a PE that has already left the team.
 */
static void sync_release_each(struct stp_team *team, uint64_t epoch)
{
    const struct stp_team_hierarchy *plan = &team->plan;

    for (int i = 0; i < plan->n_local; i++)
        stp_coll_post(&team->area->last_release.value, epoch, plan->local_pes[i]);
}

/*
 * Syncs by counting arrivals on each node. On one node, the last member to arrive releases all
 * other members, so no member waits until a particular PE is scheduled. With several nodes, the
 * first local member acts for its node, because the words from other nodes arrive in its memory.
 */
static void sync_counted(struct stp_team *team, uint64_t epoch, bool is_last_sync)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    struct stp_coll_barrier *barrier = stp_ptr(&team->area->team_sync, plan->local_pes[0]);
    bool last = sync_arrive(barrier, epoch, plan->n_local);

    if (last && plan->n_groups > 1) stp_coll_wake(team); /* the first member may be asleep */
    if (plan->n_groups > 1 && plan->local == 0) {
        stp_coll_wait_node(team, &barrier->arrived.value, epoch * (uint64_t)plan->n_local);
        sync_internode(team, epoch);
    }
    if (plan->n_groups > 1 ? plan->local == 0 : last) {
        if (is_last_sync)
            sync_release_each(team, epoch);
        else
            stp_coll_post_node(team, &barrier->released.value, epoch);
    } else if (is_last_sync) {
        /*
         * This member must not sleep, because the PE that owns the doorbell may already have left.
         */
        stp_coll_wait(&team->area->last_release.value, epoch);
    } else {
        stp_coll_wait_node(team, &barrier->released.value, epoch);
    }
}

static void sync_team(struct stp_team *team, bool is_last_sync)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    uint64_t epoch = team->sync_epoch + 1;

    __atomic_store_n(&team->sync_epoch, epoch, __ATOMIC_RELAXED);
    /*
     * Order all earlier stores of this PE before the words that it posts below, because a barrier
     * is also a quiet. Pairs with the acquire loads of the PEs that wait for these words.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (plan->n_groups == 1 && plan->flat)
        sync_flat(team, epoch);
    else if (plan->n_local == 1)
        sync_internode(team, epoch);
    else
        sync_counted(team, epoch, is_last_sync);
}

int stp_coll_sync(struct stp_team *team)
{
    sync_team(team, false);
    stp_remote_flush();
    return 0;
}

void stp_team_last_sync(struct stp_team *team)
{
    sync_team(team, true);
}

/*
 * Syncs with the leaders of the other nodes once, in the same rounds as sync_internode(). Sends the
 * argument word to some of them, and receives words from some of them. If a received word is
 * smaller than *least, sets *least to the smallest received word, and returns the world number of
 * its sender. Otherwise returns -1.
 */
static int sync_job_end_internode(struct stp_team *team, uint64_t word, uint64_t *least)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    int sender = -1;

    for (int step = 1, round = 0; step < plan->n_groups; step <<= 1, round++) {
        int to_pe = plan->leaders[(plan->group + step) % plan->n_groups];
        int from_pe = plan->leaders[(plan->group + plan->n_groups - step) % plan->n_groups];
        uint64_t *flag = &team->area->job_end_internode[round];

        stp_coll_post(flag, word, to_pe);
        stp_coll_wait_far(flag, 1);
        /*
         * Pairs with the release stores in stp_coll_post() and
         * stp_ofi_cqdata_apply_to_word_locked().
         */
        if (__atomic_load_n(flag, __ATOMIC_ACQUIRE) >= *least) continue;
        *least = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
        sender = from_pe;
    }
    return sender;
}

int stp_coll_job_end_find_least(struct stp_team *team, uint64_t word, uint64_t *least)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    struct stp_coll_barrier *barrier = stp_ptr(&team->area->job_end, plan->local_pes[0]);
    int sender;

    *least = UINT64_MAX;
    /*
     * Order earlier stores of this PE before its arrival, as in sync_team(). Pairs with the acquire
     * loads of the PEs that wait.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (sync_arrive(barrier, 1, plan->n_local)) stp_coll_wake(team);
    if (plan->local != 0) {
        stp_coll_wait_node(team, &barrier->released.value, 1);
        return -1;
    }
    stp_coll_wait_node(team, &barrier->arrived.value, (uint64_t)plan->n_local);
    sender = sync_job_end_internode(team, word, least);
    stp_coll_post_node(team, &barrier->released.value, 1);
    return sender;
}

void stp_coll_node_sync(struct stp_team *team)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    uint64_t epoch = ++team->node_epoch;
    struct stp_coll_barrier *barrier;

    if (plan->n_local == 1) return;
    barrier = stp_ptr(&team->area->node, plan->local_pes[0]);
    if (sync_arrive(barrier, epoch, plan->n_local))
        stp_coll_post_node(team, &barrier->released.value, epoch);
    else
        stp_coll_wait_node(team, &barrier->released.value, epoch);
}

bool stp_coll_arrive_last_or_wait(struct stp_team *team, struct stp_coll_cell *cell,
                                  uint64_t sequence, struct stp_coll_cell **first)
{
    const struct stp_team_hierarchy *plan = &team->plan;

    *first = stp_ptr(cell, plan->local_pes[0]);
    /*
     * Each arrival releases the writes of its PE. The last arrival acquires the writes of all PEs
     * before it reads their data.
     */
    if (__atomic_add_fetch(&(*first)->arrived.value, 1, __ATOMIC_ACQ_REL) ==
        (uint64_t)plan->n_local) {
        /* Reset the count for the next use of the cell. A sync precedes the next use. */
        __atomic_store_n(&(*first)->arrived.value, 0, __ATOMIC_RELAXED);
        return true;
    }
    stp_coll_wait_node(team, &(*first)->flags[COLL_DONE], sequence);
    return false;
}
