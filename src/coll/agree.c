/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement between the members of a team about numbers that only the library sees: verdicts,
 * equal arguments, free slots. And the checks of collective arguments.
 */
#include "coll/coll.h"

#include <string.h>

void stp_coll_agree(struct stp_team *team, int64_t *values, size_t n_values)
{
    _Static_assert(STP_AGREE_MAX * sizeof(int64_t) <= COLL_SMALL, "agreement fits a cell");
    stp_coll_reduce(team, STP_MAX, STP_I64, values, values, n_values, "agreement");
}

/* Through the cells: everyone writes its own, and after a sync reads those of all others. */
void stp_coll_gather(struct stp_team *team, void *all, const void *mine, size_t nbytes)
{
    uint64_t sequence;
    struct stp_coll_cell *cell = stp_coll_take_cell(team, &sequence);

    memcpy(cell->in, mine, nbytes);
    stp_coll_sync(team);
    for (int rank = 0; rank < team->n_pes; rank++)
        stp_get_nbi(&stp_ctx_coll, (char *)all + (size_t)rank * nbytes, cell->in, nbytes,
                    stp_team_pe(team, rank), "collective");
    stp_coll_quiet();
}

size_t stp_coll_agree_index(struct stp_team *team, size_t (*find)(size_t from, void *arg),
                            void *arg)
{
    size_t from = 0;

    /* Everyone offers its lowest; when the highest of them is everyone's, it is free everywhere. */
    for (;;) {
        size_t mine = find(from, arg);
        int64_t offer = mine > INT64_MAX ? INT64_MAX : (int64_t)mine;
        int64_t range[2] = {offer, -offer}; /* maximum, and minimum negated */

        stp_coll_agree(team, range, 2);
        if (range[0] == INT64_MAX) return SIZE_MAX;
        if (range[0] == -range[1]) return (size_t)range[0];
        from = (size_t)range[0];
    }
}

void stp_coll_require(struct stp_team *team, const void *addr, size_t nbytes, const char *fn,
                      const char *argument)
{
    const struct stp_plan *plan = &team->plan;

    (void)stp_place_of(addr, nbytes, stp_rt.pe, fn, argument);
    for (int i = 0; i < plan->n_local; i++)
        if (STP_UNLIKELY(stp_peer(addr, plan->local_pes[i]) == NULL))
            stp_fatal_unshared(addr, plan->local_pes[i], fn);
}

void stp_coll_check_slow(struct stp_team *team, const void *dest, const void *source,
                         size_t dest_bytes, size_t source_bytes, const char *fn)
{
    for (int rank = 0; rank < team->n_pes; rank++) {
        int pe = stp_team_pe(team, rank);
        stp_check_range(dest, dest_bytes, pe, fn, "dest");
        stp_check_range(source, source_bytes, pe, fn, "source");
    }
}
