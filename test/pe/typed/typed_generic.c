/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks each C11 generic on each type, with and without a context, on const pointers and arrays
 * (OpenSHMEM 1.6, section 5). The generic must select the routine of the type; values of full
 * width and compile-time checks of types show a wrong one.
 */
#include "typed.h"

#define TEMPLATE "typed/typed_value.tmpl.h"
#include "gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_rma.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_amo_ext.tmpl.h"
#include "gen/types_amo_ext.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_old_ext.tmpl.h"
#include "gen/types_old_ext.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_amo.tmpl.h"
#include "gen/types_amo.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_old.tmpl.h"
#include "gen/types_old.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_bit.tmpl.h"
#include "gen/types_amo_bit.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_wait.tmpl.h"
#include "gen/types_wait.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_wait_many.tmpl.h"
#include "gen/types_wait_many.h"
#include "gen/types_wait_more.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_coll.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_sum.tmpl.h"
#include "gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_generic_bits.tmpl.h"
#include "gen/types_reduce_bit.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_run.tmpl.h"
static void typed_generic_all(shmem_ctx_t ctx)
{
#define RUN _rma
#include "gen/types_rma.h"
#undef RUN
#define RUN _amo_ext
#include "gen/types_amo_ext.h"
#undef RUN
#define RUN _old_ext
#include "gen/types_old_ext.h"
#undef RUN
#define RUN _amo
#include "gen/types_amo.h"
#undef RUN
#define RUN _wait_many
#include "gen/types_wait_many.h"
#include "gen/types_wait_more.h"
#undef RUN
#define RUN _old
#include "gen/types_old.h"
#undef RUN
#define RUN _bit
#include "gen/types_amo_bit.h"
#undef RUN
#define RUN _wait
#include "gen/types_wait.h"
#undef RUN
#define RUN _coll
#include "gen/types_rma.h"
#undef RUN
#define RUN _sum
#include "gen/types_reduce_sum.h"
#undef RUN
#define RUN _bits
#include "gen/types_reduce_bit.h"
#undef RUN
}
#undef TEMPLATE

/* Generics that do not depend on a type of data. */
static void untyped(shmem_ctx_t ctx)
{
    uint64_t *sig = typed_signals;

    *sig = 0;
    PE_CHECK_EQ(shmem_sync(SHMEM_TEAM_WORLD), 0);
    shmem_signal_set(sig, 5, pe_right());
    shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 5);
    shmem_barrier_all();
    shmem_signal_set(ctx, sig, 6, pe_right());
    shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 6);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    shmem_signal_add(sig, 5, pe_right());
    shmem_signal_add(ctx, sig, 5, pe_right());
    shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 16);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
}

int main(void)
{
    shmem_ctx_t ctx;

    typed_begin();
    ctx = pe_ctx(0);
    typed_generic_all(ctx);
    untyped(ctx);
    shmem_ctx_destroy(ctx);
    return typed_end();
}
