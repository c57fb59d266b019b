/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs kernels of the program beside operations of the library: a kernel that spins until a put
 * arrives, a kernel that polls a signal and answers, copies, and additions mixed with atomics.
 * Checks the results and writes one line of JSON with the time of each row to the file in
 * GPU_ROWS, else to standard output; scripts/gpu-check.sh prints them. If only some PEs have a
 * GPU, they work among themselves.
 *
 * usage: space_kernels KERNELS.PTX
 */
#include "pe_kernels.h"

#include <shmemx_device.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum {
    N = 1 << 16,      /* words of a copy */
    BLOCK = 4096,     /* bytes of the heap that kernels see */
    LOOKS = 60000000, /* after which a kernel that waits gives up: a minute, of a GPU */
    ADDS = 1000,      /* of each thread */
    THREADS = 32,     /* that add */
    ROUNDS = 5,       /* of which the median is told */
    PINNED = 4 << 20  /* bytes of copies from host memory */
};

enum { NATIVE_ATOMICS = 86, CAN_USE_HOST_POINTER = 91 }; /* CU_DEVICE_ATTRIBUTE_... */
enum { ALREADY_REGISTERED = 712 };

static void *spin, *copy, *add, *poll;

static shmem_space_t space;
static shmem_team_t team;
static int rank, n_ranks, next;
static const char *path;

/* ---- rows ------------------------------------------------------------------------------------ */

static void row(const char *name, const char *unit, double value)
{
    const char *file = getenv("GPU_ROWS");
    char line[256];
    int fd = STDOUT_FILENO;
    int n;

    if (rank != 0) return;
    n = snprintf(line, sizeof(line),
                 "{\"line\": \"kernel\", \"row\": \"%s\", \"path\": \"%s\", \"pes\": %d, "
                 "\"unit\": \"%s\", \"value\": %.6g}\n",
                 name, path, n_ranks, unit, value);
    if (file != NULL) fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    PE_CHECK(fd >= 0 && write(fd, line, (size_t)n) == n, "the row cannot be written to %s", file);
    if (file != NULL && fd >= 0) close(fd);
}

static double now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), compare);
    return values[n / 2];
}

/* ---- the module ------------------------------------------------------------------------------ */

static void load(const char *name)
{
    double start = now_us();

    pe_kernels_load(name);
    row("load", "us", now_us() - start);
    spin = pe_kernel("stp_test_spin");
    copy = pe_kernel("stp_test_copy");
    add = pe_kernel("stp_test_add");
    poll = pe_kernel("stp_test_poll");
}

/* ---- what is run ----------------------------------------------------------------------------- */

static void check_copy(uint64_t *words)
{
    double took[ROUNDS], empty[ROUNDS];
    uint64_t *dest = words + N, n = N, none = 0;
    void *params[] = {&dest, &words, &n};

    pe_gpu_fill((long *)words, 1000L * rank, N);
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_us();

        launch(copy, 32, 256, params);
        finish("the copy");
        took[i] = now_us() - start;
        params[2] = &none;
        start = now_us();
        launch(copy, 1, 1, params);
        finish("a kernel that does nothing");
        empty[i] = now_us() - start;
        params[2] = &n;
    }
    row("launch", "us", median(empty, ROUNDS));
    row("copy", "MB/s", N * 8.0 / median(took, ROUNDS));
    shmem_team_sync(team);
    long *values = malloc(N * sizeof(*values));
    shmem_long_get(values, (long *)dest, N, next);
    PE_EXPECT(values, 1000L * ((rank + 1) % n_ranks), N, "what a kernel of the neighbour copied");
    free(values);
    shmem_team_sync(team);
}

