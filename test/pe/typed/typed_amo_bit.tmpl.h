/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks and, or and xor of one TYPE: one PE alone on the cell of the right PE, then all PEs at
 * once on cells of PE 0.
 */

static void T(bit_alone)(shmem_ctx_t ctx, TYPE *cell, int pe)
{
    TYPE v[10], now = 0, got[6];

    T(fill)(v, 10, typed_seed(pe_me, 0));
    T(same)(&(TYPE){FN(atomic_fetch_or)(cell, v[0], pe)}, &now, 1, "fetch_or", 0);
    now |= v[0];
    T(same)(&(TYPE){CTX_FN(atomic_fetch_xor)(ctx, cell, v[1], pe)}, &now, 1, "ctx fetch_xor", 0);
    now ^= v[1];
    T(same)(&(TYPE){FN(atomic_fetch_and)(cell, v[2], pe)}, &now, 1, "fetch_and", 0);
    now &= v[2];
    T(same)(&(TYPE){CTX_FN(atomic_fetch_or)(ctx, cell, v[3], pe)}, &now, 1, "ctx fetch_or", 0);
    now |= v[3];
    T(same)(&(TYPE){FN(atomic_fetch_xor)(cell, v[4], pe)}, &now, 1, "fetch_xor", 0);
    now ^= v[4];
    T(same)(&(TYPE){CTX_FN(atomic_fetch_and)(ctx, cell, v[5], pe)}, &now, 1, "ctx fetch_and", 0);
    now &= v[5];

    FN(atomic_fetch_xor_nbi)(&got[0], cell, v[6], pe);
    shmem_quiet();
    CTX_FN(atomic_fetch_and_nbi)(ctx, &got[1], cell, v[7], pe);
    shmem_ctx_quiet(ctx);
    FN(atomic_fetch_or_nbi)(&got[2], cell, v[8], pe);
    shmem_quiet();
    CTX_FN(atomic_fetch_xor_nbi)(ctx, &got[3], cell, v[9], pe);
    shmem_ctx_quiet(ctx);
    FN(atomic_fetch_and_nbi)(&got[4], cell, v[0], pe);
    shmem_quiet();
    CTX_FN(atomic_fetch_or_nbi)(ctx, &got[5], cell, v[1], pe);
    shmem_ctx_quiet(ctx);
    T(same)(&got[0], &now, 1, "fetch_xor_nbi", 0);
    now ^= v[6];
    T(same)(&got[1], &now, 1, "ctx fetch_and_nbi", 0);
    now &= v[7];
    T(same)(&got[2], &now, 1, "fetch_or_nbi", 0);
    now |= v[8];
    T(same)(&got[3], &now, 1, "ctx fetch_xor_nbi", 0);
    now ^= v[9];
    T(same)(&got[4], &now, 1, "fetch_and_nbi", 0);
    now &= v[0];
    T(same)(&got[5], &now, 1, "ctx fetch_or_nbi", 0);
    now |= v[1];
    T(same)(&(TYPE){FN(atomic_fetch)(cell, pe)}, &now, 1, "bits at the end", 0);
}

/* Two bits of PE pe, one low and one high; others for the form with a context. */
static TYPE T(bits_of)(int pe, bool with_ctx)
{
    int low = pe % 8 + (with_ctx ? 8 : 0);

    return (TYPE)((uint64_t)1 << low | (uint64_t)1 << (sizeof(TYPE) * 8 - 1 - (size_t)low));
}

/* Each PE changes its bits of three cells of PE 0, and only them. */
static void T(bit_together)(shmem_ctx_t ctx, TYPE *cells)
{
    TYPE plain = T(bits_of)(pe_me, false), with_ctx = T(bits_of)(pe_me, true);

    FN(atomic_or)(&cells[0], plain, 0);
    CTX_FN(atomic_or)(ctx, &cells[0], with_ctx, 0);
    FN(atomic_and)(&cells[1], (TYPE)~plain, 0);
    CTX_FN(atomic_and)(ctx, &cells[1], (TYPE)~with_ctx, 0);
    FN(atomic_xor)(&cells[2], plain, 0);
    CTX_FN(atomic_xor)(ctx, &cells[2], with_ctx, 0);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
}

static void T(amo_bit)(shmem_ctx_t ctx)
{
    TYPE *cell = (TYPE *)typed_dest + 1, ones = 0, odd = 0;

    cell[-1] = cell[1] = (TYPE)1;
    cell[0] = 0;
    shmem_barrier_all();
    T(bit_alone)(ctx, cell, pe_right());
    shmem_barrier_all();
    T(guards)(cell, "bits");

    cell[0] = 0;
    cell[1] = (TYPE)~(TYPE)0;
    cell[2] = 0;
    shmem_barrier_all();
    T(bit_together)(ctx, cell);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++) {
        TYPE bits = (TYPE)(T(bits_of)(pe, false) ^ T(bits_of)(pe, true));
        ones |= bits;
        odd ^= bits;
    }
    if (pe_me == 0)
        T(same)(cell, (TYPE[]){ones, (TYPE)~ones, odd}, 3, "bits of all", 1);
    shmem_barrier_all();
}
