/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum and prod of one TYPE over a team. Integers: random bits, which wrap the same in any order.
 * The others: small whole numbers, exact in any order; complex ones have both parts.
 */

static void T(sum_fill)(TYPE *a, int pe)
{
    T(fill)(a, TYPED_LEN, typed_seed(pe, 7));
    if ((TYPE)0.5 == (TYPE)0) return;
    for (size_t i = 0; i < TYPED_LEN; i++) {
        uint64_t bits = typed_mix((uint64_t)pe * 100 + i);
        double re = (double)(bits % 5) - 2, im = (double)(bits / 5 % 3) - 1;
        a[i] = (TYPE)(re + im * I);
    }
}

static TYPE T(sum_of)(TYPE a, TYPE b)
{
    return (TYPE)0.5 != (TYPE)0 ? a + b : (TYPE)((uint64_t)a + (uint64_t)b);
}

static TYPE T(prod_of)(TYPE a, TYPE b)
{
    return (TYPE)0.5 != (TYPE)0 ? a * b : (TYPE)((uint64_t)a * (uint64_t)b);
}

static void T(reduce_sum)(shmem_team_t team)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[3][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(sum_fill)(source, pe_me);
    for (int k = 0; k < shmem_team_n_pes(team); k++) {
        T(sum_fill)(theirs, shmem_team_translate_pe(team, k, SHMEM_TEAM_WORLD));
        for (int i = 0; i < TYPED_LEN - 1; i++) {
            want[0][i] = k == 0 ? theirs[i] : T(sum_of)(want[0][i], theirs[i]);
            want[1][i] = k == 0 ? theirs[i] : T(prod_of)(want[1][i], theirs[i]);
        }
    }
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(sum_reduce)(team, dest[0], source, TYPED_LEN - 1), 0);
    PE_CHECK_EQ(FN(prod_reduce)(team, dest[1], source, TYPED_LEN - 1), 0);
    for (int row = 0; row < 3; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "sum, prod reduce", row);
    shmem_team_sync(team);
    PE_CHECK_EQ(FN(sum_reduce)(team, source, source, TYPED_LEN - 1), 0);
    T(same)(source, want[0], TYPED_LEN - 1, "sum reduce in place", 0);
    shmem_team_sync(team);
}
