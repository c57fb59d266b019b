/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake CUDA driver, its work: streams that are late and in order, copies of every shape, memory
 * of other processes, refusals on order. What it has and is: test_fakecuda.c.
 */
#include "fakecuda.h"

enum { ATTEMPTS = 200 };

/* ---- streams ---------------------------------------------------------------- */

/* The device's bytes must not be there at once in at least one of many attempts. */
START_TEST(work_is_late)
{
    CUstream stream;
    CUdeviceptr memory;
    unsigned char *bytes;
    int n_late = 0;
    int n_busy = 0;

    start();
    memory = allocate(8);
    bytes = alias(memory);
    ck_cuda(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < ATTEMPTS; i++) {
        bytes[0] = 0;
        ck_cuda(cu.memset_d8_async(memory, 1, 8, stream));
        n_late += *(volatile unsigned char *)bytes == 0;
        n_busy += cu.stream_query(stream) == CUDA_ERROR_NOT_READY;
        ck_cuda(cu.stream_synchronize(stream));
        ck_assert_int_eq(bytes[0], 1);
        ck_cuda(cu.stream_query(stream));
    }
    ck_assert_int_gt(n_late, 0);
    ck_assert_int_gt(n_busy, 0);
    ck_cuda(cu.stream_destroy(stream));
    ck_assert_int_eq(live("stream"), 0);
}
END_TEST

/* A host source that is reused too early is read as it is then. */
START_TEST(sources_are_read_late)
{
    volatile unsigned char source;
    CUstream stream;
    CUdeviceptr memory;
    int n_late = 0;

    start();
    memory = allocate(1);
    ck_cuda(cu.stream_create(&stream, 0));
    for (int i = 0; i < ATTEMPTS; i++) {
        source = 1;
        ck_cuda(cu.memcpy_htod_async(memory, (void *)&source, 1, stream));
        source = 2;
        ck_cuda(cu.stream_synchronize(stream));
        n_late += *(unsigned char *)alias(memory) == 2;
    }
    ck_assert_int_gt(n_late, 0);
}
END_TEST

START_TEST(a_stream_is_in_order)
{
    CUstream stream;
    CUdeviceptr memory;
    unsigned char bytes[256];

    start();
    memory = allocate(sizeof(bytes));
    ck_cuda(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < sizeof(bytes); i++)
        ck_cuda(cu.memset_d8_async(memory + i, (unsigned char)i, sizeof(bytes) - i, stream));
    ck_cuda(cu.memcpy_dtoh_async(bytes, memory, sizeof(bytes), stream));
    ck_cuda(cu.stream_synchronize(stream));
    for (unsigned i = 0; i < sizeof(bytes); i++)
        ck_assert_uint_eq(bytes[i], i);
}
END_TEST

/* How often a copy without a stream misses the work that was queued on a stream with flags. */
static int count_missed(unsigned int flags)
{
    CUdeviceptr memory = allocate(1);
    CUstream stream;
    int n_missed = 0;

    ck_cuda(cu.stream_create(&stream, flags));
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned char byte;

        ck_cuda(cu.memset_d8_async(memory, (unsigned char)(i + 1), 1, stream));
        ck_cuda(cu.memcpy_dtoh(&byte, memory, 1));
        n_missed += byte != (unsigned char)(i + 1);
        ck_cuda(cu.ctx_synchronize());
    }
    return n_missed;
}

START_TEST(the_default_stream_waits_for_blocking_ones_only)
{
    start();
    ck_assert_int_eq(count_missed(CU_STREAM_DEFAULT), 0);
    ck_assert_int_gt(count_missed(CU_STREAM_NON_BLOCKING), 0);
}
END_TEST

