/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks inclusive and exclusive sum scans of one TYPE over a team, on the values of
 * typed_reduce_sum.tmpl.h.
 */

static void T(scan)(shmem_team_t team)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[3][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 3 * TYPED_LEN, TYPED_GUARD);
    for (int i = 0; i < TYPED_LEN - 1; i++) want[1][i] = 0;
    T(sum_fill)(source, pe_me);
    for (int k = 0; k <= shmem_team_my_pe(team); k++) {
        T(sum_fill)(theirs, shmem_team_translate_pe(team, k, SHMEM_TEAM_WORLD));
        if (k > 0) memcpy(want[1], want[0], (TYPED_LEN - 1) * sizeof(TYPE));
        for (int i = 0; i < TYPED_LEN - 1; i++)
            want[0][i] = k == 0 ? theirs[i] : T(sum_of)(want[0][i], theirs[i]);
    }
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(sum_inscan)(team, dest[0], source, TYPED_LEN - 1), 0);
    PE_CHECK_EQ(FN(sum_exscan)(team, dest[1], source, TYPED_LEN - 1), 0);
    PE_CHECK_EQ(FN(sum_inscan)(team, NULL, NULL, 0), 0);
    for (int row = 0; row < 3; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "inscan, exscan", row);
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(sum_exscan)(team, source, source, TYPED_LEN - 1), 0);
    T(same)(source, want[1], TYPED_LEN - 1, "exscan in place", 0);
    shmem_team_sync(team);
}
