/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks spaces on GPUs: creation, capabilities, paths, and each family of operations between GPU
 * spaces, host memory and private memory of both, with team collectives. If only some PEs have a
 * GPU, their team does the work. Proposal text and rules S2, S3, S6-S10, S14-S16 of
 * docs/reference/conformance-spaces.md. PE_PATH in the environment is the expected path to the
 * other members.
 */
#include "pe_gpu.h"

enum { N = 5000, BIG = 300 * 1024 }; /* BIG longs need several pieces of a staged transfer */

static shmem_space_t space;
static shmem_team_t team;
static int rank, n_ranks, next; /* in the team; next: world number of the neighbour */

static void check_facts(void)
{
    const char *expected = getenv("PE_PATH"); /* to the other members */
    shmem_device_type_t type = SHMEM_DEVICE_CPU;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_cap_t caps = 0;

    PE_CHECK_EQ(shmem_space_get_device_type(space, &type), 0);
    PE_CHECK_EQ(type, SHMEM_DEVICE_GPU);
    PE_CHECK_EQ(shmem_space_get_caps(space, &caps), 0);
    PE_CHECK(caps & SHMEM_SPACE_CAP_RMA && caps & SHMEM_SPACE_CAP_COLLECTIVES &&
                 caps & SHMEM_SPACE_CAP_ATOMICS,
             "capabilities of a GPU space are %#llx, expected RMA, COLLECTIVES and ATOMICS",
             (unsigned long long)caps);
    PE_CHECK(!(caps & SHMEM_SPACE_CAP_DIRECT_ACCESS),
             "a GPU space has SHMEM_SPACE_CAP_DIRECT_ACCESS"); /* S15 */
    PE_CHECK_EQ(!!(caps & SHMEM_SPACE_CAP_WORLD_ACCESS), n_ranks == pe_n);
    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK_EQ(info.n_pes, n_ranks);
    PE_CHECK(strcmp(info.kind, "gpu") == 0, "shmemx_space_query reports the kind %s, expected gpu",
             info.kind);
    for (int pe = 0; pe < pe_n; pe++) {
        bool member = shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, team) >= 0;
        shmemx_space_path_t path = shmemx_space_path(space, pe);
        PE_CHECK((path != SHMEMX_PATH_NONE) == member,
                 "the path to pe %d is %s, expected none only for PEs that are not members", pe,
                 shmemx_space_path_name(path));
        PE_CHECK(path != SHMEMX_PATH_LOAD_STORE,
                 "the path to pe %d is load/store, which GPU memory cannot have", pe);
        if (member && pe != pe_me && expected != NULL)
            PE_CHECK(strcmp(shmemx_space_path_name(path), expected) == 0,
                     "the path to pe %d is %s, expected %s", pe, shmemx_space_path_name(path),
                     expected);
    }
}

