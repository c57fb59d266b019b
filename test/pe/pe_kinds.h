/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates spaces of each kind of memory for the tests of the spaces proposal. CPU spaces always
 * exist; GPU, HBM and FAM spaces exist when some PE has such memory. Puts and gets of a PE to
 * itself fill and read the memory, because the host may not access GPU memory. "P<n>" and "S<n>"
 * are rules of docs/reference/conformance-spaces.md.
 */
#ifndef STEPPE_TEST_PE_KINDS_H
#define STEPPE_TEST_PE_KINDS_H

#include "pe_gpu.h"

struct pe_kind {
    const char *name;
    shmem_device_type_t type;
    bool host; /* members load and store their part */
};

static const struct pe_kind pe_kinds[] = {{"cpu", SHMEM_DEVICE_CPU, true},
                                          {"gpu", SHMEM_DEVICE_GPU, false},
                                          {"hbm", SHMEM_DEVICE_HBM, true},
                                          {"fam", SHMEM_DEVICE_FAM, true}};
enum { PE_CPU, PE_GPU, PE_HBM, PE_FAM, PE_N_KINDS };

/* A space as this PE sees it: rank -1 and n 0 where it is no member. */
struct pe_space {
    const struct pe_kind *kind;
    shmem_space_t space;
    shmem_team_t team;
    int rank, n;
};

/*
 * Create a space of a kind; collective over the world. False on all PEs when none of them has
 * such memory.
 */
static inline bool pe_kind_create(int kind, size_t size, struct pe_space *s)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, size);

    *s = (struct pe_space){.kind = &pe_kinds[kind], .rank = -1};
    if (shmem_space_create(&config, &s->space, &s->team) != 0) return false;
    if (s->space == SHMEM_SPACE_INVALID) return true;
    s->rank = shmem_team_my_pe(s->team);
    s->n = shmem_team_n_pes(s->team);
    return true;
}

/* The team, then the space; INVALID handles are fine. */
static inline void pe_kind_destroy(struct pe_space *s)
{
    shmem_team_destroy(s->team);
    PE_CHECK(shmem_space_destroy(s->space) == 0,
             "shmem_space_destroy of a %s space failed, expected 0", s->kind->name);
}

/*
 * Has any PE this kind of memory? Tried once for all kinds; collective over the world. A wish
 * that fails prints why, which is fine.
 */
static inline bool pe_kind_exists(int kind)
{
    static int known[PE_N_KINDS];
    struct pe_space s;

    if (known[kind] == 0) {
        known[kind] = pe_kind_create(kind, 4096, &s) ? 1 : -1;
        if (known[kind] > 0) pe_kind_destroy(&s);
    }
    return known[kind] > 0;
}

/* n longs of the heap, 0; what the node's PEs have of it is mapped, as from the first use on. */
static inline long *pe_heap_seen(size_t n)
{
    long *heap = pe_calloc(n, sizeof(*heap));

    for (int pe = 0; pe < pe_n; pe++)
        (void)shmem_long_g(heap, pe);
    return heap;
}

/* World number of a member. */
static inline int pe_member(const struct pe_space *s, int rank)
{
    return shmem_team_translate_pe(s->team, rank, SHMEM_TEAM_WORLD);
}

/* Members only: n longs of the space, or the test ends. */
static inline long *pe_kind_malloc(const struct pe_space *s, size_t n)
{
    long *block = shmem_space_malloc(s->space, n * sizeof(*block));

    PE_REQUIRE(block != NULL, "shmem_space_malloc of %zu longs in a %s space returned NULL", n,
               s->kind->name);
    return block;
}

/* Everything of mine is there, and everybody has come. */
static inline void pe_team_barrier(shmem_team_t team)
{
    shmem_quiet();
    shmem_team_sync(team);
}

/*
 * A turn of the ring on a block of n longs, members only: each fills its own, puts to the next,
 * and finds what came from the one before.
 */
static inline void pe_kind_ring(const struct pe_space *s, long *block, size_t n, long salt)
{
    long *values = malloc(n * sizeof(*values));
    int before = (s->rank + s->n - 1) % s->n;

    for (size_t i = 0; i < n; i++)
        values[i] = salt + 1000 * s->rank + (long)i;
    pe_team_barrier(s->team);
    shmem_long_put(block, values, n, pe_member(s, (s->rank + 1) % s->n));
    pe_team_barrier(s->team);
    PE_GPU_EXPECT(block, salt + 1000 * before, n, s->kind->name);
    pe_team_barrier(s->team);
    free(values);
}

/* A short proof that all of a space's members can use it. */
static inline void pe_kind_use(const struct pe_space *s, long salt)
{
    long *block;

    if (s->space == SHMEM_SPACE_INVALID) return;
    block = pe_kind_malloc(s, 100);
    pe_kind_ring(s, block, 100, salt);
    shmem_space_free(s->space, block);
}

#endif
