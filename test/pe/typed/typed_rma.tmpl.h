/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the RMA routines and put with signal of one TYPE in a ring: puts to the rows of the right
 * PE, gets from its source rows.
 */

enum {
    T(put), T(ctx_put), T(p), T(ctx_p), T(iput), T(ctx_iput), T(ibput), T(ctx_ibput), T(put_nbi),
    T(ctx_put_nbi), T(put_signal), T(ctx_put_signal), T(put_signal_nbi), T(ctx_put_signal_nbi),
    T(put_rows)
};

static void T(puts)(shmem_ctx_t ctx, TYPE (*to)[TYPED_LEN], TYPE (*from)[TYPED_LEN], int pe)
{
    uint64_t *sig = typed_signals;

    FN(put)(&to[T(put)][1], from[T(put)], 5, pe);
    CTX_FN(put)(ctx, &to[T(ctx_put)][1], from[T(ctx_put)], 14, pe);
    FN(p)(&to[T(p)][1], from[T(p)][0], pe);
    CTX_FN(p)(ctx, &to[T(ctx_p)][1], from[T(ctx_p)][0], pe);
    FN(iput)(&to[T(iput)][1], from[T(iput)], 2, 3, 4, pe);
    CTX_FN(iput)(ctx, &to[T(ctx_iput)][1], from[T(ctx_iput)], 3, 1, 4, pe);
    FN(ibput)(&to[T(ibput)][1], from[T(ibput)], 5, 3, 2, 3, pe);
    CTX_FN(ibput)(ctx, &to[T(ctx_ibput)][1], from[T(ctx_ibput)], 4, 2, 2, 3, pe);
    FN(put_nbi)(&to[T(put_nbi)][1], from[T(put_nbi)], 5, pe);
    CTX_FN(put_nbi)(ctx, &to[T(ctx_put_nbi)][1], from[T(ctx_put_nbi)], 14, pe);
    FN(put_signal)(&to[T(put_signal)][1], from[T(put_signal)], 3, &sig[0], UINT64_MAX - 1,
                   SHMEM_SIGNAL_SET, pe);
    CTX_FN(put_signal)(ctx, &to[T(ctx_put_signal)][1], from[T(ctx_put_signal)], 3, &sig[1],
                       UINT64_C(1) << 40, SHMEM_SIGNAL_ADD, pe);
    FN(put_signal_nbi)(&to[T(put_signal_nbi)][1], from[T(put_signal_nbi)], 3, &sig[2],
                       UINT64_C(3) << 50, SHMEM_SIGNAL_ADD, pe);
    CTX_FN(put_signal_nbi)(ctx, &to[T(ctx_put_signal_nbi)][1], from[T(ctx_put_signal_nbi)], 3,
                           &sig[3], 7, SHMEM_SIGNAL_SET, pe);
    /* nothing moves, whatever the pointers */
    FN(put)(NULL, NULL, 0, pe);
    CTX_FN(put_nbi)(ctx, NULL, NULL, 0, pe);
    FN(iput)(NULL, NULL, 1, 1, 0, pe);
    FN(ibput)(NULL, NULL, 1, 1, 1, 0, pe);
}

/* What the puts above do, in C. */
static void T(want)(TYPE (*to)[TYPED_LEN], TYPE (*from)[TYPED_LEN])
{
    static const int n[] = {5, 14, 1, 1, 0, 0, 0, 0, 5, 14, 3, 3, 3, 3};

    for (int row = 0; row < T(put_rows); row++)
        memcpy(&to[row][1], from[row], (size_t)n[row] * sizeof(TYPE));
    for (int i = 0; i < 4; i++) {
        to[T(iput)][1 + 2 * i] = from[T(iput)][3 * i];
        to[T(ctx_iput)][1 + 3 * i] = from[T(ctx_iput)][i];
    }
    for (int block = 0; block < 3; block++)
        for (int i = 0; i < 2; i++) {
            to[T(ibput)][1 + 5 * block + i] = from[T(ibput)][3 * block + i];
            to[T(ctx_ibput)][1 + 4 * block + i] = from[T(ctx_ibput)][2 * block + i];
        }
}