/* Private and symmetric memory of each kind as the source and as the destination. */
static void check_rma_pairs(long *gpu, long *heap)
{
    unsigned long long device = 0;
    long *private_host = malloc(2 * N * sizeof(long)), *private_gpu;

    PE_CHECK_EQ(pe_cuda.alloc(&device, 2 * N * sizeof(long)), 0);
    private_gpu = (long *)(uintptr_t)device;
    long *locals[] = {private_host, private_gpu, gpu + N, heap + N};
    long *remotes[] = {gpu, heap};
    const char *names[] = {"host", "private gpu", "gpu space", "heap"};

    for (int r = 0; r < 2; r++)
        for (int l = 0; l < 4; l++) {
            long base = 1000000L * (10 * rank + l) + r;
            char what[96];

            snprintf(what, sizeof(what), "put %s to %s", names[l], r ? "heap" : "gpu space");
            long *values = malloc(N * sizeof(*values));
            for (int i = 0; i < N; i++)
                values[i] = base + i;
            if (locals[l] == private_host)
                memcpy(private_host, values, N * sizeof(long));
            else if (locals[l] == private_gpu)
                PE_CHECK_EQ(pe_cuda.to_device(device, values, N * sizeof(long)) || pe_cuda.finish(),
                            0);
            else
                pe_gpu_fill(locals[l], base, N);
            shmem_team_sync(team);
            shmem_long_put(remotes[r], locals[l], N, next);
            shmem_quiet();
            shmem_team_sync(team);
            int before = (rank + n_ranks - 1) % n_ranks;
            PE_GPU_EXPECT(remotes[r], 1000000L * (10 * before + l) + r, N, what);
            shmem_team_sync(team);

            /* and back: what the neighbour has is what I put there */
            snprintf(what, sizeof(what), "get %s from %s", names[l], r ? "heap" : "gpu space");
            if (l == 2 || l == 3) pe_gpu_fill(locals[l], -1, N);
            shmem_long_get(locals[l], remotes[r], N, next);
            if (locals[l] == private_gpu) {
                memset(values, 0, N * sizeof(long));
                PE_CHECK_EQ(pe_cuda.to_host(values, device, N * sizeof(long)), 0);
                PE_EXPECT(values, base, N, what);
            } else if (locals[l] == private_host) {
                PE_EXPECT(private_host, base, N, what);
            } else {
                PE_GPU_EXPECT(locals[l], base, N, what);
            }
            free(values);
            shmem_team_sync(team);
        }
    PE_CHECK_EQ(pe_cuda.free(device), 0);
    free(private_host);
}

/* The source may be reused when put returns, however late the device is; nbi: after quiet. */
static void check_order(long *gpu)
{
    int before = (rank + n_ranks - 1) % n_ranks;
    long values[64];

    pe_gpu_fill(gpu, 0, 64 * 40);
    shmem_team_sync(team);
    for (long round = 0; round < 40; round++) {
        for (int i = 0; i < 64; i++)
            values[i] = 100000 * rank + 64 * round + i;
        shmem_long_put(gpu + 64 * round, values, 64, next);
        memset(values, 0xff, sizeof(values));
    }
    shmem_quiet();
    shmem_team_sync(team);
    PE_GPU_EXPECT(gpu, 100000 * before, 64 * 40, "puts from one buffer");
    shmem_team_sync(team);
    for (long i = 0; i < 200; i++)
        shmem_long_p(gpu + i, 7000 * rank + i, next);
    shmem_quiet();
    shmem_team_sync(team);
    PE_GPU_EXPECT(gpu, 7000 * before, 200, "p");
    for (long i = 0; i < 5; i++)
        PE_CHECK_EQ(shmem_long_g(gpu + i, next), 7000 * rank + i);
    shmem_team_sync(team);
}

static void check_nbi(long *gpu)
{
    int before = (rank + n_ranks - 1) % n_ranks;
    long *values = malloc(BIG * sizeof(*values)), *back = malloc(BIG * sizeof(*back));
    shmem_ctx_t ctx;

    PE_CHECK_EQ(shmem_ctx_create(0, &ctx), 0);
    for (long i = 0; i < BIG; i++)
        values[i] = 3 * rank + i;
    shmem_ctx_long_put_nbi(ctx, gpu, values, BIG, next);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(team);
    PE_GPU_EXPECT(gpu, 3 * before, BIG, "put_nbi");
    shmem_ctx_long_get_nbi(ctx, back, gpu, BIG, next);
    shmem_ctx_quiet(ctx);
    PE_CHECK(memcmp(back, values, BIG * sizeof(*back)) == 0,
             "get_nbi of GPU memory after quiet: wrong data");
    shmem_team_sync(team);
    shmem_ctx_destroy(ctx);
    free(values);
    free(back);
}

