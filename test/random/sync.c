/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: the syncs between phases, after which every PE knows that all others have
 * arrived. Some are routines of the library. The others are made of words and waits, as programs do
 * it: each PE informs all others, or some in rounds, that it has arrived for the k-th time, and
 * waits for theirs. Each word has one writer and only grows.
 */
#include "random.h"

#include <sched.h>

enum way {
    BARRIER_ALL,
    SYNC_ALL,
    ACTIVE_BARRIER, /* of the world: one strand alone */
    TEAM_SYNC,
    SIGNAL_SET,
    SIGNAL_ADD,
    PUT_SIGNAL,
    COUNTER,
    DISSEMINATION,
    WORDS, /* of a type, set by some routine, waited for by some routine */
    N_WAYS = WORDS + 6
};

static const char *const way_names[N_WAYS] = {
    "barrier_all", "sync_all",   "barrier of the active set",
    "team_sync",   "signal_set", "signal_add",
    "put_signal",  "counter",    "dissemination",
    "words",       "words",      "words",
    "words",       "words",      "words",
};

enum { WORD_TYPES = 16, ROUNDS = 8 };

struct rnd_sync {
    int n_types, types[WORD_TYPES];
    uint64_t epochs[N_WAYS + WORD_TYPES]; /* how often each way was gone */
    uint64_t *words;                      /* WORD_TYPES arrays of a word a PE */
    uint64_t *set, *add, *data, *counter, *rounds;
    uint64_t *from; /* local source of data */
    long *psync;
};

struct rnd_sync *rnd_sync_init(const struct rnd *r)
{
    struct rnd_sync *s = calloc(1, sizeof(*s));
    size_t n = (size_t)r->n_pes;

    for (int i = 0; i < rnd_n_types && s->n_types < WORD_TYPES; i++)
        if (rnd_types[i].call[RND_WAIT_ALL] != NULL) s->types[s->n_types++] = i;
    s->words = shmem_calloc((size_t)WORD_TYPES * n, sizeof(uint64_t));
    s->set = shmem_calloc(4 * n + 1 + ROUNDS, sizeof(uint64_t));
    s->add = s->set + n;
    s->data = s->add + n;
    s->from = s->data + n;
    s->counter = s->from + n;
    s->rounds = s->counter + 1;
    s->psync = shmem_calloc(SHMEM_BARRIER_SYNC_SIZE, sizeof(long));
    return s;
}

void rnd_sync_fini(struct rnd_sync *s)
{
    shmem_free(s->words);
    shmem_free(s->set);
    shmem_free(s->psync);
    free(s);
}

int rnd_sync_draw(struct rnd *r)
{
    int kind = (int)rnd_below(&r->rng, N_WAYS);

    return kind < TEAM_SYNC && r->strand != 0 ? TEAM_SYNC : kind;
}

bool rnd_sync_quiets(int kind)
{
    return kind == BARRIER_ALL || kind == ACTIVE_BARRIER;
}

const char *rnd_sync_name(int kind)
{
    return way_names[kind];
}

/* ---- telling ------------------------------------------------------------------------ */

/* The word of this PE for type, on PE pe, becomes epoch. */
static void set_word(struct rnd *r, int slot, uint64_t epoch, int pe, uint64_t how)
{
    static const enum rnd_kind kinds[] = {RND_A_SET, RND_A_SWAP, RND_A_INC, RND_A_FADD, RND_P};
    const struct rnd_type *type = &rnd_types[r->sync->types[slot]];
    struct rnd_call c = {.ctx = SHMEM_CTX_DEFAULT, .plain = how & 1, .pe = pe};
    enum rnd_kind kind = kinds[how / 2 % 5];
    uint64_t old;

    c.dest = (char *)(r->sync->words + slot * r->n_pes) + (size_t)r->me * type->size;
    c.value = kind == RND_A_FADD ? 1 : epoch;
    c.source = &c.value;
    c.result = &old;
    type->call[kind](&c);
}

static void tell(struct rnd *r, int kind, int slot, uint64_t epoch, uint64_t how)
{
    struct rnd_sync *s = r->sync;

    s->from[0] = epoch;
    for (int i = 1; i <= r->n_pes; i++) {
        int pe = (r->me + i) % r->n_pes;

        if (kind == SIGNAL_SET)
            shmem_signal_set(&s->set[r->me], epoch, pe);
        else if (kind == SIGNAL_ADD)
            shmem_signal_add(&s->add[r->me], 1, pe);
        else if (kind == PUT_SIGNAL)
            shmem_uint64_put_signal(&s->data[r->me], s->from, how & 1, &s->set[r->me], epoch,
                                    SHMEM_SIGNAL_SET, pe);
        else if (kind == COUNTER)
            shmem_uint64_atomic_inc(s->counter, pe);
        else
            set_word(r, slot, epoch, pe, how);
    }
}

/* ---- waiting --------------------------------------------------------------------------- */

static void wait_signals(struct rnd *r, const struct rnd_op *op, uint64_t *words, uint64_t epoch)
{
    for (int pe = 0; pe < r->n_pes; pe++) {
        uint64_t got = shmem_signal_wait_until(&words[pe], SHMEM_CMP_GE, epoch);

        if (got < epoch || got > epoch + 1)
            rnd_fail(r, op, "the signal word of pe %d is %lu, expected %lu or one more", pe, got,
                     epoch);
    }
}

