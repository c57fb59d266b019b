/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks each sized and typed collective over active sets (OpenSHMEM 1.6, section 9.10; rules R169,
 * R170, R175, R182, R184, R193 and R195 of docs/reference/conformance.md): over all PEs, every
 * second PE from the first and from the second one, all but the first, the upper half, and the last
 * PE alone. At most 16 PEs.
 */
#include "pe_active.h"
#include "typed.h"

#include <complex.h>

static long sync_data[SHMEM_SYNC_SIZE], sync_between[SHMEM_SYNC_SIZE]; /* symmetric */
static void *typed_work;

/* All members are here: data and sync_data may be used again. */
static void between(const struct pe_set *set)
{
    PE_CHECK_PSYNC(sync_data, SHMEM_SYNC_SIZE, "a collective");
    shmem_sync(PE_SET(set), sync_between);
}

/* Groups of the reductions are active sets. */
#define GROUP const struct pe_set *
#define GROUP_N(set) (set)->size
#define GROUP_PE(set, k) pe_set_pe(set, k)
#define GROUP_SYNC(set) between(set)
#define GROUP_REDUCE(op, set, dest, source, n, work)                                               \
    FN(op##_to_all)(dest, source, n, PE_SET(set), work, sync_data);                                \
    between(set)

#define TEMPLATE "typed/typed_value.tmpl.h"
#include "gen/types_old_sum.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_active.tmpl.h"
#include "gen/sizes_active.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_reduce_bit.tmpl.h"
#include "gen/types_old_bit.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_reduce_order.tmpl.h"
#include "gen/types_old_max.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_reduce_sum.tmpl.h"
#include "gen/types_old_sum.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_run.tmpl.h"
static void typed_active_all(const struct pe_set *ctx)
{
    sized32_active(ctx);
    sized64_active(ctx);
#define RUN _reduce_bit
#include "gen/types_old_bit.h"
#undef RUN
#define RUN _reduce_order
#include "gen/types_old_max.h"
#undef RUN
#define RUN _reduce_sum
#include "gen/types_old_sum.h"
#undef RUN
}
#undef TEMPLATE

/* Only members call; sets follow each other with the same pSync, so all PEs meet between. */
static void run(int start, int log, int size)
{
    struct pe_set set = pe_set(start, log, size);

    if (size > 0 && set.rank >= 0) {
        typed_active_all(&set);
        shmem_barrier(PE_SET(&set), sync_between);
        PE_CHECK_PSYNC(sync_between, SHMEM_SYNC_SIZE, "barrier and sync");
    }
    shmem_barrier_all();
}

int main(void)
{
    typed_begin();
    PE_REQUIRE(pe_n <= 16, "this test runs with at most 16 PEs");
    typed_work = pe_malloc(SHMEM_REDUCE_MIN_WRKDATA_SIZE * 2 * sizeof(double));
    pe_psync_init(sync_data, SHMEM_SYNC_SIZE);
    pe_psync_init(sync_between, SHMEM_SYNC_SIZE);
    shmem_barrier_all();
    run(0, 0, pe_n);
    run(0, 1, (pe_n + 1) / 2);
    run(1, 1, pe_n / 2);
    run(1, 0, pe_n - 1);
    run(pe_n / 2, 0, pe_n - pe_n / 2);
    run(pe_n - 1, 3, 1);
    shmem_free(typed_work);
    return typed_end();
}
