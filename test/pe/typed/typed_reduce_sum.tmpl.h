/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks sum and prod reductions of one TYPE over a group. Integers are corner values and random
 * bits, which wrap alike in any order. Other types are whole numbers, which are exact in any
 * order; sums of 100 PEs need the full width of TYPE. Complex numbers differ in their two parts.
 */

static void T(prod_fill)(TYPE *a, int pe)
{
    static const int factors[] = {1, -1, 2, -2};

    T(fill)(a, TYPED_LEN, typed_seed(pe, 7));
    if ((TYPE)0.5 == (TYPE)0) return;
    for (size_t i = 0; i < TYPED_LEN; i++) {
        uint64_t bits = typed_mix((uint64_t)pe * 100 + i);
        int im = (int)(bits / 4 % 3) - 1;
        a[i] = pe < 20 ? (TYPE)(factors[bits % 4] + im * I) : (TYPE)1;
    }
}

static void T(sum_fill)(TYPE *a, int pe)
{
    const long double big = _Generic((TYPE)0, long double: 1 / LDBL_EPSILON,
                                     double: 1 / DBL_EPSILON,
                                     double _Complex: 1 / DBL_EPSILON, default: 1 / FLT_EPSILON);

    T(prod_fill)(a, pe);
    if ((TYPE)0.5 == (TYPE)0) return;
    for (size_t i = 0; i < TYPED_LEN; i++) a[i] += (TYPE)(big / 64 * (1 - I * (int)(i % 3)) / 2);
}

static TYPE T(sum_of)(TYPE a, TYPE b)
{
    return (TYPE)0.5 != (TYPE)0 ? a + b : (TYPE)((uint64_t)a + (uint64_t)b);
}

static TYPE T(prod_of)(TYPE a, TYPE b)
{
    return (TYPE)0.5 != (TYPE)0 ? a * b : (TYPE)((uint64_t)a * (uint64_t)b);
}

static void T(reduce_sum)(GROUP group)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE want[3][TYPED_LEN], theirs[TYPED_LEN];

    T(fill)(dest[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(fill)(want[0], 3 * TYPED_LEN, TYPED_GUARD);
    T(sum_fill)(source, pe_me);
    T(prod_fill)(source + TYPED_LEN, pe_me);
    for (int k = 0; k < GROUP_N(group); k++) {
        int pe = GROUP_PE(group, k);
        T(sum_fill)(theirs, pe);
        for (int i = 0; i < TYPED_LEN - 1; i++)
            want[0][i] = k == 0 ? theirs[i] : T(sum_of)(want[0][i], theirs[i]);
        T(prod_fill)(theirs, pe);
        for (int i = 0; i < TYPED_LEN - 1; i++)
            want[1][i] = k == 0 ? theirs[i] : T(prod_of)(want[1][i], theirs[i]);
    }
    GROUP_SYNC(group);
    GROUP_REDUCE(sum, group, dest[0], source, TYPED_LEN - 1, typed_work);
    GROUP_REDUCE(prod, group, dest[1], source + TYPED_LEN, TYPED_LEN - 1, NULL);
    for (int row = 0; row < 3; row++)
        T(same)(dest[row], want[row], TYPED_LEN, "sum, prod reduce", row);
    GROUP_SYNC(group);
    GROUP_REDUCE(sum, group, source, source, TYPED_LEN - 1, typed_work);
    T(same)(source, want[0], TYPED_LEN - 1, "sum reduce in place", 0);
    GROUP_SYNC(group);
}
