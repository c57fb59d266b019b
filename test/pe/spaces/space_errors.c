/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One mistake with a space, named by the first argument, on a space of the kind that the second
 * names. Those that end the job are made by the last member while all others wait (or by all
 * members, where the routine is collective); those that return something else than 0 are checked
 * here, on all PEs. run_space_errors.sh checks what is said, the status, and that nobody is left.
 * Rules P, S1, S5, S6, S8, S9, S12 (see docs/conformance-spaces.md).
 */
#include "pe_kinds.h"

#include <signal.h>

enum { SIZE = PE_MIB, N = 1000 };

static int kind;
static struct pe_space s;
static long *block;           /* N longs of s */
static int peer;              /* another member, or this PE */
static const char *word = ""; /* third argument */

static bool the_one(void)
{
    return s.rank == s.n - 1;
}

/* ---- told by what create returns ------------------------------------------------------- */

static void refused(const shmem_space_config_t *config, const shmemx_space_attr_t *attr)
{
    shmem_space_t space = SHMEM_SPACE_DEFAULT;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    int rc = shmemx_space_create_attr(config, attr, &space, &team);

    PE_CHECK(rc != 0, "create gave 0");
    PE_CHECK(space == SHMEM_SPACE_INVALID, "space is %p", space);
    PE_CHECK(team == SHMEM_TEAM_INVALID, "team is %p", (void *)team);
}

static void create_as_it_is(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, 8 * PE_MIB);

    refused(&config, NULL);
}

static void create_bad_kind(void)
{
    shmem_space_config_t config = pe_kind_config((shmem_device_type_t)99, SIZE);

    refused(&config, NULL);
}

static void create_hbm(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);

    refused(&config, NULL);
}

static void create_hbm_numa(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.numa_policy = SHMEMX_NUMA_INTERLEAVE;
    refused(&config, &attr);
}

static void create_hbm_node(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.numa_node = 7;
    refused(&config, &attr);
}

/* Of what the node has free, an equal share of each PE and a half of that more. */
static size_t hbm_share(void)
{
    shmemx_device_info_t info = SHMEMX_DEVICE_INFO_INITIALIZER;
    static long least, mine;

    PE_REQUIRE(shmemx_device_describe(SHMEM_DEVICE_HBM, 0, &info) == 0, "no such device");
    mine = (long)info.free;
    shmem_long_min_reduce(SHMEM_TEAM_WORLD, &least, &mine, 1);
    return (size_t)least / (size_t)pe_n / 2 * 3;
}

static void create_hbm_together(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, hbm_share());

    refused(&config, NULL);
}

static void create_hbm_grown(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_HBM, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;

    attr.max_size = 2 * hbm_share();
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0, "no space");
    PE_CHECK(shmem_space_malloc(space, hbm_share()) == NULL, "it has grown");
}

static void create_zero(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, 0);

    refused(&config, NULL);
}

static void create_negative(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE_MAX);

    refused(&config, NULL);
}

static void create_too_large(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, (size_t)1 << 46);

    refused(&config, NULL);
}

static void create_bad_flags(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);

    config.flags = 0x40;
    refused(&config, NULL);
}

static void create_null_config(void)
{
    refused(NULL, NULL);
}

static void create_with_name(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.name = word;
    refused(&config, &attr);
}

static void create_keep(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.keep = 1;
    refused(&config, &attr);
}

static void create_reshaped(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.reshape = 1;
    refused(&config, &attr);
}

static void create_in_buffer(void)
{
    static char buffer[SIZE];
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.buffer = buffer;
    refused(&config, &attr);
}

static void create_growing(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.max_size = (size_t)atol(word);
    refused(&config, &attr);
}

static void create_on_device(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.device = 9;
    refused(&config, &attr);
}

/* A named space of `word` bytes, kept: the second job asks for another shape. */
static void create_named(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_FAM, (size_t)atol(word));
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    struct pe_space named = {.kind = &pe_kinds[PE_FAM]};

    attr.name = "shape";
    attr.keep = 1;
    if (getenv("EXPECT_REFUSED") != NULL) {
        refused(&config, &attr);
        return;
    }
    PE_CHECK_EQ(shmemx_space_create_attr(&config, &attr, &named.space, &named.team), 0);
    shmem_team_destroy(named.team);
    PE_CHECK_EQ(shmem_space_destroy(named.space), 0);
}

