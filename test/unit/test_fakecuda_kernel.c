/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake CUDA driver, kernels: PTX as text, host twins in the place of its kernels, in the order
 * of streams; the kernels of test/gpu. Says nothing about what a GPU makes of the text.
 */
#include "fakecuda.h"

#include <stdatomic.h>

static const char small_ptx[] = ".version 6.3\n.target sm_70\n.address_size 64\n"
                                ".visible .entry mine(\n\t.param .u64 mine_0,\n"
                                "\t.param .u32 mine_1\n)\n{\n\tret;\n}\n"
                                ".visible .entry bare()\n{\n\tret;\n}\n";

static CUmodule load_module(const char *text)
{
    CUmodule module;

    ck_cuda(cu.module_load(&module, text));
    return module;
}

static CUfunction get_function(CUmodule module, const char *name)
{
    CUfunction function;

    ck_cuda(cu.module_get_function(&function, module, name));
    return function;
}

/* The module of test/gpu/kernels.ptx. */
static CUmodule load_kernels(void)
{
    static char text[1 << 16];
    FILE *file = fopen(KERNELS_PTX, "re");
    size_t n;

    ck_assert_msg(file != NULL, KERNELS_PTX);
    n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    return load_module(text);
}

static void launch(CUfunction function, unsigned int blocks, unsigned int threads, CUstream stream,
                   void **params)
{
    ck_cuda(cu.launch_kernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, params, NULL));
}

/* ---- modules ------------------------------------------------------------------ */

static void replace(char *text, const char *old, const char *with)
{
    char *at = strstr(text, old);

    ck_assert(at != NULL && strlen(old) == strlen(with));
    memcpy(at, with, strlen(with));
}

START_TEST(texts_are_checked)
{
    static const struct {
        const char *old;
        const char *with;
        int result;
    } wrong[] = {
        {".version 6.3", ".version 9.9", 222}, {"sm_70", "sm_95", 218},
        {".version", ".vorsion", 218},         {"size 64", "size 32", 218},
        {".param .u64", ".param .v64", 0},     {"mine_0,", "mi[8], ", 218},
        {")\n{\n\tret", ".\n{\n\tret", 0},
    };
    char text[sizeof(small_ptx)];
    CUmodule module;
    CUfunction function;

    start();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        strcpy(text, small_ptx);
        replace(text, wrong[i].old, wrong[i].with);
        if (wrong[i].result != 0) ck_refused(cu.module_load(&module, text), wrong[i].result);
    }
    ck_refused(cu.module_load(&module, "\x7f"
                                       "ELF"),
               CUDA_ERROR_INVALID_IMAGE);
    module = load_module(small_ptx);
    ck_cuda(cu.module_get_function(&function, module, "bare"));
    ck_refused(cu.module_get_function(&function, module, "min"), CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(live("module"), 1);
    ck_cuda(cu.module_unload(module));
    ck_assert_int_eq(live("module"), 0);
}
END_TEST

/* ---- twins -------------------------------------------------------------------- */

static uint64_t seen[2];

static CUresult note(const struct fakecuda_launch *launch, void *const *params)
{
    uint64_t *word = launch->memory(*(CUdeviceptr *)params[0], 8);

    if (!word) return CUDA_ERROR_ILLEGAL_ADDRESS;
    seen[0] = *word;
    seen[1] = *(uint32_t *)params[1] * launch->grid[0] * launch->block[0];
    *word = 9;
    return CUDA_SUCCESS;
}

