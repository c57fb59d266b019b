/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sum and prod of one TYPE over an active set. Integers: random bits, which wrap the same in any
 * order. The others: small whole numbers, exact in any order; complex ones have both parts.
 */

static void T(active_fill)(TYPE *a, int pe)
{
    T(fill)(a, TYPED_LEN, typed_seed(pe, 7));
    if ((TYPE)0.5 == (TYPE)0) return;
    for (size_t i = 0; i < TYPED_LEN; i++) {
        uint64_t bits = typed_mix((uint64_t)pe * 100 + i);
        double re = (double)(bits % 5) - 2, im = (double)(bits / 5 % 3) - 1;
        a[i] = (TYPE)(re + im * I);
    }
}

static TYPE T(active_add)(TYPE a, TYPE b)
{
    return (TYPE)0.5 != (TYPE)0 ? a + b : (TYPE)((uint64_t)a + (uint64_t)b);
}

static TYPE T(active_times)(TYPE a, TYPE b)
{
    return (TYPE)0.5 != (TYPE)0 ? a * b : (TYPE)((uint64_t)a * (uint64_t)b);
}

static void T(active_sum)(const struct pe_set *set)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[3][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(active_fill)(source, pe_me);
    for (int k = 0; k < set->size; k++) {
        T(active_fill)(theirs, pe_set_pe(set, k));
        for (int i = 0; i < TYPED_LEN - 1; i++) {
            want[0][i] = k == 0 ? theirs[i] : T(active_add)(want[0][i], theirs[i]);
            want[1][i] = k == 0 ? theirs[i] : T(active_times)(want[1][i], theirs[i]);
        }
    }
    between(set);
    FN(sum_to_all)(dest[0], source, TYPED_LEN - 1, PE_SET(set), typed_work, sync_data);
    between(set);
    FN(prod_to_all)(dest[1], source, TYPED_LEN - 1, PE_SET(set), NULL, sync_data);
    for (int row = 0; row < 3; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "sum, prod to_all", row);
    between(set);
    FN(sum_to_all)(source, source, TYPED_LEN - 1, PE_SET(set), typed_work, sync_data);
    T(same)(source, want[0], TYPED_LEN - 1, "sum to_all in place", 0);
    between(set);
}
