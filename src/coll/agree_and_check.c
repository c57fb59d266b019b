/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets the members of a team agree on internal numbers, such as error flags and free slots. Also
 * checks the arguments of collectives.
 */
#include "coll_internal.h"

#include <stdio.h>
#include <string.h>

void stp_coll_agree(struct stp_team *team, int64_t *values, size_t n_values)
{
    _Static_assert(STP_AGREE_MAX * sizeof(int64_t) <= COLL_SMALL, "agreement fits a cell");
    stp_coll_reduce_unchecked(team, STP_MAX, STP_I64, values, values, n_values, "agreement");
}

void stp_coll_gather(struct stp_team *team, void *dest, const void *source, size_t nbytes)
{
    stp_coll_gather_part(team, dest, source, nbytes, 0, nbytes);
}

void stp_coll_gather_node(struct stp_team *team, void *dest, const void *source, size_t nbytes)
{
    const struct stp_team_hierarchy *plan = &team->plan;
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(team, &sequence);

    memcpy(cell->in, source, nbytes);
    stp_coll_node_sync(team);
    for (int i = 0; i < plan->n_local; i++) {
        const struct stp_coll_cell *peer_cell = stp_ptr(cell, plan->local_pes[i]);
        memcpy((char *)dest + (size_t)i * nbytes, peer_cell->in, nbytes);
    }
}

size_t stp_coll_agree_index(struct stp_team *team, size_t (*find)(size_t start, void *arg),
                            void *arg)
{
    size_t start = 0;

    /*
     * If all members offer the same lowest free index, this index is free on every PE. Otherwise
     * all members search again from the highest offer.
     */
    for (;;) {
        size_t index = find(start, arg);
        int64_t offer = index > INT64_MAX ? INT64_MAX : (int64_t)index;
        /*
         * The agreement replaces each value by its maximum over all members. The first value then
         * is the highest offer. The second value was negated, so its negative is the lowest offer.
         */
        int64_t range[2] = {offer, -offer};

        stp_coll_agree(team, range, 2);
        if (range[0] == INT64_MAX) return SIZE_MAX;
        if (range[0] == -range[1]) return (size_t)range[0];
        start = (size_t)range[0];
    }
}

#define SEARCH_PASSES 10000

void stp_coll_index_search_begin(struct stp_coll_index_search *search, struct stp_team *team,
                                 bool (*freed_since)(unsigned *seen))
{
    *search = (struct stp_coll_index_search){.team = team, .freed_since = freed_since};
    (void)freed_since(&search->seen);
}

bool stp_coll_index_agree_retry(struct stp_coll_index_search *search, bool began_further_up)
{
    int64_t retry = search->freed_since(&search->seen) || began_further_up;

    stp_coll_agree(search->team, &retry, 1);
    if (!retry || ++search->passes == SEARCH_PASSES) return false;
    stp_yield_or_sleep(0);
    return true;
}

size_t stp_coll_index_retry_distance(const struct stp_coll_index_search *search)
{
    return 1 + search->team->slot % 16;
}

void stp_coll_require_node_loadable(struct stp_team *team, const void *addr, size_t nbytes,
                                    const char *fn, const char *argument)
{
    const struct stp_team_hierarchy *plan = &team->plan;

    (void)stp_symmetric(addr, nbytes, stp_rt.pe, NULL, fn, argument);
    for (int i = 0; i < plan->n_local; i++)
        if (STP_UNLIKELY(stp_ptr(addr, plan->local_pes[i]) == NULL))
            stp_fatal_global_unreachable(addr, plan->local_pes[i], fn);
}

/*
 * Returns the lowest rank that passed true, or n_pes if every rank passed false. The result is the
 * same on all members.
 */
static int check_first(struct stp_team *team, bool is_true)
{
    int64_t first = is_true ? -(int64_t)team->rank : -(int64_t)team->n_pes;

    stp_coll_agree(team, &first, 1);
    return (int)-first;
}

