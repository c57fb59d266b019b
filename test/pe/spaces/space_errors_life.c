/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes with destroying a space, with freeing blocks, and with handles of spaces that do not
 * exist any more. Functions named fatal_* must end the job; the others check the returned error.
 */
#include "space_errors.h"

/* ---- told by destroy ----------------------------------------------------------------------- */

static void destroy_held(void)
{
    if (s.rank >= 0)
        PE_CHECK(shmem_space_destroy(s.space) != 0,
                 "shmem_space_destroy returned 0 while the space's team exists, expected an error");
}

static void destroy_twice(void)
{
    if (s.rank < 0) return;
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
    PE_CHECK(shmem_space_destroy(s.space) != 0,
             "a second shmem_space_destroy of the same handle returned 0, expected an error");
}

static void destroy_live(void)
{
    if (s.rank >= 0) pe_kind_destroy(&s); /* block is in it */
}

/* ---- ends of the job -------------------------------------------------------------------- */

static void fatal_double_free(void)
{
    shmem_space_free(s.space, block);
    shmem_space_free(s.space, block);
}

/* A block that a name stands for, by some bytes in it. */
static void fatal_free_named(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_FAM, SIZE);
    shmem_space_t space;
    shmem_team_t team;
    char *named;

    attr.name = "free_named";
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a named FAM space failed");
    named = shmem_space_malloc(space, 1000);
    PE_REQUIRE(shmemx_space_root_set(space, "bytes", named + 8, 100) == 0,
               "shmemx_space_root_set failed");
    shmem_free(named);
}

static void fatal_interior(void)
{
    shmem_space_free(s.space, block + 1);
}

/* The block of one space given to another, which is of kind CPU. */
static void fatal_free_other(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_cpu_config(2 * SIZE);
    shmem_space_t other = SHMEM_SPACE_INVALID;

    attr.parent = s.team;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &other, &team) == 0,
               "creating a second space failed");
    shmem_space_free(other, block);
}

static void fatal_free_private(void)
{
    shmem_space_free(s.space, malloc(100));
}

static void fatal_free_heap(void)
{
    shmem_space_free(s.space, shmem_malloc(100));
}

static void fatal_stale_malloc(void)
{
    end_space();
    shmem_space_malloc(s.space, 10);
}

static void fatal_stale_calloc(void)
{
    end_space();
    shmem_space_calloc(s.space, 10, 10);
}

static void fatal_stale_free(void)
{
    end_space();
    shmem_space_free(s.space, block);
}

static void fatal_stale_caps(void)
{
    shmem_space_cap_t caps;

    end_space();
    shmem_space_get_caps(s.space, &caps);
}

static void fatal_stale_team(void)
{
    shmem_team_t team;

    end_space();
    shmem_space_get_team(s.space, &team);
}

/* The handle of a destroyed space while a space of the same kind and number lives. */
static shmem_space_t stale_beside_next(void)
{
    shmem_space_t stale = s.space;

    end_space();
    PE_REQUIRE(pe_kind_create(kind, SIZE, &s), "creating the next space of the same kind failed");
    PE_CHECK(stale != s.space, "a new space has the handle of the destroyed space");
    return stale;
}

static void destroy_stale(void)
{
    if (s.rank < 0) return;
    PE_CHECK(shmem_space_destroy(stale_beside_next()) != 0,
             "shmem_space_destroy of a stale handle returned 0, expected an error");
    PE_CHECK(shmem_space_malloc(s.space, 10) != NULL,
             "destroying a stale handle damaged the next space: malloc returned NULL");
    pe_kind_destroy(&s);
}

static void fatal_stale_next(void)
{
    shmem_space_malloc(stale_beside_next(), 10);
}

static void fatal_stale_ctx(void)
{
    shmemx_ctx_config_t config = {SHMEM_TEAM_WORLD, stale_beside_next()};
    shmem_ctx_t ctx;

    (void)shmemx_ctx_create(0, &config, &ctx);
}

static void fatal_stale_ptr(void)
{
    long *ptr = block;

    end_space();
    shmem_free(ptr);
}

static void query_sized(size_t bytes)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    info.struct_size = bytes;
    if (s.rank < 0) return;
    PE_CHECK(shmemx_space_query(s.space, &info) != 0,
             "shmemx_space_query with struct_size %zu returned 0, expected an error", bytes);
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
}

static void query_zero(void)
{
    query_sized(0);
}

static void query_short(void)
{
    query_sized(offsetof(shmemx_space_info_t, kind) - 1);
}

