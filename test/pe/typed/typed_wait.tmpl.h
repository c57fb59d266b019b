/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks wait_until and test of one TYPE: each comparison against C, then an update by the left
 * PE.
 */

static int T(compare)(TYPE a, int cmp, TYPE b)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: return a == b;
    case SHMEM_CMP_NE: return a != b;
    case SHMEM_CMP_LT: return a < b;
    case SHMEM_CMP_LE: return a <= b;
    case SHMEM_CMP_GT: return a > b;
    default: return a >= b;
    }
}

/* Values around which widths and signs differ, and a random one that is none of them. */
static void T(six)(TYPE v[6])
{
    for (int k = 0; k < 5; k++) v[k] = T(corner)(k);
    v[5] = T(random)(7, 7);
}

static void T(truth)(TYPE *ivar)
{
    TYPE v[6];

    T(six)(v);
    for (int i = 0; i < 36; i++)
        for (int cmp = SHMEM_CMP_EQ; cmp <= SHMEM_CMP_GE; cmp++) {
            TYPE a = v[i / 6], b = v[i % 6];
            int want = T(compare)(a, cmp, b);
            *(volatile TYPE *)ivar = a;
            PE_CHECK(FN(test)(ivar, cmp, b) == want,
                     "%s: test of corner value %d, comparison %d, with corner value %d differs "
                     "from C",
                     TYPED_TEXT(NAME), i / 6, cmp, i % 6);
            if (want) FN(wait_until)(ivar, cmp, b);
        }
}

static void T(wait)(shmem_ctx_t ctx)
{
    TYPE *ivar = (TYPE *)typed_dest + 1, v[6];

    (void)ctx;
    T(six)(v);
    T(truth)(ivar);
    ivar[-1] = ivar[1] = v[2];
    *ivar = v[1];
    shmem_barrier_all();
    FN(p)(ivar, v[3], pe_right()); /* short has no atomics */
    FN(wait_until)(ivar, SHMEM_CMP_NE, v[1]);
    T(same)(ivar, &v[3], 1, "wait_until", 0);
    shmem_barrier_all();
    FN(p)(ivar, v[4], pe_right());
    while (!FN(test)(ivar, SHMEM_CMP_EQ, v[4])) continue;
    T(same)(ivar, &v[4], 1, "test", 0);
    shmem_barrier_all();
}