static void check_strided(long *gpu)
{
    int before = (rank + n_ranks - 1) % n_ranks;
    long values[300], back[300];

    for (int i = 0; i < 300; i++)
        values[i] = 1000 * rank + i;
    pe_gpu_fill(gpu, -500, 500);
    shmem_team_sync(team);
    shmem_long_iput(gpu, values, 3, 2, 100, next); /* gpu[3i] = values[2i] */
    shmem_quiet();
    shmem_team_sync(team);
    shmem_long_get(back, gpu, 300, pe_me);
    for (int i = 0; i < 300; i++)
        PE_CHECK_EQ(back[i], i % 3 == 0 ? 1000 * before + 2 * (i / 3) : -500 + i);
    memset(back, 0, sizeof(back));
    shmem_long_iget(back, gpu, 2, 3, 100, next);
    for (int i = 0; i < 100; i++)
        PE_CHECK_EQ(back[2 * i], 1000 * rank + 2 * i);
    PE_CHECK_EQ(back[1], 0);
    shmem_team_sync(team);
    shmem_long_ibput(gpu, values, 10, 10, 4, 20, next); /* blocks of 4, every 10 */
    shmem_quiet();
    shmem_team_sync(team);
    shmem_long_get(back, gpu, 200, pe_me);
    for (int i = 0; i < 200; i++)
        if (i % 10 < 4) PE_CHECK_EQ(back[i], 1000 * before + i);
    shmem_team_sync(team);
}

static void check_atomics(long *gpu)
{
    unsigned *word32 = (unsigned *)(gpu + 8);
    int first = shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD);
    long seen;

    pe_gpu_fill(gpu, 0, 1);
    shmem_uint_p(word32, 0, pe_me);
    shmem_quiet();
    shmem_team_sync(team);
    for (int i = 0; i < 50; i++) {
        shmem_long_atomic_add(gpu, 2, first);
        (void)shmem_long_atomic_fetch_inc(gpu, first);
        shmem_uint_atomic_or(word32, 1u << (rank % 32), first);
    }
    shmem_quiet();
    shmem_team_sync(team);
    seen = shmem_long_atomic_fetch(gpu, first);
    PE_CHECK_EQ(seen, 150L * n_ranks);
    PE_CHECK_EQ(shmem_uint_atomic_fetch(word32, first), n_ranks >= 32 ? ~0u : (1u << n_ranks) - 1);
    shmem_team_sync(team);
    if (rank == 0) {
        PE_CHECK_EQ(shmem_long_atomic_compare_swap(gpu, seen, 5, next), next == pe_me ? seen : 0);
        PE_CHECK_EQ(shmem_long_atomic_swap(gpu + 1, 77, next) != 77, 1);
        PE_CHECK_EQ(shmem_long_atomic_fetch(gpu + 1, next), 77);
    }
    shmem_team_sync(team);
}

/* Data on the GPU, signal on the host or on the GPU: never early. S10. */
static void check_signals(long *gpu, uint64_t *host_signal, uint64_t *gpu_signal)
{
    uint64_t *signals[] = {host_signal, gpu_signal};
    long *values = malloc(N * sizeof(*values));

    for (int s = 0; s < 2; s++)
        for (long round = 1; round <= 20; round++) {
            size_t n = round % 4 < 2 ? 7 : N; /* a few bytes may leave without being waited for */
            for (size_t i = 0; i < n; i++)
                values[i] = 100 * round + 10000 * rank + (long)i;
            if (round % 2)
                shmem_long_put_signal(gpu, values, n, signals[s], (uint64_t)round, SHMEM_SIGNAL_SET,
                                      next);
            else
                shmem_long_put_signal_nbi(gpu, values, n, signals[s], 1, SHMEM_SIGNAL_ADD, next);
            PE_CHECK_EQ(shmem_signal_wait_until(signals[s], SHMEM_CMP_GE, (uint64_t)round), round);
            PE_GPU_EXPECT(gpu, 100 * round + 10000 * ((rank + n_ranks - 1) % n_ranks), n,
                          s ? "data behind a gpu signal" : "data behind a host signal");
            shmem_quiet();
            shmem_team_sync(team);
        }
    free(values);
}

/* Waiting on words that are on the GPU. */
static void check_waits(long *gpu)
{
    pe_gpu_fill(gpu, 0, 4);
    shmem_team_sync(team);
    shmem_long_p(gpu + 2, 42 + rank, next);
    shmem_quiet();
    shmem_long_wait_until(gpu + 2, SHMEM_CMP_NE, 2);
    PE_CHECK_EQ(shmem_long_test(gpu + 2, SHMEM_CMP_EQ, 42 + (rank + n_ranks - 1) % n_ranks), 1);
    PE_CHECK_EQ(shmem_long_test(gpu + 1, SHMEM_CMP_EQ, 99), 0);
    shmem_team_sync(team);
}

