/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks shmemx_ctx_space_quiet() and shmemx_ctx_space_fence() on a space of each kind that
 * exists: operations of a context on the space are complete, or ordered, after the call, on an
 * unbound context.
 */
#include "pe_kinds.h"

enum { N = 64 * 1024, ROUNDS = 5 };

static long here[N];
static long arrived; /* by the default context */

/* A nonblocking get has its data; a nonblocking put is at its target, whoever says so. */
static void check_quiet(const struct pe_space *s, shmem_ctx_t ctx, long *block, int to, int from)
{
    for (long round = 1; round <= ROUNDS; round++) {
        pe_gpu_fill(block, 1000 * pe_me + round, N);
        pe_team_barrier(s->team);
        memset(here, 0, sizeof(here));
        shmem_ctx_long_get_nbi(ctx, here, block, N, from);
        PE_CHECK_EQ(shmemx_ctx_space_quiet(ctx, s->space), 0);
        for (long i = 0; i < N; i += N / 8)
            PE_CHECK_EQ(here[i], 1000 * from + round + i);
        PE_CHECK_EQ(here[N - 1], 1000 * from + round + N - 1);
        pe_team_barrier(s->team);
        for (long i = 0; i < N; i++)
            here[i] = -i - round;
        shmem_ctx_long_put_nbi(ctx, block, here, N, to);
        PE_CHECK_EQ(shmemx_ctx_space_quiet(ctx, s->space), 0);
        shmem_long_atomic_inc(&arrived, to);
        shmem_long_wait_until(&arrived, SHMEM_CMP_EQ, round);
        PE_CHECK_EQ(shmem_long_g(block + N - 1, pe_me), -(N - 1) - round);
        pe_team_barrier(s->team);
    }
    arrived = 0;
    pe_team_barrier(s->team);
}

/* Data, then a word of the same space that says so. */
static void check_fence(const struct pe_space *s, shmem_ctx_t ctx, long *block, int to)
{
    for (long round = 1; round <= ROUNDS; round++) {
        for (long i = 0; i < N; i++)
            here[i] = round;
        shmem_ctx_long_put(ctx, block + 1, here, N - 1, to);
        PE_CHECK_EQ(shmemx_ctx_space_fence(ctx, s->space), 0);
        shmem_ctx_long_p(ctx, block, round, to);
        shmem_long_wait_until(block, SHMEM_CMP_EQ, round);
        PE_CHECK_EQ(shmem_long_g(block + N - 1, pe_me), round);
        pe_team_barrier(s->team);
    }
}

static void check_kind(int kind)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    struct pe_space s;
    int to, from;
    long *block;

    PE_REQUIRE(pe_kind_create(kind, 2 * N * sizeof(*block), &s), "creating a %s space failed",
               pe_kinds[kind].name);
    if (s.rank < 0) return;
    to = pe_member(&s, (s.rank + 1) % s.n);
    from = pe_member(&s, (s.rank + s.n - 1) % s.n);
    block = pe_kind_malloc(&s, N);
    PE_REQUIRE(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0, "shmem_ctx_create failed");
    check_quiet(&s, ctx, block, to, from);
    pe_gpu_fill(block, 0, N);
    pe_team_barrier(s.team);
    check_fence(&s, ctx, block, to);
    PE_CHECK(shmemx_ctx_space_quiet(ctx, SHMEM_SPACE_INVALID) != 0,
             "shmemx_ctx_space_quiet of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_ctx_space_fence(ctx, SHMEM_SPACE_INVALID) != 0,
             "shmemx_ctx_space_fence of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_ctx_space_quiet(SHMEM_CTX_INVALID, s.space) != 0,
             "shmemx_ctx_space_quiet of SHMEM_CTX_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_ctx_space_fence(SHMEM_CTX_INVALID, s.space) != 0,
             "shmemx_ctx_space_fence of SHMEM_CTX_INVALID returned 0, expected an error");
    PE_CHECK_EQ(shmemx_ctx_space_quiet(SHMEM_CTX_DEFAULT, SHMEM_SPACE_DEFAULT), 0);
    shmem_ctx_destroy(ctx);
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
}

int main(void)
{
    pe_test_begin();
    for (int kind = 0; kind < PE_N_KINDS; kind++)
        if (pe_kind_exists(kind)) check_kind(kind);
    return pe_test_end();
}
