/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls the RMA routines, put with signal and the collectives of one TYPE with a count of zero.
 * rules_null.c checks afterwards that no memory changed.
 */

static void T(null_rma)(shmem_ctx_t ctx, TYPE *d, TYPE *s, int pe)
{
    uint64_t *sig = null_signals;

    FN(put)(d, s, 0, pe);
    CTX_FN(put)(ctx, d, s, 0, pe);
    FN(get)(d, s, 0, pe);
    CTX_FN(get)(ctx, d, s, 0, pe);
    FN(put_nbi)(d, s, 0, pe);
    CTX_FN(put_nbi)(ctx, d, s, 0, pe);
    FN(get_nbi)(d, s, 0, pe);
    CTX_FN(get_nbi)(ctx, d, s, 0, pe);
    FN(iput)(d, s, 2, 3, 0, pe);
    CTX_FN(iput)(ctx, d, s, 1, 1, 0, pe);
    FN(iget)(d, s, 2, 3, 0, pe);
    CTX_FN(iget)(ctx, d, s, 1, 1, 0, pe);
    FN(ibput)(d, s, 4, 4, 2, 0, pe);
    FN(ibput)(d, s, 4, 4, 0, 3, pe);
    CTX_FN(ibput)(ctx, d, s, 4, 4, 4, 0, pe);
    CTX_FN(ibput)(ctx, d, s, 4, 4, 0, 0, pe);
    FN(ibget)(d, s, 4, 4, 2, 0, pe);
    FN(ibget)(d, s, 4, 4, 0, 3, pe);
    CTX_FN(ibget)(ctx, d, s, 4, 4, 4, 0, pe);
    CTX_FN(ibget)(ctx, d, s, 4, 4, 0, 0, pe);
    /* no data, yet four signals that count */
    FN(put_signal)(d, s, 0, &sig[0], 1, SHMEM_SIGNAL_ADD, pe);
    CTX_FN(put_signal)(ctx, d, s, 0, &sig[1], 1, SHMEM_SIGNAL_ADD, pe);
    FN(put_signal_nbi)(d, s, 0, &sig[2], 1, SHMEM_SIGNAL_ADD, pe);
    CTX_FN(put_signal_nbi)(ctx, d, s, 0, &sig[3], 1, SHMEM_SIGNAL_ADD, pe);
    null_sent++;
}

static void T(null_coll)(shmem_team_t team, TYPE *d, TYPE *s)
{
    int n = shmem_team_n_pes(team);

    PE_CHECK_EQ(FN(alltoall)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(alltoalls)(team, d, s, 1, 2, 0), 0);
    PE_CHECK_EQ(FN(broadcast)(team, d, s, 0, n - 1), 0);
    PE_CHECK_EQ(FN(collect)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(fcollect)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(max_reduce)(team, d, s, 0), 0);
    PE_CHECK_EQ(FN(min_reduce)(team, d, s, 0), 0);
}
