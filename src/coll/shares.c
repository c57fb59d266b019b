/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large reductions between nodes: each leader reads its share of the vector from all leaders,
 * reduces it in the order of the tree and writes the result into every leader's dest.
 * Design: docs/design/collectives.md.
 */
#include "area.h"

#include <stdlib.h>
#include <string.h>

#define SHARES_MOST 64                  /* nodes: a leader meets all others */
#define SHARES_LEAST ((size_t)2048)     /* bytes of a share */
#define SHARES_BUFFER ((size_t)4 << 20) /* bytes held at once, of all nodes */

bool stp_coll_shares_use(const struct stp_team *team, size_t nbytes)
{
    size_t n = (size_t)team->plan.n_groups;

    return n > 1 && n <= SHARES_MOST && nbytes / n >= SHARES_LEAST;
}

/* slots: a block of each group, in their order. The sum of all is in the first then. */
static void shares_combine(const struct stp_plan *plan, enum stp_op op, enum stp_dtype dtype,
                           char *slots, size_t block, size_t n_elements)
{
    size_t n = (size_t)plan->n_groups;

    for (size_t mask = 1; mask < n; mask <<= 1)
        for (size_t group = 0; group + mask < n; group += 2 * mask)
            stp_op_reduce(op, dtype, slots + group * block, slots + (group + mask) * block,
                          n_elements);
}

/* nbytes at dest of all leaders, which nobody else reads or writes. */
static void shares_block(const struct stp_plan *plan, enum stp_op op, enum stp_dtype dtype,
                         char *dest, size_t nbytes, char *slots, const char *fn)
{
    int n = plan->n_groups;

    for (int i = 1; i < n; i++) {
        int group = (plan->group + i) % n;
        stp_get_nbi(&stp_ctx_coll, slots + (size_t)group * nbytes, dest, nbytes,
                    plan->leaders[group], fn);
    }
    memcpy(slots + (size_t)plan->group * nbytes, dest, nbytes);
    stp_coll_quiet();
    shares_combine(plan, op, dtype, slots, nbytes, nbytes / stp_dtype_size(dtype));
    for (int i = 1; i < n; i++)
        stp_put_nbi(&stp_ctx_coll, dest, slots, nbytes, plan->leaders[(plan->group + i) % n], fn);
    memcpy(dest, slots, nbytes);
    stp_coll_quiet();
}

void stp_coll_shares_reduce(struct stp_team *team, enum stp_op op, enum stp_dtype dtype, char *dest,
                            size_t nreduce, const char *fn)
{
    const struct stp_plan *plan = &team->plan;
    size_t size = stp_dtype_size(dtype), n = (size_t)plan->n_groups;
    size_t line = STP_CACHE_LINE / size;
    size_t share = (nreduce / n + line) / line * line;
    size_t at = share * (size_t)plan->group, end = at + share < nreduce ? at + share : nreduce;
    size_t room = SHARES_BUFFER / n / size < share ? SHARES_BUFFER / n / size : share;
    char *slots = malloc(n * room * size); /* not one that transfers may need to go on */

    if (slots == NULL) stp_fatal(fn, "no memory for a buffer of %zu bytes", n * room * size);
    for (size_t k; at < end; at += k) {
        k = end - at < room ? end - at : room;
        shares_block(plan, op, dtype, dest + at * size, k * size, slots, fn);
    }
    free(slots);
}
