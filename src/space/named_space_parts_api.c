/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With these routines, programs access the parts of a named space that a job of another size has
 * left. Design: docs/design/fam.md.
 */
#include "space_lifecycle.h"

#include "coll/coll.h"
#include "pshmem.h"
#include "rma/rma.h"

int pshmemx_space_part(shmem_space_t handle, int index, const void **base)
{
    struct stp_space *space;

    if (base == NULL) return stp_reject(__func__, "base", "a null pointer");
    *base = NULL;
    if (stp_space_is_invalid(handle)) return stp_reject(__func__, "space", STP_INVALID_SPACE);
    space = stp_space_check(handle, __func__, "space");
    if (index >= 0 && (unsigned)index < space->n_parts)
        return space->kind->store->part(space, (unsigned)index, base) != 0;
    stp_error(
        "shmemx_space_part: index is %d, but the number of parts of space %u is %u (0 for a space "
        "without a name)",
        index, space->number, space->n_parts);
    return 1;
}
STP_PROFILED(shmemx_space_part);

/*
 * Completes a change of the number of parts. First all members make their new parts durable. Then
 * the name is changed, so that it denotes the new parts on every host. Then the old parts are
 * freed. With this order, either all old parts or all new parts are complete at any time, even if
 * the job is killed.
 */
int pshmemx_space_reshape_commit(shmem_space_t handle)
{
    struct stp_space *space;
    const struct stp_store_ops *store;
    bool reshaping;

    if (stp_space_is_invalid(handle)) return stp_reject(__func__, "space", STP_INVALID_SPACE);
    space = stp_space_check(handle, __func__, "space");
    store = space->kind->store;
    reshaping = store != NULL && store->reshaping(space);
    stp_quiet(&stp_ctx_default);
    stp_coll_sync(space->team);
    if (!reshaping) return 0;
    if (stp_coll_any(space->team, store->settle(space) != 0)) return 1;
    if (stp_coll_any(space->team, store->release(space) != 0)) return 1;
    store->drop(space);
    return 0;
}
STP_PROFILED(shmemx_space_reshape_commit);