static void check_collectives(long *gpu, long *heap, size_t n)
{
    long *a = gpu, *b = gpu + n * (size_t)n_ranks;
    long all = (long)n_ranks * (n_ranks - 1) / 2;

    pe_gpu_fill(a, 10000 * rank, n);
    pe_gpu_fill(b, -1, n);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_broadcast(team, b, a, n, n_ranks - 1), 0);
    PE_GPU_EXPECT(b, 10000 * (n_ranks - 1), n, "broadcast");
    PE_CHECK_EQ(shmem_long_broadcast(team, a, a, n, 0), 0); /* S16: in place */
    PE_GPU_EXPECT(a, 0, n, "broadcast in place");
    shmem_team_sync(team);
    pe_gpu_fill(a, 10000 * rank, n);
    PE_CHECK_EQ(shmem_long_fcollect(team, b, a, n), 0);
    for (int r = 0; r < n_ranks; r++)
        PE_GPU_EXPECT(b + n * (size_t)r, 10000 * r, n, "fcollect");
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_collect(team, b, a, n), 0);
    for (int r = 0; r < n_ranks; r++)
        PE_GPU_EXPECT(b + n * (size_t)r, 10000 * r, n, "collect");
    shmem_team_sync(team);
    for (int r = 0; r < n_ranks; r++)
        pe_gpu_fill(a + n * (size_t)r, 100000 * rank + 1000 * r, n);
    PE_CHECK_EQ(shmem_long_alltoall(team, b, a, n), 0);
    for (int r = 0; r < n_ranks; r++)
        PE_GPU_EXPECT(b + n * (size_t)r, 100000 * r + 1000 * rank, n, "alltoall");
    shmem_team_sync(team);
    /* sums: n_ranks * i + sum of bases */
    pe_gpu_fill(a, rank, n);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_sum_reduce(team, b, a, n), 0);
    PE_CHECK_EQ(shmem_long_g(b + n - 1, pe_me), all + (long)n_ranks * (long)(n - 1));
    PE_CHECK_EQ(shmem_long_g(b, pe_me), all);
    PE_CHECK_EQ(shmem_long_max_reduce(team, a, a, n), 0); /* in place */
    PE_GPU_EXPECT(a, n_ranks - 1, n, "max in place");
    shmem_team_sync(team);
    /* S9: two kinds in one collective, both ways */
    pe_gpu_fill(a, 10 * rank, n);
    shmem_team_sync(team);
    PE_CHECK_EQ(shmem_long_min_reduce(team, heap, a, n), 0);
    PE_GPU_EXPECT(heap, 0, n, "min from gpu to heap");
    pe_gpu_fill(heap, 5 + rank, n);
    PE_CHECK_EQ(shmem_long_broadcast(team, b, heap, n, 0), 0);
    PE_GPU_EXPECT(b, 5, n, "broadcast from heap to gpu");
    shmem_team_sync(team);
}

static void check_memory(void)
{
    long *a = shmem_space_calloc(space, 1000, sizeof(long)), *b;
    long values[1000];

    PE_REQUIRE(a != NULL, "shmem_space_calloc of 1000 longs returned NULL");
    shmem_long_get(values, a, 1000, pe_me);
    for (int i = 0; i < 1000; i++)
        PE_CHECK_EQ(values[i], 0);
    pe_gpu_fill(a, 9, 1000);
    b = shmemx_space_realloc(space, a, 100000 * sizeof(long));
    PE_REQUIRE(b != NULL, "shmemx_space_realloc to 100000 longs returned NULL");
    PE_GPU_EXPECT(b, 9, 1000, "what realloc kept");
    shmem_free(b); /* S14: finds the space */
    for (size_t align = 1024; align <= 2 * PE_MIB; align *= 2) {
        a = shmemx_space_align(space, align, 100);
        PE_REQUIRE(a != NULL, "shmemx_space_align to %zu returned NULL", align);
        PE_CHECK_EQ((uintptr_t)a % align, 0);
        shmem_space_free(space, a);
    }
}

