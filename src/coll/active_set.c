/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements active sets. The first call with a set and its pSync makes an internal team. During
 * this first call the members communicate only through pSync. Later calls look up the team. Design:
 * docs/design/teams.md.
 */
#include "coll_internal.h"

#include <stdlib.h>

#define ACTIVE_BUCKETS 1024
#define ACTIVE_RECENT 4

/*
 * Arguments that identify a set. All members pass the same start, stride and size. The address of
 * pSync may differ between members.
 */
struct active_key {
    long *psync;
    int start, log_stride, size;
};

struct active {
    struct active_key key;
    struct stp_team team;
    struct active *next;
};

static struct {
    /*
     * Lock that guards all fields of this structure. The fields n_sets and generation are also read
     * without the lock.
     */
    pthread_mutex_t lock;
    struct active *buckets[ACTIVE_BUCKETS];
    size_t n_sets;
    uint64_t generation; /* number of sets that were forgotten, plus 1 */
} active = {.lock = PTHREAD_MUTEX_INITIALIZER, .generation = 1};

/*
 * A set that this thread used recently. The entry is valid while its field generation equals
 * active.generation.
 */
struct active_recent {
    struct active_key key;
    uint64_t generation;
    struct stp_team *team;
};

/* Returns a hash of the set's start, stride and size, which are equal on all members. */
static uint64_t active_hash_set(const struct active_key *key)
{
    uint64_t first = (uint64_t)(unsigned)key->start << 32 | (unsigned)key->size;

    return stp_active_set_mix(stp_active_set_mix(first) + (unsigned)key->log_stride);
}

static size_t active_bucket(const struct active_key *key)
{
    return stp_active_set_mix((uintptr_t)key->psync + active_hash_set(key)) % ACTIVE_BUCKETS;
}

static bool active_keys_equal(const struct active_key *a, const struct active_key *b)
{
    return a->psync == b->psync && a->start == b->start && a->size == b->size &&
           a->log_stride == b->log_stride;
}

/* ---- arguments ------------------------------------------------------------------------ */

static void active_check_set(const struct active_key *key, const char *fn)
{
    int last_pe = stp_rt.n_pes - 1;
    bool high = key->size > 1 && key->log_stride > 30;
    int64_t last = key->start;

    if (key->start < 0 || key->start > last_pe)
        stp_fatal(fn, "PE_start is %d: valid PE numbers are 0..%d", key->start, last_pe);
    if (key->log_stride < 0)
        stp_fatal(fn,
                  "logPE_stride is %d: it must be 0 or more, because the stride is 2 to this power",
                  key->log_stride);
    if (key->size < 1)
        stp_fatal(fn, "PE_size is %d: an active set must have at least one PE", key->size);
    if (key->size > 1 && !high) last += ((int64_t)key->size - 1) << key->log_stride;
    if (high || last > last_pe)
        stp_fatal(fn,
                  "PE_start %d, logPE_stride %d, PE_size %d: the active set reaches beyond PE "
                  "%d, the last PE of the job",
                  key->start, key->log_stride, key->size, last_pe);
}

static void active_check_psync(const struct active_key *key, const char *fn)
{
    size_t nbytes = ACTIVE_N_WORDS * sizeof(*key->psync);
    const struct stp_space *space = stp_symmetric(key->psync, nbytes, stp_rt.pe, NULL, fn, "pSync");

    if ((uintptr_t)key->psync % sizeof(*key->psync) != 0)
        stp_fatal(fn, "pSync %p is not aligned to %zu bytes", (void *)key->psync,
                  sizeof(*key->psync));
    if (!space->host)
        stp_fatal(fn, "pSync %p is in %s memory: pSync must be in host memory", (void *)key->psync,
                  space->kind->name);
}

/* ---- remembered state ---------------------------------------------------------------------- */

static struct active *active_new(const struct active_key *key, const char *fn)
{
    struct active *set = calloc(1, sizeof(*set));
    struct stp_team *team = &set->team;

