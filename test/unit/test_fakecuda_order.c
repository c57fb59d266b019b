/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake CUDA driver, what orders work: events, functions of the program in streams, words that
 * streams write and wait for, captures; and the counts of calls that a process leaves behind.
 */
#include "fakecuda.h"

#include <stdatomic.h>

enum { ATTEMPTS = 50 };

static CUstream new_stream(unsigned int flags)
{
    CUstream stream;

    ck_cuda(cu.stream_create(&stream, flags));
    return stream;
}

/* Two words that hosts and devices reach. */
static _Atomic(uint64_t) *pinned(CUdeviceptr *address)
{
    void *words;

    ck_cuda(cu.mem_host_alloc(&words, 16, CU_MEMHOSTALLOC_PORTABLE));
    ck_cuda(cu.mem_host_get_device_pointer(address, words, 0));
    memset(words, 0, 16);
    return words;
}

/* ---- events ------------------------------------------------------------------- */

START_TEST(events_order_streams)
{
    CUstream first;
    CUstream second;
    CUdeviceptr memory;
    CUevent event;

    start();
    first = new_stream(CU_STREAM_NON_BLOCKING);
    second = new_stream(CU_STREAM_NON_BLOCKING);
    memory = allocate(1);
    ck_cuda(more.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned char byte = 0;

        ck_cuda(cu.memset_d8(memory, 0, 1));
        ck_cuda(cu.ctx_synchronize());
        ck_cuda(cu.memset_d8_async(memory, 7, 1, first));
        ck_cuda(more.cuEventRecord(event, first));
        ck_cuda(more.cuStreamWaitEvent(second, event, 0));
        ck_cuda(cu.memcpy_dtoh_async(&byte, memory, 1, second));
        ck_cuda(cu.stream_synchronize(second));
        ck_assert_int_eq(byte, 7);
        ck_cuda(more.cuEventQuery(event));
    }
    ck_cuda(more.cuEventDestroy_v2(event));
    ck_assert_int_eq(live("event"), 0);
}
END_TEST

/* A wait is for the records before it; an event that was never recorded holds nobody up. */
START_TEST(events_are_of_the_last_record)
{
    CUstream stream;
    CUdeviceptr at;
    _Atomic(uint64_t) *word;
    CUevent event;

    start();
    stream = new_stream(CU_STREAM_NON_BLOCKING);
    word = pinned(&at);
    ck_cuda(more.cuEventCreate(&event, 0));
    ck_cuda(more.cuEventQuery(event));
    ck_cuda(more.cuStreamWaitEvent(stream, event, 0));
    ck_cuda(cu.stream_synchronize(stream));
    ck_cuda(cu.stream_wait_value(stream, at, 1, CU_STREAM_WAIT_VALUE_EQ));
    ck_cuda(more.cuEventRecord(event, stream));
    ck_refused(more.cuEventQuery(event), CUDA_ERROR_NOT_READY);
    atomic_store(word, 1);
    ck_cuda(more.cuEventSynchronize(event));
    ck_cuda(more.cuEventQuery(event));
}
END_TEST

