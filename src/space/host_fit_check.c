/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of several PEs of a host may take memory from the same place, for example a NUMA node. This
 * file checks whether the place has enough memory for all of them. Design: docs/design/kinds.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"

#include <stdlib.h>

/*
 * Gathers the claims (memory requests) of the members on this host. Returns the number of claims.
 * With SHMEM_NODE=off, the library treats each PE as a node. In this case, this function gathers
 * the claims of all members and keeps only the claims of members on this host.
 */
static int claims_gather(struct stp_team *team, struct stp_capacity_request *claims,
                         const struct stp_capacity_request *my_claim)
{
    int n = 0;

    if (stp_env.node) {
        stp_coll_gather_node(team, claims, my_claim, sizeof(*my_claim));
        return team->plan.n_local;
    }
    stp_coll_gather(team, claims, my_claim, sizeof(*my_claim));
    for (int rank = 0; rank < team->n_pes; rank++)
        if (claims[rank].host == my_claim->host) claims[n++] = claims[rank];
    return n;
}

int stp_space_check_host_fit(struct stp_space *space, struct stp_team *team,
                             const struct stp_space_params *params, const char *fn)
{
    struct stp_capacity_request my_claim = {.pe = stp_rt.pe, .host = stp_host_of(stp_rt.pe)},
                                *claims;
    int rc;

    if (space->kind->claim == NULL) return 0;
    claims = malloc((size_t)team->n_pes * sizeof(*claims));
    if (claims == NULL)
        stp_fatal(fn, "out of memory: cannot allocate the memory requests of a team of size %d",
                  team->n_pes);
    space->kind->claim(params, &my_claim);
    rc = space->kind->admit_all(space, claims, claims_gather(team, claims, &my_claim), &my_claim);
    free(claims);
    return rc;
}
