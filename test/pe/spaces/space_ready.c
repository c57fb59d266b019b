/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that operations on GPU memory do not create streams, allocate memory or open memory of
 * other processes: these calls of the driver could wait for a kernel that does not end, so the
 * creation of spaces and contexts must have made them. The fake driver counts the calls. With
 * SHMEM_GPU_IPC=off no memory of another process is opened.
 *
 * usage: space_ready [pinned | again | ends]
 *   pinned: only pinned host memory exists; again: an object that could not be made before is made
 *   by the operation; ends: destroying the spaces releases everything
 */
#include "pe_gpu.h"

enum { N = 20000, FEW = 10, N_CTXS = 3 };

static long (*calls)(const char *symbol);
static shmem_space_t space;
static shmem_team_t team;
static shmem_ctx_t ctxs[N_CTXS];
static long *block, *other;     /* of the space */
static uint64_t *word;          /* too */
static long *in_heap, *own_gpu; /* the default heap; private memory on the device */
static long host[N];
static int next;

/* Such calls may wait for all that runs on the device. */
static const char *const makers[] = {
    "cuIpcOpenMemHandle_v2", "cuStreamCreate",   "cuMemHostAlloc", "cuMemHostRegister_v2",
    "cuMemAlloc_v2",         "cuModuleLoadData", "cuEventCreate",  "cuStreamDestroy_v2",
    "cuMemFreeHost",         "cuMemFree_v2",
};
enum { N_MAKERS = sizeof(makers) / sizeof(makers[0]) };

static void count(long counts[N_MAKERS])
{
    for (int i = 0; i < N_MAKERS; i++) {
        counts[i] = calls(makers[i]);
        if (counts[i] < 0) counts[i] = 0; /* one that the library never makes */
    }
}

static void use_context(shmem_ctx_t ctx)
{
    long *ends[] = {host, own_gpu, in_heap};

    for (int i = 0; i < 3; i++) {
        shmem_ctx_long_put(ctx, block, ends[i], FEW, next);
        shmem_ctx_long_put(ctx, block, ends[i], N, next);
        shmem_ctx_long_put_nbi(ctx, block, ends[i], N, next);
        shmem_ctx_quiet(ctx);
        shmem_ctx_long_get(ctx, ends[i], block, FEW, next);
        shmem_ctx_long_get(ctx, ends[i], block, N, next);
        shmem_ctx_long_iput(ctx, block, ends[i], 2, 3, FEW, next);
        shmem_ctx_long_iget(ctx, ends[i], block, 2, 3, FEW, next);
        shmem_ctx_long_put(ctx, in_heap, block, N, next);
        shmem_ctx_quiet(ctx);
    }
    shmem_ctx_long_put(ctx, other, block, N, next);
    shmem_ctx_long_p(ctx, block, 7, next);
    (void)shmem_ctx_long_g(ctx, block, next);
    (void)shmem_ctx_long_atomic_fetch_add(ctx, block, 1, next);
    shmem_ctx_long_atomic_set(ctx, block, 1, next);
    shmem_ctx_quiet(ctx);
}

/* Memory that is handed out as zeros is written by the device. */
static void use_heap(void)
{
    long *zeros = shmem_space_calloc(space, N, sizeof(*zeros));

    PE_REQUIRE(zeros != NULL, "an allocation in the space returned NULL");
    shmem_long_get(host, zeros, N, pe_me);
    PE_CHECK(host[0] == 0 && host[N - 1] == 0,
             "shmem_space_calloc returned memory with %ld and %ld, expected zeros", host[0],
             host[N - 1]);
    shmem_space_free(space, zeros);
}

/* What streams do themselves, and what the thread for them does. */
static void use_streams(void)
{
    shmemx_putmem_on_stream(block, own_gpu, N * sizeof(long), next, NULL);
    shmemx_getmem_on_stream(in_heap, block, N * sizeof(long), next, NULL);
    shmemx_putmem_nbi_on_stream(block, in_heap, N * sizeof(long), next, NULL);
    shmemx_signal_op_on_stream(word, 1, SHMEM_SIGNAL_ADD, next, NULL);
    shmemx_signal_wait_until_on_stream(word, SHMEM_CMP_GE, 2, NULL);
    shmemx_quiet_on_stream(NULL);
    shmemx_broadcastmem_on_stream(team, other, block, N * sizeof(long), 0, NULL);
    shmemx_long_sum_reduce_on_stream(team, other, block, N, NULL);
    shmemx_barrier_on_stream(team, NULL);
    PE_CHECK_EQ(pe_cuda.finish(), 0);
}