START_TEST(time_between_events)
{
    CUstream stream;
    CUevent events[3];
    float ms = -1;

    setenv("FAKECUDA_DELAY_US", "3000", 1);
    start();
    stream = new_stream(0);
    for (int i = 0; i < 3; i++) {
        ck_cuda(more.cuEventCreate(&events[i], i == 2 ? CU_EVENT_DISABLE_TIMING : 0));
        ck_cuda(more.cuEventRecord(events[i], stream));
        ck_cuda(cu.stream_synchronize(stream));
    }
    ck_cuda(more.cuEventElapsedTime(&ms, events[0], events[1]));
    ck_assert(ms >= 3);
    ck_refused(more.cuEventElapsedTime(&ms, events[0], events[2]), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

static void use_destroyed_event(void)
{
    CUevent event;

    start();
    ck_cuda(more.cuEventCreate(&event, 0));
    ck_cuda(more.cuEventDestroy_v2(event));
    more.cuEventQuery(event);
}

START_TEST(destroyed_events_are_loud)
{
    expect_signal(use_destroyed_event, SIGABRT, "was destroyed");
}
END_TEST

/* ---- functions of the program ------------------------------------------------- */

static atomic_int n_inside;
static atomic_int n_ran;
static atomic_bool overlapped;
static pthread_t runner;

static void note(void *user)
{
    struct timespec ts = {.tv_nsec = 200000};

    if (atomic_fetch_add(&n_inside, 1) != 0) overlapped = true;
    if (n_ran == 0) runner = pthread_self();
    if (!pthread_equal(runner, pthread_self())) overlapped = true;
    nanosleep(&ts, NULL);
    *(unsigned char *)user += 1;
    atomic_fetch_sub(&n_inside, 1);
    n_ran++;
}

/* In the order of their stream; of all streams one at a time, on one thread. */
START_TEST(host_functions_run_in_order)
{
    unsigned char source = 0;
    unsigned char byte = 0;
    unsigned char unused = 0;
    CUstream first;
    CUstream second;
    CUdeviceptr memory;

    start();
    memory = allocate(1);
    first = new_stream(CU_STREAM_NON_BLOCKING);
    second = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 20; i++) {
        ck_cuda(cu.launch_host_func(first, note, &source));
        ck_cuda(cu.launch_host_func(second, note, &unused));
        ck_cuda(cu.memcpy_htod_async(memory, &source, 1, first));
        ck_cuda(cu.memcpy_dtoh_async(&byte, memory, 1, first));
        ck_cuda(cu.stream_synchronize(first));
        ck_assert_int_eq(byte, i + 1);
    }
    ck_cuda(cu.stream_synchronize(second));
    ck_assert_int_eq(n_ran, 40);
    ck_assert(!overlapped);
    ck_assert(!pthread_equal(runner, pthread_self()));
    ck_refused(cu.launch_host_func(first, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

static void call_driver(void *user)
{
    cu.ctx_get_current(user);
}

static void use_driver_inside(void)
{
    CUcontext ctx;

    start();
    ck_cuda(cu.launch_host_func(NULL, call_driver, &ctx));
    cu.ctx_synchronize();
}

START_TEST(host_functions_may_not_use_the_driver)
{
    expect_signal(use_driver_inside, SIGABRT, "cuCtxGetCurrent: called by a host function");
}
END_TEST

/* ---- words -------------------------------------------------------------------- */

START_TEST(streams_wait_for_words)
{
    static const struct {
        unsigned int how;
        uint64_t wanted;
        uint64_t wrong;
        uint64_t right;
    } cases[] = {
        {CU_STREAM_WAIT_VALUE_EQ, 5, 4, 5},
        {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 6},
        {CU_STREAM_WAIT_VALUE_GEQ, 1, UINT64_MAX, 1}, /* signed distance */
        {CU_STREAM_WAIT_VALUE_AND, 6, 9, 4},
        {CU_STREAM_WAIT_VALUE_NOR, ~UINT64_C(1), 1, 0},
    };
    CUstream stream;
    CUdeviceptr at;
    CUdeviceptr memory;
    _Atomic(uint64_t) *words;

    start();
    stream = new_stream(CU_STREAM_NON_BLOCKING);
    words = pinned(&at);
    memory = allocate(8);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct timespec ts = {.tv_nsec = 2000000};

        words[0] = cases[i].wrong;
        words[1] = 0;
        ck_cuda(cu.stream_wait_value(stream, at, cases[i].wanted, cases[i].how));
        ck_cuda(cu.stream_write_value(stream, at + 8, 77, CU_STREAM_WRITE_VALUE_DEFAULT));
        nanosleep(&ts, NULL);
        ck_refused(cu.stream_query(stream), CUDA_ERROR_NOT_READY);
        ck_assert_uint_eq(words[1], 0);
        words[0] = cases[i].right;
        ck_cuda(cu.stream_synchronize(stream));
        ck_assert_uint_eq(words[1], 77);
    }
    ck_cuda(cu.stream_write_value(stream, memory, 3, 0));
    ck_cuda(cu.stream_wait_value(stream, memory, 3, CU_STREAM_WAIT_VALUE_EQ));
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_uint_eq(*(uint64_t *)alias(memory), 3);
}
END_TEST

START_TEST(wrong_words_are_refused)
{
    uint64_t unknown = 0;
    CUstream stream;
    CUdeviceptr at;

    start();
    stream = new_stream(0);
    pinned(&at);
    ck_refused(cu.stream_wait_value(stream, at + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.stream_write_value(stream, device(&unknown), 0, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.stream_write_value(stream, at, 0, 2), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.stream_wait_value(stream, at, 0, 4), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.stream_wait_value(stream, at, 0, CU_STREAM_WAIT_VALUE_FLUSH),
               CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

/* n streams wait for a word; then it comes. */
static void wait_on_streams(int n)
{
    CUdeviceptr at;
    _Atomic(uint64_t) *words;
    struct timespec ts = {.tv_nsec = 20000000};

    setenv("FAKECUDA_WAITERS", "3", 1);
    start();
    words = pinned(&at);
    for (int i = 0; i < n; i++)
        ck_cuda(cu.stream_wait_value(new_stream(CU_STREAM_NON_BLOCKING), at, 1, 0));
    nanosleep(&ts, NULL);
    words[0] = 1;
    ck_cuda(cu.ctx_synchronize());
}

static void wait_on_4_streams(void)
{
    wait_on_streams(4);
}

START_TEST(too_many_waiting_streams_are_loud)
{
    expect_signal(wait_on_4_streams, SIGABRT, "4 streams wait for words at once, and 3 may");
    wait_on_streams(3);
}
END_TEST

/* ---- captures ----------------------------------------------------------------- */

START_TEST(captured_work_is_not_done)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    CUdeviceptr memory;
    CUstream stream;
    CUgraph graph = NULL;
    uint64_t id = 0;

    start();
    memory = allocate(1);
    stream = new_stream(CU_STREAM_NON_BLOCKING);
    *(unsigned char *)alias(memory) = 0;
    ck_cuda(cu.stream_is_capturing(stream, &status));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ck_refused(more.cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
    ck_cuda(more.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ck_cuda(more.cuStreamGetCaptureInfo(stream, &status, &id));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ck_assert_uint_ne(id, 0);
    ck_refused(more.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
               CUDA_ERROR_ILLEGAL_STATE);
    ck_cuda(cu.memset_d8_async(memory, 1, 1, stream));
    ck_cuda(more.cuStreamEndCapture(stream, &graph));
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_int_eq(*(unsigned char *)alias(memory), 0);
    ck_assert_int_eq(live("graph"), 1);
    ck_cuda(more.cuGraphDestroy(graph));
    ck_assert_int_eq(live("graph"), 0);
    ck_cuda(cu.memset_d8_async(memory, 2, 1, stream));
    ck_cuda(cu.stream_synchronize(stream));
    ck_assert_int_eq(*(unsigned char *)alias(memory), 2);
}
END_TEST

/* A relaxed capture, or a thread that asked for one, forbids nothing. */
START_TEST(relaxed_captures_forbid_nothing)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUstream stream;
    CUgraph graph;

    start();
    stream = new_stream(CU_STREAM_NON_BLOCKING);
    ck_cuda(more.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    allocate(1);
    ck_cuda(more.cuStreamEndCapture(stream, &graph));
    ck_cuda(more.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ck_cuda(more.cuThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    allocate(1);
    ck_cuda(more.cuStreamEndCapture(stream, &graph));
}
END_TEST

static CUstream begin_capture(unsigned int flags)
{
    CUstream stream;

    start();
    stream = new_stream(flags);
    ck_cuda(more.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    return stream;
}

static void synchronize_captured(void)
{
    cu.stream_synchronize(begin_capture(CU_STREAM_NON_BLOCKING));
}

static void allocate_while_captured(void)
{
    begin_capture(CU_STREAM_NON_BLOCKING);
    allocate(1);
}

static void *allocate_in_thread(void *ctx)
{
    ck_cuda(cu.ctx_push_current(ctx));
    allocate(1);
    return NULL;
}

static void allocate_in_another_thread(void)
{
    CUcontext ctx;
    pthread_t thread;

    begin_capture(CU_STREAM_NON_BLOCKING);
    ck_cuda(cu.ctx_get_current(&ctx));
    pthread_create(&thread, NULL, allocate_in_thread, ctx);
    pthread_join(thread, NULL);
}

static void use_default_while_captured(void)
{
    CUdeviceptr memory;

    start();
    memory = allocate(1);
    begin_capture(CU_STREAM_DEFAULT);
    cu.memset_d8_async(memory, 0, 1, NULL);
}

static void join_capture(void)
{
    CUstream stream = begin_capture(CU_STREAM_NON_BLOCKING);
    CUevent event;

    ck_cuda(more.cuEventCreate(&event, 0));
    ck_cuda(more.cuEventRecord(event, stream));
    more.cuStreamWaitEvent(new_stream(CU_STREAM_NON_BLOCKING), event, 0);
}

static void destroy_captured(void)
{
    cu.stream_destroy(begin_capture(CU_STREAM_NON_BLOCKING));
}

START_TEST(spoiled_captures_are_loud)
{
    expect_signal(synchronize_captured, SIGABRT, "is being captured");
    expect_signal(allocate_while_captured, SIGABRT, "cuMemAlloc_v2: spoils the capture");
    expect_signal(allocate_in_another_thread, SIGABRT, "cuMemAlloc_v2: spoils the capture");
    expect_signal(use_default_while_captured, SIGABRT, "the default stream waits for stream");
    expect_signal(join_capture, SIGABRT, "would join a capture");
    expect_signal(destroy_captured, SIGABRT, "destroyed while it is captured");
}
END_TEST

/* ---- counts ------------------------------------------------------------------- */

static void leave_counts(void)
{
    setenv("PMI_RANK", "3", 1);
    start();
    allocate(1);
    allocate(1);
    exit(0); /* not _exit(): the counts are written on the way */
}

START_TEST(counts_are_left_behind)
{
    char path[] = "/tmp/fakecuda-counts-XXXXXX";
    char text[2048] = "";
    char told[1024];
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    setenv("FAKECUDA_COUNTS", path, 1);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(run(leave_counts, told, sizeof(told)), 0);
    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    close(fd);
    unlink(path);
    ck_assert_msg(strstr(text, "3 cuMemAlloc_v2 2\n"), "%s", text);
    ck_assert_msg(strstr(strstr(text, "cuInit") + 1, "3 cuInit 1\n"), "one process: %s", text);
    ck_assert_msg(!strstr(text, "cuMemFree"), "%s", text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fakecuda_order");
    TCase *tcase = tcase_create("fakecuda_order");
    SRunner *srunner = srunner_create(suite);
    int failed;

    load();
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, events_order_streams);
    tcase_add_test(tcase, events_are_of_the_last_record);
    tcase_add_test(tcase, time_between_events);
    tcase_add_test(tcase, destroyed_events_are_loud);
    tcase_add_test(tcase, host_functions_run_in_order);
    tcase_add_test(tcase, host_functions_may_not_use_the_driver);
    tcase_add_test(tcase, streams_wait_for_words);
    tcase_add_test(tcase, wrong_words_are_refused);
    tcase_add_test(tcase, too_many_waiting_streams_are_loud);
    tcase_add_test(tcase, captured_work_is_not_done);
    tcase_add_test(tcase, relaxed_captures_forbid_nothing);
    tcase_add_test(tcase, spoiled_captures_are_loud);
    tcase_add_test(tcase, counts_are_left_behind);
    suite_add_tcase(suite, tcase);
    srunner_run_all(srunner, CK_ENV);
    failed = srunner_ntests_failed(srunner);
    srunner_free(srunner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
