/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks signals (OpenSHMEM 1.6, section 9.8): the data of each typed put with signal are there
 * when the signal is seen, and the routines on signal words alone, in a ring.
 */
#include "typed.h"

static uint64_t typed_step; /* what the signals hold by now; the same on all PEs */

#define TEMPLATE "typed/typed_value.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_signal.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_run.tmpl.h"
#define RUN _signal
static void typed_signal_all(shmem_ctx_t ctx)
{
#include "gen/types_rma.h"
}
#undef RUN
#undef TEMPLATE

/* Signal words compare unsigned, hold 64 bits and wrap. */
static void words(shmem_ctx_t ctx)
{
    uint64_t *sig = typed_signals + 8;
    int pe = pe_right();

    shmem_signal_set(&sig[0], UINT64_MAX, pe);
    PE_CHECK(shmem_signal_wait_until(&sig[0], SHMEM_CMP_GT, 1) == UINT64_MAX,
             "signal_set of UINT64_MAX: the wait did not return it");
    shmem_ctx_signal_set(ctx, &sig[1], UINT64_C(1) << 63, pe);
    PE_CHECK(shmem_signal_wait_until(&sig[1], SHMEM_CMP_NE, 0) == UINT64_C(1) << 63,
             "ctx_signal_set of 2^63: the wait did not return it");
    shmem_barrier_all();
    shmem_signal_add(&sig[0], 3, pe);
    PE_CHECK(shmem_signal_wait_until(&sig[0], SHMEM_CMP_LT, UINT64_MAX) == 2,
             "signal_add of 3 to UINT64_MAX: the wait did not return 2");
    shmem_ctx_signal_add(ctx, &sig[1], 5, pe);
    PE_CHECK(shmem_signal_wait_until(&sig[1], SHMEM_CMP_NE, UINT64_C(1) << 63) ==
                 (UINT64_C(1) << 63) + 5,
             "ctx_signal_add of 5 to 2^63: the wait did not return the sum");
    PE_CHECK(shmem_signal_fetch(&sig[1]) == (UINT64_C(1) << 63) + 5,
             "signal_fetch did not return 2^63 + 5");
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    /* all to PE 0 */
    for (int i = 0; i < 10; i++)
        shmem_signal_add(&sig[2], 1, 0);
    for (int i = 0; i < 10; i++)
        shmem_ctx_signal_add(ctx, &sig[2], 1, 0);
    if (pe_me == 0)
        PE_CHECK_EQ(shmem_signal_wait_until(&sig[2], SHMEM_CMP_GE, 20 * (uint64_t)pe_n), 20 * pe_n);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

int main(void)
{
    shmem_ctx_t ctx;

    typed_begin();
    ctx = pe_ctx(0);
    typed_signal_all(ctx);
    words(ctx);
    shmem_ctx_destroy(ctx);
    return typed_end();
}
