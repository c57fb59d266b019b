/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the misuse of the library that the argument names, on the last PE while the other PEs wait
 * in a barrier, or on all PEs if the routine is collective. The library must end the job with a
 * message. run_errors.sh checks the text, the status and the time; this program only prints
 * "survived" if the job goes on.
 *
 * usage: errors MISUSE
 */
#include "pe_threads.h"
#include "pe_ways.h"

/* These are symmetric, as globals of the executable are. */
static long global_word, dirty_lock = -1, dirty_test_lock = 0x12345;
static long sync_words[SHMEM_SYNC_SIZE]; /* SHMEM_SYNC_VALUE is 0 */
static char bulk[1 << 20], private_bulk[1 << 20];

static long *block;     /* heap, 8 words */
static long *unaligned; /* its second half word */
static int peer;

/*
 * Returns whether this PE makes the misuse of this name, which the last PE makes alone. Those that
 * pe_way_is() asks for are made by all PEs.
 */
static bool last(const char *name)
{
    return pe_way_is(name) && pe_me == pe_n - 1;
}

/* PE numbers, addresses and operators of puts, gets, atomics and signals. */
static void misuse_rma(void)
{
    long on_stack = 0, *private = calloc(8, 8), *gone;
    static long source[100];
    uint64_t *sig = (uint64_t *)block;

    if (last("pe_high")) shmem_long_p(&global_word, 1, pe_n);
    if (last("pe_negative")) shmem_putmem(block, &global_word, 8, -1);
    if (last("get_pe")) shmem_long_g(block, pe_n + 1000);
    if (last("amo_pe")) shmem_long_atomic_fetch_add(block, 1, pe_n);
    if (last("signal_pe")) shmem_signal_set(sig, 1, -7);
    if (last("put_stack")) shmem_long_put(&on_stack, block, 1, peer);
    if (last("get_malloc")) shmem_long_get(&on_stack, private, 1, peer);
    if (last("put_null")) shmem_putmem(NULL, block, 8, peer);
    if (last("amo_stack")) shmem_int_atomic_inc((int *)&on_stack, peer);
    if (last("signal_malloc"))
        shmem_putmem_signal(block, &global_word, 8, (uint64_t *)private, 1, SHMEM_SIGNAL_SET, peer);
    if (last("unaligned_amo")) shmem_long_atomic_inc((long *)((char *)block + 1), peer);
    if (last("beyond_block")) shmem_long_put(block, source, 100, peer);
    if (last("beyond_space")) shmem_getmem(block, block, (size_t)1 << 45, peer);
    if (last("far_beyond_put")) shmem_long_put(block, source, (size_t)1 << 30, peer);
    if (last("far_beyond_get")) shmem_long_get_nbi(source, block, (size_t)1 << 30, peer);
    if (last("far_beyond_global")) shmem_putmem(bulk, private_bulk, (size_t)8 << 30, peer);
    if (last("far_beyond_signal"))
        shmem_putmem_signal(block, source, (size_t)8 << 30, sig + 7, 1, SHMEM_SIGNAL_SET, peer);
    if (last("far_beyond_rows")) shmem_long_iput(block, source, 1 << 20, 1, 1 << 10, peer);
    if (pe_way_is("freed_block")) {
        gone = shmem_malloc(1000);
        shmem_free(gone);
        shmem_long_p(gone, 1, peer);
    }
    if (last("rows_overflow")) shmem_long_iput(block, &global_word, 2, 3, SIZE_MAX / 9, peer);
    if (last("overflow")) shmem_long_put(block, &global_word, SIZE_MAX / 4, peer);
    if (last("signal_beyond"))
        shmem_putmem_signal(block, private_bulk, 1 << 16, sig + 8, 1, SHMEM_SIGNAL_SET, peer);
    if (last("bad_sig_op")) shmem_putmem_signal(block, &global_word, 8, sig + 2, 1, 77, peer);
    if (last("bad_stride")) shmem_long_iput(block, &global_word, 0, 1, 2, peer);
    free(private);
}

static void free_in_other_space(void)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, 1 << 20, SHMEM_SPACE_FLAG_DEFAULT};
    shmem_space_t space;
    shmem_team_t team;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0,
               "shmem_space_create of 1 MiB failed");
    shmem_space_free(space, block);
}

