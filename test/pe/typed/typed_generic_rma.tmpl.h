/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C11 generics of remote memory access and put with signal on one TYPE. Arrays and
 * pointers to const must select the same routine as plain pointers.
 */

static void T(rma)(const shmem_ctx_t ctx)
{
    TYPE (*dest)[TYPED_LEN] = typed_dest, *source = typed_source;
    TYPE local[TYPED_LEN], got[9], want[9], *const to = dest[9];
    const TYPE *const from = source, *const mine = local;
    int pe = pe_right(), right = pe;

    _Static_assert(_Generic(shmem_g(from, 0), TYPE: 1, default: 0), "shmem_g has another type");
    _Static_assert(_Generic(shmem_g(ctx, from, 0), TYPE: 1, default: 0), "so with a context");
    T(fill)(local, TYPED_LEN, typed_seed(pe_me, 0));
    T(fill)(source, TYPED_LEN, typed_seed(pe_me, 1));
    T(fill)(want, 9, typed_seed(right, 1));
    shmem_barrier_all();
    shmem_put(dest[0], local, 1, pe);
    shmem_put(ctx, dest[1], mine + 1, 1, pe);
    shmem_put_nbi(&dest[2][0], &mine[2], 1, pe);
    shmem_put_nbi(ctx, dest[3], local + 3, 1, pe);
    shmem_p(dest[4], mine[4], pe);
    shmem_p(ctx, dest[5], local[5], pe);
    shmem_iput(dest[6], local + 6, 1, 1, 1, pe);
    shmem_iput(ctx, dest[7], mine + 7, 1, 1, 1, pe);
    shmem_ibput(dest[8], local + 8, 1, 1, 1, 1, pe);
    shmem_ibput(ctx, to, mine + 9, 1, 1, 1, 1, pe);
    shmem_put_signal(dest[10], mine + 10, 1, typed_signals, 1, SHMEM_SIGNAL_SET, pe);
    shmem_put_signal(ctx, dest[11], mine + 11, 1, typed_signals, 1, SHMEM_SIGNAL_SET, pe);
    shmem_put_signal_nbi(dest[12], mine + 12, 1, typed_signals, 1, SHMEM_SIGNAL_SET, pe);
    shmem_put_signal_nbi(ctx, dest[13], local + 13, 1, typed_signals, 1, SHMEM_SIGNAL_SET, pe);

    shmem_get(got, from, 1, pe);
    shmem_get(ctx, got + 1, source + 1, 1, pe);
    shmem_get_nbi(got + 2, from + 2, 1, pe);
    shmem_get_nbi(ctx, &got[3], from + 3, 1, pe);
    shmem_iget(got + 4, from + 4, 1, 1, 1, pe);
    shmem_iget(ctx, got + 5, from + 5, 1, 1, 1, pe);
    shmem_ibget(got + 6, from + 6, 1, 1, 1, 1, pe);
    shmem_ibget(ctx, got + 7, from + 7, 1, 1, 1, 1, pe);
    got[8] = shmem_g(from + 8, pe);
    T(same)(&(TYPE){shmem_g(ctx, source + 8, pe)}, &want[8], 1, "shmem_g with context", 0);
    shmem_p(dest[14], shmem_g(from, pe), pe); /* one inside the other */
    shmem_ctx_quiet(ctx);
    shmem_quiet();
    T(same)(got, want, 9, "generic get", 0);
    shmem_barrier_all();
    T(fill)(local, TYPED_LEN, typed_seed(pe_left(), 0));
    for (int row = 0; row < 14; row++) T(same)(dest[row], &local[row], 1, "generic put", row);
    T(same)(dest[14], source, 1, "generic p of g", 14);
    shmem_barrier_all();
}
