/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes one team collective of any kind as a value of struct coll. The functions fill its
 * source, make the call, predict the contents of dest on each member, and compare dest with the
 * prediction. The comparison includes guard elements after the end of dest and the gaps of
 * alltoalls.
 */
#ifndef STEPPE_TEST_PE_COLL_H
#define STEPPE_TEST_PE_COLL_H

#include "pe_teams.h"

enum coll_kind {
    COLL_BROADCAST,
    COLL_COLLECT,
    COLL_FCOLLECT,
    COLL_ALLTOALL,
    COLL_ALLTOALLS,
    COLL_SUM,
    COLL_MAX,
    COLL_N_KINDS,
    COLL_INSCAN = COLL_N_KINDS, /* kinds that not all programs run */
    COLL_EXSCAN,
    COLL_ALL_KINDS
};

enum {
    COLL_LARGE = 300, /* elements: no longer a small message anywhere */
    COLL_DST = 3,     /* strides of alltoalls */
    COLL_SST = 2,
    COLL_MAX_PES = 32,
    COLL_STATIC = 2000 * COLL_DST,
    COLL_GUARD = -77,
    COLL_POISON = -1000000
};

/* Elements that any collective of n members needs, guards and small offsets included. */
#define COLL_ROOM(n) ((size_t)COLL_LARGE * COLL_DST * (size_t)(n) + 16)

static const char *const coll_name[COLL_ALL_KINDS] = {"broadcast",  "collect",    "fcollect",
                                                      "alltoall",   "alltoalls",  "sum_reduce",
                                                      "max_reduce", "sum_inscan", "sum_exscan"};

struct coll {
    enum coll_kind kind;
    size_t n; /* elements a member, a block of alltoall; collect: at most */
    int root;
    unsigned salt; /* makes the values of this one its own */
    long *dest, *source;
};

/* Element i of what a PE of the world brings. */
static inline long coll_value(const struct coll *c, int world, size_t i)
{
    return (long)((c->salt * 7919u + (unsigned)world * 104729u + (unsigned)i * 31u) % 100003u);
}

/* How many elements a member brings to a collect: some none, some all. */
static inline size_t coll_count(const struct coll *c, int rank)
{
    return c->kind == COLL_COLLECT ? (c->n + (size_t)rank * (c->n / 2 + 1)) % (c->n + 1) : c->n;
}

/* Elements of source and of dest that the collective has to do with on each member. */
static inline size_t coll_source_span(const struct pe_team *t, const struct coll *c)
{
    if (c->kind == COLL_ALLTOALLS) return c->n * (size_t)t->n * COLL_SST;
    return c->kind == COLL_ALLTOALL ? c->n * (size_t)t->n : c->n;
}

static inline size_t coll_dest_span(const struct pe_team *t, const struct coll *c)
{
    if (c->kind == COLL_ALLTOALLS) return c->n * (size_t)t->n * COLL_DST;
    if (c->kind == COLL_BROADCAST || c->kind >= COLL_SUM) return c->n;
    return c->n * (size_t)t->n;
}

/* Neither has anything of use in it. */
static inline void coll_poison(const struct pe_team *t, const struct coll *c)
{
    for (size_t i = 0; i < coll_source_span(t, c); i++)
        c->source[i] = COLL_POISON - (long)i;
    for (size_t i = 0; i < coll_dest_span(t, c) + 2; i++)
        c->dest[i] = COLL_GUARD;
}

/* Now source holds what this PE contributes; of alltoalls, every COLL_SST-th element. */
static inline void coll_bring(const struct pe_team *t, const struct coll *c)
{
    size_t stride = c->kind == COLL_ALLTOALLS ? COLL_SST : 1;

    if (c->kind == COLL_BROADCAST && c->root != t->me) return;
    for (size_t i = 0; i < coll_source_span(t, c) / stride; i++)
        c->source[i * stride] = coll_value(c, pe_me, i);
}

static inline int coll_call(const struct pe_team *t, const struct coll *c)
{
    switch (c->kind) {
    case COLL_BROADCAST:
        return shmem_long_broadcast(t->team, c->dest, c->source, c->n, c->root);
    case COLL_COLLECT:
        return shmem_long_collect(t->team, c->dest, c->source, coll_count(c, t->me));
    case COLL_FCOLLECT:
        return shmem_long_fcollect(t->team, c->dest, c->source, c->n);
    case COLL_ALLTOALL:
        return shmem_long_alltoall(t->team, c->dest, c->source, c->n);
    case COLL_ALLTOALLS:
        return shmem_long_alltoalls(t->team, c->dest, c->source, COLL_DST, COLL_SST, c->n);
    case COLL_SUM:
        return shmem_long_sum_reduce(t->team, c->dest, c->source, c->n);
    case COLL_MAX:
        return shmem_long_max_reduce(t->team, c->dest, c->source, c->n);
    case COLL_INSCAN:
        return shmem_long_sum_inscan(t->team, c->dest, c->source, c->n);
    case COLL_EXSCAN:
        return shmem_long_sum_exscan(t->team, c->dest, c->source, c->n);
    case COLL_ALL_KINDS:
        break;
    }
    return -1;
}

static inline void coll_run(const struct pe_team *t, const struct coll *c)
{
    int rc = coll_call(t, c);

    PE_CHECK(rc == 0, "team %s: %s of %zu elements returned %d, expected 0", t->name,
             coll_name[c->kind], c->n, rc);
}

/* A reduction has a term of each member, a scan those before this member, and perhaps its own. */
static inline long coll_reduced(const struct pe_team *t, const struct coll *c, size_t i)
{
    int n = c->kind == COLL_INSCAN ? t->me + 1 : c->kind == COLL_EXSCAN ? t->me : t->n;
    long value = 0; /* no term is less */

    for (int rank = 0; rank < n; rank++) {
        long term = coll_value(c, pe_team_world(t, rank), i);

        if (c->kind != COLL_MAX)
            value += term;
        else if (term > value)
            value = term;
    }
    return value;
}

/* What dest holds afterwards, its guards included, in want; returns how much there is of it. */
static inline size_t coll_predict(const struct pe_team *t, const struct coll *c, long *want)
{
    size_t stride = c->kind == COLL_ALLTOALLS ? COLL_DST : 1, at = 0;
    size_t first = stride > 1 || c->kind == COLL_ALLTOALL ? (size_t)t->me * c->n : 0;

    for (size_t i = 0; i < coll_dest_span(t, c) + 2; i++)
        want[i] = COLL_GUARD;
    if (c->kind >= COLL_SUM) {
        for (; at < c->n; at++)
            want[at] = coll_reduced(t, c, at);
        return at + 2;
    }
    for (int rank = 0; rank < t->n; rank++) {
        if (c->kind == COLL_BROADCAST && rank != c->root) continue;
        for (size_t i = 0; i < coll_count(c, rank); i++, at += stride)
            want[at] = coll_value(c, pe_team_world(t, rank), first + i);
    }
    return coll_dest_span(t, c) + 2;
}

static inline void coll_verify(const struct pe_team *t, const struct coll *c, const char *what)
{
    static long want[COLL_ROOM(COLL_MAX_PES)];
    size_t n = coll_predict(t, c, want);

    PE_CHECK_EACH(size_t, i, n, c->dest[i] == want[i],
                  "team %s: %s: %s of %zu elements, root %d: dest element %zu is %ld, expected %ld",
                  t->name, what, coll_name[c->kind], c->n, c->root, i, c->dest[i], want[i]);
}

#endif
