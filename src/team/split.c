/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Splits teams. If the parent has a constant stride, the new team also has a constant stride. If
 * the parent has a table, the new team has a table. A split succeeds on all PEs of the parent or on
 * none. Design: docs/design/teams.md.
 */
#include "team_lifecycle.h"

#include "coll/coll.h"

#include <limits.h>
#include <stdlib.h>

/*
 * Fills the structure members for a new team of the given size. Its first member is the parent's
 * rank start, and the distance between two members is stride ranks of the parent. Returns 0, or 1
 * if there is no memory.
 */
static int split_members(const struct stp_team *parent, int start, int stride, int size,
                         struct stp_team_members *members)
{
    members->n_pes = size;
    members->rank = -1;
    if (parent->table == NULL) {
        members->start = stp_team_pe(parent, start);
        members->stride = stride * parent->stride;
        members->table = NULL;
    } else {
        members->table = malloc((size_t)size * sizeof(*members->table));
        if (members->table == NULL) return 1;
        for (int i = 0; i < size; i++)
            members->table[i] = parent->table[start + i * stride];
    }
    for (int i = 0; i < size && members->rank < 0; i++)
        if (start + i * stride == parent->rank) members->rank = i;
    if (members->rank < 0) {
        free(members->table);
        members->table = NULL;
    }
    return 0;
}

static int split_check_config(const shmem_team_config_t *config, long mask)
{
    if (!(mask & SHMEM_TEAM_NUM_CONTEXTS)) return 0;
    return config == NULL || config->num_contexts < 0;
}

static void split_configure(struct stp_team *team, const shmem_team_config_t *config, long mask)
{
    team->config.num_contexts = mask & SHMEM_TEAM_NUM_CONTEXTS ? config->num_contexts : 0;
}

/* Returns true if start, stride and size describe ranks of the parent. Ranks do not wrap around. */
static bool split_triplet_ok(const struct stp_team *parent, int start, int stride, int size)
{
    long long last = start + (long long)stride * (size - 1);

    if (size <= 0 || start < 0 || start >= parent->n_pes) return false;
    if (stride == 0 && size != 1) return false;
    return last >= 0 && last < parent->n_pes;
}

int pshmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                              const shmem_team_config_t *config, long config_mask,
                              shmem_team_t *new_team)
{
    struct stp_team_members members = {.rank = -1};
    struct stp_team *parent, *team;
    int rc = 1;

    *new_team = SHMEM_TEAM_INVALID;
    if (stp_team_is_invalid(parent_team)) return 1;
    parent = stp_team_check(parent_team, __func__);
    STP_COLL_CHECK_CALL(parent, __func__, {"start", start}, {"stride", stride}, {"size", size});
    if (split_triplet_ok(parent, start, stride, size))
        rc = split_check_config(config, config_mask) ||
             split_members(parent, start, size == 1 ? 1 : stride, size, &members);
    rc = stp_team_create(parent, &members, rc, parent->space, &team);
    if (rc != 0) {
        free(members.table);
        return rc;
    }
    if (team != NULL) {
        split_configure(team, config, config_mask);
        *new_team = stp_team_handle(team);
    }
    return 0;
}
STP_PROFILED(shmem_team_split_strided);

/*
 * Makes the teams of the rows, then the teams of the columns. Every PE is in one row and in one
 * column. The teams of one axis are disjoint. Therefore one call of stp_team_create() over the
 * parent makes all teams of this axis, in one slot.
 */
int pshmem_team_split_2d(shmem_team_t parent_team, int xrange,
                         const shmem_team_config_t *xaxis_config, long xaxis_mask,
                         shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                         long yaxis_mask, shmem_team_t *yaxis_team)
{
    struct stp_team_members row = {.rank = -1}, column = {.rank = -1};
    struct stp_team *parent, *x_team = NULL, *y_team = NULL;
    int rc = 1;

    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    if (stp_team_is_invalid(parent_team)) return 1;
    parent = stp_team_check(parent_team, __func__);
    STP_COLL_CHECK_CALL(parent, __func__, {"xrange", xrange});
    if (xrange > 0) {
        int n = parent->n_pes, width = xrange < n ? xrange : n;
        int x = parent->rank % width, y = parent->rank / width;
        int row_size = n - y * width < width ? n - y * width : width;
        int column_size = (n - x + width - 1) / width;

        rc = split_check_config(xaxis_config, xaxis_mask) ||
             split_check_config(yaxis_config, yaxis_mask) ||
             split_members(parent, y * width, 1, row_size, &row) ||
             split_members(parent, x, width, column_size, &column);
    }
    rc = stp_team_create(parent, &row, rc, parent->space, &x_team);
    if (rc != 0) {
        free(row.table);
        free(column.table);
        return rc;
    }
    rc = stp_team_create(parent, &column, 0, parent->space, &y_team);
    if (rc != 0) {
        free(column.table);
        stp_team_destroy(x_team);
        return rc;
    }
    split_configure(x_team, xaxis_config, xaxis_mask);
    split_configure(y_team, yaxis_config, yaxis_mask);
    *xaxis_team = stp_team_handle(x_team);
    *yaxis_team = stp_team_handle(y_team);
    return 0;
}
STP_PROFILED(shmem_team_split_2d);

int pshmemx_team_duplicate(shmem_team_t team, shmem_team_t *new_team)
{
    if (new_team == NULL)
        (void)stp_reject(__func__, "new_team", "a null pointer");
    else
        *new_team = SHMEM_TEAM_INVALID;
    if (stp_team_is_invalid(team)) return stp_reject(__func__, "team", STP_INVALID_TEAM);
    /*
     * The members agree on whether new_team is NULL on any member. Otherwise a member could wait
     * for another member that has already returned.
     */
    if (stp_coll_any(stp_coll_checked(stp_team_check(team, __func__), __func__), new_team == NULL))
        return 1;
    return pshmem_team_split_strided(team, 0, 1, stp_team_check(team, __func__)->n_pes, NULL, 0,
                                     new_team);
}
STP_PROFILED(shmemx_team_duplicate);