/* A kernel waits for a word of GPU memory that the neighbour puts while it runs. */
static void check_spin(uint64_t *words)
{
    double took[ROUNDS];

    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t *looks = words + 8, value = i + 1, limit = LOOKS, n_looks;
        void *params[] = {&words, &value, &limit, &looks};
        double start;

        shmem_uint64_p(words, 0, pe_me);
        shmem_quiet();
        shmem_team_sync(team);
        launch(spin, 1, 1, params);
        shmem_team_sync(team); /* all kernels are under way */
        start = now_us();
        shmem_uint64_p(words, value, next);
        shmem_quiet();
        finish("the kernel that waits for a put");
        took[i] = now_us() - start;
        n_looks = shmem_uint64_g(looks, pe_me);
        PE_CHECK(
            n_looks > 0,
            "round %d: the kernel gave up waiting: the put of the previous member did not reach it",
            (int)i);
        shmem_team_sync(team);
    }
    row("spin", "us", median(took, ROUNDS));
}

/* A kernel polls the signal of a put, reads the data, and answers in GPU memory. */
static void check_poll(uint64_t *words, uint64_t *signal, uint64_t at, const char *name)
{
    enum { DATA = 100 };
    uint64_t values[DATA];
    double took[ROUNDS];

    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t *data = words + 16, *sum = words, *answer = words + 1;
        uint64_t value = i + 1, limit = LOOKS, n = DATA, expected = 0;
        void *params[] = {&at, &value, &limit, &data, &n, &sum, &answer};
        double start;

        for (uint64_t j = 0; j < DATA; j++) {
            values[j] = i * 1000 + j;
            expected += values[j];
        }
        pe_gpu_fill((long *)words, 0, 2);
        shmem_uint64_atomic_set(signal, 0, pe_me);
        shmem_quiet();
        shmem_team_sync(team);
        launch(poll, 1, 1, params);
        shmem_team_sync(team);
        start = now_us();
        shmem_uint64_put_signal(data, values, DATA, signal, value, SHMEM_SIGNAL_SET, next);
        finish("the kernel that polls a signal");
        took[i] = now_us() - start;
        PE_CHECK_EQ(shmem_uint64_g(answer, pe_me), value);
        PE_CHECK_EQ(shmem_uint64_g(sum, pe_me), expected);
        shmem_team_sync(team);
    }
    row(name, "us", median(took, ROUNDS));
}

/*
 * Threads of a kernel add to a word, and PEs do so by atomics meanwhile. Alone the kernel loses
 * nothing. Beside ours in GPU memory it may: there our atomics are the owner's reads and writes. In
 * host memory whether the device's are atomic to the CPU is the machine's matter; where it says so,
 * on a path where ours are the CPU's, none may be lost.
 */
static void check_add(uint64_t *word, uint64_t at, const char *name, bool exact)
{
    uint64_t one = 1, times = ADDS, total = (uint64_t)THREADS * ADDS, lost;
    void *params[] = {&at, &one, &times};
    char what[32];

    shmem_uint64_atomic_set(word, 0, pe_me);
    shmem_quiet();
    launch(add, 1, THREADS, params);
    finish("the kernel that adds alone");
    PE_CHECK_EQ(shmem_uint64_atomic_fetch(word, pe_me), total);
    shmem_team_sync(team);
    launch(add, 1, THREADS, params);
    for (int i = 0; i < ADDS; i++)
        shmem_uint64_atomic_inc(word, next);
    shmem_quiet();
    finish("the kernel that adds");
    shmem_team_sync(team);
    lost = 2 * total + ADDS - shmem_uint64_atomic_fetch(word, pe_me);
    if (exact) PE_CHECK_EQ(lost, 0);
    snprintf(what, sizeof(what), "lost-%s", name);
    row(what, "of 65000", (double)lost);
    shmem_team_sync(team);
}

/* While there is a handle for kernels, atomics of PEs are the device's: nothing is lost. */
static void check_add_with_handle(uint64_t *words)
{
    shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;
    shmemx_device_handle_t handle;

    options.kind = SHMEM_DEVICE_GPU;
    PE_REQUIRE(shmemx_device_handle_create(team, &options, &handle) == 0,
               "shmemx_device_handle_create failed");
    check_add(words, (uintptr_t)words, "gpu-handle", true);
    PE_CHECK_EQ(shmemx_device_handle_destroy(&handle), 0);
}

