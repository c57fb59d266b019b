/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams, their collectives, contexts, and places for answers that are none. */
#include "errors.h"

static void misuse_invalid_team(void)
{
    shmem_long_sum_reduce(SHMEM_TEAM_INVALID, block, block + 1, 1);
}

static void misuse_invalid_sync(void)
{
    shmem_team_sync(SHMEM_TEAM_INVALID);
}

static void misuse_bad_root(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, block, block + 1, 1, pe_n);
}

static void misuse_coll_stack(void)
{
    long *private_heap = calloc(8, 8);

    shmem_long_fcollect(SHMEM_TEAM_WORLD, private_heap, block, 1);
}

/* Too much for a cell: it would be read where it lies. */
static void misuse_reduce_stack(void)
{
    static __thread long private[1000];

    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, private, private, 1000);
}

static void misuse_destroy_world(void)
{
    shmem_team_destroy(SHMEM_TEAM_WORLD);
}

static void misuse_destroy_ctx(void)
{
    shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
}

static void misuse_destroy_ctx_twice(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    shmem_ctx_create(0, &ctx);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(ctx);
}

static void misuse_stale_ctx(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    shmem_ctx_create(0, &ctx);
    shmem_ctx_destroy(ctx);
    shmem_ctx_long_p(ctx, block, 1, peer);
}

/* A shareable context ends with its team. */
static void misuse_team_ctx(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, NULL, 0, &team);
    PE_REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0, "no context");
    shmem_team_destroy(team);
    shmem_ctx_long_p(ctx, block, 1, peer);
}

static void misuse_invalid_ctx(void)
{
    shmem_ctx_long_p(SHMEM_CTX_INVALID, block, 1, peer);
}

static void misuse_pe_quiet(void)
{
    int pes[] = {peer, pe_n};

    shmem_pe_quiet(pes, 2);
}

static void misuse_session(void)
{
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, SHMEM_CTX_SESSION_TOTAL_OPS);
}

/* Where an answer should go. Not null: UBSan would end the program for that by itself. */
static void *volatile nowhere = (void *)64;

static void misuse_wild_version(void)
{
    shmem_info_get_version(nowhere, nowhere);
}

static void misuse_wild_ctx(void)
{
    (void)shmem_ctx_create(0, nowhere);
}

static void misuse_wild_config(void)
{
    (void)shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, nowhere);
}

static void misuse_wild_targets(void)
{
    shmem_pe_quiet(nowhere, 2);
}

static const struct misuse misuses[] = {
    {"invalid_team", misuse_invalid_team, false},
    {"invalid_sync", misuse_invalid_sync, false},
    {"bad_root", misuse_bad_root, true},
    {"coll_stack", misuse_coll_stack, true},
    {"reduce_stack", misuse_reduce_stack, true},
    {"destroy_world", misuse_destroy_world, true},
    {"destroy_ctx", misuse_destroy_ctx, false},
    {"destroy_ctx_twice", misuse_destroy_ctx_twice, false},
    {"stale_ctx", misuse_stale_ctx, false},
    {"team_ctx", misuse_team_ctx, true},
    {"invalid_ctx", misuse_invalid_ctx, false},
    {"pe_quiet", misuse_pe_quiet, false},
    {"session", misuse_session, false},
    {"wild_version", misuse_wild_version, false},
    {"wild_ctx", misuse_wild_ctx, false},
    {"wild_config", misuse_wild_config, false},
    {"wild_targets", misuse_wild_targets, false},
    {NULL, NULL, false},
};

const struct chapter chapter_teams = {misuses, chapter_begin};