/* The heap: what is freed, and what the PEs ask for together. */
static void misuse_heap(void)
{
    if (pe_way_is("double_free")) {
        long *gone = shmem_malloc(100);

        shmem_free(gone);
        shmem_free(gone);
    }
    if (pe_way_is("free_interior")) shmem_free(block + 1);
    if (pe_way_is("free_foreign")) shmem_free(malloc(100));
    if (pe_way_is("free_other_space")) free_in_other_space();
    if (pe_way_is("malloc_differs")) shmem_malloc((size_t)(100 + pe_me));
    if (pe_way_is("bad_alignment")) {
        shmem_align(24, 100);
        shmem_align(2, 100);
    }
    if (pe_way_is("alignment_differs"))
        shmem_align(pe_me == 0 ? 64 : 24, 100); /* one PE is right */
}

/* Teams and their collectives. */
static void misuse_teams(void)
{
    static __thread long private[1000];

    if (last("invalid_team")) shmem_long_sum_reduce(SHMEM_TEAM_INVALID, block, block + 1, 1);
    if (last("invalid_sync")) shmem_team_sync(SHMEM_TEAM_INVALID);
    if (pe_way_is("bad_root")) shmem_long_broadcast(SHMEM_TEAM_WORLD, block, block + 1, 1, pe_n);
    if (last("fcollect_overflow"))
        shmem_long_fcollect(SHMEM_TEAM_WORLD, block, block, SIZE_MAX / 9);
    if (last("alltoalls_overflow"))
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, NULL, NULL, 1, 2, SIZE_MAX / 9);
    if (pe_way_is("coll_stack")) shmem_long_fcollect(SHMEM_TEAM_WORLD, private, block, 1);
    /* Too much for a cell: the array would be read in place. */
    if (pe_way_is("reduce_stack")) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, private, private, 1000);
    if (pe_way_is("destroy_world")) shmem_team_destroy(SHMEM_TEAM_WORLD);
}

/* Counts that are far too large, or only too large for the space of one of the two arrays. */
static void misuse_far_beyond(void)
{
    const shmem_team_t world = SHMEM_TEAM_WORLD;
    const size_t far = (size_t)1 << 30;
    long *global = (long *)bulk;
    size_t i;

    if (pe_way_is("far_beyond_fcollect")) shmem_long_fcollect(world, block, block, far);
    if (pe_way_is("far_beyond_collect")) shmem_long_collect(world, block, block, far);
    if (pe_way_is("far_beyond_alltoall")) shmem_alltoallmem(world, block, block, 8 * far);
    if (pe_way_is("far_beyond_source")) shmem_long_sum_exscan(world, block, global, 1 << 19);
    if (pe_way_is("far_beyond_dest"))
        shmem_longlong_sum_inscan(world, (long long *)bulk, (long long *)block, 1 << 19);
    if (pe_way_is("far_beyond_stride"))
        shmem_long_alltoalls(world, block, block, 1, 1 << 20, 1 << 10);
    if (pe_way_is("far_beyond_alltoalls"))
        shmem_alltoalls32(global, block, 1 << 10, 1, 1 << 10, 0, 0, pe_n, sync_words);
    if (last("far_beyond_iput")) shmem_long_iput(block, global, 1, 1 << 15, 1 << 5, peer);
    if (last("far_beyond_iget")) shmem_long_iget(global, block, 1 << 15, 1, 1 << 5, peer);
    if (last("far_beyond_alone"))
        shmem_long_sum_to_all(block, global, 1 << 19, pe_me, 0, 1, block, sync_words);
    if (last("far_beyond_wait")) shmem_long_wait_until_any(block, far, NULL, SHMEM_CMP_EQ, 1);
    if (last("far_beyond_test"))
        (void)shmem_uint64_test_some((uint64_t *)block, far, &i, NULL, SHMEM_CMP_EQ, 1);
}

/* Collectives whose arguments differ between PE 0 and the others. */
static void misuse_unequal(void)
{
    static long pSync[SHMEM_SYNC_SIZE]; /* SHMEM_SYNC_VALUE is 0 */
    const int differs = pe_me != 0;
    const shmem_team_t world = SHMEM_TEAM_WORLD;
    shmem_team_t team;

    if (pe_way_is("coll_differs"))
        (void)(differs ? shmem_long_broadcast(world, block, block + 1, 1, 0)
                       : shmem_long_sum_reduce(world, block, block + 1, 1));
    if (pe_way_is("count_differs")) shmem_long_broadcast(world, block, block + 1, 1 + differs, 0);
    if (pe_way_is("count_none")) shmem_long_fcollect(world, block, block + 1, differs);
    if (pe_way_is("root_differs")) shmem_long_broadcast(world, block, block + 1, 1, differs);
    if (pe_way_is("reduce_differs"))
        shmem_int_max_reduce(world, (int *)block, (int *)block, 1 + differs);
    if (pe_way_is("scan_differs")) shmem_long_sum_inscan(world, block, block, 2 - differs);
    if (pe_way_is("alltoall_differs")) shmem_alltoallmem(world, bulk, bulk, 1 + differs);
    if (pe_way_is("stride_differs")) shmem_long_alltoalls(world, block, block, 1, 1 + differs, 1);
    if (pe_way_is("barrier_differs") && !differs) shmem_barrier_all();
    if (pe_way_is("barrier_differs")) shmem_sync_all();
    if (pe_way_is("malloc_or_barrier") && differs) (void)shmem_malloc(8);
    if (pe_way_is("malloc_or_barrier")) shmem_barrier_all();
    if (pe_way_is("split_differs"))
        shmem_team_split_strided(world, 0, 1, pe_n - differs, NULL, 0, &team);
    if (pe_way_is("active_differs"))
        shmem_broadcast64(bulk, bulk, 1 + differs, 0, 0, 0, pe_n, pSync);
    if (pe_way_is("may_differ")) { /* what the standard allows */
        shmem_collectmem(world, bulk, private_bulk, 1 + differs);
        if (differs) shmem_team_sync(world);
        if (!differs) shmem_sync_all();
    }
}

