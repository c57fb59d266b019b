/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the rules of the fake CUDA driver on which other tests rely: the calls that it refuses, the
 * work that it does late, and the misuse that ends the process. CTest runs the program as
 * unit.fakecuda. The tests of the GPU kind (test_cuda*.c) show that the driver copies, shares
 * memory and runs kernels correctly.
 */
#include "fakecuda.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))
#define KIB ((size_t)1 << 10)
#define MIB2 ((size_t)2 << 20)

enum { ATTEMPTS = 200 };

TEST_ONCE(load, NULL)

/* ---- the driver, devices and contexts ------------------------------------------ */

TEST(calls_need_init_and_a_context)
{
    CUdeviceptr address;
    CUcontext ctx;
    CUstream stream;
    int count, status;
    pid_t pid;

    ck_refused(cu.device_count(&count), CUDA_ERROR_NOT_INITIALIZED);
    ck_refused(cu.init(1), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.init(0));
    ck_refused(cu.device_get(&count, 1), CUDA_ERROR_INVALID_DEVICE);
    ck_refused(cu.mem_alloc(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.stream_create(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.ctx_synchronize(), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.ctx_pop_current(&ctx), CUDA_ERROR_INVALID_CONTEXT);
    ck_assert_int_eq(calls("cuMemAlloc_v2"), 1);
    ck_assert_int_eq(calls("cuMemAlloc"), -1);
    pid = fork();
    if (pid == 0)
        _exit(cu.init(0) != CUDA_ERROR_NOT_INITIALIZED ||
              cu.device_count(&count) != CUDA_ERROR_NOT_INITIALIZED);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

static const struct {
    const char *rank, *ranks, *visible;
    int n_devices;
} machines[] = {
    {"3", "0,3", NULL, 3}, {"1", "0,3", NULL, 0},     {NULL, "0", NULL, 3},
    {NULL, "1", NULL, 0},  {NULL, "0", "2,0,7,1", 2}, {NULL, "0", "", 0},
};

/* A number of CUDA_VISIBLE_DEVICES that no device has ends the list. */
TEST_LOOP(devices_are_those_asked_for, 0, COUNT(machines))
{
    int count, n_devices = machines[_i].n_devices;
    CUuuid uuid;

    if (machines[_i].rank) setenv("PMI_RANK", machines[_i].rank, 1);
    if (machines[_i].visible) setenv("CUDA_VISIBLE_DEVICES", machines[_i].visible, 1);
    setenv("FAKECUDA_RANKS", machines[_i].ranks, 1);
    setenv("FAKECUDA_DEVICES", "3", 1);
    ck_refused(cu.init(0), n_devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
    if (n_devices == 0) return;
    ck_cuda(cu.device_count(&count));
    ck_assert_int_eq(count, n_devices);
    ck_cuda(cu.device_uuid(&uuid, 0));
    ck_assert_int_eq(uuid.bytes[15], n_devices == 2 ? 3 : 1);
}

TEST(contexts_are_counted_and_stacked)
{
    CUcontext ctx, peer, own;

    setenv("FAKECUDA_DEVICES", "2", 1);
    start();
    ck_cuda(cu.primary_ctx_retain(&ctx, 0));
    ck_assert_ptr_eq(ctx, it.ctx);
    ck_assert_int_eq(contexts(0), 1);
    ck_cuda(cu.ctx_create(&own, 0, 0));
    ck_assert_int_eq(10 * live("stack") + live("ctx"), 22);
    ck_cuda(cu.ctx_set_current(it.ctx)); /* replaces the top of the stack */
    ck_assert_int_eq(live("stack"), 2);
    ck_refused(cu.ctx_destroy(it.ctx), CUDA_ERROR_INVALID_CONTEXT);
    ck_cuda(cu.ctx_destroy(own));
    ck_cuda(cu.primary_ctx_retain(&peer, 1));
    ck_cuda(cu.ctx_set_current(NULL)); /* pops */
    ck_cuda(cu.ctx_pop_current(&ctx));
    ck_assert_ptr_eq(ctx, it.ctx);
    ck_assert_int_eq(live("stack") + live("lost"), 0);
    ck_cuda(cu.primary_ctx_release(0));
    ck_assert_int_eq(contexts(0), 1);
    ck_cuda(cu.primary_ctx_release(0));
    ck_assert_int_eq(contexts(0), 0);
    ck_assert_int_eq(live("ctx"), 1);
    /* The device memory, the pinned words and both streams died with the context. */
    ck_assert_int_eq(live("lost"), 4);
    ck_assert_int_eq(live("alloc") + live("stream"), 0);
}

/* ---- memory --------------------------------------------------------------------- */

TEST(memory_is_dirty_and_out_of_reach)
{
    unsigned char bytes[KIB];
    int fds[2];

    start();
    ck_assert_uint_eq(it.memory % 512, 0);
    ck_cuda(cu.memcpy_dtoh(bytes, it.memory, KIB));
    ck_assert(bytes[0] != 0 && bytes[KIB - 1] != 0);
    *(unsigned char *)alias(it.memory + 5) = 42;
    ck_cuda(cu.memcpy_dtoh(bytes, it.memory, KIB));
    ck_assert_int_eq(bytes[5], 42);
    ck_assert_ptr_null(alias(device(bytes)));
    ck_assert_int_eq(pipe(fds), 0);
    ck_assert_int_eq(write(fds[1], host(it.memory), 100), -1);
    ck_assert_int_eq(errno, EFAULT);
}

/* More memory is allocated than there are addresses before and after the heap of a program. */
TEST(addresses_are_never_the_heaps)
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

TEST(wrong_memory_is_refused)
{
    CUdeviceptr at, freed;
    unsigned int value;
    size_t nbytes;
    char plain;

    start();
    freed = allocate(1);
    ck_cuda(cu.mem_free(freed));
    ck_refused(cu.mem_alloc(&at, (size_t)1 << 40), CUDA_ERROR_OUT_OF_MEMORY);
    ck_refused(cu.mem_alloc(&at, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_get_address_range(&at, &nbytes, it.memory + KIB), CUDA_ERROR_NOT_FOUND);
    ck_refused(cu.mem_free(it.memory + 8), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_free(0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_free(it.words), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device(&plain)),
               CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, freed),
               CUDA_ERROR_INVALID_VALUE);
}

static unsigned long long buffer_id(const void *address)
{
    unsigned long long id;

    ck_cuda(cu.pointer_get_attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, device(address)));
    return id;
}

TEST(host_memory_is_registered_by_ranges)
{
    char *memory = mmap(NULL, 16 * KIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr address, gpu;
    unsigned long long id;

    start();
    gpu = allocate(16 * KIB);
    ck_refused(cu.mem_host_get_device_pointer(&address, memory, 0), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_host_register(memory, 8 * KIB, CU_MEMHOSTREGISTER_DEVICEMAP));
    ck_cuda(cu.mem_host_register(memory + 8 * KIB, 4 * KIB, CU_MEMHOSTREGISTER_PORTABLE));
    ck_refused(cu.mem_host_register(memory + 8 * KIB - 1, 2, 0),
               CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ck_refused(cu.mem_host_get_device_pointer(&address, memory + 12 * KIB, 0),
               CUDA_ERROR_INVALID_VALUE);
    id = buffer_id(memory + 8 * KIB - 1);
    ck_assert_uint_ne(id, buffer_id(memory + 8 * KIB));
    /* A copy from registered memory may not leave its range. */
    ck_cuda(cu.memcpy_htod_async(gpu, memory, 8 * KIB, it.stream));
    ck_refused(cu.memcpy_htod_async(gpu, memory, 8 * KIB + 1, it.stream), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.stream_synchronize(it.stream));
    ck_refused(cu.mem_host_unregister(memory + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ck_assert_int_eq(live("registered"), 2);
    ck_cuda(cu.mem_host_unregister(memory));
    ck_cuda(cu.mem_host_register(memory, 8 * KIB, 0));
    ck_assert_uint_ne(id,
                      buffer_id(memory)); /* a range that is registered again is another buffer */
}

/* ---- memory by handles ----------------------------------------------------------- */

TEST(memory_is_mapped_by_handles)
{
    unsigned char bytes[4] = {0};
    CUdeviceptr at;
    int capable = 1;

    start();
    at = map_two(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    /* Work crosses the border of two mappings, but not the end of the last one. */
    ck_cuda(cu.memset_d8_async(at, 7, 2 * MIB2, NULL));
    ck_cuda(cu.memcpy_dtoh(bytes, at + MIB2 - 2, 4));
    ck_assert(bytes[0] == 7 && bytes[3] == 7);
    ck_refused(cu.memset_d8_async(at, 7, 2 * MIB2 + 1, NULL), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memset_d8_async(at + 2 * MIB2, 7, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(
        cu.pointer_get_attribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
    ck_assert_int_eq(capable, 0);
    ck_refused(cu.ipc_get_mem_handle(&(CUipcMemHandle){0}, at), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_free(at), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_map(at + 2 * MIB2, MIB2, 0, it.handle, 0));
    ck_assert_int_eq(*(unsigned char *)alias(at + 2 * MIB2), 7); /* one memory at two places */
    ck_cuda(cu.mem_release(it.handle));                          /* the mappings keep the memory */
    ck_assert_int_eq(live("physical") + live("mapped") + live("reservation"), 6);
    for (size_t i = 0; i < 3; i++)
        ck_cuda(cu.mem_unmap(at + i * MIB2, MIB2));
    ck_cuda(cu.mem_address_free(at, 3 * MIB2));
    ck_assert_int_eq(live("physical"), 1); /* the handle of the second mapping was not released */
    ck_assert_int_eq(live("mapped") + live("reservation"), 0);
}

TEST(wrong_mappings_are_refused)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, 3};
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wrong = prop;
    CUdeviceptr at, more_at;

    start();
    at = map_two(0);
    wrong.requestedHandleTypes = 8;
    ck_refused(cu.mem_create(&handle, MIB2, &wrong, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_create(&handle, MIB2 + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_create(&handle, (size_t)1 << 40, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    ck_refused(cu.mem_address_reserve(&more_at, 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_create(&handle, 2 * MIB2, &prop, 0));
    ck_refused(cu.mem_map(at + 2 * MIB2, 2 * MIB2, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_map(at + 2 * MIB2 + 4096, MIB2, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_map(at, MIB2, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_unmap(at, MIB2 / 2), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_set_access(at + 2 * MIB2, MIB2, &access, 1), CUDA_ERROR_INVALID_VALUE);
}

/* ---- work is late ---------------------------------------------------------------- */

/* The device reads a source, and writes its memory, later than the call in one attempt or more. */
TEST(work_is_late)
{
    volatile unsigned char source;
    volatile unsigned char *byte;
    int n_late = 0, n_late_sources = 0;

    start();
    byte = alias(it.memory);
    for (int i = 0; i < ATTEMPTS; i++) {
        source = 1;
        *byte = 0;
        ck_cuda(cu.memcpy_htod_async(it.memory, (void *)&source, 1, it.stream));
        n_late += *byte == 0;
        source = 2;
        ck_cuda(cu.stream_synchronize(it.stream));
        n_late_sources += *byte == 2;
        ck_assert_int_ne(*byte, 0);
    }
    ck_assert(n_late > 0 && n_late_sources > 0);
}

/* How often a copy without a stream misses the work that was queued on a stream. */
static int count_missed(CUstream stream)
{
    int n_missed = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned char byte;

        ck_cuda(cu.memset_d8_async(it.memory, (unsigned char)(i + 1), 1, stream));
        ck_cuda(cu.memcpy_dtoh(&byte, it.memory, 1));
        n_missed += byte != (unsigned char)(i + 1);
        ck_cuda(cu.ctx_synchronize());
    }
    return n_missed;
}

TEST(the_default_stream_and_blocking_ones_wait)
{
    start();
    ck_assert_int_eq(count_missed(it.blocking), 0);
    ck_assert_int_gt(count_missed(it.stream), 0);
    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned char byte = 0;

        ck_cuda(cu.memset_d8_async(it.memory, 1, 1, it.blocking));
        ck_cuda(cu.memset_d8_async(it.memory, 2, 1, NULL));
        ck_cuda(cu.memcpy_dtoh_async(&byte, it.memory, 1, it.blocking));
        ck_cuda(cu.stream_synchronize(it.blocking));
        ck_assert_int_eq(byte, 2);
    }
}

/* How often a copy from pageable memory is not done when the call returns. */
static int count_unfinished(void)
{
    volatile unsigned char *dest = alias(it.memory);
    int n_unfinished = 0;

    for (int i = 0; i < ATTEMPTS; i++) {
        unsigned char source = (unsigned char)i;

        *dest = (unsigned char)~i;
        ck_cuda(cu.memcpy_htod(it.memory, &source, 1));
        source = (unsigned char)~i; /* it was copied aside */
        n_unfinished += *dest != (unsigned char)i;
        ck_cuda(cu.ctx_synchronize());
        ck_assert_int_eq(*dest, (unsigned char)i);
    }
    return n_unfinished;
}

TEST(sync_memops_makes_calls_synchronous)
{
    unsigned int one = 1;

    start();
    ck_assert_int_gt(count_unfinished(), 0);
    ck_cuda(cu.pointer_set_attribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, it.memory));
    ck_assert_int_eq(count_unfinished(), 0);
}

/* ---- copies ---------------------------------------------------------------------- */

TEST(wrong_copies_are_refused)
{
    char plain[2 * KIB];

    start();
    ck_refused(cu.memset_d8_async(it.memory + 1, 0, KIB, NULL), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_htod(it.memory, plain, KIB + 1), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_htod(it.memory, host(it.memory), 1), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_dtoh_async(plain, device(plain), 1, it.stream), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_any_async(it.memory, 0, 1, it.stream), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memcpy_any_async(it.memory + KIB, device(plain), 1, it.stream),
               CUDA_ERROR_INVALID_VALUE);
}

/* 3 rows of 5 bytes from host memory to the last bytes of the device memory. */
TEST(wrong_rows_are_refused)
{
    unsigned char source[28];
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = source,
                          .srcPitch = 7,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstPitch = 11,
                          .WidthInBytes = 5,
                          .Height = 3};

    start();
    copy.dstDevice = it.memory + KIB - (2 * 11 + 5);
    ck_cuda(cu.memcpy_2d_async(&copy, NULL));
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    ck_cuda(cu.memcpy_2d_async(&copy, NULL));
    copy.dstXInBytes = 1;
    ck_refused(cu.memcpy_2d_async(&copy, NULL), CUDA_ERROR_INVALID_VALUE);
    copy.dstXInBytes = 0;
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

/* ---- memory of other processes ---------------------------------------------------- */

struct exporter {
    pid_t pid;
    int to, from;
    CUipcMemHandle handle;
    CUdeviceptr base;
};

static unsigned char exchange(int to, int from)
{
    unsigned char byte = 0;

    if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1) return 255;
    return byte;
}

/* Exports memory and frees it when the other process sends a byte; ends at the next byte. */
static void export_memory(struct exporter *self)
{
    start();
    self->base = it.memory;
    ck_cuda(cu.ipc_get_mem_handle(&self->handle, it.memory + 100));
    if (write(self->to, self, sizeof(*self)) != sizeof(*self)) _exit(3);
    if (read(self->from, &(char){0}, 1) != 1) _exit(4);
    ck_cuda(cu.mem_free(it.memory));
    exchange(self->to, self->from);
    _exit(0);
}

static struct exporter start_exporter(void)
{
    int to[2], from[2];
    struct exporter exporter, self;

    ck_assert_int_eq(pipe(to) + pipe(from), 0);
    exporter.pid = fork();
    if (exporter.pid == 0) {
        close(to[1]);
        self.to = from[1];
        self.from = to[0];
        export_memory(&self);
    }
    close(to[0]);
    close(from[1]);
    ck_assert_int_eq(read(from[0], &self, sizeof(self)), sizeof(self));
    self.pid = exporter.pid;
    self.to = to[1];
    self.from = from[0];
    return self;
}

/* Sends the last byte to an exporter and returns its status. */
static int finish(const struct exporter *exporter)
{
    int status;

    if (write(exporter->to, "", 1) != 1) return -1;
    close(exporter->to);
    ck_assert_int_eq(waitpid(exporter->pid, &status, 0), exporter->pid);
    return status;
}

TEST(memory_of_another_process)
{
    unsigned int lazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;
    struct exporter peer = start_exporter();
    CUdeviceptr at, again;
    unsigned char byte;

    start();
    ck_cuda(cu.ipc_open_mem_handle(&at, peer.handle, lazy));
    ck_cuda(cu.ipc_open_mem_handle(&again, peer.handle, lazy));
    ck_assert_uint_eq(at, again);
    ck_assert_int_eq(live("ipc"), 1);
    ck_refused(cu.memset_d8_async(at, 2, KIB + 1, NULL), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_free(at), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.ipc_get_mem_handle(&(CUipcMemHandle){0}, at), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.ipc_close_mem_handle(at));
    ck_cuda(cu.memcpy_dtoh(&byte, at, 1)); /* open until it was closed as often as opened */
    ck_cuda(cu.ipc_close_mem_handle(at));
    ck_assert_int_eq(live("ipc"), 0);
    exchange(peer.to, peer.from); /* the exporter frees its memory */
    ck_refused(cu.ipc_open_mem_handle(&at, peer.handle, lazy), CUDA_ERROR_MAP_FAILED);
    ck_assert_int_eq(finish(&peer), 0);
}

TEST(freed_while_open_is_loud)
{
    struct exporter peer;
    CUdeviceptr at;
    int status;

    if (!freopen("/dev/null", "w", stderr)) ck_abort(); /* the exporter reports its end */
    peer = start_exporter();
    start();
    ck_cuda(cu.ipc_open_mem_handle(&at, peer.handle, 1));
    status = finish(&peer);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(wrong_handles_are_refused)
{
    CUipcMemHandle handle;
    CUdeviceptr at;

    start();
    ck_cuda(cu.ipc_get_mem_handle(&handle, it.memory));
    ck_refused(cu.ipc_open_mem_handle(&at, handle, 1), CUDA_ERROR_INVALID_CONTEXT);
    ck_refused(cu.ipc_open_mem_handle(&at, handle, 2), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.ipc_close_mem_handle(it.memory), CUDA_ERROR_INVALID_VALUE);
    memset(&handle, 0, sizeof(handle));
    ck_refused(cu.ipc_open_mem_handle(&at, handle, 1), CUDA_ERROR_INVALID_VALUE);
}

/* Of five processes at least two have different addresses. */
TEST(addresses_differ_between_processes)
{
    CUdeviceptr first = 0;
    bool differ = false;

    for (int i = 0; i < 5; i++) {
        struct exporter peer = start_exporter();

        if (i == 0) first = peer.base;
        differ = differ || peer.base != first;
        exchange(peer.to, peer.from);
        ck_assert_int_eq(finish(&peer), 0);
    }
    ck_assert(differ);
}

/* ---- functions of the program, words --------------------------------------- */

static atomic_int n_inside;
static atomic_int n_ran;
static atomic_bool overlapped;
static pthread_t runner;

static void count_run(void *user)
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

/* Functions run in the order of their stream, those of all streams one at a time on one thread. */
TEST(host_functions_run_in_order)
{
    unsigned char source = 0, byte = 0, unused = 0;

    start();
    for (int i = 0; i < 20; i++) {
        ck_cuda(cu.launch_host_func(it.stream, count_run, &source));
        ck_cuda(cu.launch_host_func(it.blocking, count_run, &unused));
        ck_cuda(cu.memcpy_htod_async(it.memory, &source, 1, it.stream));
        ck_cuda(cu.memcpy_dtoh_async(&byte, it.memory, 1, it.stream));
        ck_cuda(cu.stream_synchronize(it.stream));
        ck_assert_int_eq(byte, i + 1);
    }
    ck_cuda(cu.stream_synchronize(it.blocking));
    ck_assert_int_eq(n_ran, 40);
    ck_assert(!overlapped && !pthread_equal(runner, pthread_self()));
    ck_refused(cu.launch_host_func(it.stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

static const struct {
    unsigned int how;
    uint64_t wanted, wrong, right;
} waits[] = {
    {CU_STREAM_WAIT_VALUE_EQ, 5, 4, 5},
    {CU_STREAM_WAIT_VALUE_GEQ, 5, 4, 6},
    {CU_STREAM_WAIT_VALUE_GEQ, 1, UINT64_MAX, 1}, /* signed distance */
};

TEST_LOOP(streams_wait_for_words, 0, COUNT(waits))
{
    struct timespec ts = {.tv_nsec = 2000000};

    start();
    it.host_words[0] = waits[_i].wrong;
    ck_cuda(cu.stream_wait_value(it.stream, it.words, waits[_i].wanted, waits[_i].how));
    ck_cuda(cu.stream_write_value(it.stream, it.words + 8, 77, CU_STREAM_WRITE_VALUE_DEFAULT));
    nanosleep(&ts, NULL);
    ck_assert_uint_eq(it.host_words[1], 0);
    it.host_words[0] = waits[_i].right;
    ck_cuda(cu.stream_synchronize(it.stream));
    ck_assert_uint_eq(it.host_words[1], 77);
    ck_cuda(cu.stream_write_value(it.stream, it.memory, 3, 0));
    ck_cuda(cu.stream_wait_value(it.stream, it.memory, 3, CU_STREAM_WAIT_VALUE_EQ));
    ck_cuda(cu.stream_synchronize(it.stream));
    ck_assert_uint_eq(*(uint64_t *)alias(it.memory), 3);
}

TEST(wrong_words_are_refused)
{
    uint64_t unknown = 0;

    start();
    ck_refused(cu.stream_wait_value(it.stream, it.words + 4, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.stream_write_value(it.stream, device(&unknown), 0, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.stream_write_value(it.stream, it.words, 0, 1), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.stream_wait_value(it.stream, it.words, 0, 2), CUDA_ERROR_INVALID_VALUE);
}

/* Lets n streams wait for a word that is written later. */
static void wait_on_streams(int n)
{
    struct timespec ts = {.tv_nsec = 20000000};
    CUstream stream;

    for (int i = 0; i < n; i++) {
        ck_cuda(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING));
        ck_cuda(cu.stream_wait_value(stream, it.words, 1, 0));
    }
    nanosleep(&ts, NULL);
    it.host_words[0] = 1;
    ck_cuda(cu.ctx_synchronize());
}

static void wait_on_9_streams(void)
{
    wait_on_streams(9);
}

TEST(few_streams_may_wait)
{
    expect_signal(wait_on_9_streams, SIGABRT, "9 streams wait for words at once, and 8 may");
    start();
    wait_on_streams(8);
}

/* ---- kernels ----------------------------------------------------------------------- */

static const struct {
    const char *old, *with;
    int result;
} texts[] = {
    {".version 6.3", ".version 9.9", 222}, {"sm_70", "sm_95", 218},
    {".version", ".vorsion", 218},         {"size 64", "size 32", 218},
    {"mine_0,", "mi[8], ", 218},
};

TEST_LOOP(texts_are_checked, 0, COUNT(texts))
{
    char text[sizeof(small_ptx)];
    CUmodule module;
    CUfunction function;

    start();
    strcpy(text, small_ptx);
    memcpy(strstr(text, texts[_i].old), texts[_i].with, strlen(texts[_i].with));
    ck_refused(cu.module_load(&module, text), texts[_i].result);
    ck_refused(cu.module_load(&module, "\177ELF"), CUDA_ERROR_INVALID_IMAGE);
    ck_refused(cu.module_get_function(&function, it.module, "min"), CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(live("module"), 1);
    ck_cuda(cu.module_unload(it.module));
    ck_assert_int_eq(live("module"), 0);
}

/* Parameters are read at the launch, memory when the kernel runs after what the stream had. */
TEST(twins_run_in_order)
{
    int n_late = 0;

    start();
    for (int i = 0; i < ATTEMPTS / 4; i++) {
        uint32_t factor = 5;
        CUdeviceptr at = it.memory;
        void *params[] = {&at, &factor};
        uint64_t after = 0;

        seen[0] = 0;
        ck_cuda(cu.memset_d8_async(it.memory, 1, 8, it.stream));
        ck_cuda(cu.launch_kernel(it.mine, 2, 1, 1, 3, 1, 1, 0, it.stream, params, NULL));
        at = 0;
        factor = 0;
        n_late += *(volatile uint64_t *)seen == 0;
        ck_cuda(cu.memcpy_dtoh_async(&after, it.memory, 8, it.stream));
        ck_cuda(cu.stream_synchronize(it.stream));
        ck_assert_uint_eq(seen[0], UINT64_C(0x0101010101010101));
        ck_assert_uint_eq(seen[1], 30);
        ck_assert_uint_eq(after, 9);
    }
    ck_assert_int_gt(n_late, 0);
}

static const struct {
    unsigned int blocks, threads, rows, shared;
    bool params;
} launches[] = {
    {0, 1, 1, 0, true},
    {1, 1024, 2, 0, true},
    {1, 1, 1, 0, false},
    {1, 1, 1, 1 << 20, true},
};

TEST(wrong_launches_are_refused)
{
    uint64_t unknown = 0;
    uint32_t one = 1;
    void *params[] = {&(uint64_t *){&unknown}, &one};

    start();
    for (int i = 0; i < COUNT(launches); i++)
        ck_refused(cu.launch_kernel(it.mine, launches[i].blocks, 1, 1, launches[i].threads,
                                    launches[i].rows, 1, launches[i].shared, it.stream,
                                    launches[i].params ? params : NULL, NULL),
                   CUDA_ERROR_INVALID_VALUE);
    /* Host memory that no device knows is a fault when the kernel runs, which ends the context. */
    launch(it.mine, (CUdeviceptr)(uintptr_t)&unknown);
    ck_refused(cu.ctx_synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    ck_refused(cu.mem_alloc(&(CUdeviceptr){0}, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- calls that fail on order ------------------------------------------------------ */

static void nothing(void)
{
}

TEST(calls_fail_on_order)
{
    CUstream stream;

    setenv("FAKECUDA_FAIL", "cuMemAlloc:2", 1);
    expect_signal(nothing, SIGABRT, "'cuMemAlloc' is not among");
    setenv("PMI_RANK", "1", 1);
    setenv("FAKECUDA_FAIL",
           "cuMemAlloc_v2@2:2,cuStreamCreate@4+:304,cuMemFree_v2:999,cuMemsetD8Async#0:1,"
           "cuIpcGetMemHandle#1@1:801",
           1);
    start();
    ck_refused(cu.mem_alloc(&(CUdeviceptr){0}, 1), CUDA_ERROR_OUT_OF_MEMORY);
    allocate(1);
    ck_cuda(cu.stream_create(&stream, 0));
    ck_refused(cu.stream_create(&stream, 0), CUDA_ERROR_OPERATING_SYSTEM);
    ck_refused(cu.stream_create(&stream, 0), CUDA_ERROR_OPERATING_SYSTEM);
    ck_refused(cu.mem_free(it.memory), CUDA_ERROR_UNKNOWN);
    ck_cuda(cu.memset_d8_async(it.memory, 0, 1, NULL)); /* the rule is for another rank */
    ck_refused(cu.ipc_get_mem_handle(&(CUipcMemHandle){0}, it.memory), CUDA_ERROR_NOT_SUPPORTED);
    ck_cuda(cu.ipc_get_mem_handle(&(CUipcMemHandle){0}, it.memory));
    ck_assert_int_eq(calls("cuMemAlloc_v2"), 3);
}

/* A fault of the device comes with the work and ends the context; a new context works. */
TEST(device_faults_surface_later)
{
    unsigned char byte = 5;
    CUcontext ctx;

    setenv("FAKECUDA_FAIL", "cuMemcpyHtoDAsync_v2@2:719", 1);
    start();
    ck_cuda(cu.memcpy_htod_async(it.memory, &byte, 1, it.stream));
    ck_cuda(cu.stream_synchronize(it.stream));
    ck_cuda(cu.memcpy_htod_async(it.memory, &byte, 1, it.stream));
    ck_refused(cu.stream_synchronize(it.stream), CUDA_ERROR_LAUNCH_FAILED);
    ck_refused(cu.memcpy_dtoh(&byte, it.memory, 1), CUDA_ERROR_LAUNCH_FAILED);
    ck_refused(cu.mem_alloc(&(CUdeviceptr){0}, 1), CUDA_ERROR_LAUNCH_FAILED);
    ck_cuda(cu.ctx_pop_current(&ctx));
    ck_cuda(cu.primary_ctx_release(0));
    start();
}

/* ---- misuse -------------------------------------------------------------------------- */

static void read_device(void)
{
    fprintf(stderr, "%d", *(volatile char *)host(it.memory));
}

static void write_device(void)
{
    *(volatile char *)host(allocate(1 << 20) + 70000) = 1;
}

static void write_mapped(void)
{
    *(volatile char *)host(map_two(CU_MEM_ACCESS_FLAGS_PROT_READWRITE)) = 1;
}

static void free_twice(void)
{
    cu.mem_free(it.memory);
    cu.mem_free(it.memory);
}

static void fill_freed(void)
{
    cu.mem_free(it.memory);
    cu.memset_d8_async(it.memory + 100, 0, 1, NULL);
}

static void release_context_twice(void)
{
    cu.primary_ctx_release(0);
    cu.primary_ctx_release(0);
}

static void use_destroyed_context(void)
{
    cu.primary_ctx_release(0);
    allocate(1);
}

static void use_destroyed_stream(void)
{
    cu.stream_destroy(it.stream);
    cu.stream_synchronize(it.stream);
}

static void unregister_in_use(void)
{
    static char buffer[4096];

    cu.mem_host_register(buffer, KIB, 0);
    cu.memcpy_htod_async(it.memory, buffer, KIB, it.stream);
    cu.mem_host_unregister(buffer);
}

static void call_driver(void *user)
{
    cu.ctx_get_current(user);
}

static void use_driver_inside(void)
{
    CUcontext ctx;

    ck_cuda(cu.launch_host_func(NULL, call_driver, &ctx));
    cu.ctx_synchronize();
}

static void begin_capture(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;

    ck_cuda(cu.stream_is_capturing(stream, &status));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ck_cuda(cu.stream_begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    ck_cuda(cu.stream_is_capturing(stream, &status));
    ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
}

static void synchronize_captured(void)
{
    begin_capture(it.stream);
    cu.stream_synchronize(it.stream);
}

static void use_default_while_captured(void)
{
    begin_capture(it.blocking);
    cu.memset_d8_async(it.memory, 0, 1, NULL);
}

static void use_captured(void)
{
    begin_capture(it.stream);
    cu.memset_d8_async(it.memory, 0, 1, it.stream);
}

static void destroy_captured(void)
{
    begin_capture(it.stream);
    cu.stream_destroy(it.stream);
}

static void launch_without_twin(void)
{
    CUfunction bare;

    ck_cuda(cu.module_get_function(&bare, it.module, "bare"));
    launch(bare, it.memory);
}

static void launch_unloaded(void)
{
    ck_cuda(cu.module_unload(it.module));
    launch(it.mine, it.memory);
}

static void launch_on_freed(void)
{
    ck_cuda(cu.mem_free(it.memory));
    launch(it.mine, it.memory);
    cu.ctx_synchronize();
}

static void unload_under_kernel(void)
{
    launch(it.mine, it.memory);
    cu.module_unload(it.module);
}

static void free_under_kernel(void)
{
    launch(it.mine, it.words);
    cu.mem_free_host((void *)it.host_words);
}

static void use_without_access(void)
{
    cu.memset_d8_async(map_two(0) + MIB2, 0, 1, NULL);
}

static void use_second_without_access(void)
{
    cu.memset_d8_async(map_two(0), 0, 2 * MIB2, NULL);
}

static void write_to_read_only(void)
{
    CUdeviceptr at = map_two(CU_MEM_ACCESS_FLAGS_PROT_READ);
    char byte;

    ck_cuda(cu.memcpy_dtoh(&byte, at + MIB2, 1));
    cu.memset_d8_async(at + MIB2, 0, 1, NULL);
}

static void release_handle_twice(void)
{
    map_two(0);
    ck_cuda(cu.mem_release(it.handle));
    cu.mem_release(it.handle);
}

static void free_mapped_addresses(void)
{
    cu.mem_address_free(map_two(0), 3 * MIB2);
}

/* Unmaps one of two mappings under work that begins in the first and ends in the second. */
static void unmap_under_work(size_t which)
{
    CUdeviceptr at = map_two(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

    ck_cuda(cu.memset_d8_async(at, 0, 2 * MIB2, NULL));
    cu.mem_unmap(at + which * MIB2, MIB2);
}

static void unmap_first_under_work(void)
{
    unmap_under_work(0);
}

static void unmap_second_under_work(void)
{
    unmap_under_work(1);
}

static void use_unmapped(void)
{
    CUdeviceptr at = map_two(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

    ck_cuda(cu.mem_unmap(at, MIB2));
    cu.memset_d8_async(at, 0, 1, NULL);
}

static const struct {
    void (*body)(void);
    int signo;
    const char *words;
} misuses[] = {
    {read_device, SIGSEGV, ""},
    {write_device, SIGSEGV, ""},
    {write_mapped, SIGSEGV, ""},
    {free_twice, SIGABRT, "was freed already"},
    {fill_freed, SIGABRT, "cuMemsetD8Async: address"},
    {release_context_twice, SIGABRT, "more often than retained"},
    {use_destroyed_context, SIGABRT, "cuMemAlloc_v2: the current context"},
    {use_destroyed_stream, SIGABRT, "was destroyed"},
    {unregister_in_use, SIGABRT, "is unregistered while 1 operations"},
    {use_driver_inside, SIGABRT, "cuCtxGetCurrent: called by a host function"},
    {synchronize_captured, SIGABRT, "is being captured"},
    {use_default_while_captured, SIGABRT, "the default stream waits for stream"},
    {use_captured, SIGABRT, "is being captured"},
    {destroy_captured, SIGABRT, "is being captured"},
    {launch_without_twin, SIGABRT, "kernel bare has no host twin"},
    {launch_unloaded, SIGABRT, "was unloaded"},
    {launch_on_freed, SIGABRT, "was freed"},
    {unload_under_kernel, SIGABRT, "1 of its kernels are under way"},
    {free_under_kernel, SIGABRT, "is freed while 1 operations on it are under way"},
    {use_without_access, SIGABRT, "was not given access to write"},
    {use_second_without_access, SIGABRT, "was not given access to write"},
    {write_to_read_only, SIGABRT, "was not given access to write"},
    {release_handle_twice, SIGABRT, "was released"},
    {free_mapped_addresses, SIGABRT, "while memory is mapped there"},
    {unmap_first_under_work, SIGABRT, "1 operations on it are under way"},
    {unmap_second_under_work, SIGABRT, "1 operations on it are under way"},
    {use_unmapped, SIGABRT, "was unmapped"},
};

TEST_LOOP(misuse_is_loud, 0, COUNT(misuses))
{
    setenv("FAKECUDA_DELAY_US", "300000", 1); /* work is under way until the misuse */
    expect_signal(misuses[_i].body, misuses[_i].signo, misuses[_i].words);
}
