/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks RMA routines for elements of SIZE bits in a ring, as typed_rma.tmpl.h does for types.
 */

#define S(op, tail) TYPED_JOIN(shmem_##op, SIZE, tail)
#define CTX_S(op, tail) TYPED_JOIN(shmem_ctx_##op, SIZE, tail)
#define SIZED(what) TYPED_JOIN(sized, SIZE, _##what)

enum { SIZED(bytes) = SIZE / 8, SIZED(row) = TYPED_LEN * SIZE / 8 };

/* Row r of an arena of rows of TYPED_LEN elements; element i of it. */
static char *SIZED(at)(void *arena, int r, int i)
{
    return (char *)arena + r * SIZED(row) + i * SIZED(bytes);
}

static void SIZED(puts)(shmem_ctx_t ctx, char *from, int pe)
{
    char *to = typed_dest;
    uint64_t *sig = typed_signals;

    S(put, )(SIZED(at)(to, 0, 1), SIZED(at)(from, 0, 0), 5, pe);
    CTX_S(put, )(ctx, SIZED(at)(to, 1, 1), SIZED(at)(from, 1, 0), 5, pe);
    S(put, _nbi)(SIZED(at)(to, 2, 1), SIZED(at)(from, 2, 0), 5, pe);
    CTX_S(put, _nbi)(ctx, SIZED(at)(to, 3, 1), SIZED(at)(from, 3, 0), 5, pe);
    S(put, _signal)(SIZED(at)(to, 4, 1), SIZED(at)(from, 4, 0), 5, &sig[0], 5, SHMEM_SIGNAL_SET,
                    pe);
    CTX_S(put, _signal)(ctx, SIZED(at)(to, 5, 1), SIZED(at)(from, 5, 0), 5, &sig[1], 6,
                        SHMEM_SIGNAL_ADD, pe);
    S(put, _signal_nbi)(SIZED(at)(to, 6, 1), SIZED(at)(from, 6, 0), 5, &sig[2], 7, SHMEM_SIGNAL_SET,
                        pe);
    CTX_S(put, _signal_nbi)(ctx, SIZED(at)(to, 7, 1), SIZED(at)(from, 7, 0), 5, &sig[3], 8,
                            SHMEM_SIGNAL_ADD, pe);
    S(iput, )(SIZED(at)(to, 8, 1), SIZED(at)(from, 8, 0), 2, 3, 4, pe);
    CTX_S(iput, )(ctx, SIZED(at)(to, 9, 1), SIZED(at)(from, 9, 0), 2, 3, 4, pe);
    S(ibput, )(SIZED(at)(to, 10, 1), SIZED(at)(from, 10, 0), 5, 3, 2, 3, pe);
    CTX_S(ibput, )(ctx, SIZED(at)(to, 11, 1), SIZED(at)(from, 11, 0), 5, 3, 2, 3, pe);
}

static void SIZED(gets)(shmem_ctx_t ctx, char *to, int pe)
{
    char *from = typed_source;

    S(get, )(SIZED(at)(to, 0, 1), SIZED(at)(from, 0, 0), 5, pe);
    CTX_S(get, )(ctx, SIZED(at)(to, 1, 1), SIZED(at)(from, 1, 0), 5, pe);
    S(get, _nbi)(SIZED(at)(to, 2, 1), SIZED(at)(from, 2, 0), 5, pe);
    CTX_S(get, _nbi)(ctx, SIZED(at)(to, 3, 1), SIZED(at)(from, 3, 0), 5, pe);
    for (int row = 4; row < 8; row++)
        CTX_S(get, )(ctx, SIZED(at)(to, row, 1), SIZED(at)(from, row, 0), 5, pe);
    S(iget, )(SIZED(at)(to, 8, 1), SIZED(at)(from, 8, 0), 2, 3, 4, pe);
    CTX_S(iget, )(ctx, SIZED(at)(to, 9, 1), SIZED(at)(from, 9, 0), 2, 3, 4, pe);
    S(ibget, )(SIZED(at)(to, 10, 1), SIZED(at)(from, 10, 0), 5, 3, 2, 3, pe);
    CTX_S(ibget, )(ctx, SIZED(at)(to, 11, 1), SIZED(at)(from, 11, 0), 5, 3, 2, 3, pe);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
}

/* What both do, in C: eight rows of five elements, two strided, two blocked. */
static void SIZED(want)(char *to, char *from)
{
    for (int row = 0; row < 8; row++)
        memcpy(SIZED(at)(to, row, 1), SIZED(at)(from, row, 0), 5 * SIZED(bytes));
    for (int row = 8; row < 10; row++)
        for (int i = 0; i < 4; i++)
            memcpy(SIZED(at)(to, row, 1 + 2 * i), SIZED(at)(from, row, 3 * i), SIZED(bytes));
    for (int row = 10; row < 12; row++)
        for (int i = 0; i < 3; i++)
            memcpy(SIZED(at)(to, row, 1 + 5 * i), SIZED(at)(from, row, 3 * i), 2 * SIZED(bytes));
}

static void SIZED(same)(const void *got, const void *want, const char *what)
{
    for (int row = 0; row < 12; row++)
        PE_CHECK(memcmp((const char *)got + row * SIZED(row), (const char *)want + row * SIZED(row),
                        SIZED(row)) == 0,
                 "%s of elements of %d bits: row %d of the result is wrong", what, SIZE, row);
}

static void SIZED(rma)(shmem_ctx_t ctx)
{
    _Alignas(16) char local[12 * SIZED(row)], got[12 * SIZED(row)], want[12 * SIZED(row)];

    pe_fill(typed_dest, sizeof(local), TYPED_GUARD);
    pe_fill(typed_source, sizeof(local), typed_seed(pe_me, 50));
    pe_fill(local, sizeof(local), typed_seed(pe_me, 0));
    for (int i = 0; i < 4; i++) typed_signals[i] = TYPED_SIGNAL;
    shmem_barrier_all();

    SIZED(puts)(ctx, local, pe_right());
    pe_fill(got, sizeof(got), TYPED_GUARD);
    SIZED(gets)(ctx, got, pe_right());
    shmem_barrier_all();

    pe_fill(want, sizeof(want), TYPED_GUARD);
    pe_fill(local, sizeof(local), typed_seed(pe_left(), 0));
    SIZED(want)(want, local);
    SIZED(same)(typed_dest, want, "put");
    for (int i = 0; i < 4; i++)
        PE_CHECK_EQ(typed_signals[i], 5 + i + (i % 2 != 0 ? TYPED_SIGNAL : 0));

    pe_fill(want, sizeof(want), TYPED_GUARD);
    pe_fill(local, sizeof(local), typed_seed(pe_right(), 50));
    SIZED(want)(want, local);
    SIZED(same)(got, want, "get");
}

#undef S
#undef CTX_S
#undef SIZED