/* Contexts, and places for results that are no memory. */
static void misuse_contexts(void)
{
    /* Not null, because UBSan would end the program for a null pointer by itself. */
    static void *volatile nowhere = (void *)64;
    const int pes[] = {peer, pe_n};
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    if (last("destroy_ctx")) shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    if (last("destroy_ctx_twice") || last("stale_ctx")) {
        shmem_ctx_create(0, &ctx);
        shmem_ctx_destroy(ctx);
    }
    if (last("destroy_ctx_twice")) shmem_ctx_destroy(ctx);
    if (last("stale_ctx")) shmem_ctx_long_p(ctx, block, 1, peer);
    if (pe_way_is("team_ctx")) { /* a shareable context ends with its team */
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, NULL, 0, &team);
        PE_REQUIRE(shmem_team_create_ctx(team, 0, &ctx) == 0, "shmem_team_create_ctx failed");
        shmem_team_destroy(team);
        shmem_ctx_long_p(ctx, block, 1, peer);
    }
    if (last("invalid_ctx")) shmem_ctx_long_p(SHMEM_CTX_INVALID, block, 1, peer);
    if (last("pe_quiet")) shmem_pe_quiet(pes, 2);
    if (last("session"))
        shmem_ctx_session_start(SHMEM_CTX_DEFAULT, 0, NULL, SHMEM_CTX_SESSION_TOTAL_OPS);
    if (last("wild_version")) shmem_info_get_version(nowhere, nowhere);
    if (last("wild_ctx")) (void)shmem_ctx_create(0, nowhere);
    if (last("wild_config"))
        (void)shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, nowhere);
    if (last("wild_targets")) shmem_pe_quiet(nowhere, 2);
}

static void misuse_waits(void)
{
    long on_stack[2] = {0};
    size_t sizes[2] = {0}, indices[2];

    if (last("bad_cmp")) shmem_long_wait_until(block, 99, 0);
    if (last("wait_stack")) shmem_long_wait_until(on_stack, SHMEM_CMP_EQ, 0);
    if (last("wait_null")) shmem_int_wait_until(NULL, SHMEM_CMP_EQ, 0);
    if (last("test_stack")) (void)shmem_short_test((short *)on_stack, SHMEM_CMP_EQ, 0);
    if (last("wait_beyond")) shmem_long_wait_until_all(block, 100, NULL, SHMEM_CMP_NE, 99);
    if (last("some_stack")) (void)shmem_size_test_some(sizes, 2, indices, NULL, SHMEM_CMP_EQ, 0);
    if (last("any_vector_stack"))
        (void)shmem_long_wait_until_any_vector(on_stack, 2, NULL, SHMEM_CMP_EQ, on_stack);
    if (last("signal_wait_stack")) (void)shmem_signal_wait_until(sizes, SHMEM_CMP_EQ, 0);
}

static atomic_int n_clearing;

static void *clear_with_the_other(void *arg)
{
    atomic_fetch_add(&n_clearing, 1);
    while (atomic_load(&n_clearing) < 2)
        continue;
    shmem_clear_lock(block);
    return arg;
}

/* One of the two must be reported. On a fabric both threads are in the call during the transfer. */
static void clear_at_once(void)
{
    pthread_t other;
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    shmem_set_lock(block);
    other = pe_thread(clear_with_the_other, NULL);
    for (int i = 0; i < 8; i++)
        shmem_putmem_nbi(bulk, private_bulk, sizeof(bulk), peer);
    clear_with_the_other(NULL);
    pthread_join(other, NULL);
}

