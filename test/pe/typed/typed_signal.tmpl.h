/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks each put with signal of one TYPE: a PE that has seen the signal reads the data at once.
 */

static void T(signal)(shmem_ctx_t ctx)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, local[4][TYPED_LEN], want[4][TYPED_LEN];
    uint64_t *sig = typed_signals, step = typed_step += UINT64_C(1) << 33;
    int pe = pe_right();

    T(fill)(&local[0][0], 4 * TYPED_LEN, typed_seed(pe_me, 3));
    T(fill)(&want[0][0], 4 * TYPED_LEN, typed_seed(pe_left(), 3));
    FN(put_signal)(dest[0], local[0], TYPED_LEN, &sig[0], step, SHMEM_SIGNAL_SET, pe);
    CTX_FN(put_signal)(ctx, dest[1], local[1], TYPED_LEN, &sig[1], UINT64_C(1) << 33,
                       SHMEM_SIGNAL_ADD, pe);
    FN(put_signal_nbi)(dest[2], local[2], TYPED_LEN, &sig[2], UINT64_C(1) << 33, SHMEM_SIGNAL_ADD,
                       pe);
    CTX_FN(put_signal_nbi)(ctx, dest[3], local[3], TYPED_LEN, &sig[3], step, SHMEM_SIGNAL_SET, pe);
    for (int row = 3; row >= 0; row--) {
        PE_CHECK(shmem_signal_wait_until(&sig[row], SHMEM_CMP_EQ, step) == step,
                 "%s: signal_wait_until on signal %d did not return the value that was waited "
                 "for", TYPED_TEXT(NAME), row);
        T(same)(dest[row], want[row], TYPED_LEN, "data of put_signal when the signal is here", row);
    }
    /* no data: the signal alone */
    FN(put_signal)(NULL, NULL, 0, &sig[4], step, SHMEM_SIGNAL_SET, pe);
    PE_CHECK_EQ(shmem_signal_wait_until(&sig[4], SHMEM_CMP_GE, step), step);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}
