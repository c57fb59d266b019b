/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of collectives and of max and min reductions on one TYPE. The team is
 * the first argument, and the type of dest selects the routine.
 */

static void T(coll)(const shmem_ctx_t ctx)
{
    TYPE *dest = typed_dest, (*box)[TYPED_LEN] = typed_dest;
    TYPE *source = typed_source, *want = typed_want;
    const TYPE *const from = source, (*const array)[TYPED_LEN] = typed_source;
    shmem_team_t team = SHMEM_TEAM_WORLD;

    (void)ctx;
    for (int i = 0; i < pe_n; i++) source[i] = (TYPE)(pe_me + 1);
    for (int i = 0; i < pe_n; i++) want[i] = (TYPE)(i + 1);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_alltoall(team, dest, from, 1), 0);
    T(same)(dest, want, (size_t)pe_n, "generic alltoall", 0);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_alltoalls(team, *box, *array, 1, 1, 1), 0);
    T(same)(dest, want, (size_t)pe_n, "generic alltoalls", 0);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_fcollect(team, dest, from, 1), 0);
    T(same)(dest, want, (size_t)pe_n, "generic fcollect", 0);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_collect(team, *box, source, 1), 0);
    T(same)(dest, want, (size_t)pe_n, "generic collect", 0);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_broadcast(team, *box, from, 1, pe_n - 1), 0);
    T(same)(dest, &want[pe_n - 1], 1, "generic broadcast", 0);
    PE_CHECK_EQ(shmem_max_reduce(team, &(*box)[1], *array, 1), 0);
    T(same)(dest + 1, &want[pe_n - 1], 1, "generic max", 0);
    PE_CHECK_EQ(shmem_min_reduce(team, dest + 2, source, 1), 0);
    T(same)(dest + 2, &want[0], 1, "generic min", 0);
    shmem_barrier_all();
}
