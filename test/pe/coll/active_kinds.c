/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks active-set collectives (OpenSHMEM 1.6, section 9.10; rules R175, R185 and R193 of
 * docs/reference/conformance.md) with data in each kind of memory, and with pSync arrays in each
 * kind that the host can access. If only some PEs have a kind, each of them is a set of one PE.
 * Runs broadcast, max_to_all, min_to_all and fcollect only.
 */
#include "pe_active.h"
#include "pe_kinds.h"

enum { SMALL = 3, MIDDLE = 700, LARGE = 40000 };

static long sync_data[SHMEM_SYNC_SIZE], sync_end[SHMEM_SYNC_SIZE];
static long *source, *dest;

static void begin(const struct pe_set *set, long base, size_t n)
{
    pe_gpu_fill(source, base + 100000L * set->rank, n);
    pe_gpu_fill(dest, -7, n);
    shmem_barrier(PE_SET(set), sync_end);
}

static void check_broadcast(const struct pe_set *set, size_t n, long *psync, const char *kind)
{
    for (int root = 0; root < set->size; root++) {
        begin(set, 1, n);
        shmem_broadcast64(dest, source, n, root, PE_SET(set), psync);
        PE_GPU_EXPECT(dest, set->rank == root ? -7 : 1 + 100000L * root, n, kind);
        PE_CHECK_PSYNC(psync, SHMEM_SYNC_SIZE, "broadcast64");
        shmem_barrier(PE_SET(set), sync_end);
    }
}

/* Sources are base + 100000 * rank + i: sums of one element are told from the next. */
static void check_reduce(const struct pe_set *set, size_t n, long *psync, const char *kind)
{
    begin(set, 5, n);
    shmem_long_max_to_all(dest, source, (int)n, PE_SET(set), NULL, psync);
    PE_GPU_EXPECT(dest, 5 + 100000L * (set->size - 1), n, kind);
    shmem_barrier(PE_SET(set), sync_end);
    shmem_long_min_to_all(source, source, (int)n, PE_SET(set), NULL, psync);
    PE_GPU_EXPECT(source, 5, n, kind);
    shmem_barrier(PE_SET(set), sync_end);
}

static void check_collect(const struct pe_set *set, size_t n, long *psync, const char *kind)
{
    size_t part = n / (size_t)set->size;

    if (part == 0) return;
    begin(set, 9, n);
    shmem_fcollect64(dest, source, part, PE_SET(set), psync);
    for (int k = 0; k < set->size; k++)
        PE_GPU_EXPECT(dest + (size_t)k * part, 9 + 100000L * k, part, kind);
    shmem_barrier(PE_SET(set), sync_end);
}

static void check_member(const struct pe_space *s)
{
    static const size_t sizes[] = {SMALL, MIDDLE, LARGE};
    struct pe_set set = s->n == pe_n ? pe_set(0, 0, pe_n) : pe_set(pe_me, 0, 1);
    long *psync = sync_data;

    source = pe_kind_malloc(s, LARGE);
    dest = pe_kind_malloc(s, LARGE);
    if (s->kind->host) {
        psync = pe_kind_malloc(s, SHMEM_SYNC_SIZE);
        pe_psync_init(psync, SHMEM_SYNC_SIZE);
    }
    pe_team_barrier(s->team);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_broadcast(&set, sizes[i], psync, s->kind->name);
        check_reduce(&set, sizes[i], psync, s->kind->name);
        check_collect(&set, sizes[i], psync, s->kind->name);
    }
    if (s->kind->host) shmem_space_free(s->space, psync);
    shmem_space_free(s->space, dest);
    shmem_space_free(s->space, source);
}

int main(void)
{
    pe_test_begin();
    pe_psync_init(sync_data, SHMEM_SYNC_SIZE);
    pe_psync_init(sync_end, SHMEM_SYNC_SIZE);
    shmem_barrier_all();
    for (int kind = 0; kind < PE_N_KINDS; kind++) {
        struct pe_space s;

        if (kind != PE_CPU && !pe_kind_exists(kind)) continue;
        PE_REQUIRE(pe_kind_create(kind, 4 * LARGE * sizeof(long), &s), "creating a %s space failed",
                   pe_kinds[kind].name);
        if (s.rank >= 0) check_member(&s);
        shmem_barrier_all(); /* sets of other sizes follow with the same arrays */
        pe_kind_destroy(&s);
    }
    return pe_test_end();
}