/* ---- told by destroy ----------------------------------------------------------------------- */

static void destroy_held(void)
{
    if (s.rank >= 0) PE_CHECK(shmem_space_destroy(s.space) != 0, "destroyed under its team");
}

static void destroy_twice(void)
{
    if (s.rank < 0) return;
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
    PE_CHECK(shmem_space_destroy(s.space) != 0, "destroyed twice");
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
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0, "no space");
    named = shmem_space_malloc(space, 1000);
    PE_REQUIRE(shmemx_space_root_set(space, "bytes", named + 8, 100) == 0, "no name");
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
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &other, &team) == 0, "another space");
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

static void end_space(void)
{
    shmem_space_free(s.space, block);
    pe_kind_destroy(&s);
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
    PE_REQUIRE(pe_kind_create(kind, SIZE, &s), "the next space");
    PE_CHECK(stale != s.space, "the next space has the handle of the last one");
    return stale;
}

static void destroy_stale(void)
{
    if (s.rank < 0) return;
    PE_CHECK(shmem_space_destroy(stale_beside_next()) != 0, "the next space was destroyed");
    PE_CHECK(shmem_space_malloc(s.space, 10) != NULL, "the next space is gone");
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
    if (the_one()) (void)shmemx_space_query(s.space, &info);
}

static void fatal_query_zero(void)
{
    query_sized(0);
}

static void fatal_query_short(void)
{
    query_sized(offsetof(shmemx_space_info_t, kind) - 1);
}

static void fatal_query_huge(void)
{
    query_sized(4097); /* as from a structure that was not initialized */
}

static void fatal_no_handle(void)
{
    shmem_space_malloc((shmem_space_t)&block, 10);
}

static void fatal_put_stale(void)
{
    end_space();
    shmem_long_p(block, 1, peer);
}

static void fatal_get_stale(void)
{
    static long dest[N];

    end_space();
    shmem_long_get(dest, block, N, peer);
}

static void fatal_amo_stale(void)
{
    end_space();
    shmem_long_atomic_inc(block, peer);
}

static void fatal_put_beyond(void)
{
    static long source[2 * SIZE / sizeof(long)];

    if (the_one()) shmem_long_put(block, source, 2 * SIZE / sizeof(long), peer);
}

static void fatal_get_beyond(void)
{
    static long dest[2 * SIZE / sizeof(long)];

    if (the_one()) shmem_long_get(dest, block, 2 * SIZE / sizeof(long), peer);
}

/* Where a space that may grow has not got yet: an object of nobody's. */
static long *kept_words(void)
{
    shmem_space_config_t config = pe_kind_config(pe_kinds[kind].type, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;
    long *words;

    attr.max_size = (size_t)64 * SIZE;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0, "no space");
    words = shmem_space_malloc(space, SIZE);
    for (int i = 0; i < 100; i++) /* all parts are open by now */
        shmem_long_p(words, i, i % pe_n);
    shmem_barrier_all();
    return words;
}

static void fatal_kept_put(void)
{
    long *words = kept_words();

    if (the_one()) shmem_long_p(words + 4 * SIZE / sizeof(long), 1, peer);
}

static void fatal_kept_store(void)
{
    long *there = shmem_ptr(kept_words(), peer);

    if (the_one()) there[4 * SIZE / sizeof(long)] = 1;
}

static void fatal_put_past_block(void)
{
    static long source[2 * N];

    if (the_one()) shmem_long_put(block, source, 2 * N, peer);
}

static void fatal_amo_unaligned(void)
{
    if (the_one()) shmem_long_atomic_inc((long *)((char *)block + 2), peer);
}

/* Device memory of the application's own, which is private. */
static long *private_memory(void)
{
    unsigned long long device = 0;
    void *context = NULL;

    PE_REQUIRE(pe_gpu_load(), "no driver");
    PE_REQUIRE(pe_cuda.retain(&context, 0) == 0 && pe_cuda.set_current(context) == 0, "context");
    PE_REQUIRE(pe_cuda.alloc(&device, 4096) == 0, "cuMemAlloc");
    return (long *)(uintptr_t)device;
}

static void fatal_private_dest(void)
{
    if (the_one()) shmem_long_put(private_memory(), block, 10, peer);
}

