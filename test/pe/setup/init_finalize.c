/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Initialisation is counted, the last finalize completes and tears down, and the library comes
 * up again afterwards. Rules R1-R5, R7-R9, R16, R27.
 */
#include "pe_data.h"

enum { CYCLES = 4, BIG = 4096 };

static long landed; /* written by the left neighbour, read after finalize */
static unsigned char landed_big[BIG];

static int initialized(void)
{
    int flag = -1;

    shmem_query_initialized(&flag);
    return flag;
}

static bool is_level(int level)
{
    return level == SHMEM_THREAD_SINGLE || level == SHMEM_THREAD_FUNNELED ||
           level == SHMEM_THREAD_SERIALIZED || level == SHMEM_THREAD_MULTIPLE;
}

/* R1, R2: nested inits; all finalizes but the last act as a barrier and free nothing. */
static void check_counted(void)
{
    int provided = -1, level = -1;
    long *cell;

    PE_CHECK_EQ(initialized(), 0); /* R7: callable before init */
    shmem_init();
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    PE_CHECK(initialized() != 0, "not initialised after shmem_init");
    shmem_init();
    PE_CHECK_EQ(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided), 0); /* R9: still filled */
    PE_CHECK(is_level(provided), "init_thread provided %d, which is no level", provided);
    shmem_query_thread(&level);
    PE_CHECK(is_level(level), "query_thread says %d, which is no level", level);

    cell = shmem_calloc(2, sizeof(*cell));
    PE_REQUIRE(cell != NULL, "calloc of 16 bytes failed");
    shmem_long_p(&cell[0], 100 + pe_me, pe_right());
    shmem_finalize(); /* R2: barrier_all, which completes the p */
    PE_CHECK(initialized() != 0, "down after the first of three finalizes");
    PE_CHECK_EQ(cell[0], 100 + pe_left());
    shmem_long_p(&cell[1], 200 + pe_me, pe_right());
    shmem_finalize();
    PE_CHECK(initialized() != 0, "down after the second of three finalizes");
    PE_CHECK_EQ(cell[1], 200 + pe_left());
    PE_CHECK_EQ(shmem_my_pe(), pe_me);
    shmem_finalize();
    PE_CHECK_EQ(initialized(), 0); /* R7: callable after the last */
}

/* R3, R4: up again; what was put before the last finalize has arrived after it. */
static void check_cycle(int cycle, int requested)
{
    static unsigned char source[BIG];
    int provided = -1, level = -1;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    long *cell;

    PE_CHECK_EQ(shmem_init_thread(requested, &provided), 0);
    PE_CHECK(is_level(provided), "level %d provided for %d", provided, requested);
    shmem_query_thread(&level);
    PE_CHECK_EQ(level, provided);      /* R8 */
    PE_CHECK_EQ(shmem_my_pe(), pe_me); /* same place in the job each time */
    PE_CHECK_EQ(shmem_n_pes(), pe_n);

    cell = shmem_malloc(sizeof(*cell));
    PE_REQUIRE(cell != NULL, "malloc failed in cycle %d", cycle);
    *cell = -1;
    shmem_barrier_all();
    shmem_long_atomic_set(cell, cycle * 1000 + pe_me, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(*cell, cycle * 1000 + pe_left());

    /* R5: a team alive at the last finalize is released by it. */
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, NULL, 0, &team), 0);
    PE_CHECK_EQ(shmem_team_n_pes(team), pe_n);

    pe_fill(source, BIG, (unsigned)(cycle * 64 + pe_me));
    shmem_barrier_all();
    shmem_long_p(&landed, cycle * 1000 + 500 + pe_me, pe_right());
    shmem_putmem_nbi(landed_big, source, BIG, pe_right());
    shmem_finalize();
    PE_CHECK_EQ(initialized(), 0);
    PE_CHECK_EQ(landed, cycle * 1000 + 500 + pe_left());
    PE_CHECK_BYTES(landed_big, BIG, (unsigned)(cycle * 64 + pe_left()), "put before finalize");
}

int main(void)
{
    static const int levels[CYCLES] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED,
                                       SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE};

    PE_CHECK(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED &&
                 SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
                 SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE,
             "levels do not increase (R27)");
    check_counted();
    for (int i = 0; i < CYCLES; i++)
        check_cycle(i, levels[i]);
    pe_test_begin();
    return pe_test_end();
}