static void misuse_locks(void)
{
    long on_stack = 0;

    if (last("lock_stack")) shmem_set_lock(&on_stack);
    if (last("lock_unaligned")) (void)shmem_test_lock(unaligned);
    if (last("lock_twice")) {
        shmem_set_lock(block);
        shmem_set_lock(block);
    }
    if (last("lock_dirty")) shmem_set_lock(&dirty_lock);
    if (last("lock_dirty_test")) (void)shmem_test_lock(&dirty_test_lock);
    if (last("clear_free")) shmem_clear_lock(block);
    if (last("clear_at_once")) clear_at_once();
}

/* Active sets: arguments that are out of range. */
static void misuse_active_args(void)
{
    long *w = sync_words;

    if (last("active_start")) shmem_barrier(-1, 0, 1, w);
    if (last("active_start_high")) shmem_sync(pe_n, 0, 1, w);
    if (last("active_stride")) shmem_fcollect32(block, block + 1, 1, 0, -1, 1, w);
    if (last("active_stride_high")) shmem_sync(0, 40, 2, w);
    if (last("active_size")) shmem_collect64(block, block + 1, 1, pe_me, 0, 0, w);
    if (last("active_beyond")) shmem_alltoall64(block, block + 1, 1, 0, 0, pe_n + 1, w);
    if (last("active_member")) shmem_barrier(0, 0, pe_n - 1, w);
    if (pe_way_is("active_root")) shmem_broadcast64(block, block + 1, 1, pe_n, 0, 0, pe_n, w);
    if (pe_way_is("active_nreduce"))
        shmem_long_sum_to_all(block, block + 1, -1, 0, 0, pe_n, NULL, w);
    if (pe_way_is("active_alltoalls")) shmem_alltoalls32(block, block + 1, 1, 0, 1, 0, 0, pe_n, w);
    /* The last PE means itself and every second one; the others, all. For three PEs or more. */
    if (pe_way_is("active_differ") && pe_me < pe_n - 1) shmem_sync(0, 0, pe_n, w);
    if (last("active_differ")) shmem_sync((pe_n - 1) % 2, 1, (pe_n + 1) / 2, w);
}

/* Active sets: work arrays that are not as they should be. */
static void misuse_active_arrays(void)
{
    if (pe_way_is("active_dirty")) {
        memset(sync_words, 0x3c, sizeof(sync_words));
        shmem_sync(0, 0, pe_n, sync_words);
    }
    /* Only the element that another PE writes to, and on the last PE, which nobody writes to. */
    if (last("active_dirty_first")) {
        sync_words[0] = 12345;
        shmem_sync(pe_n - 1, 0, 1, sync_words);
    }
    if (pe_way_is("active_private"))
        shmem_barrier(0, 0, pe_n, calloc(SHMEM_SYNC_SIZE, sizeof(long)));
    if (pe_way_is("active_null")) shmem_barrier(0, 0, pe_n, NULL);
    if (pe_way_is("active_unaligned")) shmem_barrier(0, 0, pe_n, unaligned);
    if (pe_way_is("active_freed")) {
        long *gone = shmem_calloc(SHMEM_SYNC_SIZE, sizeof(long));

        shmem_sync(0, 0, pe_n, gone);
        shmem_free(gone);
        shmem_sync(0, 0, pe_n, gone);
    }
}

static void make_misuse(void)
{
    misuse_rma();
    misuse_heap();
    misuse_teams();
    misuse_far_beyond();
    misuse_unequal();
    misuse_contexts();
    misuse_waits();
    misuse_locks();
    misuse_active_args();
    misuse_active_arrays();
    PE_REQUIRE(pe_way_known, "the argument %s is not the name of a misuse", pe_way);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    pe_way = argc > 1 ? argv[1] : "";
    if (pe_way_is("before_init")) shmem_malloc(8);
    if (pe_way_is("put_before_init")) shmem_long_p(&global_word, 1, 0);
    if (pe_way_is("barrier_before_init")) shmem_barrier_all();
    if (pe_way_is("active_before_init")) shmem_barrier(0, 0, 1, sync_words);
    pe_test_begin();
    peer = pe_n > 1 ? 0 : pe_me;
    block = shmem_calloc(8, sizeof(*block));
    PE_REQUIRE(block != NULL, "shmem_calloc of 8 longs returned NULL");
    unaligned = (long *)((char *)block + 4);
    if (pe_way_is("after_finalize")) {
        shmem_finalize();
        shmem_barrier_all();
    } else if (!pe_way_is("good")) { /* only init was to be tried */
        make_misuse();
    }
    fprintf(stderr, "pe %d: survived %s\n", pe_me, pe_way);
    shmem_finalize();
    return PE_PASS;
}
