/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares how teams are made and destroyed. Design: docs/design/teams.md. */
#ifndef STP_TEAM_LIFECYCLE_H
#define STP_TEAM_LIFECYCLE_H

#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

void stp_team_init(void);

/* Destroys, at finalize, every context of every team, each with its quiet. */
void stp_team_destroy_ctxs(void);
void stp_team_fini(void);

/* Members of a new team: a stride, or a table that the new team takes over. */
struct stp_team_members {
    int n_pes;
    int rank; /* rank of this PE, or -1 if it is not a member */
    int start, stride;
    int *table;
};

/*
 * Makes a team; collective over parent. rc is nonzero if this PE found an error, and a nonzero rc
 * on any PE makes all return nonzero. *team is NULL on failure and on PEs that are not members.
 * space is the space from which the new team descends.
 */
int stp_team_create(struct stp_team *parent, const struct stp_team_members *members, int rc,
                    struct stp_space *space, struct stp_team **team);

/* Destroys a team. Collective over the team. */
void stp_team_destroy(struct stp_team *team);

#endif /* STP_TEAM_LIFECYCLE_H */