/* The other way round, and with the default stream used asynchronously. */
START_TEST(blocking_streams_wait_for_the_default_one)
{
    CUdeviceptr memory;
    CUstream stream;

    start();
    memory = allocate(1);
    ck_cuda(cu.stream_create(&stream, CU_STREAM_DEFAULT));
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned char byte = 0;

        ck_cuda(cu.memset_d8_async(memory, 1, 1, stream));
        ck_cuda(cu.memset_d8_async(memory, 2, 1, NULL));
        ck_cuda(cu.memcpy_dtoh_async(&byte, memory, 1, stream));
        ck_cuda(cu.stream_synchronize(stream));
        ck_assert_int_eq(byte, 2);
    }
}
END_TEST

/* How often a copy inside the device is not done when the call returns. */
static int count_unfinished(CUdeviceptr dest, CUdeviceptr source)
{
    int n_unfinished = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        *(unsigned char *)alias(source) = (unsigned char)i;
        *(unsigned char *)alias(dest) = (unsigned char)~i;
        ck_cuda(cu.memcpy_dtod(dest, source, 1));
        n_unfinished += *(volatile unsigned char *)alias(dest) != (unsigned char)i;
        ck_cuda(cu.ctx_synchronize());
        ck_assert_int_eq(*(unsigned char *)alias(dest), (unsigned char)i);
    }
    return n_unfinished;
}

START_TEST(sync_memops_makes_calls_synchronous)
{
    CUdeviceptr source;
    CUdeviceptr dest;
    unsigned int one = 1;

    start();
    source = allocate(1);
    dest = allocate(1);
    ck_assert_int_gt(count_unfinished(dest, source), 0);
    ck_cuda(cu.pointer_set_attribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, dest));
    ck_assert_int_eq(count_unfinished(dest, source), 0);
}
END_TEST

/* ---- copies ----------------------------------------------------------------- */

START_TEST(ranges_and_kinds_are_checked)
{
    CUdeviceptr memory;
    CUstream stream;
    char plain[200];

    start();
    memory = allocate(100);
    ck_cuda(cu.stream_create(&stream, 0));
    ck_refused(cu.memset_d8(memory + 50, 0, 51), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_htod(memory, plain, 101), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_htod(memory, host(memory), 1), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_dtod(memory, device(plain), 1), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_dtoh_async(plain, device(plain), 1, stream), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_any(memory, 0, 1), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_any(memory + 100, device(plain), 1), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.memcpy_any(memory, device(plain), 100));
    ck_cuda(cu.memcpy_any_async(device(plain), memory, 100, stream));
    ck_cuda(cu.memcpy_dtoh(plain, memory, 0));
    ck_cuda(cu.ctx_synchronize());
}
END_TEST

/* 3 rows of 5 bytes out of rows of 7 at (1,1), into rows of 11 at (2,0). */
static CUDA_MEMCPY2D rows(const void *source, CUdeviceptr dest)
{
    return (CUDA_MEMCPY2D){
        .srcXInBytes = 1,
        .srcY = 1,
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = source,
        .srcPitch = 7,
        .dstXInBytes = 2,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = dest,
        .dstPitch = 11,
        .WidthInBytes = 5,
        .Height = 3,
    };
}

START_TEST(rows_are_copied)
{
    unsigned char source[28];
    unsigned char result[29];
    CUdeviceptr memory;
    CUDA_MEMCPY2D copy;

    start();
    memory = allocate(sizeof(result));
    for (unsigned i = 0; i < sizeof(source); i++)
        source[i] = (unsigned char)(i + 1);
    copy = rows(source, memory);
    ck_cuda(cu.memset_d8(memory, 0, sizeof(result)));
    ck_cuda(cu.memcpy_2d_async(&copy, NULL));
    ck_cuda(cu.memcpy_dtoh(result, memory, sizeof(result)));
    for (unsigned i = 0; i < sizeof(result); i++) {
        unsigned x = i % 11;
        unsigned y = i / 11;
        unsigned expected = x >= 2 && x < 7 ? source[(y + 1) * 7 + x - 1] : 0;

        ck_assert_uint_eq(result[i], expected);
    }
}
END_TEST