static void fatal_private_amo(void)
{
    if (the_one()) shmem_long_atomic_inc(private_memory(), peer);
}

/* Some PE has no part of the space: run with FAKECUDA_RANKS. */
static int no_member(void)
{
    for (int pe = 0; pe < pe_n; pe++)
        if (shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, s.team) < 0) return pe;
    return -1;
}

static void fatal_put_outside(void)
{
    if (the_one()) shmem_long_p(block, 1, no_member());
}

static void fatal_get_outside(void)
{
    if (the_one()) (void)shmem_long_g(block, no_member());
}

/* Members that do not agree. SHMEM_CHECK=1. */
static void fatal_malloc_differs(void)
{
    shmem_space_malloc(s.space, (size_t)(100 + s.rank));
}

static void fatal_calloc_differs(void)
{
    shmem_space_calloc(s.space, the_one() ? 20 : 10, 8);
}

static void fatal_free_differs(void)
{
    long *other = pe_kind_malloc(&s, 10);

    shmem_space_free(s.space, the_one() ? block : other);
}

/* Collectives where the last member gives memory of another space. SHMEM_CHECK=1. S9. */
static void fatal_mixed_dest(void)
{
    static long in_globals[N];

    shmem_long_broadcast(s.team, the_one() ? in_globals : block, block + N / 2, 10, 0);
}

static void fatal_mixed_source(void)
{
    static long in_globals[N];

    shmem_long_sum_reduce(s.team, block, the_one() ? in_globals : block + N / 2, 10);
}

/* The world's collective on memory of which some PEs have no part. SHMEM_CHECK=1. */
static void fatal_coll_outside(void)
{
    static long in_globals[N];

    shmem_long_broadcast(SHMEM_TEAM_WORLD, s.rank >= 0 ? block : in_globals,
                         s.rank >= 0 ? block + N / 2 : in_globals + N / 2, 10, 0);
}

/* A context of one space is given memory of another. SHMEM_CHECK=1. */
static shmem_ctx_t bound_context(void)
{
    shmemx_ctx_config_t config = {s.team, s.space};
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    PE_REQUIRE(shmemx_ctx_create(0, &config, &ctx) == 0, "bound context");
    return ctx;
}

static long elsewhere[N];

static void fatal_bound_put(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one()) shmem_ctx_long_p(ctx, elsewhere, 1, (s.rank + 1) % s.n);
}

static void fatal_bound_get(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one()) (void)shmem_ctx_long_g(ctx, elsewhere, (s.rank + 1) % s.n);
}

static void fatal_bound_amo(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one()) shmem_ctx_long_atomic_inc(ctx, elsewhere, (s.rank + 1) % s.n);
}

static void fatal_bound_signal(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one())
        shmem_ctx_long_put_signal(ctx, block + 1, elsewhere, 4, (uint64_t *)elsewhere, 1,
                                  SHMEM_SIGNAL_SET, (s.rank + 1) % s.n);
}

static void fatal_bound_data(void)
{
    shmem_ctx_t ctx = bound_context();

    if (the_one())
        shmem_ctx_long_put_signal(ctx, elsewhere, elsewhere + 8, 4, (uint64_t *)block, 1,
                                  SHMEM_SIGNAL_SET, (s.rank + 1) % s.n);
}

/* Use without end: a device that the run has fail at some time ends it. */
static void fatal_lost_device(void)
{
    for (long round = 0; round < 500; round++) {
        pe_kind_ring(&s, block, N, round);
        shmem_long_atomic_inc(block, peer);
        shmem_long_sum_reduce(s.team, block, block + N / 2, N / 2);
        pe_kind_use(&s, round);
    }
}

/* A PE dies without a word in the middle of the use of everybody's memory. */
static void fatal_killed(void)
{
    for (long round = 0; round < 100; round++) {
        pe_kind_ring(&s, block, N, round);
        if (round == 20 && the_one()) raise(SIGKILL);
    }
}

struct mistake {
    const char *name;
    void (*make)(void);
};

