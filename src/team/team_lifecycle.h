/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making teams and their end. Design: docs/design/teams.md.
 */
#ifndef STP_TEAM_LIFECYCLE_H
#define STP_TEAM_LIFECYCLE_H

#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

void stp_team_init(void);

/* At finalize: every context of every team, each with its quiet. */
void stp_team_destroy_ctxs(void);
void stp_team_fini(void);

/* Who the members of a team to be are: a stride, or a table that the new team takes over. */
struct stp_team_members {
    int n_pes;
    int rank; /* of this PE, -1: not a member */
    int start, stride;
    int *table;
};

/*
 * Make a team; collective over parent, where every PE passes the same verdict-relevant rc: any
 * nonzero rc on any PE makes all return nonzero. *team is NULL on failure and on PEs that are no
 * members. space: what the new team descends from.
 */
int stp_team_create(struct stp_team *parent, const struct stp_team_members *members, int rc,
                    struct stp_space *space, struct stp_team **team);

void stp_team_destroy(struct stp_team *team); /* collective over the team */

#endif /* STP_TEAM_LIFECYCLE_H */