/*
 * Ends the job if addr is in different spaces on different members. Members that pass 0 bytes are
 * not checked. The error message names the first checked member, and the first member whose addr is
 * in another space.
 */
static void check_same_space(struct stp_team *team, const void *addr, size_t nbytes, const char *fn,
                             const char *argument)
{
    int64_t my_space = -1, space;
    int first_rank, other_rank;

    if (nbytes > 0) my_space = stp_symmetric(addr, 0, stp_rt.pe, NULL, fn, argument)->number;
    first_rank = check_first(team, my_space >= 0);
    if (first_rank == team->n_pes) return;
    space = team->rank == first_rank ? my_space : INT64_MIN;
    stp_coll_agree(team, &space, 1);
    other_rank = check_first(team, my_space >= 0 && my_space != space);
    if (other_rank == team->n_pes) return;
    stp_fatal(
        fn,
        "%s is in space %lld on PE %d, but in another space on PE %d (this PE passed %p): all "
        "members must pass addresses in the same space",
        argument, (long long)space, stp_team_pe(team, first_rank), stp_team_pe(team, other_rank),
        addr);
}

int stp_coll_find_differing(struct stp_team *team, const int64_t *my_values, size_t n_values,
                            int64_t *values_of_rank0, int64_t *differing_values)
{
    int rank;

    for (size_t i = 0; i < n_values; i++)
        values_of_rank0[i] = team->rank == 0 ? my_values[i] : INT64_MIN;
    stp_coll_agree(team, values_of_rank0, n_values);
    rank = check_first(team, memcmp(values_of_rank0, my_values, n_values * sizeof(int64_t)) != 0);
    if (rank == team->n_pes) return rank;
    for (size_t i = 0; i < n_values; i++)
        differing_values[i] = team->rank == rank ? my_values[i] : INT64_MIN;
    stp_coll_agree(team, differing_values, n_values);
    return rank;
}

void stp_coll_check_call_slow(struct stp_team *team, const char *fn,
                              const struct stp_coll_argument *arguments)
{
    enum { NAME = 8, N = NAME + STP_COLL_ARGUMENTS }; /* the name of the routine has 8 words */
    int64_t mine[N] = {0}, rank0[N], other[N];
    int i, rank, pe0 = stp_team_pe(team, 0);

    /* On the world team, shmem_sync_all() and shmem_team_sync() are the same collective. */
    snprintf((char *)mine, NAME * sizeof(*mine), "%s",
             strstr(fn, "sync") != NULL ? "a sync routine" : stp_public_name(fn));
    for (i = NAME; i < N; i++)
        mine[i] = arguments[i - NAME].value;
    rank = stp_coll_find_differing(team, mine, N, rank0, other);
    if (rank == team->n_pes) return;
    if (strcmp((char *)rank0, (char *)other) != 0)
        stp_fatal(fn, "PE %d calls %s, but PE %d calls %s: all members must call the same routine",
                  pe0, (char *)rank0, stp_team_pe(team, rank), (char *)other);
    for (i = NAME; rank0[i] == other[i];)
        i++;
    stp_fatal(fn, "%s is %lld on PE %d and %lld on PE %d: all members must pass the same value",
              arguments[i - NAME].name, (long long)rank0[i], pe0, (long long)other[i],
              stp_team_pe(team, rank));
}

void stp_coll_check_buffers_across_pes_slow(struct stp_team *team, const void *dest,
                                            const void *source, size_t dest_bytes,
                                            size_t source_bytes, const char *fn)
{
    check_same_space(team, dest, dest_bytes, fn, "dest");
    check_same_space(team, source, source_bytes, fn, "source");
    for (int rank = 0; rank < team->n_pes; rank++) {
        int pe = stp_team_pe(team, rank);
        if (dest_bytes > 0) (void)stp_symmetric(dest, dest_bytes, pe, NULL, fn, "dest");
        if (source_bytes > 0) (void)stp_symmetric(source, source_bytes, pe, NULL, fn, "source");
    }
}
