/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap: what is freed, and what the PEs ask for together. */
#include "errors.h"

static void misuse_double_free(void)
{
    long *gone = shmem_malloc(100);

    shmem_free(gone);
    shmem_free(gone);
}

static void misuse_free_interior(void)
{
    shmem_free(block + 1);
}

static void misuse_free_foreign(void)
{
    shmem_free(malloc(100));
}

static void misuse_free_other_space(void)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, 1 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0, "space_create failed");
    shmem_space_free(space, block);
}

static void misuse_malloc_differs(void)
{
    shmem_malloc((size_t)(100 + pe_me));
}

static void misuse_bad_alignment(void)
{
    shmem_align(24, 100);
    shmem_align(2, 100);
}

/* One PE is right, the others are not. */
static void misuse_alignment_differs(void)
{
    shmem_align(pe_me == 0 ? 64 : 24, 100);
}

static const struct misuse misuses[] = {
    {"double_free", misuse_double_free, true},
    {"free_interior", misuse_free_interior, true},
    {"free_foreign", misuse_free_foreign, true},
    {"free_other_space", misuse_free_other_space, true},
    {"malloc_differs", misuse_malloc_differs, true},
    {"bad_alignment", misuse_bad_alignment, true},
    {"alignment_differs", misuse_alignment_differs, true},
    {NULL, NULL, false},
};

const struct chapter chapter_heap = {misuses, chapter_begin};