static void check_pointers(long *gpu)
{
    shmem_space_t found = SHMEM_SPACE_INVALID;

    PE_CHECK_EQ(shmem_get_space(gpu + 17, &found), 0);
    PE_CHECK(found == space,
             "shmem_get_space of an address in the GPU space returned another space");
    PE_CHECK(shmem_ptr(gpu, pe_me) == gpu,
             "shmem_ptr of GPU memory for this PE is not its address");
    for (int pe = 0; pe < pe_n; pe++) {
        bool device = shmemx_space_path(space, pe) == SHMEMX_PATH_DEVICE;
        PE_CHECK(
            (shmem_ptr(gpu, pe) != NULL) == device,
            "shmem_ptr of GPU memory for pe %d must be a pointer if and only if the path is device",
            pe);
    }
    PE_CHECK_EQ(shmem_addr_accessible(gpu, next), 1);
}

static void run_as_member(void)
{
    size_t n = n_ranks > 0 ? (size_t)(BIG > N * 2 ? BIG : N * 2) : 0;
    long *gpu, *heap = shmem_malloc(2 * N * sizeof(long)), *many;
    uint64_t *host_signal = shmem_calloc(1, sizeof(*host_signal)), *gpu_signal;

    if (space == SHMEM_SPACE_INVALID) return; /* the heap's calls were for all PEs */
    gpu = shmem_space_malloc(space, n * sizeof(long));
    gpu_signal = shmem_space_calloc(space, 1, sizeof(*gpu_signal));
    PE_REQUIRE(gpu != NULL && gpu_signal != NULL,
               "shmem_space_malloc of %zu longs or of a signal word returned NULL", n);
    check_facts();
    check_pointers(gpu);
    check_rma_pairs(gpu, heap);
    check_order(gpu);
    check_nbi(gpu);
    check_strided(gpu);
    check_atomics(gpu);
    check_signals(gpu, host_signal, gpu_signal);
    check_waits(gpu);
    many = shmem_space_malloc(space, 2 * (size_t)n_ranks * N * sizeof(long));
    PE_REQUIRE(many != NULL, "shmem_space_malloc of the memory for collectives returned NULL");
    check_collectives(many, heap, 7);
    check_collectives(many, heap, N);
    shmem_space_free(space, many);
    check_memory();
    shmem_space_free(space, gpu);
    shmem_space_free(space, gpu_signal);
}

/* Looking for devices at start takes none of them. */
static void check_untouched(void)
{
    unsigned flags;
    int active = -1;

    if (getenv("SHMEM_DEFAULT_SPACE") != NULL) return; /* the heap may be on it */
    PE_CHECK_EQ(pe_cuda.state(0, &flags, &active), 0);
    PE_CHECK_EQ(active, 0);
}

int main(void)
{
    void *mine = NULL, *context = NULL;
    bool gpu;

    pe_test_begin();
    gpu = pe_gpu_load();
    if (gpu) check_untouched();
    if (gpu) { /* the application's own context must stay current */
        PE_CHECK_EQ(pe_cuda.retain(&mine, 0), 0);
        PE_CHECK_EQ(pe_cuda.set_current(mine), 0);
    }
    if (pe_gpu_space((size_t)16 << 20, &space, &team)) {
        rank = shmem_team_my_pe(team);
        n_ranks = shmem_team_n_pes(team);
        PE_CHECK_EQ(space != SHMEM_SPACE_INVALID, gpu);
        if (rank >= 0) next = shmem_team_translate_pe(team, (rank + 1) % n_ranks, SHMEM_TEAM_WORLD);
        run_as_member();
        if (gpu)
            PE_CHECK(pe_cuda.get_current(&context) == 0 && context == mine,
                     "the context that the application had made current is not current any more");
        shmem_team_destroy(team);
        PE_CHECK_EQ(shmem_space_destroy(space), 0); /* S3: also on those that have none */
    }
    if (gpu) pe_cuda.release(0);
    return pe_test_end();
}