/* By any or some: each PE is found once. */
static void wait_found(struct rnd *r, const struct rnd_op *op, const struct rnd_type *type,
                       enum rnd_kind kind, struct rnd_call c)
{
    int status[RND_MAX_PES] = {0}, left = r->n_pes;
    bool some = kind == RND_WAIT_SOME || kind == RND_TEST_SOME;
    size_t indices[RND_MAX_PES];

    c.status = status;
    c.indices = indices;
    while (left > 0) {
        long long found;

        type->call[kind](&c);
        if (!some) indices[0] = (size_t)c.rc;
        found = some ? c.rc : c.rc != -1;
        if (found == 0 && (kind == RND_WAIT_ANY || kind == RND_WAIT_SOME))
            rnd_fail(r, op, "a wait returned without a word, %d words are not yet found", left);
        for (long long i = 0; i < found; i++, left--) {
            if (indices[i] >= (size_t)r->n_pes || status[indices[i]])
                rnd_fail(r, op, "index %zu is out of range or was returned before", indices[i]);
            status[indices[i]] = 1;
        }
    }
}

static void wait_words(struct rnd *r, const struct rnd_op *op, int slot, uint64_t epoch)
{
    static const enum rnd_kind kinds[] = {RND_WAIT,      RND_TEST,     RND_WAIT_ALL, RND_WAIT_ANY,
                                          RND_WAIT_SOME, RND_TEST_ALL, RND_TEST_ANY, RND_TEST_SOME};
    static const int cmps[] = {SHMEM_CMP_GE, SHMEM_CMP_GT, SHMEM_CMP_NE};
    const struct rnd_type *type = &rnd_types[r->sync->types[slot]];
    enum rnd_kind kind = kinds[op->value / 64 % 8];
    char *words = (char *)(r->sync->words + slot * r->n_pes);
    struct rnd_call c = {.dest = words, .n = (size_t)r->n_pes, .vector = op->value / 512 % 2};
    unsigned char values[RND_MAX_PES * 8];

    c.cmp = cmps[op->value / 1024 % 3];
    c.value = c.cmp == SHMEM_CMP_GE ? epoch : epoch - 1;
    c.source = values;
    for (int pe = 0; pe < r->n_pes; pe++)
        memcpy(values + (size_t)pe * type->size, &c.value, type->size);
    if (kind >= RND_WAIT_ALL && kind != RND_WAIT_ALL && kind != RND_TEST_ALL) {
        wait_found(r, op, type, kind, c);
    } else if (kind == RND_WAIT_ALL || kind == RND_TEST_ALL) {
        do
            type->call[kind](&c);
        while (kind == RND_TEST_ALL && c.rc == 0);
    } else {
        for (int pe = 0; pe < r->n_pes; pe++, c.dest = (char *)c.dest + type->size) {
            do
                type->call[kind](&c);
            while (kind == RND_TEST && c.rc == 0);
        }
    }
}

/* ---- ways -------------------------------------------------------------------------------- */

/* Rounds k = 0, 1, ...: tell the PE 2^k further on. */
static void disseminate(struct rnd *r, uint64_t epoch)
{
    struct rnd_sync *s = r->sync;

    for (int k = 0; 1 << k < r->n_pes; k++) {
        shmem_signal_set(&s->rounds[k], epoch, (r->me + (1 << k)) % r->n_pes);
        shmem_signal_wait_until(&s->rounds[k], SHMEM_CMP_GE, epoch);
    }
}

static void by_words(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_sync *s = r->sync;
    int slot = (int)(op->value / 4096 % (uint64_t)s->n_types);
    int number = op->arg < WORDS ? op->arg : WORDS + slot;
    uint64_t epoch;

    if (number == PUT_SIGNAL) number = SIGNAL_SET; /* the same words */
    epoch = ++s->epochs[number];
    shmem_fence(); /* behind what this way wrote the last time */
    if (op->arg == DISSEMINATION) {
        disseminate(r, epoch);
        return;
    }
    tell(r, op->arg, slot, epoch, op->value);
    if (number == SIGNAL_SET)
        wait_signals(r, op, s->set, epoch);
    else if (number == SIGNAL_ADD)
        wait_signals(r, op, s->add, epoch);
    else if (number == COUNTER)
        shmem_uint64_wait_until(s->counter, SHMEM_CMP_GE, epoch * (uint64_t)r->n_pes);
    else
        wait_words(r, op, slot, epoch);
}

void rnd_sync_run(struct rnd *r, const struct rnd_op *op)
{
    switch (op->arg) {
    case BARRIER_ALL:
        shmem_barrier_all();
        break;
    case SYNC_ALL:
        shmem_sync_all();
        break;
    case ACTIVE_BARRIER:
        shmem_barrier(0, 0, r->n_pes, r->sync->psync);
        break;
    case TEAM_SYNC:
        if (shmem_team_sync(r->teams[0].handle) != 0)
            rnd_fail(r, op, "shmem_team_sync did not return 0");
        break;
    default:
        by_words(r, op);
    }
}
