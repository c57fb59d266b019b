/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks each typed collective, the untyped ones on bytes, each reduction and each scan (OpenSHMEM
 * 1.6, section 9.10), over the world and over a team with the PEs in reverse order.
 */
#include "typed.h"

#include <complex.h>

/* Groups of the reductions are teams. */
#define GROUP shmem_team_t
#define GROUP_N(team) shmem_team_n_pes(team)
#define GROUP_PE(team, k) shmem_team_translate_pe(team, k, SHMEM_TEAM_WORLD)
#define GROUP_SYNC(team) shmem_team_sync(team)
#define GROUP_REDUCE(op, team, dest, source, n, work)                                              \
    PE_CHECK_EQ(FN(op##_reduce)(team, dest, source, n), 0)

#define TEMPLATE "typed/typed_value.tmpl.h"
#include "gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_coll.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_reduce_bit.tmpl.h"
#include "gen/types_reduce_bit.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_reduce_order.tmpl.h"
#include "gen/types_rma.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_reduce_sum.tmpl.h"
#include "gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_scan.tmpl.h"
#include "gen/types_reduce_sum.h"
#undef TEMPLATE

#define TEMPLATE "typed/typed_run.tmpl.h"
static void typed_coll_all(shmem_team_t ctx)
{
#define RUN _coll
#include "gen/types_rma.h"
#undef RUN
#define RUN _reduce_bit
#include "gen/types_reduce_bit.h"
#undef RUN
#define RUN _reduce_order
#include "gen/types_rma.h"
#undef RUN
#define RUN _reduce_sum
#include "gen/types_reduce_sum.h"
#undef RUN
#define RUN _scan
#include "gen/types_reduce_sum.h"
#undef RUN
}
#undef TEMPLATE

/* Bytes: PE k sends the pattern of seed k; nelems and strides count bytes. */
static void mem_coll(shmem_team_t team)
{
    unsigned char *dest = typed_dest, *source = typed_source, *theirs = typed_theirs;
    int n = shmem_team_n_pes(team), rank = shmem_team_my_pe(team);
    size_t room = (size_t)TYPED_PER_PE * 2 * (size_t)n + 100; /* bytes: a tenth of an arena */

    pe_fill(source, room, (unsigned)rank);
    memset(dest, 0, room);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_alltoallmem(team, dest, source, 13), 0);
    for (int k = 0; k < n; k++) {
        pe_fill(theirs, room, (unsigned)k);
        PE_CHECK(memcmp(dest + 13 * k, theirs + 13 * rank, 13) == 0,
                 "alltoallmem: the block from member %d is wrong", k);
    }
    PE_CHECK_SAME(dest + 13 * n, 1, 0, "the byte after dest of alltoallmem");
    shmem_team_sync(team);
    memset(dest, 0, room);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_alltoallsmem(team, dest, source, 2, 3, 5), 0);
    for (int k = 0; k < n; k++) {
        pe_fill(theirs, room, (unsigned)k);
        for (int i = 0; i < 5; i++)
            PE_CHECK_EQ(dest[(k * 5 + i) * 2], theirs[(rank * 5 + i) * 3]);
    }
    PE_CHECK_EQ(dest[1], 0);
    shmem_team_sync(team);
    memset(dest, 0, room);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_broadcastmem(team, dest, source, 99, n - 1), 0);
    PE_CHECK_BYTES(dest, 99, (unsigned)(n - 1), "broadcastmem");
    PE_CHECK_SAME(dest + 99, 1, 0, "the byte after dest of broadcastmem");
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_fcollectmem(team, dest, source, 17), 0);
    for (int k = 0; k < n; k++)
        PE_CHECK_BYTES(dest + 17 * k, 17, (unsigned)k, "fcollectmem");
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_collectmem(team, dest, source, (size_t)rank % 13 + 1), 0);
    for (int k = 0, at = 0; k < n; at += k++ % 13 + 1)
        PE_CHECK_BYTES(dest + at, (size_t)k % 13 + 1, (unsigned)k, "collectmem");
    shmem_team_sync(team);
}

int main(void)
{
    shmem_team_t backwards;

    typed_begin();
    typed_coll_all(SHMEM_TEAM_WORLD);
    mem_coll(SHMEM_TEAM_WORLD);
    backwards = pe_split(SHMEM_TEAM_WORLD, pe_n - 1, -1, pe_n);
    typed_coll_all(backwards);
    mem_coll(backwards);
    shmem_team_destroy(backwards);
    return typed_end();
}
