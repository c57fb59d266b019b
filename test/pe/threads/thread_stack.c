/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that each family of routines works in a thread with the minimum stack that the library
 * promises (docs/design/base.md), above a page without access. The default stack size of the
 * process is also set to the minimum, so a thread of the library that does not set its own size
 * gets such a stack.
 *
 * usage: thread_stack [KiB [report]]
 *   KiB: the stack size in place of the minimum, with normal default stacks
 *   report: print the size that each family used
 */
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pe_active.h"
#include "pe_kinds.h"

enum { MANY = 20000, SMALL = 4, LAST = MANY - 1, PAINT = 0xa5 };

static long *a, *b;
static uint64_t *flags;
static long sync_array[SHMEM_SYNC_SIZE], sync_other[SHMEM_SYNC_SIZE];
static long lock_word;

/* ---- families ------------------------------------------------------------------------------ */

static void call_put(void)
{
    long value[SMALL] = {1, 2, 3, 4};

    shmem_long_put(b, a, MANY, pe_right());
    shmem_long_put(b, value, SMALL, pe_right());
    shmem_long_put_nbi(b, a, MANY, pe_right());
    shmem_long_p(&b[1], 7, pe_right());
    shmem_long_iput(b, a, 2, 3, 1000, pe_right());
    shmem_long_ibput(b, a, 10, 12, 5, 100, pe_right());
    shmem_long_put_signal(b, a, MANY, &flags[0], 1, SHMEM_SIGNAL_SET, pe_right());
    shmem_long_put_signal_nbi(b, a, SMALL, &flags[1], 1, SHMEM_SIGNAL_ADD, pe_right());
    shmem_quiet();
}

static void call_get(void)
{
    shmem_long_get(b, a, MANY, pe_right());
    shmem_long_get_nbi(b, a, MANY, pe_right());
    shmem_long_iget(b, a, 2, 3, 1000, pe_right());
    shmem_long_ibget(b, a, 10, 12, 5, 100, pe_right());
    shmem_quiet();
    PE_CHECK_EQ(shmem_long_g(&a[LAST], pe_right()), LAST);
}

static void call_amo(void)
{
    long fetched = 0;

    shmem_long_atomic_add(&b[0], 1, pe_right());
    shmem_long_atomic_fetch_add(&b[0], 1, pe_right());
    shmem_long_atomic_compare_swap(&b[0], 0, 1, pe_right());
    shmem_uint64_atomic_fetch_xor(&flags[2], 1, pe_right());
    shmem_double_atomic_swap((double *)&b[2], 1.5, pe_right());
    shmem_long_atomic_fetch_add_nbi(&fetched, &b[0], 1, pe_right());
    shmem_int_atomic_set((int *)&b[3], 1, pe_right());
    shmem_fence();
    shmem_quiet();
}

static void call_order(void)
{
    int right = pe_right();

    shmem_pe_quiet(&right, 1);
    shmem_fence();
    shmem_sync_all();
    shmem_barrier_all();
    shmem_team_sync(SHMEM_TEAM_WORLD);
}

static void reduce_n(size_t n)
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, b, a, n);
    PE_CHECK_EQ(b[n - 1], (long)(n - 1) * pe_n);
    shmem_barrier_all();
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, (double *)b, (double *)a, n);
    shmem_ulong_and_reduce(SHMEM_TEAM_WORLD, (unsigned long *)b, (unsigned long *)a, n);
    shmem_longdouble_prod_reduce(SHMEM_TEAM_WORLD, (long double *)b, (long double *)a, n / 2);
}

static void call_reduce(void)
{
    reduce_n(SMALL);
    reduce_n(MANY);
}

static void call_scan(void)
{
    for (size_t n = SMALL; n <= MANY; n *= 5000) {
        shmem_long_sum_inscan(SHMEM_TEAM_WORLD, b, a, n);
        PE_CHECK_EQ(b[n - 1], (long)(n - 1) * (pe_me + 1));
        shmem_barrier_all();
        shmem_long_sum_exscan(SHMEM_TEAM_WORLD, b, a, n);
    }
}

static void call_broadcast(void)
{
    for (size_t n = SMALL; n <= MANY; n *= 5000) {
        shmem_long_broadcast(SHMEM_TEAM_WORLD, b, a, n, pe_n - 1);
        PE_CHECK_EQ(b[n - 1], (long)n - 1);
        shmem_barrier_all();
    }
}

