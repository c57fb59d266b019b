/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast and reductions when dest or source is device memory, or both: data moves by the
 * library's own puts and gets, which know every kind and path, and is reduced on the host; or by
 * the device, where that reaches all of it.
 * Design: docs/design/collectives.md.
 */
#include "area.h"

#include <stdlib.h>
#include <string.h>

/*
 * A binomial tree of gets, a sync a round: in round k, ranks (from the root) 2^k .. 2^(k+1) - 1
 * read what rank - 2^k has.
 */
int stp_coll_device_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                              int root, const char *fn)
{
    int n = team->n_pes, rank = (team->rank - root + n) % n;

    stp_coll_sync(team); /* the root's source is ready, and every dest may be written */
    for (int step = 1; step < n; step <<= 1) {
        int from = rank - step;
        if (rank >= step && rank < 2 * step)
            stp_get(&stp_ctx_coll, dest, from == 0 ? source : dest, nbytes,
                    stp_team_pe(team, (from + root) % n), fn);
        stp_coll_sync(team);
    }
    if (rank == 0 && !team->active_set) stp_copy_any(dest, source, nbytes, fn);
    return 0;
}

struct device_reduce {
    struct stp_team *team;
    enum stp_op op;
    enum stp_dtype dtype;
    size_t size; /* of an element */
    const char *fn;
};

/* Elements at .. at + n: from every member in rank order, then to every member. */
static void reduce_block(const struct device_reduce *r, char *dest, const char *source, size_t n,
                         char *acc, char *theirs)
{
    size_t nbytes = n * r->size;

    for (int rank = 0; rank < r->team->n_pes; rank++) {
        char *into = rank == 0 ? acc : theirs;
        stp_get(&stp_ctx_coll, into, source, nbytes, stp_team_pe(r->team, rank), r->fn);
        if (rank > 0) stp_op_reduce(r->op, r->dtype, acc, theirs, n);
    }
    for (int rank = 0; rank < r->team->n_pes; rank++)
        stp_put(&stp_ctx_coll, dest, acc, nbytes, stp_team_pe(r->team, rank), r->fn);
}

/* My share from every member in rank order, then to every member, by way of the host. */
static void reduce_on_host(const struct device_reduce *r, char *dest, const char *source,
                           size_t nelems)
{
    size_t room = STP_BOUNCE_BYTES / 2 / r->size;
    char *buffer = malloc(STP_BOUNCE_BYTES); /* not one that transfers may need to go on */

    if (buffer == NULL) stp_fatal(r->fn, "no memory for a buffer of %zu bytes", STP_BOUNCE_BYTES);
    for (size_t at = 0, n; at < nelems; at += n) {
        n = nelems - at < room ? nelems - at : room;
        reduce_block(r, dest + at * r->size, source + at * r->size, n, buffer,
                     buffer + STP_BOUNCE_BYTES / 2);
    }
    free(buffer);
}

/* Where a device of mine may find a member's bytes, NULL: nowhere. */
static char *reduce_reach(const struct device_reduce *r, const void *addr, size_t nbytes, int rank,
                          const char *argument)
{
    struct stp_target target = stp_locate(&stp_ctx_coll, addr, nbytes, stp_team_pe(r->team, rank),
                                          STP_USE_COPY, r->fn, argument);

    return target.way == STP_WAY_DEVICE ? target.there : NULL;
}

/*
 * False: it cannot, and nothing was written. Each member decides for its share, which nobody else
 * computes: bits do not depend on it.
 */
static bool reduce_on_device(const struct device_reduce *r, char *dest, const char *source,
                             size_t nelems)
{
    const struct stp_kind *kind = stp_device_of(dest);
    struct stp_reduction reduction;

    if (kind == NULL || stp_device_of(source) != kind || r->team->n_pes > STP_REDUCTION_PARTS)
        return false;
    reduction.op = r->op;
    reduction.dtype = r->dtype;
    reduction.nelems = nelems;
    reduction.n = r->team->n_pes;
    for (int rank = 0; rank < reduction.n; rank++) {
        reduction.sources[rank] = reduce_reach(r, source, nelems * r->size, rank, "source");
        reduction.dests[rank] = reduce_reach(r, dest, nelems * r->size, rank, "dest");
        if (reduction.sources[rank] == NULL || reduction.dests[rank] == NULL) return false;
    }
    return stp_copy_reduce(&stp_ctx_coll, kind, &reduction, r->fn);
}

/*
 * Every member reduces its share for all. A share is read by its member alone, before it is
 * written, so source may be dest.
 */
int stp_coll_device_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                           const void *source, size_t nreduce, const char *fn)
{
    struct device_reduce r = {team, op, dtype, stp_dtype_size(dtype), fn};
    size_t share = (nreduce + (size_t)team->n_pes - 1) / (size_t)team->n_pes;
    size_t at = share * (size_t)team->rank;
    size_t n = at >= nreduce ? 0 : nreduce - at < share ? nreduce - at : share;
    char *to = (char *)dest + at * r.size;
    const char *from = (const char *)source + at * r.size;

    stp_coll_sync(team); /* every source is ready */
    if (n > 0 && !reduce_on_device(&r, to, from, n)) reduce_on_host(&r, to, from, n);
    stp_coll_quiet();
    stp_coll_sync(team); /* every share is written */
    return 0;
}
