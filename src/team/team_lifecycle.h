/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares the functions that make and destroy teams. Design: docs/design/teams.md. */
#ifndef STP_TEAM_LIFECYCLE_H
#define STP_TEAM_LIFECYCLE_H

#include "core/argument_errors.h"
#include "core/team_and_space_handles.h"

void stp_team_init(void);

/* Destroys all contexts of all teams, at finalize. Each destruction includes a quiet. */
void stp_team_destroy_ctxs(void);
void stp_team_fini(void);

/*
 * Members of a new team, stored as a start and a stride, or as a table. The new team takes over the
 * table.
 */
struct stp_team_members {
    int n_pes;
    int rank; /* rank of this PE, or -1 if it is not a member */
    int start, stride;
    int *table;
};

/*
 * Makes a new team in the given space. Collective over the parent. The argument rc is nonzero if
 * this PE found an error. If rc is nonzero on any PE, all PEs return nonzero. Sets *team to the new
 * team. On failure, and on PEs that are not members, sets *team to NULL.
 */
int stp_team_create(struct stp_team *parent, const struct stp_team_members *members, int rc,
                    struct stp_space *space, struct stp_team **team);

/* Destroys a team. Collective over the members of the team. */
void stp_team_destroy(struct stp_team *team);

#endif /* STP_TEAM_LIFECYCLE_H */