static void call_collect(void)
{
    size_t most = (size_t)(MANY / pe_n);

    for (size_t n = 1; n <= most; n += most - 1) {
        shmem_long_fcollect(SHMEM_TEAM_WORLD, b, a, n);
        shmem_long_collect(SHMEM_TEAM_WORLD, b, a, n);
        shmem_long_alltoall(SHMEM_TEAM_WORLD, b, a, n);
        shmem_long_alltoalls(SHMEM_TEAM_WORLD, b, a, 1, 1, n);
        shmem_barrier_all();
    }
}

static void call_active(void)
{
    struct pe_set all = pe_set(0, 0, pe_n);
    size_t most = (size_t)(MANY / pe_n);

    for (size_t n = 1; n <= most; n += most - 1) {
        shmem_broadcast64(b, a, n, 0, PE_SET(&all), sync_array);
        shmem_fcollect64(b, a, n, PE_SET(&all), sync_other);
        shmem_collect64(b, a, n, PE_SET(&all), sync_array);
        shmem_alltoall64(b, a, n, PE_SET(&all), sync_other);
        shmem_alltoalls64(b, a, 1, 1, n, PE_SET(&all), sync_array);
        shmem_long_sum_to_all(b, a, (int)n, PE_SET(&all), NULL, sync_other);
        shmem_barrier(PE_SET(&all), sync_array);
    }
}

static void call_lock(void)
{
    shmem_set_lock(&lock_word);
    shmem_clear_lock(&lock_word);
    if (shmem_test_lock(&lock_word) == 0) shmem_clear_lock(&lock_word);
    shmem_barrier_all();
}

static void call_wait(void)
{
    long last[2];
    size_t some[2];

    shmem_long_atomic_set(&b[0], 5, pe_right());
    shmem_long_atomic_set(&b[1], 5, pe_right());
    shmem_signal_set(&flags[3], 5, pe_right());
    shmem_long_wait_until(&b[0], SHMEM_CMP_EQ, 5);
    shmem_long_wait_until_all(b, 2, NULL, SHMEM_CMP_EQ, 5);
    shmem_long_wait_until_any(b, 2, NULL, SHMEM_CMP_EQ, 5);
    shmem_long_wait_until_some(b, 2, some, NULL, SHMEM_CMP_EQ, 5);
    last[0] = last[1] = 5;
    shmem_long_wait_until_all_vector(b, 2, NULL, SHMEM_CMP_EQ, last);
    PE_CHECK(shmem_long_test(&b[0], SHMEM_CMP_EQ, 5),
             "shmem_long_test after a wait for the same value returned 0");
    shmem_signal_wait_until(&flags[3], SHMEM_CMP_EQ, 5);
    shmem_barrier_all();
}

static void call_context(void)
{
    static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE};
    shmem_ctx_t ctx;

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        ctx = pe_ctx(options[i]);
        shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
        for (int k = 0; k < 100; k++)
            shmem_ctx_long_p(ctx, &b[k], k, pe_right());
        shmem_ctx_long_put_nbi(ctx, b + 100, a, MANY - 100, pe_right());
        shmem_ctx_session_stop(ctx);
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
    }
}

static void call_team(void)
{
    shmem_team_t team, rows, columns;

    team = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);
    shmem_long_sum_reduce(team, b, a, MANY);
    PE_REQUIRE(shmem_team_split_2d(team, 2, NULL, 0, &rows, NULL, 0, &columns) == 0,
               "shmem_team_split_2d failed");
    shmem_team_sync(rows);
    shmem_team_destroy(columns);
    shmem_team_destroy(rows);
    shmem_team_destroy(team);
}

static void call_memory(void)
{
    void *blocks[4] = {shmem_malloc(100), shmem_calloc(10, 100), shmem_align(4096, 100),
                       shmem_malloc(1 << 20)};

    blocks[0] = shmem_realloc(blocks[0], 100000);
    PE_CHECK(blocks[0] != NULL && shmem_ptr(blocks[0], pe_me) == blocks[0],
             "shmem_realloc returned NULL or memory that shmem_ptr does not know");
    for (int i = 0; i < 4; i++)
        shmem_free(blocks[i]);
}