/* Parameters are read at the launch, memory when the kernel runs: after what the stream had. */
START_TEST(twins_run_in_order)
{
    CUdeviceptr memory;
    CUstream stream;
    CUfunction mine;
    int n_late = 0;

    start();
    set_twin("mine", note);
    mine = get_function(load_module(small_ptx), "mine");
    memory = allocate(8);
    ck_cuda(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 50; i++) {
        uint32_t factor = 5;
        CUdeviceptr at = memory;
        void *params[] = {&at, &factor};
        uint64_t after = 0;

        seen[0] = 0;
        ck_cuda(cu.memset_d8_async(memory, 1, 8, stream));
        launch(mine, 2, 3, stream, params);
        at = 0;
        factor = 0;
        n_late += *(volatile uint64_t *)seen == 0;
        ck_cuda(cu.memcpy_dtoh_async(&after, memory, 8, stream));
        ck_cuda(cu.stream_synchronize(stream));
        ck_assert_uint_eq(seen[0], UINT64_C(0x0101010101010101));
        ck_assert_uint_eq(seen[1], 30);
        ck_assert_uint_eq(after, 9);
    }
    ck_assert_int_gt(n_late, 0);
}
END_TEST

START_TEST(wrong_launches_are_refused)
{
    uint64_t unknown = 0;
    uint64_t *address = &unknown;
    uint32_t one = 1;
    void *params[] = {&address, &one};
    CUstream stream;
    CUfunction mine;

    start();
    set_twin("mine", note);
    mine = get_function(load_module(small_ptx), "mine");
    ck_cuda(cu.stream_create(&stream, 0));
    ck_refused(cu.launch_kernel(mine, 0, 1, 1, 1, 1, 1, 0, stream, params, NULL),
               CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.launch_kernel(mine, 1, 1, 1, 1024, 2, 1, 0, stream, params, NULL),
               CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.launch_kernel(mine, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL),
               CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.launch_kernel(mine, 1, 1, 1, 1, 1, 1, 1 << 20, stream, params, NULL),
               CUDA_ERROR_INVALID_VALUE);
    /* Host memory that no device knows: a fault when the kernel runs, which ends the context. */
    launch(mine, 1, 1, stream, params);
    ck_refused(cu.stream_synchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_refused(cu.mem_alloc(&(CUdeviceptr){0}, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}
END_TEST

static void launch_without_twin(void)
{
    start();
    launch(get_function(load_module(small_ptx), "bare"), 1, 1, NULL, NULL);
}

static void launch_unloaded(void)
{
    CUmodule module;
    CUfunction function;

    start();
    set_twin("mine", note);
    module = load_module(small_ptx);
    function = get_function(module, "mine");
    ck_cuda(cu.module_unload(module));
    cu.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void launch_on_freed(void)
{
    CUdeviceptr memory;
    uint32_t one = 1;
    void *params[] = {&memory, &one};

    start();
    set_twin("mine", note);
    memory = allocate(8);
    ck_cuda(cu.mem_free(memory));
    launch(get_function(load_module(small_ptx), "mine"), 1, 1, NULL, params);
    cu.ctx_synchronize();
}

static void unload_under_kernel(void)
{
    CUdeviceptr memory;
    uint32_t one = 1;
    void *params[] = {&memory, &one};
    CUmodule module;

    setenv("FAKECUDA_DELAY_US", "200000", 1);
    start();
    set_twin("mine", note);
    memory = allocate(8);
    module = load_module(small_ptx);
    launch(get_function(module, "mine"), 1, 1, NULL, params);
    cu.module_unload(module);
}

static void free_under_kernel(void)
{
    uint32_t one = 1;
    void *memory;
    void *params[] = {&memory, &one};

    setenv("FAKECUDA_DELAY_US", "200000", 1);
    start();
    set_twin("mine", note);
    ck_cuda(cu.mem_host_alloc(&memory, 8, 0));
    launch(get_function(load_module(small_ptx), "mine"), 1, 1, NULL, params);
    cu.mem_free_host(memory);
}

START_TEST(misuse_is_loud)
{
    expect_signal(launch_without_twin, SIGABRT, "kernel bare has no host twin");
    expect_signal(launch_unloaded, SIGABRT, "was unloaded");
    expect_signal(launch_on_freed, SIGABRT, "was freed");
    expect_signal(free_under_kernel, SIGABRT, "is freed while 1 operations on it are under way");
    expect_signal(unload_under_kernel, SIGABRT, "1 of its kernels are under way");
}
END_TEST

/* ---- the kernels of test/gpu -------------------------------------------------- */

enum { N = 1000 };

static CUmodule kernels;
static uint64_t *words; /* pinned */
static CUdeviceptr at;  /* the same for devices */

/* The module, and pinned memory that is zero. */
static CUstream start_kernels(void)
{
    CUstream stream;
    void *memory;

    start();
    kernels = load_kernels();
    ck_cuda(cu.mem_host_alloc(&memory, (size_t)N * 8, 0));
    memset(memory, 0, (size_t)N * 8);
    words = memory;
    ck_cuda(cu.mem_host_get_device_pointer(&at, memory, 0));
    ck_cuda(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

START_TEST(spinning)
{
    CUstream stream = start_kernels();
    CUdeviceptr looks = at + 8;
    uint64_t value = 3;
    uint64_t limit = UINT64_MAX;
    void *params[] = {&at, &value, &limit, &looks};

    launch(get_function(kernels, "stp_test_spin"), 1, 1, stream, params);
    ck_refused(cu.stream_query(stream), CUDA_ERROR_NOT_READY);
    atomic_store((_Atomic(uint64_t) *)&words[0], 3);
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_uint_gt(words[1], 0);
    limit = 10;
    value = 4;
    launch(get_function(kernels, "stp_test_spin"), 1, 1, stream, params);
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_uint_eq(words[1], 0);
}
END_TEST

START_TEST(copying)
{
    CUstream stream = start_kernels();
    CUdeviceptr memory = allocate((size_t)N * 8);
    uint64_t n = N;
    void *params[] = {&memory, &at, &n};

    for (uint64_t i = 0; i < N; i++)
        words[i] = i * i;
    launch(get_function(kernels, "stp_test_copy"), 4, 64, stream, params);
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_int_eq(memcmp(alias(memory), words, (size_t)N * 8), 0);
}
END_TEST

START_TEST(adding)
{
    CUstream stream = start_kernels();
    uint64_t value = 2;
    uint64_t times = 50;
    void *params[] = {&at, &value, &times};

    launch(get_function(kernels, "stp_test_add"), 3, 7, stream, params);
    for (int i = 0; i < 1000; i++)
        atomic_fetch_add((_Atomic(uint64_t) *)words, 1);
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_uint_eq(words[0], 3 * 7 * 50 * 2 + 1000);
}
END_TEST

START_TEST(polling)
{
    CUstream stream = start_kernels();
    CUdeviceptr data = at + 24;
    CUdeviceptr sum = at + 8;
    CUdeviceptr answer = at + 16;
    uint64_t value = 1;
    uint64_t limit = UINT64_MAX;
    uint64_t n = 10;
    void *params[] = {&at, &value, &limit, &data, &n, &sum, &answer};

    launch(get_function(kernels, "stp_test_poll"), 1, 1, stream, params);
    for (uint64_t i = 0; i < n; i++)
        words[3 + i] = i;
    atomic_store((_Atomic(uint64_t) *)&words[0], 1);
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_uint_eq(words[1], 45);
    ck_assert_uint_eq(words[2], 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fakecuda_kernel");
    TCase *tcase = tcase_create("fakecuda_kernel");
    SRunner *runner = srunner_create(suite);
    int failed;

    load();
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, texts_are_checked);
    tcase_add_test(tcase, twins_run_in_order);
    tcase_add_test(tcase, wrong_launches_are_refused);
    tcase_add_test(tcase, misuse_is_loud);
    tcase_add_test(tcase, spinning);
    tcase_add_test(tcase, copying);
    tcase_add_test(tcase, adding);
    tcase_add_test(tcase, polling);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
