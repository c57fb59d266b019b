/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks each wait and test routine of each type: on one object, on arrays, and under the old
 * names (OpenSHMEM 1.6, section 9.11).
 */
#include "typed.h"

#define TEMPLATE "typed/typed_value.tmpl.h"
#include "gen/types_wait.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_wait.tmpl.h"
#include "gen/types_wait.h"
#undef TEMPLATE

/* On arrays the standard has no short, so Steppe's names differ; nor has short atomics. */
#define TEMPLATE "typed/typed_wait_many.tmpl.h"
#define MANY FN
#define UPDATE FN(atomic_set)
#include "gen/types_wait_many.h"
#undef MANY
#undef UPDATE
#define MANY(op) TYPED_JOIN(shmemx_, NAME, _##op)
#define UPDATE FN(p)
#include "gen/types_wait_more.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_wait_old.tmpl.h"
#include "gen/types_old_wait.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_run.tmpl.h"
static void typed_wait_all(shmem_ctx_t ctx)
{
#define RUN _wait
#include "gen/types_wait.h"
#undef RUN
#define RUN _wait_many
#include "gen/types_wait_many.h"
#include "gen/types_wait_more.h"
#undef RUN
#define RUN _wait_old
#include "gen/types_old_wait.h"
#undef RUN
}
#undef TEMPLATE

/* The functions without a type in their name. */
static void untyped(void)
{
    long *ivar = typed_dest;

    *ivar = 1;
    shmem_barrier_all();
    shmem_long_atomic_set(ivar, -5, pe_right());
    (shmem_wait_until)(ivar, SHMEM_CMP_LT, 0);
    PE_CHECK_EQ(*ivar, -5);
    shmem_barrier_all();
    shmem_long_atomic_set(ivar, LONG_MAX, pe_right());
    shmem_wait(ivar, -5);
    PE_CHECK_EQ(*ivar, LONG_MAX);
    shmem_barrier_all();
}

int main(void)
{
    typed_begin();
    typed_wait_all(SHMEM_CTX_DEFAULT);
    untyped();
    return typed_end();
}