START_TEST(wrong_rows_are_refused)
{
    unsigned char source[28];
    CUdeviceptr memory;
    CUDA_MEMCPY2D copy;

    start();
    memory = allocate(28); /* one byte short */
    copy = rows(source, memory);
    ck_refused(cu.memcpy_2d_async(&copy, NULL), CUDA_ERROR_INVALID_VALUE);
    copy.dstXInBytes = 1;
    ck_cuda(cu.memcpy_2d_async(&copy, NULL));
    copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    ck_cuda(cu.memcpy_2d_async(&copy, NULL));
    copy.dstPitch = 4;
    ck_refused(cu.memcpy_2d_async(&copy, NULL), CUDA_ERROR_INVALID_VALUE);
    copy.dstPitch = 11;
    copy.srcPitch = (size_t)1 << 31;
    ck_refused(cu.memcpy_2d_async(&copy, NULL), CUDA_ERROR_INVALID_VALUE);
    copy.srcPitch = 7;
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    ck_refused(cu.memcpy_2d_async(&copy, NULL), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.ctx_synchronize());
}
END_TEST

enum { THREADS = 4, ROUNDS = 50, BLOCK = 4096 };

/* Its own stream, its own memory: round trips keep their bytes. */
static void *round_trips(void *arg)
{
    unsigned char *bytes = malloc(BLOCK);
    CUdeviceptr memory;
    CUstream stream;

    ck_cuda(cu.ctx_push_current(arg));
    memory = allocate(2 * BLOCK);
    ck_cuda(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < ROUNDS; i++) {
        memset(bytes, i, BLOCK);
        ck_cuda(cu.memcpy_htod_async(memory, bytes, BLOCK, stream));
        ck_cuda(cu.memcpy_any_async(memory + BLOCK, memory, BLOCK, stream));
        ck_cuda(cu.stream_synchronize(stream));
        memset(bytes, ~i, BLOCK);
        ck_cuda(cu.memcpy_dtoh(bytes, memory + BLOCK, BLOCK));
        ck_assert_int_eq(bytes[0], i);
        ck_assert_int_eq(bytes[BLOCK - 1], i);
    }
    ck_cuda(cu.stream_destroy(stream));
    ck_cuda(cu.mem_free(memory));
    free(bytes);
    return NULL;
}

START_TEST(threads_do_not_disturb_each_other)
{
    CUcontext ctx = start();
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, round_trips, ctx), 0);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(live("alloc") + live("stream"), 0);
}
END_TEST

/* ---- memory of other processes ---------------------------------------------- */

/* Two pipes between this process and the child that plays the exporter. */
struct peer {
    pid_t pid;
    int to;
    int from;
};

static void send_all(int fd, const void *data, size_t size)
{
    if (write(fd, data, size) != (ssize_t)size) _exit(3);
}

static void receive_all(int fd, void *data, size_t size)
{
    if (read(fd, data, size) != (ssize_t)size) _exit(4);
}

enum { EXPORTED = 100000 };

/*
 * The exporter: allocates, writes 1, sends the handle of an interior address and its base; at a
 * word checks for 2; at another frees and says so; ends at the third.
 */
static void export_memory(int in, int out)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;
    unsigned char byte;

    start();
    memory = allocate(EXPORTED);
    ck_cuda(cu.memset_d8(memory, 1, EXPORTED));
    ck_cuda(cu.ctx_synchronize());
    ck_cuda(cu.ipc_get_mem_handle(&handle, memory + 12345));
    send_all(out, &handle, sizeof(handle));
    send_all(out, &memory, sizeof(memory));
    receive_all(in, &byte, 1);
    ck_cuda(cu.memcpy_dtoh(&byte, memory + EXPORTED - 1, 1));
    send_all(out, &byte, 1);
    receive_all(in, &byte, 1);
    ck_cuda(cu.mem_free(memory));
    send_all(out, &byte, 1);
    receive_all(in, &byte, 1);
}

static struct peer start_exporter(CUipcMemHandle *handle, CUdeviceptr *base)
{
    int to[2];
    int from[2];
    struct peer peer;

