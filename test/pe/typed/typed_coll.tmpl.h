/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks alltoall, alltoalls, broadcast, collect and fcollect of one TYPE over a team.
 */

enum { T(coll_n) = 3 };

/* What PE pe of the world has for row: its n elements. */
static void T(coll_source)(TYPE *a, size_t n, int pe, int row)
{
    T(fill)(a, n, typed_seed(pe, row));
}

static void T(coll_alltoall)(shmem_team_t team, int n, int rank, TYPE *dest, TYPE *source)
{
    TYPE *want = typed_want, *theirs = typed_theirs;
    size_t all = (size_t)(n * T(coll_n));

    T(fill)(dest, 2 * all + 1, TYPED_GUARD);
    T(fill)(want, 2 * all + 1, TYPED_GUARD);
    T(coll_source)(source, 3 * all, pe_me, 1);
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(alltoall)(team, dest, source, T(coll_n)), 0);
    for (int k = 0; k < n; k++) {
        T(coll_source)(theirs, 3 * all, shmem_team_translate_pe(team, k, SHMEM_TEAM_WORLD), 1);
        memcpy(&want[k * T(coll_n)], &theirs[rank * T(coll_n)], T(coll_n) * sizeof(TYPE));
    }
    T(same)(dest, want, all + 1, "alltoall", n);

    shmem_team_sync(team);
    T(fill)(dest, 2 * all + 1, TYPED_GUARD);
    T(fill)(want, 2 * all + 1, TYPED_GUARD);
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(alltoalls)(team, dest, source, 2, 3, T(coll_n)), 0);
    for (int k = 0; k < n; k++) {
        T(coll_source)(theirs, 3 * all, shmem_team_translate_pe(team, k, SHMEM_TEAM_WORLD), 1);
        for (int i = 0; i < T(coll_n); i++)
            want[(k * T(coll_n) + i) * 2] = theirs[(rank * T(coll_n) + i) * 3];
    }
    T(same)(dest, want, 2 * all + 1, "alltoalls", n);
    shmem_team_sync(team);
}

static void T(coll_broadcast)(shmem_team_t team, int n, TYPE *dest, TYPE *source)
{
    TYPE want[TYPED_LEN];

    for (int root = 0; root < n; root += n > 1 ? n - 1 : 1) {
        T(fill)(dest, TYPED_LEN, TYPED_GUARD);
        T(fill)(want, TYPED_LEN, TYPED_GUARD);
        T(coll_source)(source, T(coll_n), pe_me, 2);
        T(coll_source)(want, T(coll_n), shmem_team_translate_pe(team, root, SHMEM_TEAM_WORLD), 2);
        shmem_team_sync(team);
        PE_CHECK_EQ(FN(broadcast)(team, dest, source, T(coll_n), root), 0);
        T(same)(dest, want, TYPED_LEN, "broadcast", root);
        shmem_team_sync(team);
    }
}

/* collect: PE k of the team gives k % 3 elements; fcollect: all of them coll_n. */
static void T(coll_collect)(shmem_team_t team, int n, int rank, TYPE *dest, TYPE *source)
{
    TYPE *want = typed_want, *wantf = typed_want2;
    size_t at = 0, all = (size_t)(n * T(coll_n)), mine = (size_t)(rank % 3);

    T(fill)(dest, all + 1, TYPED_GUARD);
    T(fill)(want, all + 1, TYPED_GUARD);
    T(fill)(wantf, all + 1, TYPED_GUARD);
    for (int k = 0; k < n; k++) {
        int pe = shmem_team_translate_pe(team, k, SHMEM_TEAM_WORLD);
        T(coll_source)(&want[at], (size_t)(k % 3), pe, 3);
        T(coll_source)(&wantf[k * T(coll_n)], T(coll_n), pe, 3);
        at += (size_t)(k % 3);
    }
    T(coll_source)(source, T(coll_n), pe_me, 3);
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(collect)(team, dest, mine > 0 ? source : NULL, mine), 0);
    T(same)(dest, want, all + 1, "collect", n);

    shmem_team_sync(team);
    T(fill)(dest, all + 1, TYPED_GUARD);
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(fcollect)(team, dest, source, T(coll_n)), 0);
    T(same)(dest, wantf, all + 1, "fcollect", n);
    shmem_team_sync(team);
}

static void T(coll)(shmem_team_t team)
{
    int n = shmem_team_n_pes(team), rank = shmem_team_my_pe(team);

    T(coll_alltoall)(team, n, rank, typed_dest, typed_source);
    T(coll_broadcast)(team, n, typed_dest, typed_source);
    T(coll_collect)(team, n, rank, typed_dest, typed_source);
}
