/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements broadcast and reductions if dest or source is in device memory. The library's own puts
 * and gets move the data, because they support every kind of memory and every path. A device
 * reduces the data if it can access all of the data. Otherwise the host reduces the data. Scans use
 * the same functions. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <stdlib.h>

/*
 * Broadcasts by a binomial tree. The members read the data with gets, and sync after each round.
 * Ranks are counted from the root. In round k, each of the ranks 2^k to 2^(k+1) - 1 reads the data
 * of the rank that is 2^k lower.
 */
int stp_coll_device_broadcast(struct stp_team *team, void *dest, const void *source, size_t nbytes,
                              int root, const char *fn)
{
    int n = team->n_pes, rank = (team->rank - root + n) % n;

    stp_coll_check_ends(dest, source, nbytes, nbytes, fn);
    /* After this sync the root's source is ready, and every dest may be written. */
    stp_coll_sync(team);
    for (int step = 1; step < n; step <<= 1) {
        int from_rank = rank - step;
        if (rank >= step && rank < 2 * step)
            stp_get(&stp_ctx_coll, dest, from_rank == 0 ? source : dest, nbytes,
                    stp_team_pe(team, (from_rank + root) % n), fn);
        stp_coll_sync(team);
    }
    if (rank == 0 && !team->active_set) stp_copy_any(dest, source, nbytes, fn);
    return 0;
}

/* ---- shares ----------------------------------------------------------------------------- */

/*
 * Reduces n elements of every member in rank order. The argument index is the index of the first of
 * these elements. Writes the results to every member.
 */
static void share_block(const struct stp_coll_slice *s, size_t index, size_t n, char *acc,
                        char *received)
{
    size_t nbytes = n * s->size;

    for (int rank = 0; rank < s->team->n_pes; rank++) {
        char *buffer = rank == 0 ? acc : received;
        stp_get(s->ctx, buffer, s->source + index * s->size, nbytes, stp_team_pe(s->team, rank),
                s->fn);
        if (rank > 0) stp_op_reduce(s->op, s->dtype, acc, received, n);
    }
    for (int rank = 0; rank < s->team->n_pes; rank++)
        stp_put(s->ctx, s->dest + index * s->size, acc, nbytes, stp_team_pe(s->team, rank), s->fn);
}

void stp_coll_slice_on_host(const struct stp_coll_slice *s)
{
    size_t room = STP_BOUNCE_BYTES / 2 / s->size;
    char *buffer;

    if (s->nelems == 0) return;
    /* Do not use a bounce buffer, because the transfers below may need the bounce buffers. */
    buffer = malloc(STP_BOUNCE_BYTES);
    if (buffer == NULL)
        stp_fatal(s->fn, "out of memory: cannot allocate a buffer of %zu bytes", STP_BOUNCE_BYTES);
    for (size_t index = 0, n; index < s->nelems; index += n) {
        n = s->nelems - index < room ? s->nelems - index : room;
        share_block(s, index, n, buffer, buffer + STP_BOUNCE_BYTES / 2);
    }
    free(buffer);
}

/*
 * Returns the address at which this PE's device can access the elements of a member. Returns NULL
 * if the device cannot access them.
 */
static char *share_reach(const struct stp_coll_slice *s, const void *addr, int rank,
                         const char *argument)
{
    struct stp_target target =
        stp_locate(s->ctx, addr, s->nelems * s->size, stp_team_pe(s->team, rank), STP_USE_COPY,
                   s->fn, argument);

    return target.path == STP_PATH_DEVICE ? target.addr : NULL;
}

const struct stp_kind *stp_coll_slice_parts(const struct stp_coll_slice *s,
                                            struct stp_reduction *parts)
{
    const struct stp_kind *kind = stp_device_of(s->dest);

    if (s->nelems == 0 || kind == NULL || stp_device_of(s->source) != kind || s->team->n_pes < 2 ||
        s->team->n_pes > STP_REDUCTION_PARTS)
        return NULL;
    parts->op = s->op;
    parts->span = s->span;
    parts->dtype = s->dtype;
    parts->nelems = s->nelems;
    parts->n = s->team->n_pes;
    for (int rank = 0; rank < parts->n; rank++) {
        parts->sources[rank] = share_reach(s, s->source, rank, "source");
        parts->dests[rank] = share_reach(s, s->dest, rank, "dest");
        if (parts->sources[rank] == NULL || parts->dests[rank] == NULL) return NULL;
    }
    return kind;
}

bool stp_coll_slice_try_on_device(const struct stp_coll_slice *s)
{
    struct stp_reduction parts;
    const struct stp_kind *kind = stp_coll_slice_parts(s, &parts);

    return kind != NULL && stp_copy_reduce(s->ctx, kind, &parts, s->fn);
}

/* ---- reductions ------------------------------------------------------------------------- */

struct stp_coll_slice stp_coll_slice_of(struct stp_ctx *ctx, struct stp_team *team, enum stp_op op,
                                        enum stp_dtype dtype, void *dest, const void *source,
                                        size_t nreduce, const char *fn)
{
    size_t size = stp_dtype_size(dtype);
    size_t share = (nreduce + (size_t)team->n_pes - 1) / (size_t)team->n_pes;
    size_t index = share * (size_t)team->rank;

    if (index > nreduce) index = nreduce;
    return (struct stp_coll_slice){.ctx = ctx,
                                   .team = team,
                                   .op = op,
                                   .dtype = dtype,
                                   .size = size,
                                   .dest = (char *)dest + index * size,
                                   .source = (const char *)source + index * size,
                                   .nelems = nreduce - index < share ? nreduce - index : share,
                                   .fn = fn};
}

/* Every member reduces its share of the vector for all members. */
int stp_coll_device_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, void *dest,
                           const void *source, size_t nreduce, const char *fn)
{
    struct stp_coll_slice share =
        stp_coll_slice_of(&stp_ctx_coll, team, op, dtype, dest, source, nreduce, fn);

    stp_coll_check_ends(dest, source, nreduce * share.size, nreduce * share.size, fn);
    stp_coll_sync(team); /* after this sync every source is ready */
    if (!stp_coll_slice_try_on_device(&share)) stp_coll_slice_on_host(&share);
    stp_coll_quiet();
    stp_coll_sync(team); /* after this sync every share is written */
    return 0;
}
