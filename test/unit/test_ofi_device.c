/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the fabric module with device memory: registered, and as either end of puts, gets and puts
 * with signal. The program starts itself again with test/fakecuda as the driver and test/provider
 * in front of libfabric. These doubles end the program when the CPU touches device memory or the
 * provider gets device memory without a descriptor. CTest runs it as unit.ofi_device. A pass says
 * nothing about a GPU or an adapter.
 */
#include "ofi_pes.h"

#include "test/fakecuda/more.h"

#include <errno.h>

/* Each PE's memory of either kind: what peers put to, then what it puts from and gets to. */
enum { HALF = NBYTES / 2, DEVICE_REGION = 9, SECOND = 100 };

static struct fake_cuda_api cuda;
static CUdeviceptr device; /* NBYTES */
static long (*shim_count)(const char *what);

static void find_functions(void)
{
    void *driver = dlopen(STP_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    expect(driver != NULL, "dlopen to find the fake driver in lib/fakecuda");
#define FIND(member, symbol, required, arguments)                                                  \
    *(void **)&cuda.member = dlsym(driver, #symbol);                                               \
    expect(cuda.member != NULL || !(required), "the fake driver to have " #symbol);
    STP_CUDA_FUNCTIONS(FIND)
#undef FIND
#define FIND(member, symbol, arguments)                                                            \
    *(void **)&cuda.member = dlsym(driver, #symbol);                                               \
    expect(cuda.member != NULL, "the fake driver to have " #symbol);
    FAKE_DRIVER_FUNCTIONS(FIND)
#undef FIND
    *(void **)&shim_count = dlsym(RTLD_DEFAULT, "provshim_count");
    expect(shim_count != NULL, "lib/provider/libprovshim.so to be preloaded");
}

/* For others than the driver to read: a copy is done on return. */
static CUdeviceptr allocate(size_t nbytes)
{
    const unsigned on = 1;
    CUdeviceptr address;

    expect(cuda.mem_alloc(&address, nbytes) == CUDA_SUCCESS, "cuMemAlloc to succeed");
    expect(cuda.pointer_set_attribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address) ==
               CUDA_SUCCESS,
           "cuPointerSetAttribute(SYNC_MEMOPS) to succeed");
    return address;
}

/* A driver of this PE alone: it does not survive a fork. */
static void open_device(void)
{
    CUcontext context;

    find_functions();
    expect(cuda.init(0) == CUDA_SUCCESS, "cuInit to succeed");
    expect(cuda.primary_ctx_retain(&context, 0) == CUDA_SUCCESS,
           "cuDevicePrimaryCtxRetain to succeed");
    expect(cuda.ctx_set_current(context) == CUDA_SUCCESS, "cuCtxSetCurrent to succeed");
    device = allocate(NBYTES);
}

static int add_device(unsigned number, CUdeviceptr base, size_t nbytes)
{
    struct stp_fabric_region *mine = &world->parts[me];

    return fabric.region_add(number, (void *)(uintptr_t)base, nbytes, STP_MEMORY_CUDA, 0, mine);
}

static void come_up_with_device(void)
{
    open_device();
    expect(add_device(DEVICE_REGION, device, NBYTES) == 0,
           "region_add of device memory to return 0");
    meet();
    if (fabric.peer_table)
        expect(fabric.region_peers(DEVICE_REGION, world->parts) == 0, "region_peers to return 0");
    meet();
}

/* ---- bytes ------------------------------------------------------------------ */

static char *place(bool in_device, size_t offset)
{
    return (char *)(in_device ? (uintptr_t)device : (uintptr_t)memory) + offset;
}

static void write_bytes(bool in_device, size_t offset, const unsigned char *bytes, size_t n)
{
    char *at = place(in_device, offset);

    if (!in_device)
        memcpy(at, bytes, n);
    else
        expect(cuda.memcpy_htod((uintptr_t)at, bytes, n) == CUDA_SUCCESS,
               "cuMemcpyHtoD to succeed");
}

static void read_bytes(bool in_device, size_t offset, unsigned char *bytes, size_t n)
{
    char *at = place(in_device, offset);

    if (!in_device)
        memcpy(bytes, at, n);
    else
        expect(cuda.memcpy_dtoh(bytes, (uintptr_t)at, n) == CUDA_SUCCESS,
               "cuMemcpyDtoH to succeed");
}

/* Bytes that tell whose they are and of which transfer; salt 0 is nobody's. */
static void fill(bool in_device, size_t offset, size_t n, int pe, unsigned salt)
{
    static unsigned char bytes[HALF];

    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 7 + salt * 13 + (unsigned)pe * 61);
    write_bytes(in_device, offset, bytes, n);
}

static bool holds(bool in_device, size_t offset, size_t n, int pe, unsigned salt)
{
    static unsigned char bytes[HALF];

    read_bytes(in_device, offset, bytes, n);
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != (unsigned char)(i * 7 + salt * 13 + (unsigned)pe * 61)) return false;
    return true;
}

/* ---- transfers ---------------------------------------------------------------- */

struct transfer {
    bool local_device, remote_device, nbi;
    size_t nbytes;
    int to, from; /* this PE's partner, and whose partner it is */
    unsigned salt;
};

static void say(char text[128], const char *what, const struct transfer *t)
{
    snprintf(text, 128, "%s of %zu bytes, %s here, %s there, %s, partner %d", what, t->nbytes,
             t->local_device ? "device" : "host", t->remote_device ? "device" : "host",
             t->nbi ? "nbi" : "blocking", t->to);
}

static void put_and_check(const struct transfer *t)
{
    unsigned number = t->remote_device ? DEVICE_REGION : REGION;
    const char *source = place(t->local_device, HALF);
    char text[128];

    fill(t->local_device, HALF, t->nbytes, me, t->salt);
    if (t->nbi) {
        fabric.put(ctx, TARGET(t->to, number, 0), source, t->nbytes, true);
        fabric.quiet(ctx);
    } else {
        fabric.put(ctx, TARGET(t->to, number, 0), source, t->nbytes, false);
        fill(t->local_device, HALF, t->nbytes, me, 0); /* on return source is free */
        fabric.quiet(ctx);
    }
    meet();
    say(text, "put", t);
    expect(holds(t->remote_device, 0, t->nbytes, t->from, t->salt), text);
    meet();
}

static void get_and_check(const struct transfer *t)
{
    unsigned number = t->remote_device ? DEVICE_REGION : REGION;
    char *dest = place(t->local_device, HALF);
    char text[128];

    fill(t->remote_device, 0, t->nbytes, me, t->salt);
    fill(t->local_device, HALF, t->nbytes, me, 0);
    meet();
    if (t->nbi) {
        fabric.get(ctx, TARGET(t->to, number, 0), dest, t->nbytes, true);
        fabric.quiet(ctx);
    } else {
        fabric.get(ctx, TARGET(t->to, number, 0), dest, t->nbytes, false);
    }
    say(text, "get", t);
    expect(holds(t->local_device, HALF, t->nbytes, t->to, t->salt), text);
    meet();
}

/* Every pair of kinds, with a peer and with itself, below and above what is copied and inlined. */
static void transfers(void)
{
    static const size_t sizes[] = {1, 8, 100, 8192, 20000};
    unsigned salt = 1;

    come_up_with_device();
    for (int i = 0; i < 16; i++) {
        for (unsigned k = 0; k < STP_COUNT(sizes); k++) {
            int shift = i & 8 ? 0 : 1;
            struct transfer t = {.local_device = i & 1,
                                 .remote_device = i & 2,
                                 .nbi = i & 4,
                                 .nbytes = sizes[k],
                                 .to = (me + shift) % PES,
                                 .from = (me + PES - shift) % PES,
                                 .salt = salt++};

            put_and_check(&t);
            get_and_check(&t);
        }
    }
    expect(shim_count("device_regions") == 1, "the provider to have one region of device memory");
    expect(shim_count("device_buffers") > 0, "the provider to get buffers of device memory");
    fabric.region_remove(DEVICE_REGION);
    expect(shim_count("device_regions") == 0, "no region of device memory after region_remove");
    go_down();
}

/* Data from device memory is there when its signal is: blocking, nbi, and to oneself. */
static void signals(void)
{
    enum { N = 200, WORD = HALF - 8 };
    uint64_t *word = (uint64_t *)place(false, WORD);
    size_t n = 4096;

    come_up_with_device();
    for (unsigned i = 1; i <= N; i++) {
        int shift = i % 8 == 0 ? 0 : 1;

        fill(true, HALF, n, me, i);
        fabric.put_signal(ctx, TARGET((me + shift) % PES, REGION, 0), place(true, HALF), n,
                          TARGET((me + shift) % PES, REGION, WORD), i, STP_AMO_SET, i % 2);
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != i)
            fabric.progress();
        expect(holds(false, 0, n, (me + PES - shift) % PES, i),
               "the data to arrive before its signal");
        fabric.quiet(ctx);
        meet();
    }
    go_down();
}

/* Buffers are told apart at both ends of regions that come and go in any order. */
static void many_regions(void)
{
    enum { N = 6, SIZE = 4096 };
    static const int order[N] = {3, 0, 5, 1, 4, 2};
    CUdeviceptr base[N];
    int to = (me + 1) % PES, from = (me + PES - 1) % PES;

    come_up_with_device();
    for (int i = 0; i < N; i++)
        base[i] = allocate(SIZE);
    for (int i = 0; i < N; i++)
        expect(add_device(SECOND + (unsigned)order[i], base[order[i]], SIZE) == 0,
               "region_add to return 0");
    for (int i = 0; i < N; i++) {
        for (int end = 0; end < 2; end++) {
            unsigned char byte = (unsigned char)(me * 16 + i * 2 + end);
            CUdeviceptr at = base[order[i]] + (CUdeviceptr)(end ? SIZE - 1 : 0);

            expect(cuda.memcpy_htod(at, &byte, 1) == CUDA_SUCCESS, "cuMemcpyHtoD to succeed");
            fabric.put(ctx, TARGET(to, REGION, (size_t)(i * 2 + end)), (void *)(uintptr_t)at, 1,
                       false);
        }
        fabric.quiet(ctx);
        fabric.region_remove(SECOND + (unsigned)order[i]);
        expect(cuda.mem_free(base[order[i]]) == CUDA_SUCCESS, "cuMemFree to succeed");
    }
    meet();
    for (int i = 0; i < 2 * N; i++)
        expect(((unsigned char *)memory)[i] == from * 16 + i,
               "the first and the last byte of each region of the previous PE");
    go_down();
}

/* The provider has FI_HMEM, but does not take this memory. */
static void refusal(void)
{
    uint64_t value = (uint64_t)me + 1;

    setenv("PROVSHIM_REFUSE", "all", 1);
    open_device();
    expect(add_device(DEVICE_REGION, device, NBYTES) == -EOPNOTSUPP,
           "region_add of device memory to return -EOPNOTSUPP");
    expect(shim_count("device_refused") == 1, "one registration that the provider refused");
    expect(world->text[0] == '\0', "no message about the refusal");
    fabric.put(ctx, TARGET((me + 1) % PES, REGION, 0), &value, sizeof(value), false);
    fabric.quiet(ctx);
    meet();
    expect(memory[0] == (uint64_t)((me + PES - 1) % PES) + 1,
           "a put between host memory to arrive");
    go_down();
}

/* PEs with and without devices opened the provider in different ways, and still meet. */
static void mixture(void)
{
    int to = (me + 1) % PES, from = (me + PES - 1) % PES;
    size_t n = 20000;

    if (core.devices) {
        come_up_with_device();
        fill(true, HALF, n, me, 1);
        fabric.put(ctx, TARGET(to, REGION, 0), place(true, HALF), n, false);
    } else {
        open_device();
        expect(add_device(DEVICE_REGION, device, NBYTES) == -EOPNOTSUPP,
               "region_add of device memory to return -EOPNOTSUPP");
        meet();
        meet();
        fill(false, HALF, n, me, 1);
        fabric.put(ctx, TARGET(to, DEVICE_REGION, 0), place(false, HALF), n, false);
    }
    fabric.quiet(ctx);
    meet();
    expect(holds(core.devices, 0, n, from, 1), "the data of a PE that has no device, or has one");
    go_down();
}

static void (*const bodies[])(void) = {transfers, signals, many_regions, refusal, mixture};

TEST_CASE(bodies, setup, NULL)

TEST_LOOP(device_memory, 0, STP_COUNT(bodies))
{
    int status;

    core.devices = true;
    device_step = bodies[_i] == mixture ? 2 : 1;
    status = run("tcp", bodies[_i]);
    ck_assert_msg(status == 0, "a PE ended with wait status %#x; messages: %s", (unsigned)status,
                  world->text);
}

int main(int argc, char **argv)
{
    (void)argc;
    setenv("PROVSHIM", "hmem", 1);
    prepend("LD_LIBRARY_PATH", "lib/fakecuda");
    need_provider(argv);
    return unit_run();
}
