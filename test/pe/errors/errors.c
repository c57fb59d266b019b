/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One misuse of the library, named by the argument, made by the last PE while the others wait in
 * a barrier (or by all PEs where the routine is collective). The library must end the job with a
 * clear message: run_errors.sh checks the text, the status and that it happens at once. Reaching
 * the end of main is the failure.
 */
#include "pe_data.h"

#include <pthread.h>

static long global_word;
static long *block; /* heap, 8 words */
static int peer;

static void misuse_pe_high(void)
{
    shmem_long_p(&global_word, 1, pe_n);
}

static void misuse_pe_negative(void)
{
    shmem_putmem(block, &global_word, 8, -1);
}

static void misuse_get_pe(void)
{
    shmem_long_g(block, pe_n + 1000);
}

static void misuse_amo_pe(void)
{
    shmem_long_atomic_fetch_add(block, 1, pe_n);
}

static void misuse_signal_pe(void)
{
    shmem_signal_set((uint64_t *)block, 1, -7);
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

static void misuse_put_stack(void)
{
    long on_stack = 0;

    shmem_long_put(&on_stack, block, 1, peer);
}

static void misuse_get_malloc(void)
{
    long *private_heap = calloc(8, 8), got;

    shmem_long_get(&got, private_heap, 1, peer);
}

static void misuse_put_null(void)
{
    shmem_putmem(NULL, block, 8, peer);
}

static void misuse_amo_stack(void)
{
    int on_stack = 0;

    shmem_int_atomic_inc(&on_stack, peer);
}

static void misuse_signal_malloc(void)
{
    uint64_t *private_heap = calloc(8, 8);

    shmem_putmem_signal(block, &global_word, 8, private_heap, 1, SHMEM_SIGNAL_SET, peer);
}

static void misuse_beyond_block(void)
{
    static long source[100];

    shmem_long_put(block, source, 100, peer);
}

static void misuse_beyond_space(void)
{
    shmem_getmem(block, block, (size_t)1 << 45, peer);
}

static void misuse_freed_block(void)
{
    long *gone = shmem_malloc(1000);

    shmem_free(gone);
    shmem_long_p(gone, 1, peer);
}

static void misuse_overflow(void)
{
    shmem_long_put(block, &global_word, SIZE_MAX / 4, peer);
}

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

static void misuse_destroy_world(void)
{
    shmem_team_destroy(SHMEM_TEAM_WORLD);
}

static void misuse_destroy_ctx(void)
{
    shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
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

static void misuse_destroy_ctx_twice(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    shmem_ctx_create(0, &ctx);
    shmem_ctx_destroy(ctx);
    shmem_ctx_destroy(ctx);
}

/* Too much for a cell: it would be read where it lies. */
static void misuse_reduce_stack(void)
{
    static __thread long private[1000];

    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, private, private, 1000);
}

static void misuse_signal_beyond(void)
{
    static char source[1 << 16];

    shmem_putmem_signal(block, source, sizeof source, (uint64_t *)block + 8, 1, SHMEM_SIGNAL_SET,
                        peer);
}

static void misuse_invalid_ctx(void)
{
    shmem_ctx_long_p(SHMEM_CTX_INVALID, block, 1, peer);
}

static void misuse_bad_cmp(void)
{
    shmem_long_wait_until(block, 99, 0);
}

static void misuse_wait_stack(void)
{
    long on_stack = 0;

    shmem_long_wait_until(&on_stack, SHMEM_CMP_EQ, 0);
}

static void misuse_wait_null(void)
{
    shmem_int_wait_until(NULL, SHMEM_CMP_EQ, 0);
}

static void misuse_test_stack(void)
{
    short on_stack = 0;

    (void)shmem_short_test(&on_stack, SHMEM_CMP_EQ, 0);
}

static void misuse_wait_beyond(void)
{
    shmem_long_wait_until_all(block, 100, NULL, SHMEM_CMP_NE, 99);
}

static void misuse_some_stack(void)
{
    size_t on_stack[2] = {0}, indices[2];

    (void)shmem_size_test_some(on_stack, 2, indices, NULL, SHMEM_CMP_EQ, 0);
}

static void misuse_any_vector_stack(void)
{
    long on_stack[2] = {0};

    (void)shmem_long_wait_until_any_vector(on_stack, 2, NULL, SHMEM_CMP_EQ, on_stack);
}

static void misuse_signal_wait_stack(void)
{
    uint64_t on_stack = 0;

    (void)shmem_signal_wait_until(&on_stack, SHMEM_CMP_EQ, 0);
}

static void misuse_bad_sig_op(void)
{
    shmem_putmem_signal(block, &global_word, 8, (uint64_t *)(block + 2), 1, 77, peer);
}

static void misuse_bad_stride(void)
{
    shmem_long_iput(block, &global_word, 0, 1, 2, peer);
}

static void misuse_unaligned_amo(void)
{
    shmem_long_atomic_inc((long *)((char *)block + 1), peer);
}

static void misuse_lock_stack(void)
{
    long on_stack = 0;

    shmem_set_lock(&on_stack);
}

static void misuse_lock_unaligned(void)
{
    (void)shmem_test_lock((long *)((char *)block + 4));
}

static void misuse_lock_twice(void)
{
    shmem_set_lock(block);
    shmem_set_lock(block);
}

static long dirty_lock = -1, dirty_test_lock = 0x12345;

static void misuse_lock_dirty(void)
{
    shmem_set_lock(&dirty_lock);
}

static void misuse_lock_dirty_test(void)
{
    (void)shmem_test_lock(&dirty_test_lock);
}

static void misuse_clear_free(void)
{
    shmem_clear_lock(block);
}

static char bulk[1 << 20], private_bulk[1 << 20];
static atomic_int n_clearing;

static void *clear_with_the_other(void *arg)
{
    (void)arg;
    atomic_fetch_add(&n_clearing, 1);
    while (atomic_load(&n_clearing) < 2)
        continue;
    shmem_clear_lock(block);
    return NULL;
}

/* One of them has to be told. On a fabric both are in the call while the bulk is on its way. */
static void misuse_clear_at_once(void)
{
    pthread_t other;
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    shmem_set_lock(block);
    PE_REQUIRE(pthread_create(&other, NULL, clear_with_the_other, NULL) == 0, "no thread");
    for (int i = 0; i < 8; i++)
        shmem_putmem_nbi(bulk, private_bulk, sizeof bulk, peer);
    clear_with_the_other(NULL);
    pthread_join(other, NULL);
}

/* Active sets: arguments that are out of range, then work arrays that are not as they should be. */

static long sync_words[SHMEM_SYNC_SIZE]; /* SHMEM_SYNC_VALUE is 0 */

static void misuse_active_start(void)
{
    shmem_barrier(-1, 0, 1, sync_words);
}

static void misuse_active_start_high(void)
{
    shmem_sync(pe_n, 0, 1, sync_words);
}

static void misuse_active_stride(void)
{
    shmem_fcollect32(block, block + 1, 1, 0, -1, 1, sync_words);
}

static void misuse_active_stride_high(void)
{
    shmem_sync(0, 40, 2, sync_words);
}

static void misuse_active_size(void)
{
    shmem_collect64(block, block + 1, 1, pe_me, 0, 0, sync_words);
}

static void misuse_active_beyond(void)
{
    shmem_alltoall64(block, block + 1, 1, 0, 0, pe_n + 1, sync_words);
}

static void misuse_active_member(void)
{
    shmem_barrier(0, 0, pe_n - 1, sync_words);
}

static void misuse_active_root(void)
{
    shmem_broadcast64(block, block + 1, 1, pe_n, 0, 0, pe_n, sync_words);
}

static void misuse_active_nreduce(void)
{
    shmem_long_sum_to_all(block, block + 1, -1, 0, 0, pe_n, NULL, sync_words);
}

static void misuse_active_alltoalls(void)
{
    shmem_alltoalls32(block, block + 1, 1, 0, 1, 0, 0, pe_n, sync_words);
}

static void misuse_active_dirty(void)
{
    memset(sync_words, 0x3c, sizeof sync_words);
    shmem_sync(0, 0, pe_n, sync_words);
}

/* Only the element that another PE writes to, and only on the last PE, which nobody writes to. */
static void misuse_active_dirty_first(void)
{
    sync_words[0] = 12345;
    shmem_sync(pe_n - 1, 0, 1, sync_words);
}

static void misuse_active_private(void)
{
    long *private_heap = calloc(SHMEM_SYNC_SIZE, sizeof(long));

    shmem_barrier(0, 0, pe_n, private_heap);
}

static void misuse_active_null(void)
{
    shmem_barrier(0, 0, pe_n, NULL);
}

static void misuse_active_unaligned(void)
{
    shmem_barrier(0, 0, pe_n, (long *)((char *)block + 4));
}

static void misuse_active_freed(void)
{
    long *gone = shmem_calloc(SHMEM_SYNC_SIZE, sizeof(long));

    shmem_sync(0, 0, pe_n, gone);
    shmem_free(gone);
    shmem_sync(0, 0, pe_n, gone);
}

/* The last PE means itself and every second one; the others, all. For three PEs or more. */
static void misuse_active_differ(void)
{
    if (pe_me < pe_n - 1)
        shmem_sync(0, 0, pe_n, sync_words);
    else
        shmem_sync((pe_n - 1) % 2, 1, (pe_n + 1) / 2, sync_words);
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

static const struct {
    const char *name;
    void (*run)(void);
    bool collective; /* all PEs make it */
} misuses[] = {
    {"pe_high", misuse_pe_high, false},
    {"pe_negative", misuse_pe_negative, false},
    {"get_pe", misuse_get_pe, false},
    {"amo_pe", misuse_amo_pe, false},
    {"signal_pe", misuse_signal_pe, false},
    {"pe_quiet", misuse_pe_quiet, false},
    {"session", misuse_session, false},
    {"put_stack", misuse_put_stack, false},
    {"get_malloc", misuse_get_malloc, false},
    {"put_null", misuse_put_null, false},
    {"amo_stack", misuse_amo_stack, false},
    {"signal_malloc", misuse_signal_malloc, false},
    {"stale_ctx", misuse_stale_ctx, false},
    {"team_ctx", misuse_team_ctx, true},
    {"destroy_ctx_twice", misuse_destroy_ctx_twice, false},
    {"reduce_stack", misuse_reduce_stack, true},
    {"signal_beyond", misuse_signal_beyond, false},
    {"beyond_block", misuse_beyond_block, false},
    {"beyond_space", misuse_beyond_space, false},
    {"freed_block", misuse_freed_block, true},
    {"overflow", misuse_overflow, false},
    {"double_free", misuse_double_free, true},
    {"free_interior", misuse_free_interior, true},
    {"free_foreign", misuse_free_foreign, true},
    {"free_other_space", misuse_free_other_space, true},
    {"malloc_differs", misuse_malloc_differs, true},
    {"bad_alignment", misuse_bad_alignment, true},
    {"alignment_differs", misuse_alignment_differs, true},
    {"invalid_team", misuse_invalid_team, false},
    {"invalid_sync", misuse_invalid_sync, false},
    {"bad_root", misuse_bad_root, true},
    {"coll_stack", misuse_coll_stack, true},
    {"destroy_world", misuse_destroy_world, true},
    {"destroy_ctx", misuse_destroy_ctx, false},
    {"invalid_ctx", misuse_invalid_ctx, false},
    {"bad_cmp", misuse_bad_cmp, false},
    {"wait_stack", misuse_wait_stack, false},
    {"wait_null", misuse_wait_null, false},
    {"test_stack", misuse_test_stack, false},
    {"wait_beyond", misuse_wait_beyond, false},
    {"some_stack", misuse_some_stack, false},
    {"any_vector_stack", misuse_any_vector_stack, false},
    {"signal_wait_stack", misuse_signal_wait_stack, false},
    {"bad_sig_op", misuse_bad_sig_op, false},
    {"bad_stride", misuse_bad_stride, false},
    {"unaligned_amo", misuse_unaligned_amo, false},
    {"wild_version", misuse_wild_version, false},
    {"wild_ctx", misuse_wild_ctx, false},
    {"wild_config", misuse_wild_config, false},
    {"wild_targets", misuse_wild_targets, false},
    {"lock_stack", misuse_lock_stack, false},
    {"lock_unaligned", misuse_lock_unaligned, false},
    {"lock_twice", misuse_lock_twice, false},
    {"lock_dirty", misuse_lock_dirty, false},
    {"lock_dirty_test", misuse_lock_dirty_test, false},
    {"clear_free", misuse_clear_free, false},
    {"clear_at_once", misuse_clear_at_once, false},

    {"active_start", misuse_active_start, false},
    {"active_start_high", misuse_active_start_high, false},
    {"active_stride", misuse_active_stride, false},
    {"active_stride_high", misuse_active_stride_high, false},
    {"active_size", misuse_active_size, false},
    {"active_beyond", misuse_active_beyond, false},
    {"active_member", misuse_active_member, false},
    {"active_root", misuse_active_root, true},
    {"active_nreduce", misuse_active_nreduce, true},
    {"active_alltoalls", misuse_active_alltoalls, true},
    {"active_dirty", misuse_active_dirty, true},
    {"active_dirty_first", misuse_active_dirty_first, false},
    {"active_private", misuse_active_private, true},
    {"active_null", misuse_active_null, true},
    {"active_unaligned", misuse_active_unaligned, true},
    {"active_freed", misuse_active_freed, true},
    {"active_differ", misuse_active_differ, true},
};

static void run(const char *name)
{
    for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
        if (strcmp(misuses[i].name, name) != 0) continue;
        if (misuses[i].collective || pe_me == pe_n - 1) misuses[i].run();
        shmem_barrier_all();
        return;
    }
    PE_REQUIRE(false, "no misuse is called %s", name);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "before_init") == 0) shmem_malloc(8);
    if (strcmp(name, "put_before_init") == 0) shmem_long_p(&global_word, 1, 0);
    if (strcmp(name, "barrier_before_init") == 0) shmem_barrier_all();
    if (strcmp(name, "active_before_init") == 0) shmem_barrier(0, 0, 1, sync_words);
    pe_test_begin();
    peer = pe_n > 1 ? 0 : pe_me;
    block = shmem_calloc(8, sizeof(*block));
    PE_REQUIRE(block != NULL, "calloc failed");
    if (strcmp(name, "after_finalize") == 0) {
        shmem_finalize();
        shmem_barrier_all();
    } else if (strcmp(name, "good") != 0) { /* only init was to be tried */
        run(name);
    }
    fprintf(stderr, "pe %d: survived %s\n", pe_me, name);
    shmem_finalize();
    return PE_PASS;
}