static void use_space(const struct pe_space *s)
{
    long *there = pe_kind_malloc(s, 1000);

    shmem_long_put(there, a, 1000, pe_me);
    shmem_long_get(b, there, 1000, pe_me);
    shmem_long_max_reduce(s->team, there, there, 1000);
    PE_GPU_EXPECT(there, 0, 1000, s->kind->name);
    shmem_space_free(s->space, there);
}

/* Of every kind that there is. */
static void call_space(void)
{
    for (int kind = 0; kind < PE_N_KINDS; kind++) {
        struct pe_space s;

        if (kind != PE_CPU && !pe_kind_exists(kind)) continue;
        PE_REQUIRE(pe_kind_create(kind, 1 << 20, &s), "creating a %s space failed",
                   pe_kinds[kind].name);
        if (s.rank >= 0) use_space(&s);
        shmem_barrier_all();
        pe_kind_destroy(&s);
    }
}

static const struct {
    const char *name;
    void (*call)(void);
} families[] = {
    {"put", call_put},
    {"get", call_get},
    {"atomics", call_amo},
    {"order", call_order},
    {"reduce", call_reduce},
    {"scan", call_scan},
    {"broadcast", call_broadcast},
    {"collect", call_collect},
    {"active sets", call_active},
    {"locks", call_lock},
    {"wait", call_wait},
    {"contexts", call_context},
    {"teams", call_team},
    {"memory", call_memory},
    {"spaces", call_space},
};

/* ---- stacks --------------------------------------------------------------------------------- */

static void *family_main(void *arg)
{
    families[*(const size_t *)arg].call();
    return NULL;
}

/* Bytes from the lowest that was written to the end. */
static size_t used(const unsigned char *stack, size_t nbytes)
{
    size_t at = 0;

    while (at < nbytes && stack[at] == PAINT)
        at++;
    return nbytes - at;
}

/* Run a family on nbytes of stack above a page that nobody may touch. Returns what it used. */
static size_t run_on(size_t family, size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), most;
    unsigned char *map = mmap(NULL, page + nbytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    pthread_attr_t attr;
    pthread_t thread;

    PE_REQUIRE(map != MAP_FAILED && mprotect(map, page, PROT_NONE) == 0,
               "mmap or mprotect of a stack failed");
    memset(map + page, PAINT, nbytes);
    pthread_attr_init(&attr);
    PE_REQUIRE(pthread_attr_setstack(&attr, map + page, nbytes) == 0,
               "pthread_attr_setstack refused a stack of %zu bytes", nbytes);
    PE_REQUIRE(pthread_create(&thread, &attr, family_main, &family) == 0,
               "pthread_create with the small stack failed");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    most = used(map + page, nbytes);
    munmap(map, page + nbytes);
    return most;
}

/* What the library promises to do with: less where it does not call libfabric. */
static size_t minimum(void)
{
    return shmem_team_n_pes(SHMEM_TEAM_SHARED) == pe_n ? 16 << 10 : 32 << 10;
}

static void start(bool default_stacks)
{
    pthread_attr_t small;
    int provided;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN);
    if (!default_stacks) pthread_setattr_default_np(&small);
    pthread_attr_destroy(&small);
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    if (provided < SHMEM_THREAD_MULTIPLE) pe_test_skip("no SHMEM_THREAD_MULTIPLE");
    a = pe_malloc(MANY * sizeof(*a));
    b = pe_malloc(2 * MANY * sizeof(*b));
    flags = pe_calloc(4, sizeof(*flags));
    for (long i = 0; i < MANY; i++)
        a[i] = i;
    pe_psync_init(sync_array, SHMEM_SYNC_SIZE);
    pe_psync_init(sync_other, SHMEM_SYNC_SIZE);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    size_t nbytes;

    start(argc > 1);
    nbytes = argc > 1 ? (size_t)atoi(argv[1]) << 10 : minimum();
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && !pe_skipped; i++) {
        size_t most = run_on(i, nbytes);
        if (argc > 2) printf("pe %d: %s: %zu bytes of stack\n", pe_me, families[i].name, most);
        shmem_barrier_all();
    }
    return pe_test_end();
}
