/* SPDX-License-Identifier: BSD-3-Clause */
/* and, or, xor of one TYPE over a team. */

static void T(reduce_bit)(shmem_team_t team)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[4][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 4 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 4 * TYPED_LEN, TYPED_GUARD);
    T(fill)(source, TYPED_LEN, typed_seed(pe_me, 5));
    for (int k = 0; k < shmem_team_n_pes(team); k++) {
        int pe = shmem_team_translate_pe(team, k, SHMEM_TEAM_WORLD);
        T(fill)(theirs, TYPED_LEN, typed_seed(pe, 5));
        for (int i = 0; i < TYPED_LEN - 1; i++) {
            want[0][i] = k == 0 ? theirs[i] : want[0][i] & theirs[i];
            want[1][i] = k == 0 ? theirs[i] : want[1][i] | theirs[i];
            want[2][i] = k == 0 ? theirs[i] : want[2][i] ^ theirs[i];
        }
    }
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(and_reduce)(team, dest[0], source, TYPED_LEN - 1), 0);
    PE_CHECK_EQ(FN(or_reduce)(team, dest[1], source, TYPED_LEN - 1), 0);
    PE_CHECK_EQ(FN(xor_reduce)(team, dest[2], source, TYPED_LEN - 1), 0);
    PE_CHECK_EQ(FN(xor_reduce)(team, NULL, NULL, 0), 0);
    for (int row = 0; row < 4; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "and, or, xor reduce", row);
    shmem_team_sync(team);
}