/* Made by all PEs and survived; the first ones without a space. */
static const struct mistake told[] = {
    {"create", create_as_it_is},
    {"bad_kind", create_bad_kind},
    {"hbm", create_hbm},
    {"hbm_numa", create_hbm_numa},
    {"hbm_node", create_hbm_node},
    {"hbm_together", create_hbm_together},
    {"hbm_grown", create_hbm_grown},
    {"zero", create_zero},
    {"negative", create_negative},
    {"too_large", create_too_large},
    {"bad_flags", create_bad_flags},
    {"null_config", create_null_config},
    {"with_name", create_with_name},
    {"keep", create_keep},
    {"reshaped", create_reshaped},
    {"in_buffer", create_in_buffer},
    {"growing", create_growing},
    {"on_device", create_on_device},
    {"named", create_named},
};

static const struct mistake told_of_space[] = {{"destroy_held", destroy_held},
                                               {"destroy_twice", destroy_twice},
                                               {"destroy_stale", destroy_stale},
                                               {"live", destroy_live}};

/* Made by members. */
static const struct mistake fatal[] = {
    {"double_free", fatal_double_free},
    {"free_named", fatal_free_named},
    {"interior", fatal_interior},
    {"free_other", fatal_free_other},
    {"free_private", fatal_free_private},
    {"free_heap", fatal_free_heap},
    {"stale_malloc", fatal_stale_malloc},
    {"stale_calloc", fatal_stale_calloc},
    {"stale_free", fatal_stale_free},
    {"stale_caps", fatal_stale_caps},
    {"stale_team", fatal_stale_team},
    {"stale_next", fatal_stale_next},
    {"stale_ctx", fatal_stale_ctx},
    {"stale_ptr", fatal_stale_ptr},
    {"no_handle", fatal_no_handle},
    {"query_zero", fatal_query_zero},
    {"query_short", fatal_query_short},
    {"query_huge", fatal_query_huge},
    {"put_stale", fatal_put_stale},
    {"get_stale", fatal_get_stale},
    {"amo_stale", fatal_amo_stale},
    {"put_beyond", fatal_put_beyond},
    {"get_beyond", fatal_get_beyond},
    {"kept_put", fatal_kept_put},
    {"kept_store", fatal_kept_store},
    {"put_past_block", fatal_put_past_block},
    {"amo_unaligned", fatal_amo_unaligned},
    {"private_dest", fatal_private_dest},
    {"private_amo", fatal_private_amo},
    {"put_outside", fatal_put_outside},
    {"get_outside", fatal_get_outside},
    {"malloc_differs", fatal_malloc_differs},
    {"calloc_differs", fatal_calloc_differs},
    {"free_differs", fatal_free_differs},
    {"mixed_dest", fatal_mixed_dest},
    {"mixed_source", fatal_mixed_source},
    {"coll_outside", fatal_coll_outside}, /* by all PEs */
    {"bound_put", fatal_bound_put},
    {"bound_get", fatal_bound_get},
    {"bound_amo", fatal_bound_amo},
    {"bound_signal", fatal_bound_signal},
    {"bound_data", fatal_bound_data},
    {"lost_device", fatal_lost_device},
    {"killed", fatal_killed},
};

static const struct mistake *find(const struct mistake *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}
#define FIND(list, name) find(list, sizeof(list) / sizeof((list)[0]), name)

static void make_space(void)
{
    PE_REQUIRE(pe_kind_create(kind, SIZE, &s), "no %s space", pe_kinds[kind].name);
    if (s.rank < 0) return;
    block = pe_kind_malloc(&s, N);
    peer = pe_member(&s, (s.rank + 1) % s.n);
    pe_kind_ring(&s, block, N, 1);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct mistake *mistake;

    pe_test_begin();
    for (int k = 0; k < PE_N_KINDS; k++)
        if (argc > 2 && strcmp(pe_kinds[k].name, argv[2]) == 0) kind = k;
    if (argc > 3) word = argv[3];
    if ((mistake = FIND(told, name)) != NULL) {
        mistake->make();
        return pe_test_end();
    }
    make_space();
    if ((mistake = FIND(told_of_space, name)) != NULL) {
        mistake->make();
        return pe_test_end();
    }
    mistake = FIND(fatal, name);
    PE_REQUIRE(mistake != NULL, "no mistake is called %s", name);
    if (s.rank >= 0 || mistake->make == fatal_coll_outside) mistake->make();
    shmem_barrier_all();
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
    shmem_finalize();
    return PE_PASS;
}