static void query_huge(void)
{
    query_sized(4097); /* as from a structure that was not initialized */
}

/* Arguments that name nothing: the routines return what they do for it, with a line each. */
static void name_nothing(void)
{
    shmem_space_t none = SHMEM_SPACE_INVALID;
    shmemx_ctx_config_t config = {SHMEM_TEAM_INVALID, SHMEM_SPACE_DEFAULT};
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_team_t team;
    shmem_ctx_t ctx;

    PE_CHECK_EQ(shmemx_space_path(SHMEM_SPACE_DEFAULT, pe_n), SHMEMX_PATH_NONE);
    PE_CHECK_EQ(shmemx_space_path(none, 0), SHMEMX_PATH_NONE);
    PE_CHECK(shmemx_space_device_ptr(SHMEM_SPACE_DEFAULT, block, -1) == NULL,
             "shmemx_space_device_ptr for PE -1 is not NULL");
    PE_CHECK(shmemx_space_query(none, &info) != 0,
             "shmemx_space_query of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_space_align(none, 64, 8) == NULL,
             "shmemx_space_align in SHMEM_SPACE_INVALID returned memory, expected NULL");
    PE_CHECK(shmemx_space_persist(none, block, 8) != 0,
             "shmemx_space_persist of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_space_root_set(none, "name", block, 8) != 0,
             "shmemx_space_root_set in SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_space_reshape_commit(none) != 0,
             "shmemx_space_reshape_commit of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_ctx_create(0, &config, &ctx) != 0,
             "shmemx_ctx_create for SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_ctx_space_quiet(SHMEM_CTX_INVALID, SHMEM_SPACE_DEFAULT) != 0,
             "shmemx_ctx_space_quiet of SHMEM_CTX_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_ctx_space_fence(SHMEM_CTX_DEFAULT, none) != 0,
             "shmemx_ctx_space_fence of SHMEM_SPACE_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_team_duplicate(SHMEM_TEAM_INVALID, &team) != 0,
             "shmemx_team_duplicate of SHMEM_TEAM_INVALID returned 0, expected an error");
    PE_CHECK(shmemx_team_duplicate(SHMEM_TEAM_WORLD, pe_me == pe_n - 1 ? NULL : &team) != 0,
             "shmemx_team_duplicate with a null pointer on one PE returned 0, expected an error");
    PE_CHECK(shmemx_device_handle_create(SHMEM_TEAM_INVALID, NULL, NULL) != 0,
             "shmemx_device_handle_create for SHMEM_TEAM_INVALID returned 0, expected an error");
}

static void fatal_no_handle(void)
{
    shmem_space_malloc((shmem_space_t)&block, 10);
}

static const struct mistake mistakes[] = {
    {"destroy_held", destroy_held, TOLD},
    {"destroy_twice", destroy_twice, TOLD},
    {"destroy_stale", destroy_stale, TOLD},
    {"live", destroy_live, TOLD},
    {"nothing", name_nothing, TOLD_WITHOUT},
    {"double_free", fatal_double_free, MADE_BY_MEMBERS},
    {"free_named", fatal_free_named, MADE_BY_MEMBERS},
    {"interior", fatal_interior, MADE_BY_MEMBERS},
    {"free_other", fatal_free_other, MADE_BY_MEMBERS},
    {"free_private", fatal_free_private, MADE_BY_MEMBERS},
    {"free_heap", fatal_free_heap, MADE_BY_MEMBERS},
    {"stale_malloc", fatal_stale_malloc, MADE_BY_MEMBERS},
    {"stale_calloc", fatal_stale_calloc, MADE_BY_MEMBERS},
    {"stale_free", fatal_stale_free, MADE_BY_MEMBERS},
    {"stale_caps", fatal_stale_caps, MADE_BY_MEMBERS},
    {"stale_team", fatal_stale_team, MADE_BY_MEMBERS},
    {"stale_next", fatal_stale_next, MADE_BY_MEMBERS},
    {"stale_ctx", fatal_stale_ctx, MADE_BY_MEMBERS},
    {"stale_ptr", fatal_stale_ptr, MADE_BY_MEMBERS},
    {"no_handle", fatal_no_handle, MADE_BY_MEMBERS},
    {"query_zero", query_zero, TOLD},
    {"query_short", query_short, TOLD},
    {"query_huge", query_huge, TOLD},
    {NULL, NULL, MADE_BY_MEMBERS},
};

static int failures(void)
{
    return pe_failures;
}

const struct concern concern_life = {mistakes, concern_begin, failures};