    ck_assert_int_eq(pipe(to) + pipe(from), 0);
    peer.pid = fork();
    if (peer.pid == 0) {
        close(to[1]);
        export_memory(to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    peer.to = to[1];
    peer.from = from[0];
    receive_all(peer.from, handle, sizeof(*handle));
    receive_all(peer.from, base, sizeof(*base));
    return peer;
}

/* Send the exporter to its next step; what it answers. */
static unsigned char step(const struct peer *peer)
{
    unsigned char byte = 0;

    send_all(peer->to, &byte, 1);
    receive_all(peer->from, &byte, 1);
    return byte;
}

static int finish(const struct peer *peer)
{
    int status;

    send_all(peer->to, "", 1);
    ck_assert_int_eq(waitpid(peer->pid, &status, 0), peer->pid);
    return status;
}

START_TEST(memory_of_another_process)
{
    unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    CUipcMemHandle handle;
    CUdeviceptr base;
    CUdeviceptr memory;
    CUdeviceptr again;
    struct peer peer = start_exporter(&handle, &base);
    unsigned char byte = 0;

    start();
    ck_cuda(cu.ipc_open_mem_handle(&memory, handle, lazy));
    ck_cuda(cu.ipc_open_mem_handle(&again, handle, lazy));
    ck_assert_uint_eq(memory, again);
    ck_assert_int_eq(live("ipc"), 1);
    ck_cuda(cu.memcpy_dtoh(&byte, memory, 1)); /* its base, whatever the handle was made of */
    ck_assert_int_eq(byte, 1);
    ck_refused(cu.memset_d8(memory, 2, EXPORTED + 1), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.memset_d8(memory, 2, EXPORTED));
    ck_cuda(cu.ctx_synchronize());
    ck_assert_int_eq(step(&peer), 2);
    ck_refused(cu.mem_free(memory), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.ipc_get_mem_handle(&handle, memory), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.ipc_close_mem_handle(memory));
    ck_cuda(cu.memcpy_dtoh(&byte, memory, 1));
    ck_cuda(cu.ipc_close_mem_handle(memory));
    ck_assert_int_eq(live("ipc"), 0);
    step(&peer); /* it frees */
    ck_refused(cu.ipc_open_mem_handle(&memory, handle, lazy), CUDA_ERROR_MAP_FAILED);
    ck_assert_int_eq(finish(&peer), 0);
}
END_TEST

START_TEST(freed_while_open_is_loud)
{
    CUipcMemHandle handle;
    CUdeviceptr base;
    CUdeviceptr memory;
    struct peer peer;
    int status;

    /* What the exporter prints is expected. */
    if (!freopen("/dev/null", "w", stderr)) ck_abort();
    peer = start_exporter(&handle, &base);
    start();
    ck_cuda(cu.ipc_open_mem_handle(&memory, handle, 1));
    step(&peer);
    send_all(peer.to, "", 1);
    ck_assert_int_eq(waitpid(peer.pid, &status, 0), peer.pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
END_TEST

START_TEST(handles_are_checked)
{
    CUipcMemHandle handle;
    CUdeviceptr memory;

    start();
    ck_cuda(cu.ipc_get_mem_handle(&handle, allocate(1)));
    ck_refused(cu.ipc_open_mem_handle(&memory, handle, 1), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.ipc_open_mem_handle(&memory, handle, 2), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.ipc_close_mem_handle(allocate(1)), CUDA_ERROR_INVALID_VALUE);
    memset(&handle, 0, sizeof(handle));
    ck_refused(cu.ipc_open_mem_handle(&memory, handle, 1), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* Every process has its own addresses: five of them never start at one place by chance. */
START_TEST(addresses_differ_between_processes)
{
    CUdeviceptr first = 0;
    bool differ = false;

    for (int i = 0; i < 5; i++) {
        CUipcMemHandle handle;
        CUdeviceptr base;
        struct peer peer = start_exporter(&handle, &base);

        if (i == 0) first = base;
        differ = differ || base != first;
        step(&peer);
        step(&peer);
        ck_assert_int_eq(finish(&peer), 0);
    }
    ck_assert(differ);
}
END_TEST

/* ---- refusals on order ------------------------------------------------------ */

START_TEST(calls_fail_on_order)
{
    CUdeviceptr memory;
    CUstream stream;

    setenv("PMI_RANK", "1", 1);
    setenv("FAKECUDA_FAIL",
           "cuMemAlloc_v2@2:2,cuStreamCreate@2+:304,cuMemFree_v2:999,cuMemsetD8_v2#0:1,"
           "cuIpcGetMemHandle#1@1:801",
           1);
    start();
    memory = allocate(1);
    ck_refused(cu.mem_alloc(&memory, 1), CUDA_ERROR_OUT_OF_MEMORY);
    memory = allocate(1);
    ck_cuda(cu.stream_create(&stream, 0));
    ck_refused(cu.stream_create(&stream, 0), CUDA_ERROR_OPERATING_SYSTEM);
    ck_refused(cu.stream_create(&stream, 0), CUDA_ERROR_OPERATING_SYSTEM);
    ck_refused(cu.mem_free(memory), CUDA_ERROR_UNKNOWN);
    ck_cuda(cu.memset_d8(memory, 0, 1)); /* another rank's */
    ck_refused(cu.ipc_get_mem_handle(&(CUipcMemHandle){0}, memory), CUDA_ERROR_NOT_SUPPORTED);
    ck_cuda(cu.ipc_get_mem_handle(&(CUipcMemHandle){0}, memory));
    ck_assert_int_eq(calls("cuMemAlloc_v2"), 3);
}
END_TEST

/* A fault of the device comes with the work and ends the context. */
START_TEST(device_faults_surface_later)
{
    unsigned char byte = 5;
    CUdeviceptr memory;
    CUstream stream;
    CUcontext ctx;

    setenv("FAKECUDA_FAIL", "cuMemcpyHtoDAsync_v2@2:719", 1);
    start();
    memory = allocate(1);
    ck_cuda(cu.stream_create(&stream, 0));
    ck_cuda(cu.memcpy_htod_async(memory, &byte, 1, stream));
    ck_cuda(cu.stream_synchronize(stream));
    ck_cuda(cu.memcpy_htod_async(memory, &byte, 1, stream));
    ck_refused(cu.stream_synchronize(stream), CUDA_ERROR_LAUNCH_FAILED);
    ck_refused(cu.memcpy_dtoh(&byte, memory, 1), CUDA_ERROR_LAUNCH_FAILED);
    ck_refused(cu.mem_alloc(&memory, 1), CUDA_ERROR_LAUNCH_FAILED);
    ck_cuda(cu.ctx_pop_current(&ctx));
    ck_cuda(cu.primary_ctx_release(0));
    start(); /* a new context works */
    allocate(1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fakecuda_work");
    TCase *tcase = tcase_create("fakecuda_work");
    SRunner *runner = srunner_create(suite);
    int failed;

    load();
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, work_is_late);
    tcase_add_test(tcase, sources_are_read_late);
    tcase_add_test(tcase, a_stream_is_in_order);
    tcase_add_test(tcase, the_default_stream_waits_for_blocking_ones_only);
    tcase_add_test(tcase, blocking_streams_wait_for_the_default_one);
    tcase_add_test(tcase, sync_memops_makes_calls_synchronous);
    tcase_add_test(tcase, ranges_and_kinds_are_checked);
    tcase_add_test(tcase, rows_are_copied);
    tcase_add_test(tcase, wrong_rows_are_refused);
    tcase_add_test(tcase, threads_do_not_disturb_each_other);
    tcase_add_test(tcase, memory_of_another_process);
    tcase_add_test(tcase, freed_while_open_is_loud);
    tcase_add_test(tcase, handles_are_checked);
    tcase_add_test(tcase, addresses_differ_between_processes);
    tcase_add_test(tcase, calls_fail_on_order);
    tcase_add_test(tcase, device_faults_surface_later);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
