/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake CUDA driver, its things: devices as asked for, contexts that are counted, memory that
 * hosts cannot touch, loud ends on misuse. Streams and copies: test_fakecuda_work.c.
 */
#include "fakecuda.h"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

/* ---- devices ---------------------------------------------------------------- */

START_TEST(nothing_before_init)
{
    CUcontext ctx;
    int value;
    const char *text;

    ck_refused(cu.device_count(&value), CUDA_ERROR_NOT_INITIALIZED);
    ck_refused(cu.primary_ctx_retain(&ctx, 0), CUDA_ERROR_NOT_INITIALIZED);
    ck_cuda(cu.driver_version(&value));
    ck_assert_int_ge(value, 12000);
    ck_cuda(cu.error_name(CUDA_ERROR_NO_DEVICE, &text));
    ck_assert_str_eq(text, "CUDA_ERROR_NO_DEVICE");
    ck_refused(cu.error_string((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.init(1), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.init(0));
    ck_cuda(cu.device_count(&value));
    ck_assert_int_eq(value, 1);
    ck_assert_int_eq(contexts(0), 0);
}
END_TEST

START_TEST(devices_are_those_asked_for)
{
    CUuuid uuids[2];
    char text[64];
    size_t nbytes;
    int value;

    setenv("FAKECUDA_DEVICES", "3", 1);
    setenv("FAKECUDA_MEMORY", "12m", 1);
    setenv("CUDA_VISIBLE_DEVICES", "2,0,7,1", 1); /* 7 ends the list */
    ck_cuda(cu.init(0));
    ck_cuda(cu.device_count(&value));
    ck_assert_int_eq(value, 2);
    ck_cuda(cu.device_uuid(&uuids[0], 0));
    ck_cuda(cu.device_uuid_v1(&uuids[1], 1));
    ck_assert_int_eq(uuids[0].bytes[15], 3);
    ck_assert_int_eq(uuids[1].bytes[15], 1);
    ck_cuda(cu.device_pci_bus_id(text, sizeof(text), 0));
    ck_assert_str_eq(text, "0000:19:00.0");
    ck_cuda(cu.device_name(text, sizeof(text), 1));
    ck_assert_str_eq(text, "fakecuda test double 0");
    ck_cuda(cu.device_total_mem(&nbytes, 1));
    ck_assert_uint_eq(nbytes, 12 << 20);
    ck_cuda(cu.device_attribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
    ck_assert_int_eq(value, 1);
    ck_refused(cu.device_get(&value, 2), CUDA_ERROR_INVALID_DEVICE);
    ck_refused(cu.device_can_access_peer(&value, 0, 2), CUDA_ERROR_INVALID_DEVICE);
    ck_cuda(cu.device_can_access_peer(&value, 0, 1));
    ck_assert_int_eq(value, 1);
}
END_TEST

START_TEST(no_visible_device)
{
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    ck_refused(cu.init(0), CUDA_ERROR_NO_DEVICE);
}
END_TEST

static const struct {
    const char *rank;
    const char *ranks;
    CUresult result;
} ranks[] = {
    {"3", "0,3", CUDA_SUCCESS},
    {"1", "0,3", CUDA_ERROR_NO_DEVICE},
    {NULL, "0", CUDA_SUCCESS},
    {NULL, "1", CUDA_ERROR_NO_DEVICE},
};

START_TEST(ranks_without_devices)
{
    unsetenv("PMI_RANK");
    if (ranks[_i].rank) setenv("PMI_RANK", ranks[_i].rank, 1);
    setenv("FAKECUDA_RANKS", ranks[_i].ranks, 1);
    ck_refused(cu.init(0), ranks[_i].result);
}
END_TEST

static void expect_uninitialised(void)
{
    int count;

    if (cu.init(0) != CUDA_ERROR_NOT_INITIALIZED) _exit(1);
    if (cu.device_count(&count) != CUDA_ERROR_NOT_INITIALIZED) _exit(2);
}

START_TEST(useless_after_fork)
{
    char text[256];

    start();
    ck_assert_int_eq(run(expect_uninitialised, text, sizeof(text)), 0);
}
END_TEST

/* ---- contexts --------------------------------------------------------------- */

START_TEST(calls_need_a_context)
{
    CUdeviceptr address;
    CUcontext ctx;
    CUstream stream;

    ck_cuda(cu.init(0));
    ck_refused(cu.mem_alloc(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.stream_create(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.ctx_synchronize(), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.ctx_pop_current(&ctx), CUDA_ERROR_INVALID_CONTEXT);
    ck_cuda(cu.ctx_get_current(&ctx));
    ck_assert_ptr_null(ctx);
    ck_assert_int_eq(calls("cuMemAlloc_v2"), 1);
    ck_assert_int_eq(calls("cuMemAlloc"), -1);
}
END_TEST

START_TEST(contexts_are_counted_and_stacked)
{
    CUcontext primary = start();
    CUcontext own;
    CUcontext ctx;
    unsigned int flags;
    int active;

    ck_cuda(cu.primary_ctx_retain(&ctx, 0));
    ck_assert_ptr_eq(ctx, primary);
    ck_assert_int_eq(contexts(0), 1);
    ck_cuda(cu.ctx_create(&own, 0, 0));
    ck_assert_int_eq(live("stack"), 2);
    ck_assert_int_eq(live("ctx"), 2);
    ck_cuda(cu.ctx_set_current(primary)); /* replaces the top */
    ck_assert_int_eq(live("stack"), 2);
    ck_refused(cu.ctx_destroy(primary), CUDA_ERROR_INVALID_CONTEXT);
    ck_cuda(cu.ctx_destroy(own));
    ck_cuda(cu.ctx_set_current(NULL)); /* pops */
    ck_cuda(cu.ctx_pop_current(&ctx));
    ck_assert_ptr_eq(ctx, primary);
    ck_cuda(cu.primary_ctx_release(0));
    ck_assert_int_eq(contexts(0), 1);
    ck_cuda(cu.primary_ctx_release(0));
    ck_cuda(cu.primary_ctx_get_state(0, &flags, &active));
    ck_assert_int_eq(active, 0);
    ck_assert_int_eq(contexts(0) + live("ctx") + live("lost"), 0);
}
END_TEST

START_TEST(what_dies_with_a_context_is_lost)
{
    CUstream stream;

    start();
    allocate(100);
    ck_cuda(cu.stream_create(&stream, 0));
    ck_cuda(cu.primary_ctx_release(0));
    ck_assert_int_eq(live("lost"), 2);
    ck_assert_int_eq(live("alloc") + live("stream"), 0);
}
END_TEST

START_TEST(peers_are_enabled_once)
{
    CUcontext peer;
    CUcontext ctx;
    CUdeviceptr address;
    unsigned char byte = 0;

    setenv("FAKECUDA_DEVICES", "2", 1);
    ctx = start();
    ck_cuda(cu.primary_ctx_retain(&peer, 1));
    ck_refused(cu.ctx_enable_peer_access(ctx, 0), CUDA_ERROR_INVALID_CONTEXT);
    ck_cuda(cu.ctx_enable_peer_access(peer, 0));
    ck_refused(cu.ctx_enable_peer_access(peer, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    ck_cuda(cu.ctx_set_current(peer));
    address = allocate(1);
    ck_cuda(cu.memset_d8(address, 7, 1));
    ck_cuda(cu.memcpy_dtoh(&byte, address, 1));
    ck_assert_int_eq(byte, 7);
}
END_TEST

/* ---- memory ----------------------------------------------------------------- */

START_TEST(memory_is_accounted)
{
    CUdeviceptr address;
    CUdeviceptr base;
    size_t before;
    size_t after;
    size_t total;

    setenv("FAKECUDA_MEMORY", "4m", 1);
    start();
    ck_cuda(cu.mem_get_info(&before, &total));
    address = allocate(1000);
    ck_assert_uint_eq(address % 512, 0);
    ck_cuda(cu.mem_get_info(&after, &total));
    ck_assert_uint_eq(before - after, 1024);
    ck_refused(cu.mem_alloc(&base, 4 << 20), CUDA_ERROR_OUT_OF_MEMORY);
    ck_refused(cu.mem_alloc(&base, 0), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_get_address_range(&base, &total, address + 999));
    ck_assert_uint_eq(base, address);
    ck_assert_uint_eq(total, 1000);
    ck_refused(cu.mem_get_address_range(&base, &total, address + 1000), CUDA_ERROR_NOT_FOUND);
    ck_refused(cu.mem_free(address + 8), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_free(0), CUDA_ERROR_INVALID_VALUE);
    ck_assert_int_eq(live("alloc"), 1);
    ck_cuda(cu.mem_free(address));
    ck_assert_int_eq(live("alloc"), 0);
    ck_cuda(cu.mem_alloc(&address, 4 << 20)); /* everything came back */
}
END_TEST

/* As much passes as there are addresses before the heap of a program, and behind. */
START_TEST(addresses_are_never_the_heaps)
{
    enum { N_PIECES = 6000, N = 100 };
    char *heap = malloc(N);

    memset(heap, 1, N);
    setenv("FAKECUDA_DELAY_US", "0", 1);
    start();
    for (int i = 0; i < N_PIECES; i++) {
        CUdeviceptr address = allocate((size_t)255 << 20);

        ck_cuda(cu.memcpy_htod_async(address, heap, N, NULL));
        ck_cuda(cu.mem_free(address));
    }
    free(heap);
}
END_TEST

START_TEST(fresh_memory_is_dirty_and_has_an_alias)
{
    unsigned char bytes[100] = {0};
    CUdeviceptr address;

    start();
    address = allocate(sizeof(bytes));
    ck_cuda(cu.memcpy_dtoh(bytes, address, sizeof(bytes)));
    ck_assert_int_ne(bytes[0], 0);
    ck_assert_int_ne(bytes[99], 0);
    *(unsigned char *)alias(address + 5) = 42;
    ck_cuda(cu.memcpy_dtoh(bytes, address, sizeof(bytes)));
    ck_assert_int_eq(bytes[5], 42);
    ck_assert_ptr_null(alias(device(bytes)));
}
END_TEST

static void read_device(void)
{
    start();
    fprintf(stderr, "%d", *(volatile char *)host(allocate(100)));
}

static void write_device(void)
{
    start();
    *(volatile char *)host(allocate(1 << 20) + 70000) = 1;
}

static void free_twice(void)
{
    CUdeviceptr address;

    start();
    address = allocate(1);
    cu.mem_free(address);
    cu.mem_free(address);
}

static void copy_freed(void)
{
    CUdeviceptr address;

    start();
    address = allocate(1 << 20);
    cu.mem_free(address);
    cu.memset_d8(address + 100, 0, 1);
}

static void release_too_often(void)
{
    start();
    cu.primary_ctx_release(0);
    cu.primary_ctx_release(0);
}

static void use_destroyed_context(void)
{
    start();
    cu.primary_ctx_release(0);
    allocate(1);
}

static void use_destroyed_stream(void)
{
    CUstream stream;

    start();
    cu.stream_create(&stream, CU_STREAM_NON_BLOCKING);
    cu.stream_destroy(stream);
    cu.stream_synchronize(stream);
}

static void unregister_in_use(void)
{
    static char buffer[4096];
    CUstream stream;

    setenv("FAKECUDA_DELAY_US", "5000000", 1);
    start();
    cu.mem_host_register(buffer, sizeof(buffer), 0);
    cu.stream_create(&stream, 0);
    cu.memcpy_htod_async(allocate(4096), buffer, 4096, stream);
    cu.mem_host_unregister(buffer);
}

static void fail_unknown_symbol(void)
{
    setenv("FAKECUDA_FAIL", "cuMemAlloc:2", 1);
    cu.init(0);
}

static const struct {
    void (*body)(void);
    int signo;
    const char *words;
} misuses[] = {
    {read_device, SIGSEGV, ""},
    {write_device, SIGSEGV, ""},
    {free_twice, SIGABRT, "was freed already"},
    {copy_freed, SIGABRT, "cuMemsetD8_v2: address"},
    {release_too_often, SIGABRT, "more often than retained"},
    {use_destroyed_context, SIGABRT, "cuMemAlloc_v2: the current context"},
    {use_destroyed_stream, SIGABRT, "was destroyed"},
    {unregister_in_use, SIGABRT, "is unregistered while 1 operations"},
    {fail_unknown_symbol, SIGABRT, "'cuMemAlloc' is not among"},
};

START_TEST(misuse_is_loud)
{
    expect_signal(misuses[_i].body, misuses[_i].signo, misuses[_i].words);
}
END_TEST

START_TEST(system_calls_cannot_touch_it)
{
    int fds[2];

    start();
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(write(fds[1], host(allocate(100)), 100), -1);
    ck_assert_int_eq(errno, EFAULT);
}
END_TEST

START_TEST(attributes)
{
    CUcontext ctx = start();
    CUdeviceptr memory = allocate(100);
    CUdeviceptr address;
    CUcontext owner;
    unsigned int value;
    unsigned int one = 1;
    size_t nbytes;
    int ordinal;
    char plain;

    ck_cuda(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 99));
    ck_assert_int_eq(value, CU_MEMORYTYPE_DEVICE);
    ck_cuda(cu.pointer_get_attribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    ck_assert_ptr_eq(owner, ctx);
    ck_cuda(cu.pointer_get_attribute(&address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory + 9));
    ck_assert_uint_eq(address, memory);
    ck_cuda(cu.pointer_get_attribute(&nbytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory));
    ck_assert_uint_eq(nbytes, 100);
    ck_cuda(cu.pointer_get_attribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    ck_assert_int_eq(ordinal, 0);
    ck_cuda(cu.pointer_set_attribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    ck_cuda(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    ck_assert_int_eq(value, 1);
    ck_refused(cu.pointer_get_attribute(&address, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory),
               CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device(&plain)),
               CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_free(memory));
    ck_refused(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory),
               CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(host_memory_is_usable)
{
    static char buffer[8192];
    unsigned int value;
    CUdeviceptr managed;
    void *pinned;

    start();
    ck_cuda(cu.mem_host_alloc(&pinned, 100, CU_MEMHOSTALLOC_PORTABLE));
    memset(pinned, 1, 100);
    ck_cuda(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device(pinned)));
    ck_assert_int_eq(value, CU_MEMORYTYPE_HOST);
    ck_cuda(cu.mem_alloc_managed(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    memset(host(managed), 2, 100);
    ck_cuda(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
    ck_assert_int_eq(value, 1);
    ck_cuda(cu.mem_host_register(buffer, 4096, 0));
    ck_refused(cu.mem_host_register(buffer + 4095, 2, 0),
               CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ck_refused(cu.mem_host_unregister(buffer + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ck_assert_int_eq(live("host") + live("managed") + live("registered"), 3);
    ck_cuda(cu.mem_host_unregister(buffer));
    ck_refused(cu.mem_free(device(pinned)), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_free_host(pinned));
    ck_cuda(cu.mem_free(managed));
    ck_assert_int_eq(live("host") + live("managed") + live("registered"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fakecuda");
    TCase *tcase = tcase_create("fakecuda");
    SRunner *runner = srunner_create(suite);
    int failed;

    load();
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, nothing_before_init);
    tcase_add_test(tcase, devices_are_those_asked_for);
    tcase_add_test(tcase, no_visible_device);
    tcase_add_loop_test(tcase, ranks_without_devices, 0, COUNT(ranks));
    tcase_add_test(tcase, useless_after_fork);
    tcase_add_test(tcase, calls_need_a_context);
    tcase_add_test(tcase, contexts_are_counted_and_stacked);
    tcase_add_test(tcase, what_dies_with_a_context_is_lost);
    tcase_add_test(tcase, peers_are_enabled_once);
    tcase_add_test(tcase, memory_is_accounted);
    tcase_add_test(tcase, addresses_are_never_the_heaps);
    tcase_add_test(tcase, fresh_memory_is_dirty_and_has_an_alias);
    tcase_add_loop_test(tcase, misuse_is_loud, 0, COUNT(misuses));
    tcase_add_test(tcase, system_calls_cannot_touch_it);
    tcase_add_test(tcase, attributes);
    tcase_add_test(tcase, host_memory_is_usable);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
