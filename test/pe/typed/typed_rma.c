/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks each put, get, p, g, strided, block-strided, nonblocking and signalling routine, of each
 * type, each size and of bytes, with and without a context (OpenSHMEM 1.6, sections 9.6 and 9.8).
 * Guards show a wrong width, values show a wrong type.
 */
#include "typed.h"

#define TEMPLATE "typed/typed_value.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_rma.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_sized.tmpl.h"
#include "gen/sizes_rma.h"
#undef TEMPLATE

static void mem_rma(shmem_ctx_t ctx)
{
    unsigned char *dest = typed_dest, *source = typed_source, local[100], got[100];
    int right = pe_right();

    pe_fill(source, 100, typed_seed(pe_me, 50));
    pe_fill(local, 100, typed_seed(pe_me, 0));
    memset(dest, 0, 600);
    memset(typed_signals, 0, 4 * sizeof(*typed_signals));
    shmem_barrier_all();
    shmem_putmem(dest, local, 99, right);
    shmem_ctx_putmem(ctx, dest + 100, local, 99, right);
    shmem_putmem_nbi(dest + 200, local, 99, right);
    shmem_ctx_putmem_nbi(ctx, dest + 300, local, 99, right);
    shmem_putmem_signal(dest + 400, local, 49, &typed_signals[0], 1, SHMEM_SIGNAL_SET, right);
    shmem_ctx_putmem_signal(ctx, dest + 450, local, 49, &typed_signals[1], 2, SHMEM_SIGNAL_SET,
                            right);
    shmem_putmem_signal_nbi(dest + 500, local, 49, &typed_signals[2], 3, SHMEM_SIGNAL_SET, right);
    shmem_ctx_putmem_signal_nbi(ctx, dest + 550, local, 49, &typed_signals[3], 4, SHMEM_SIGNAL_SET,
                                right);
    memset(got, 0, sizeof(got));
    shmem_getmem(got, source, 21, right);
    shmem_ctx_getmem(ctx, got + 21, source + 21, 21, right);
    shmem_getmem_nbi(got + 42, source + 42, 21, right);
    shmem_ctx_getmem_nbi(ctx, got + 63, source + 63, 21, right);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    PE_CHECK_BYTES(got, 84, typed_seed(right, 50), "getmem");
    PE_CHECK_SAME(got + 84, 16, 0, "bytes after dest of getmem");
    for (int i = 0; i < 4; i++) {
        PE_CHECK_BYTES(dest + i * 100, 99, typed_seed(pe_left(), 0), "putmem");
        PE_CHECK_SAME(dest + i * 100 + 99, 1, 0, "bytes after dest of putmem");
        PE_CHECK_BYTES(dest + 400 + i * 50, 49, typed_seed(pe_left(), 0), "putmem_signal");
        PE_CHECK_SAME(dest + 400 + i * 50 + 49, 1, 0, "bytes after dest of putmem_signal");
        PE_CHECK_EQ(typed_signals[i], i + 1);
    }
}

#define TEMPLATE "typed/typed_run.tmpl.h"
#define RUN _rma
static void typed_rma_all(shmem_ctx_t ctx)
{
#include "gen/types_rma.h"
}
#undef TEMPLATE

#define TEMPLATE "typed/typed_sized_run.tmpl.h"
static void sized_rma_all(shmem_ctx_t ctx)
{
#include "gen/sizes_rma.h"
}
#undef TEMPLATE

int main(void)
{
    shmem_ctx_t ctx;

    typed_begin();
    ctx = pe_ctx(0);
    typed_rma_all(ctx);
    sized_rma_all(ctx);
    mem_rma(ctx);
    typed_rma_all(SHMEM_CTX_DEFAULT);
    shmem_ctx_destroy(ctx);
    return typed_end();
}