/* Copies to the device from memory that is pinned, and from memory that is not. */
static void check_pinned(uint64_t *words)
{
    char *host = aligned_alloc(BLOCK, PINNED);
    bool pinned;

    PE_REQUIRE(host != NULL, "aligned_alloc of %d bytes failed", PINNED);
    memset(host, 1, PINNED);
    for (int i = 0; i < 2; i++) {
        double took[ROUNDS];

        pinned = i == 1 && driver.host_register(host, PINNED, 1) == 0;
        if (i == 1 && !pinned) break;
        for (int j = 0; j < ROUNDS; j++) {
            double start = now_us();

            PE_CHECK_EQ(driver.copy_in((uintptr_t)words, host, PINNED, gpu.stream), 0);
            finish("a copy to the device");
            took[j] = now_us() - start;
        }
        row(pinned ? "copy-in-pinned" : "copy-in-pageable", "MB/s", PINNED / median(took, ROUNDS));
    }
    if (pinned) PE_CHECK_EQ(driver.host_unregister(host), 0);
    free(host);
}

/* ---- the heap, as kernels see it ------------------------------------------------------------- */

/* Rows on a word of the heap, which the program pins for its kernels. */
static void check_heap(uint64_t *words, uint64_t *heap)
{
    unsigned long long at = 0;
    int native = 0, registered = driver.host_register(heap, BLOCK, 1);

    if ((registered != 0 && registered != ALREADY_REGISTERED) ||
        driver.host_pointer(&at, heap, 0) != 0) {
        fprintf(stderr, "the heap cannot be pinned for kernels (%d): rows left out\n", registered);
        at = 0;
    }
    driver.attribute(&native, NATIVE_ATOMICS, gpu.device);
    /* The same rows on all: the neighbour's kernel may wait for our put. */
    uint64_t *bad = heap + 8, mine = at == 0;
    shmem_uint64_p(bad, 0, pe_me);
    shmem_quiet();
    shmem_team_sync(team);
    for (int r = 0; r < n_ranks && mine != 0; r++)
        shmem_uint64_p(bad, 1, shmem_team_translate_pe(team, r, SHMEM_TEAM_WORLD));
    shmem_quiet();
    shmem_team_sync(team);
    if (*(volatile uint64_t *)bad == 0) {
        check_poll(words, heap, at, "poll-heap");
        check_add(heap, at, "heap", native != 0 && getenv("SHMEM_NODE") == NULL);
    }
    if (registered == 0) PE_CHECK_EQ(driver.host_unregister(heap), 0);
}

static void run_as_member(const char *ptx, uint64_t *heap)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    uint64_t *words;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    path = shmemx_space_path_name(shmemx_space_path(space, next));
    pe_kernels_begin(info.device);
    words = shmem_space_malloc(space, PINNED);
    PE_REQUIRE(words != NULL, "shmem_space_malloc of %d bytes of GPU memory returned NULL", PINNED);
    load(ptx);
    check_copy(words);
    check_spin(words);
    check_poll(words, words + 4, (uintptr_t)(words + 4), "poll-gpu");
    check_heap(words, heap);
    if (getenv("SHMEM_CHECK") == NULL) /* which ends the job over what may be lost */
        check_add(words, (uintptr_t)words, "gpu", false);
    check_add_with_handle(words);
    check_pinned(words);
    shmem_space_free(space, words);
    pe_kernels_end();
}

int main(int argc, char **argv)
{
    uint64_t *heap;

    pe_test_begin();
    PE_REQUIRE(argc == 2, "usage: space_kernels KERNELS.PTX");
    pe_gpu_load();
    heap = shmem_align(BLOCK, BLOCK);
    PE_REQUIRE(heap != NULL, "shmem_align of the block for kernels returned NULL");
    if (pe_gpu_space((size_t)16 << 20, &space, &team)) {
        rank = shmem_team_my_pe(team);
        n_ranks = shmem_team_n_pes(team);
        if (rank >= 0) {
            next = shmem_team_translate_pe(team, (rank + 1) % n_ranks, SHMEM_TEAM_WORLD);
            run_as_member(argv[1], heap);
        }
        shmem_team_destroy(team);
        PE_CHECK_EQ(shmem_space_destroy(space), 0);
    }
    shmem_free(heap);
    return pe_test_end();
}