/* Every get, from the right neighbour's source rows; the same in C on what it must hold. */
static void T(gets)(shmem_ctx_t ctx, TYPE (*from)[TYPED_LEN], TYPE (*theirs)[TYPED_LEN], int pe)
{
    TYPE got[12][TYPED_LEN], want[12][TYPED_LEN];

    T(fill)(&got[0][0], 12 * TYPED_LEN, TYPED_GUARD);
    memcpy(want, got, sizeof(want));
    FN(get)(&got[0][1], from[0], 5, pe);
    CTX_FN(get)(ctx, &got[1][1], from[1], 14, pe);
    got[2][1] = FN(g)(&from[2][3], pe);
    got[3][1] = CTX_FN(g)(ctx, &from[3][2], pe);
    FN(iget)(&got[4][1], from[4], 2, 3, 4, pe);
    CTX_FN(iget)(ctx, &got[5][1], from[5], 3, 1, 4, pe);
    FN(ibget)(&got[6][1], from[6], 5, 3, 2, 3, pe);
    CTX_FN(ibget)(ctx, &got[7][1], from[7], 4, 2, 2, 3, pe);
    FN(get_nbi)(&got[8][1], from[8], 5, pe);
    CTX_FN(get_nbi)(ctx, &got[9][1], from[9], 14, pe);
    shmem_quiet();
    shmem_ctx_quiet(ctx);

    memcpy(&want[0][1], theirs[0], 5 * sizeof(TYPE));
    memcpy(&want[1][1], theirs[1], 14 * sizeof(TYPE));
    want[2][1] = theirs[2][3];
    want[3][1] = theirs[3][2];
    memcpy(&want[8][1], theirs[8], 5 * sizeof(TYPE));
    memcpy(&want[9][1], theirs[9], 14 * sizeof(TYPE));
    for (int i = 0; i < 4; i++) {
        want[4][1 + 2 * i] = theirs[4][3 * i];
        want[5][1 + 3 * i] = theirs[5][i];
    }
    for (int block = 0; block < 3; block++)
        for (int i = 0; i < 2; i++) {
            want[6][1 + 5 * block + i] = theirs[6][3 * block + i];
            want[7][1 + 4 * block + i] = theirs[7][2 * block + i];
        }
    for (int row = 0; row < 12; row++) T(same)(got[row], want[row], TYPED_LEN, "get", row);
}

/* Single elements: every corner there by p, and back by g. */
static void T(corners)(shmem_ctx_t ctx, TYPE (*dest)[TYPED_LEN])
{
    TYPE want[2][TYPED_LEN];

    T(fill)(&want[0][0], 2 * TYPED_LEN, TYPED_GUARD);
    T(fill)(&dest[0][0], 2 * TYPED_LEN, TYPED_GUARD);
    shmem_barrier_all();
    for (int k = 0; k < T(n_corners); k++) {
        want[0][k + 1] = want[1][k + 1] = T(corner)(k);
        FN(p)(&dest[0][k + 1], T(corner)(k), pe_right());
        CTX_FN(p)(ctx, &dest[1][k + 1], T(corner)(k), pe_right());
    }
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    for (int row = 0; row < 2; row++) T(same)(dest[row], want[row], TYPED_LEN, "corners by p", row);
    for (int k = 0; k < T(n_corners); k++) {
        TYPE got[2];

        got[0] = FN(g)(&dest[1][k + 1], pe_right());
        got[1] = CTX_FN(g)(ctx, &dest[0][k + 1], pe_right());
        T(same)(got, (TYPE[]){T(corner)(k), T(corner)(k)}, 2, "corner by g", k);
    }
    shmem_barrier_all();
}

static void T(rma)(shmem_ctx_t ctx)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, (*source)[TYPED_LEN] = typed_source;
    TYPE local[T(put_rows)][TYPED_LEN], want[T(put_rows)][TYPED_LEN];

    T(corners)(ctx, dest);
    T(fill)(&dest[0][0], T(put_rows) * TYPED_LEN, TYPED_GUARD);
    T(fill)(&source[0][0], T(put_rows) * TYPED_LEN, typed_seed(pe_me, 50));
    T(fill)(&local[0][0], T(put_rows) * TYPED_LEN, typed_seed(pe_me, 0));
    for (int i = 0; i < 4; i++) typed_signals[i] = TYPED_SIGNAL;
    shmem_barrier_all();

    T(puts)(ctx, dest, local, pe_right());
    T(fill)(&want[0][0], T(put_rows) * TYPED_LEN, typed_seed(pe_right(), 50));
    T(gets)(ctx, source, want, pe_right());
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();

    T(fill)(&want[0][0], T(put_rows) * TYPED_LEN, TYPED_GUARD);
    T(fill)(&local[0][0], T(put_rows) * TYPED_LEN, typed_seed(pe_left(), 0));
    T(want)(want, local);
    for (int row = 0; row < T(put_rows); row++)
        T(same)(dest[row], want[row], TYPED_LEN, "put", row);
    PE_CHECK_EQ(typed_signals[0], UINT64_MAX - 1);
    PE_CHECK_EQ(typed_signals[1], (UINT64_C(1) << 40) + TYPED_SIGNAL);
    PE_CHECK_EQ(typed_signals[2], (UINT64_C(3) << 50) + TYPED_SIGNAL);
    PE_CHECK_EQ(typed_signals[3], 7);
}