    if (set == NULL)
        stp_fatal(fn, "out of memory: cannot allocate the data of an active set of size %d",
                  key->size);
    set->key = *key;
    team->magic = STP_TEAM_MAGIC;
    team->active_set = true;
    team->n_pes = key->size;
    team->start = key->start;
    team->stride = key->size > 1 ? 1 << key->log_stride : 1;
    team->rank = stp_team_rank_of(team, stp_rt.pe);
    if (team->rank < 0)
        stp_fatal(fn,
                  "PE %d is not in the active set of PE_start %d, logPE_stride %d, PE_size %d: "
                  "only members of the set may make this call",
                  stp_rt.pe, key->start, key->log_stride, key->size);
    return set;
}

static struct stp_team *active_find(const struct active_key *key)
{
    struct active *set;

    pthread_mutex_lock(&active.lock);
    set = active.buckets[active_bucket(key)];
    while (set != NULL && !active_keys_equal(&set->key, key))
        set = set->next;
    pthread_mutex_unlock(&active.lock);
    return set != NULL ? &set->team : NULL;
}

static struct stp_team *active_make(const struct active_key *key, const char *fn)
{
    struct active **bucket = &active.buckets[active_bucket(key)];
    struct active *set;

    stp_check_live(fn);
    active_check_set(key, fn);
    active_check_psync(key, fn);
    set = active_new(key, fn);
    stp_active_set_agree_slot(&set->team, key->psync, active_hash_set(key), fn);
    pthread_mutex_lock(&active.lock);
    set->next = *bucket;
    *bucket = set;
    __atomic_store_n(&active.n_sets, active.n_sets + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&active.lock);
    return &set->team;
}

struct stp_team *stp_active_set(int PE_start, int logPE_stride, int PE_size, long *pSync,
                                const char *fn)
{
    static __thread struct active_recent recent_sets[ACTIVE_RECENT]
        __attribute__((tls_model("initial-exec")));
    struct active_key key = {pSync, PE_start, logPE_stride, PE_size};
    struct active_recent *recent =
        &recent_sets[((uintptr_t)pSync >> 6 ^ (unsigned)PE_size) % ACTIVE_RECENT];
    /* Pairs with the release store in active_forget_bucket(). */
    uint64_t generation = __atomic_load_n(&active.generation, __ATOMIC_ACQUIRE);

    if (STP_UNLIKELY(stp_rt.forked)) stp_check_not_forked(fn);
    if (STP_UNLIKELY(recent->generation != generation || !active_keys_equal(&recent->key, &key))) {
        struct stp_team *team = active_find(&key);
        if (team == NULL) team = active_make(&key, fn);
        *recent = (struct active_recent){key, generation, team};
    }
    return recent->team;
}

/* ---- removal --------------------------------------------------------------------------------- */

void stp_active_sets_quiet(void)
{
    if (__atomic_load_n(&active.n_sets, __ATOMIC_RELAXED) > 0) stp_coll_quiet();
}

/*
 * Removes sets and their teams from a bucket. A set is removed if its pSync begins in the nbytes
 * bytes at base.
 */
static void active_forget_bucket(struct active **link, uintptr_t base, size_t nbytes)
{
    while (*link != NULL) {
        struct active *set = *link;
        if ((uintptr_t)set->key.psync - base >= nbytes) {
            link = &set->next;
            continue;
        }
        *link = set->next;
        __atomic_store_n(&active.n_sets, active.n_sets - 1, __ATOMIC_RELAXED);
        /* Pairs with the acquire load in stp_active_set(). */
        __atomic_store_n(&active.generation, active.generation + 1, __ATOMIC_RELEASE);
        stp_coll_detach(&set->team);
        stp_coll_release_slot(set->team.slot);
        free(set);
    }
}

void stp_active_set_forget(const void *base, size_t nbytes)
{
    if (__atomic_load_n(&active.n_sets, __ATOMIC_RELAXED) == 0) return;
    pthread_mutex_lock(&active.lock);
    for (size_t i = 0; i < ACTIVE_BUCKETS; i++)
        active_forget_bucket(&active.buckets[i], (uintptr_t)base, nbytes);
    pthread_mutex_unlock(&active.lock);
}
