/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the plan of a team. The plan lists the members by node, the leaders of the nodes, and the
 * members on this PE's node. Design: docs/design/collectives.md.
 */
#include "coll_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int stp_coll_group_of(const struct stp_team *team, int rank)
{
    int node = stp_node_of(stp_team_pe(team, rank));
    int group = 0;

    if (team->plan.n_groups == 1) return 0;
    while (stp_node_of(team->plan.leaders[group]) != node)
        group++;
    return group;
}

/* Records the leaders of all nodes and the members of this node, in one walk over the ranks. */
static void plan_fill(struct stp_team *team, int *group_of_node)
{
    struct stp_team_hierarchy *plan = &team->plan;
    int my_node = stp_node_of(stp_rt.pe);

    for (int rank = 0; rank < team->n_pes; rank++) {
        int pe = stp_team_pe(team, rank);
        int node = stp_node_of(pe);
        if (group_of_node[node] < 0) {
            group_of_node[node] = plan->n_groups;
            plan->leaders[plan->n_groups++] = pe;
        }
        if (node != my_node) continue;
        if (pe == stp_rt.pe) plan->local = plan->n_local;
        plan->local_ranks[plan->n_local] = rank;
        plan->local_pes[plan->n_local++] = pe;
    }
    plan->group = group_of_node[my_node];
}

/*
 * Sorts the ranks by group, and in ascending order within each group. The entry first[group + 1] is
 * used in three ways. At first it counts the members of the group. Then it is the place for the
 * next rank of the group. In the end it is the place where the next group begins.
 */
static void plan_sort(struct stp_team *team, const int *group_of_node)
{
    struct stp_team_hierarchy *plan = &team->plan;
    int n_before = 0;

    memset(plan->first, 0, ((size_t)plan->n_groups + 1) * sizeof(*plan->first));
    for (int rank = 0; rank < team->n_pes; rank++)
        plan->first[group_of_node[stp_node_of(stp_team_pe(team, rank))] + 1]++;
    for (int group = 0; group < plan->n_groups; group++) {
        int n = plan->first[group + 1];

        if (n > plan->max_local) plan->max_local = n;
        plan->first[group + 1] = n_before;
        n_before += n;
    }
    for (int rank = 0; rank < team->n_pes; rank++) {
        int group = group_of_node[stp_node_of(stp_team_pe(team, rank))];

        plan->order[plan->first[group + 1]++] = rank;
    }
}

int stp_coll_hierarchy_make(struct stp_team *team)
{
    struct stp_team_hierarchy *plan = &team->plan;
    size_t n_nodes = (size_t)stp_rt.n_nodes, n_pes = (size_t)team->n_pes;
    size_t n_leaders = n_nodes < n_pes ? n_nodes : n_pes;
    int *group_of_node = malloc(n_nodes * sizeof(*group_of_node));
    bool sorted = n_nodes > 1 && n_pes <= COLL_CHUNK / sizeof(uint64_t);

    if (sorted) {
        plan->order = malloc(n_pes * sizeof(*plan->order));
        plan->first = malloc((n_leaders + 1) * sizeof(*plan->first));
    }
    plan->leaders = malloc(n_leaders * sizeof(*plan->leaders));
    plan->local_pes = malloc(n_pes * sizeof(*plan->local_pes));
    plan->local_ranks = malloc(n_pes * sizeof(*plan->local_ranks));
    if (group_of_node == NULL || plan->leaders == NULL || plan->local_pes == NULL ||
        plan->local_ranks == NULL || (sorted && (plan->order == NULL || plan->first == NULL))) {
        free(group_of_node);
        return -ENOMEM;
    }
    memset(group_of_node, -1, n_nodes * sizeof(*group_of_node));
    plan_fill(team, group_of_node);
    if (sorted) plan_sort(team, group_of_node);
    free(group_of_node);
    plan->flat = plan->n_local <= stp_rt.host_cores && plan->n_local <= 1 << COLL_FLAT_ROUNDS;
    plan->sleeps =
        !plan->flat || (plan->n_groups > 1 && stp_rt.has_fabric && stp_rt.fabric.needs_syscalls);
    return 0;
}

void stp_coll_hierarchy_free(struct stp_team *team)
{
    free(team->plan.leaders);
    free(team->plan.local_pes);
    free(team->plan.local_ranks);
    free(team->plan.order);
    free(team->plan.first);
    memset(&team->plan, 0, sizeof(team->plan));
}
