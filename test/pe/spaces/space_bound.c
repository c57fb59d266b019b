/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks contexts that are bound to the default space, which includes globals and statics:
 * operations on blocks of the heap, globals and statics are accepted with SHMEM_CHECK=1, and quiet
 * and fence of that space complete and order them. Objects of other spaces are refused; that is in
 * space_errors.c.
 */
#include "pe_spaces.h"

#include <shmemx.h>

enum { N = 1000 };

long global[N];
static long mine[N];

static void check_words(shmem_ctx_t ctx, long *words, const char *what)
{
    long values[N], got[N];

    for (long i = 0; i < N; i++)
        values[i] = 100000L * (1 + pe_me) + i;
    shmem_barrier_all();
    shmem_ctx_long_put_nbi(ctx, words, values, N, pe_right());
    PE_CHECK_EQ(shmemx_ctx_space_fence(ctx, SHMEM_SPACE_DEFAULT), 0);
    shmem_ctx_long_atomic_add(ctx, &words[7], 1000000, pe_right());
    PE_CHECK_EQ(shmemx_ctx_space_quiet(ctx, SHMEM_SPACE_DEFAULT), 0);
    shmem_ctx_long_get(ctx, got, words, N, pe_right());
    values[7] += 1000000;
    PE_CHECK(memcmp(got, values, sizeof(got)) == 0,
             "%s: get on the bound context returned other data than were put", what);
    shmem_barrier_all();
    PE_CHECK_EQ(words[N - 1], 100000L * (1 + pe_left()) + N - 1);
    PE_CHECK_EQ(words[7], 100000L * (1 + pe_left()) + 1000007);
}

int main(void)
{
    const shmemx_ctx_config_t config = {SHMEM_TEAM_WORLD, SHMEM_SPACE_DEFAULT};
    shmem_space_t found = SHMEM_SPACE_INVALID;
    shmem_ctx_t ctx;
    long *heap;

    pe_test_begin();
    heap = shmem_calloc(N, sizeof(*heap));
    PE_REQUIRE(shmemx_ctx_create(0, &config, &ctx) == 0,
               "shmemx_ctx_create for the default space failed");
    PE_CHECK_EQ(shmem_get_space(mine, &found), 0);
    PE_CHECK(found == config.space, "shmem_get_space of a static is not the default space");
    check_words(ctx, heap, "the heap");
    check_words(ctx, global, "globals");
    check_words(ctx, mine, "statics");
    shmem_ctx_destroy(ctx);
    shmem_free(heap);
    return pe_test_end();
}
