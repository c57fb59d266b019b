/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls each routine that takes pointers and a count, of each type that the generator knows, with
 * a count of zero: with NULL pointers, and with pointers to memory that must not change (rules R44
 * and R45 of docs/reference/conformance.md). Signals of such calls must be sent and are counted.
 */
#include "typed.h"

#include <complex.h>

#include "pe_table.h"

enum { PLACE = 4096 };

static uint64_t *null_signals;        /* symmetric, 4, from the left neighbour */
static uint64_t null_sent;            /* how many each of them gets */
static void *null_dest, *null_source; /* symmetric, PLACE bytes of patterns 1 and 2 */
static shmem_ctx_t null_ctx;
static shmem_team_t null_team;

#define NULL_SUM 1
#define NULL_BIT 2
#define NULL_WAIT 3

#define TEMPLATE "typed/rules_null_rma.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/rules_null_more.tmpl.h"
#define NULL_ONLY NULL_SUM
#include "gen/types_reduce_sum.h"
#undef NULL_ONLY
#define NULL_ONLY NULL_BIT
#include "gen/types_reduce_bit.h"
#undef NULL_ONLY
#define NULL_ONLY NULL_WAIT
#include "gen/types_amo.h"
#undef NULL_ONLY
#undef TEMPLATE

#define TEMPLATE "typed/rules_null_call.tmpl.h"

static void check_rma(void)
{
#define NULL_CALL _null_rma
#define NULL_FIRST(type, d, s) null_ctx, (type *)(d), (type *)(s), pe_right()
#include "gen/types_rma.h"
#undef NULL_FIRST
#undef NULL_CALL
}

static void check_collectives(void)
{
#define NULL_FIRST(type, d, s) null_team, (type *)(d), (type *)(s)
#define NULL_CALL _null_coll
#include "gen/types_rma.h"
#undef NULL_CALL
#define NULL_CALL _null_sum
#include "gen/types_reduce_sum.h"
#undef NULL_CALL
#define NULL_CALL _null_bit
#include "gen/types_reduce_bit.h"
#undef NULL_CALL
#undef NULL_FIRST
    for (int i = 0; i < 2; i++) {
        void *d = i ? null_dest : NULL, *s = i ? null_source : NULL;

        PE_CHECK_EQ(shmem_alltoallmem(null_team, d, s, 0), 0);
        PE_CHECK_EQ(shmem_alltoallsmem(null_team, d, s, 1, 1, 0), 0);
        PE_CHECK_EQ(shmem_broadcastmem(null_team, d, s, 0, 0), 0);
        PE_CHECK_EQ(shmem_collectmem(null_team, d, s, 0), 0);
        PE_CHECK_EQ(shmem_fcollectmem(null_team, d, s, 0), 0);
    }
}

static void check_waits(void)
{
    static const int status[1] = {0};
    size_t indices[1] = {7};

#define NULL_CALL _null_wait
#define NULL_FIRST(type, d, s)                                                                     \
    (type *)(d), (type *)(s), (d) == NULL ? NULL : indices, (d) == NULL ? NULL : status
#include "gen/types_amo.h"
#undef NULL_FIRST
#undef NULL_CALL
    PE_CHECK_EQ(indices[0], 7);
}
#undef TEMPLATE

static void sized(shmem_ctx_t ctx, void *d, void *s, int pe)
{
#define TEMPLATE "typed/rules_null_sized.tmpl.h"
#include "gen/sizes_rma.h"
#undef TEMPLATE
}

static void bytes(shmem_ctx_t ctx, void *d, void *s, int pe)
{
    shmem_putmem(d, s, 0, pe);
    shmem_ctx_putmem(ctx, d, s, 0, pe);
    shmem_getmem(d, s, 0, pe);
    shmem_ctx_getmem(ctx, d, s, 0, pe);
    shmem_putmem_nbi(d, s, 0, pe);
    shmem_ctx_putmem_nbi(ctx, d, s, 0, pe);
    shmem_getmem_nbi(d, s, 0, pe);
    shmem_ctx_getmem_nbi(ctx, d, s, 0, pe);
    shmem_putmem_signal(d, s, 0, &null_signals[0], 1, SHMEM_SIGNAL_ADD, pe);
    shmem_ctx_putmem_signal(ctx, d, s, 0, &null_signals[1], 1, SHMEM_SIGNAL_ADD, pe);
    shmem_putmem_signal_nbi(d, s, 0, &null_signals[2], 1, SHMEM_SIGNAL_ADD, pe);
    shmem_ctx_putmem_signal_nbi(ctx, d, s, 0, &null_signals[3], 1, SHMEM_SIGNAL_ADD, pe);
    null_sent++;
}

static void check_untyped(void)
{
    sized(null_ctx, NULL, NULL, pe_right());
    sized(null_ctx, null_dest, null_source, pe_right());
    bytes(null_ctx, NULL, NULL, pe_right());
    bytes(null_ctx, null_dest, null_source, pe_right());
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_pe_quiet(null_ctx, NULL, 0);
    shmem_ctx_pe_quiet(null_ctx, &pe_me, 0);
}

/* After all of it: every signal has come once, and every byte is what it was. */
static void check_nothing_moved(void)
{
    shmem_ctx_quiet(null_ctx);
    shmem_barrier_all();
    for (int i = 0; i < 4; i++)
        PE_CHECK_EQ(null_signals[i], null_sent);
    PE_CHECK_BYTES(null_dest, PLACE, 1, "dest of calls that move nothing");
    PE_CHECK_BYTES(null_source, PLACE, 2, "source of calls that move nothing");
}

static const struct pe_rule rules[] = {
    {"R44 R45 counts of nothing: every typed put and get, NULL or not", check_rma},
    {"R44 R45 counts of nothing: sized and byte calls, pe_quiet", check_untyped},
    {"R44 R45 counts of nothing: every collective", check_collectives},
    {"R44 R45 counts of nothing: every wait and test on arrays", check_waits},
    {"R44 R45 nothing moved, all signals came", check_nothing_moved},
};

int main(void)
{
    pe_test_begin();
    null_signals = pe_calloc(4, sizeof(*null_signals));
    null_dest = pe_malloc(PLACE);
    null_source = pe_malloc(PLACE);
    null_team = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n);
    null_ctx = pe_ctx(0);
    pe_fill(null_dest, PLACE, 1);
    pe_fill(null_source, PLACE, 2);
    shmem_barrier_all();
    PE_RULES_RUN(rules);
    shmem_ctx_destroy(null_ctx);
    shmem_team_destroy(null_team);
    return pe_test_end();
}