static void use_all(void)
{
    use_heap();
    for (int i = 0; i < N_CTXS; i++)
        use_context(ctxs[i]);
    shmem_long_put_signal(other, host, FEW, word, 1, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until(word, SHMEM_CMP_GE, 1);
    shmem_barrier_all();
    shmem_long_broadcast(team, other, block, N, 0);
    shmem_long_sum_reduce(team, other, block, FEW);
    shmem_long_fcollect(team, other, block, FEW);
    shmem_barrier_all();
    use_streams();
}

/* The first operation on a stream in this PE, whose spaces are all in host memory. */
static void check_pinned(bool again)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, 4 * PE_MIB);
    long before[N_MAKERS], after[N_MAKERS], sum = 0;

    attr.flags = SHMEMX_SPACE_PINNED;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a pinned space failed");
    word = shmem_space_calloc(space, 1, sizeof(*word));
    count(before);
    shmemx_signal_op_on_stream(word, 1, SHMEM_SIGNAL_ADD, next, NULL);
    shmemx_signal_wait_until_on_stream(word, SHMEM_CMP_EQ, 1, NULL);
    PE_CHECK_EQ(pe_cuda.finish(), 0);
    count(after);
    for (int i = 0; i < N_MAKERS; i++) {
        sum += after[i] - before[i];
        PE_CHECK(again || after[i] == before[i],
                 "the first operations on a stream called %s %ld times, expected none", makers[i],
                 after[i] - before[i]);
    }
    PE_CHECK_EQ(sum > 0, again);
    shmem_space_free(space, word);
    pe_space_end(space, team);
}

static void check_active(int device, int expect)
{
    unsigned flags;
    int active;

    PE_CHECK_EQ(pe_cuda.state(device, &flags, &active), 0);
    PE_CHECK_EQ(active, expect);
}

/* What was made with spaces goes with them, on each device: no operation on a stream was called. */
static void check_ends(void)
{
    static const char *const things[] = {"host", "registered", "stream", "module"};
    enum { N_THINGS = sizeof(things) / sizeof(things[0]) };
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_GPU, PE_MIB);
    long (*live)(const char *what) = NULL;
    long before[N_THINGS];
    shmem_space_t spaces[2];
    shmem_team_t teams[2];

    *(void **)&live = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "fakecuda_live");
    for (int i = 0; i < N_THINGS; i++)
        before[i] = live(things[i]);
    for (int i = 0; i < 2; i++) {
        shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

        attr.device = 1 - i; /* the test itself holds the context of 0 */
        PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &spaces[i], &teams[i]) == 0,
                   "creating a GPU space on a chosen device failed");
    }
    check_active(1, 1);
    pe_space_end(spaces[0], teams[0]);
    check_active(1, 0);
    pe_space_end(spaces[1], teams[1]);
    for (int i = 0; i < N_THINGS; i++)
        PE_CHECK(live(things[i]) == before[i],
                 "after the spaces are destroyed, the driver has %s: %ld, before: %ld", things[i],
                 live(things[i]), before[i]);
}

static void check(const char *mode)
{
    const char *path = getenv("SHMEM_NODE"), *heap = getenv("SHMEM_DEFAULT_SPACE");
    long spaces = (heap != NULL && strcmp(heap, "gpu") == 0) + 1, opened; /* by IPC */
    bool node = path == NULL || strcmp(path, "off") != 0;
    long before[N_MAKERS], after[N_MAKERS];

    count(before);
    use_all();
    count(after);
    for (int i = 0; i < N_MAKERS; i++)
        PE_CHECK(after[i] == before[i],
                 "SHMEM_GPU_IPC=%s: operations on GPU memory called %s %ld times, expected none",
                 mode, makers[i], after[i] - before[i]);
    opened = node && strcmp(mode, "off") != 0 ? spaces * (pe_n - 1) : 0;
    PE_CHECK_EQ(after[0], opened);
}

static void check_space(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_GPU, 4 * PE_MIB);
    const char *mode = getenv("SHMEM_GPU_IPC") != NULL ? getenv("SHMEM_GPU_IPC") : "on";

    in_heap = shmem_malloc(N * sizeof(long));
    ctxs[0] = SHMEM_CTX_DEFAULT;
    PE_REQUIRE(shmem_ctx_create(0, &ctxs[1]) == 0,
               "creating a context failed"); /* before the space */
    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0, "creating a GPU space failed");
    PE_REQUIRE(shmem_team_create_ctx(team, 0, &ctxs[2]) == 0,
               "creating a context failed"); /* and after */
    block = shmem_space_malloc(space, N * sizeof(long));
    other = shmem_space_malloc(space, N * sizeof(long));
    word = shmem_space_calloc(space, 1, sizeof(*word));
    PE_REQUIRE(block != NULL && other != NULL && word != NULL,
               "an allocation in the space returned NULL");
    check(mode);
    shmem_ctx_destroy(ctxs[1]);
    shmem_ctx_destroy(ctxs[2]);
    shmem_space_free(space, word);
    shmem_space_free(space, other);
    shmem_space_free(space, block);
    pe_space_end(space, team);
    shmem_free(in_heap);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    void *memory;

    pe_test_begin();
    calls = pe_gpu_counted(N * sizeof(long), &memory);
    if (calls == NULL) return pe_test_end();
    next = (pe_me + 1) % pe_n;
    own_gpu = memory;
    if (strcmp(what, "ends") == 0)
        check_ends();
    else if (strcmp(what, "pinned") == 0 || strcmp(what, "again") == 0)
        check_pinned(strcmp(what, "again") == 0);
    else
        check_space();
    pe_gpu_counted_end(memory);
    return pe_test_end();
}
