/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the spaces of the GPU kind on the fake CUDA driver: creation and destruction, the program's
 * current context, which stays unchanged, the kind of memory at an address, and the memory of other
 * PEs, which forked processes play. CTest runs the program as unit.cuda_space, with the fake driver
 * in LD_LIBRARY_PATH. A pass says nothing about a GPU.
 */
#include "cuda_test.h"

#include "spaces/address_range_table.h"

#include <pthread.h>

CUDA_TESTS

/* ---- life -------------------- */

TEST(a_thousand_spaces_leave_nothing)
{
    struct stp_queue *queue;
    struct stp_space space;
    unsigned char byte = 1;
    static char pinned[8192];

    start_with("2");
    ck_assert_int_eq(gpu->device->queue_create(&queue), 0);
    gpu->device->pin(pinned, sizeof(pinned));
    for (int i = 0; i < 1000; i++) {
        space_up(&space, 4096 * (1 + (size_t)i % 3), i % 2);
        ck_assert_int_eq(fake.contexts(i % 2), 1);
        ck_assert_int_eq(fake.live("registered"), 1);
        ck_assert_int_eq(gpu->device->copy(queue, space.base, &byte, 1, STP_COPY_LOCAL), 0);
        if (i % 5 == 0) ck_assert_int_eq(gpu->device->flush(queue), 0);
        space_down(&space);
        ck_nothing_left();
    }
    gpu->device->unpin(pinned, sizeof(pinned));
    gpu->device->queue_destroy(queue);
    gpu->stop();
    ck_nothing_left();
}

TEST(contexts_live_as_long_as_spaces)
{
    struct stp_space a, b;

    start_with("2");
    space_up(&a, MIB, 0);
    space_up(&b, MIB, 0);
    ck_assert_int_eq(fake.contexts(0) + 10 * fake.contexts(1), 1);
    space_down(&a);
    ck_assert_int_eq(fake.contexts(0), 1);
    space_up(&a, MIB, 1);
    ck_assert_int_eq(fake.contexts(0) + 10 * fake.contexts(1), 11);
    ck_assert(gpu->device->owns(a.base) && gpu->device->owns(b.base + MIB - 1));
    space_down(&b);
    ck_assert_int_eq(fake.contexts(0) + 10 * fake.contexts(1), 10);
    space_down(&a);
    ck_nothing_left();
}

static const char *const create_calls[] = {
    "cuDevicePrimaryCtxRetain:46", "cuCtxPushCurrent_v2:201",      "cuMemAlloc_v2:2",
    "cuMemAlloc_v2:999",           "cuDevicePrimaryCtxRetain:719",
};

TEST_LOOP(failed_creation_leaves_nothing, 0, (int)STP_COUNT(create_calls))
{
    struct stp_space_params params = params_of(MIB, -1);
    struct stp_space space;

    setenv("FAKECUDA_FAIL", create_calls[_i], 1);
    start_with("1");
    CAPTURE(ck_assert_int_ne(space_try(&space, &params), 0));
    ck_said("gpu 0");
    ck_nothing_left();
    ck_assert_int_eq(fake.live("stack"), 0);
    ck_assert_ptr_null(space.kind_data);
}

/* What others cannot map is no reason to fail. */
TEST(memory_that_cannot_be_shared)
{
    struct stp_space_params params = params_of(MIB, -1);
    struct stp_space space = {.kind = gpu, .nbytes = MIB, .max_bytes = MIB, .number = 9};
    struct stp_part_export share = {.valid = 1};

    setenv("FAKECUDA_FAIL", "cuIpcGetMemHandle:801", 1);
    start_with("1");
    CAPTURE(ck_assert_int_eq(gpu->create(&space, &params, &share), 0));
    ck_said("gpu space 9");
    ck_said("cuIpcGetMemHandle: CUDA_ERROR_NOT_SUPPORTED (801)");
    ck_assert_int_eq(share.valid, 0);
    ck_assert_int_eq(gpu->attach(&space, 1, &share), 0);
    ck_assert_ptr_null(gpu->device->reach(&space, 1));
    ck_assert_int_eq(gpu->attach(&space, NODE_PES, &share), -EINVAL);
    space_down(&space);
    ck_nothing_left();
}

/* A descriptor that begins at a page, and what the space has is from the offset on. */
TEST(memory_by_descriptor)
{
    struct stp_queue *queue;
    struct stp_space space;
    unsigned char sent[64], got[64];
    size_t offset = SIZE_MAX;
    int fd;

    memset(sent, 42, sizeof(sent));
    start_with("1");
    ck_assert_int_eq(gpu->device->queue_create(&queue), 0);
    space_up(&space, MIB, 0);
    ck_assert_int_eq(gpu->device->copy(queue, space.base, sent, sizeof(sent), STP_COPY_LOCAL), 0);
    ck_assert_int_eq(gpu->device->flush(queue), 0);
    ck_assert(gpu->device->push_context(&space));
    fd = gpu->device->dmabuf(space.base, space.nbytes, &offset);
    gpu->device->pop_context();
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(offset, (uintptr_t)space.base % (size_t)sysconf(_SC_PAGESIZE));
    ck_assert_int_ge(lseek(fd, (off_t)offset, SEEK_CUR), 0); /* the stand-in begins in its file */
    ck_assert_int_eq(read(fd, got, sizeof(got)), sizeof(got));
    ck_assert_mem_eq(got, sent, sizeof(got));
    close(fd);
    gpu->device->queue_destroy(queue);
    space_down(&space);
    ck_nothing_left();
}

/* No reason to fail, either: the provider gets the address. */
TEST(memory_that_has_no_descriptor)
{
    struct stp_space space;
    size_t offset;

    setenv("FAKECUDA_FAIL", "cuMemGetHandleForAddressRange:801", 1);
    start_with("1");
    space_up(&space, MIB, 0);
    ck_assert(gpu->device->push_context(&space));
    ck_assert_int_eq(gpu->device->dmabuf(space.base, space.nbytes, &offset), -1);
    gpu->device->pop_context();
    space_down(&space);
    ck_nothing_left();
}

/* ---- the program's current context -------------------- */

/* All there is, some of it refused on order. */
static void use_everything(void)
{
    struct stp_strided_copy rows = {.width = 8, .n = 4, .dest_pitch = 16, .source_pitch = 8};
    struct stp_space_params huge = params_of(200 * MIB, 0);
    struct stp_space space, refused;
    struct stp_queue *queue;
    unsigned char host[64] = {0};

    space_up(&space, MIB, 0);
    ck_assert_int_ne(space_try(&refused, &huge), 0); /* FAKECUDA_MEMORY */
    ck_assert_int_eq(gpu->device->queue_create(&queue), 0);
    (void)gpu->device->copy(queue, space.base, host, 64, STP_COPY_LOCAL);
    (void)gpu->device->copy(queue, host, space.base, 64, STP_COPY_REMOTE);
    (void)gpu->device->copy_rows(queue, space.base, host, &rows, STP_COPY_NONE);
    (void)gpu->device->flush(queue);
    (void)gpu->device->zero(queue, &space, 0, MIB);
    gpu->device->pin(host, sizeof(host));
    gpu->device->flush_remote();
    gpu->device->unpin(host, sizeof(host));
    gpu->device->queue_destroy(queue);
    space_down(&space);
}

TEST(current_context_is_kept)
{
    CUcontext own, now;

    setenv("FAKECUDA_MEMORY", "128m", 1);
    setenv("FAKECUDA_FAIL", "cuMemcpyDtoHAsync_v2@2:1,cuMemcpy2DAsync_v2:1,cuStreamCreate@3:2", 1);
    start_with("2");
    for (int i = 0; i < 2; i++) {
        use_everything();
        ck_cuda(driver.ctx_get_current(&now));
        ck_assert_ptr_null(now);
        ck_assert_int_eq(fake.live("stack"), 0);
    }
    ck_cuda(driver.ctx_create(&own, 0, 1));
    use_everything();
    ck_cuda(driver.ctx_get_current(&now));
    ck_assert_ptr_eq(now, own);
    ck_assert_int_eq(fake.live("stack"), 1);
    ck_cuda(driver.ctx_destroy(own));
    ck_nothing_left();
}

/* ---- what an address is -------------------- */

static int a_global;

static void *ask_on_thread(void *arg)
{
    int local = 0;

    (void)arg;
    for (int i = 0; i < 100; i++)
        if (gpu->device->owns(&local) || gpu->device->owns(&i)) return &a_global;
    return NULL;
}

TEST(usual_memory_is_told_without_the_driver)
{
    struct stp_space space;
    pthread_t thread;
    void *small, *wrong;
    int local = 0;
    long before;

    start_with("1");
    space_up(&space, MIB, -1);
    small = sbrk(4096); /* what malloc stands on */
    before = fake.calls("cuPointerGetAttribute");
    ck_assert(!gpu->device->owns(NULL) && !gpu->device->owns(&local) && !gpu->device->owns(small));
    ck_assert(!gpu->device->owns((void *)stp_win.base) && !gpu->device->owns(stp_win.view));
    ck_assert(!gpu->device->owns(stp_win.view + NODE_PES * stp_win.stride - 1));
    stp_data_segment.parts[0] =
        (struct stp_data_segment_part){(char *)&a_global, sizeof(a_global), 0};
    stp_data_segment.n_parts = 1;
    ck_assert(!gpu->device->owns(&a_global));
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_on_thread, NULL), 0);
    pthread_join(thread, &wrong);
    ck_assert_ptr_null(wrong);
    ck_assert(gpu->device->owns(space.base) && gpu->device->owns(space.base + MIB - 1));
    ck_assert_int_eq(fake.calls("cuPointerGetAttribute"), before);
    /* what aligned the base belongs to the device too */
    ck_assert(!gpu->device->owns(space.base + 4 * MIB) && !gpu->device->owns(space.base - 4 * MIB));
    space_down(&space);
}

TEST(other_memory_is_asked_for)
{
    char *mapped = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr managed;
    CUcontext ctx;
    char *memory;
    void *pinned;

    start_with("2");
    memory = private_memory(1, 1000);
    ck_cuda(api.primary_ctx_retain(&ctx, 0));
    ck_cuda(api.ctx_push_current(ctx));
    ck_cuda(driver.mem_alloc_managed(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    ck_cuda(api.mem_host_alloc(&pinned, 4096, 0));
    ck_assert(gpu->device->owns(memory) && gpu->device->owns(memory + 999));
    ck_assert_int_eq(stp_cuda_location(memory).device->ordinal, 1);
    ck_assert(!gpu->device->owns(memory + 1000) && !gpu->device->owns(mapped) &&
              !gpu->device->owns(ask_on_thread));
    ck_assert(!gpu->device->owns((void *)(uintptr_t)managed) && !gpu->device->owns(pinned));
    munmap(mapped, MIB);
}

/* More ranges than the table holds: then the driver knows. */
TEST(a_full_table_of_ranges)
{
    char *memory;
    size_t i;

    start_with("2");
    memory = private_memory(1, 5000);
    for (i = 0; i < STP_RANGES; i++)
        stp_cuda_range_add((char *)0x100000 + i * 16, 16, &stp_cuda.devices[0], false);
    stp_cuda_range_add(memory, 5000, &stp_cuda.devices[1], false);
    for (i = 0; i < 1024; i++) {
        ck_assert(gpu->device->owns((char *)0x100000 + i * 16 + 15));
        stp_cuda_range_remove((char *)0x100000 + ((i * 7) % 1024) * 16);
        ck_assert(!gpu->device->owns((char *)0x100000 + ((i * 7) % 1024) * 16));
        stp_cuda_range_add((char *)0x100000 + ((i * 7) % 1024) * 16, 16, &stp_cuda.devices[0],
                           false);
    }
    ck_assert_int_eq(stp_cuda_location(memory).device->ordinal, 1);
    stp_cuda_range_remove(memory); /* it is in none: nothing happens */
    ck_assert(gpu->device->owns((char *)0x100000 + (STP_RANGES - 1) * 16));
}

/* ---- memory of other PEs -------------------- */

/* The space of PE pe, known to all n. */
static void space_shared(struct stp_space *space, int pe, int n, void *buffer)
{
    struct stp_space_params params = {
        .nbytes = 64 * KIB, .device = -1, .buffer = buffer, .pe = pe, .n_pes = n};

    *space = (struct stp_space){
        .kind = gpu, .nbytes = params.nbytes, .max_bytes = params.nbytes, .number = 5};
    meeting->shares[pe] = (struct stp_part_export){.pe = pe};
    MUST(gpu->admit(&params) == 0 && gpu->create(space, &params, &meeting->shares[pe]) == 0);
    meet(n);
    for (int i = 0; i < n; i++)
        MUST(gpu->attach(space, i, &meeting->shares[i]) == 0);
}

static void space_unshared(struct stp_space *space, int n)
{
    gpu->device->detach(space);
    meet(n);
    gpu->destroy(space);
}

/* Each PE writes into the next one's part and reads the one after. */
static void pe_ring(int pe, int n)
{
    int next = (pe + 1) % n, second = (pe + 2) % n;
    unsigned char host[1000], back[1000];
    struct stp_queue *queue;
    struct stp_space space;
    char *there;

    start_with("2"); /* PEs 0 and 2 on one, 1 and 3 on the other */
    space_shared(&space, pe, n, pe == 1 ? (char *)private_memory(1, MIB) + 8 * KIB : NULL);
    MUST(gpu->device->queue_create(&queue) == 0);
    MUST(fake.calls("cuIpcOpenMemHandle_v2") == n - 1);
    there = gpu->device->reach(&space, next);
    MUST(there != NULL && gpu->device->reach(&space, next) == there && gpu->device->owns(there));
    MUST(gpu->device->reach(&space, pe) == space.base &&
         gpu->device->reach(&space, NODE_PES) == NULL);
    fill(host, sizeof(host), (unsigned)pe);
    MUST(gpu->device->copy(queue, there + 100, host, sizeof(host), STP_COPY_LOCAL) == 0);
    MUST(gpu->device->flush(queue) == 0);
    meet(n);
    MUST(is_filled(bytes_of(space.base + 100), sizeof(host), (unsigned)((pe + n - 1) % n)));
    MUST(gpu->device->copy(queue, back, (char *)gpu->device->reach(&space, second) + 100,
                           sizeof(back), STP_COPY_REMOTE) == 0);
    MUST(is_filled(back, sizeof(back), (unsigned)next));
    MUST(fake.calls("cuIpcOpenMemHandle_v2") == n - 1);
    /* a peer's memory is open in our device's context, whoever else takes part */
    MUST(gpu->device->copy(queue, private_memory(1 - space.device, 1000), there, 1000,
                           STP_COPY_REMOTE) == 0);
    MUST(queue->streams->device->ordinal == space.device && queue->streams->next == NULL);
    meet(n);
    MUST(gpu->device->copy(queue, there, host, sizeof(host), STP_COPY_LOCAL) == 0);
    space_unshared(&space, n); /* with something under way */
    gpu->device->queue_destroy(queue);
    gpu->stop();
    MUST(fake.live("ipc") == 0 && fake.live("stream") == 0 && fake.live("alloc") == 1 + (pe == 1));
}

TEST(pes_reach_each_other)
{
    ck_assert_int_eq(run_pes(4, pe_ring), 0);
}

static void pe_refused(int pe, int n)
{
    bool opens = stp_env.gpu_ipc;
    struct stp_space space;

    start_with("1");
    capture_begin(&said);
    space_shared(&space, pe, n, NULL);
    MUST(fake.calls("cuIpcOpenMemHandle_v2") == opens);
    MUST(gpu->device->reach(&space, 1 - pe) == NULL && gpu->device->reach(&space, 1 - pe) == NULL);
    capture_end(&said);
    MUST((strstr(said.text, "cannot map the part of PE") != NULL) == opens);
    MUST(fake.calls("cuIpcOpenMemHandle_v2") == opens);
    MUST(gpu->device->reach(&space, pe) == space.base);
    MUST(meeting->shares[pe].valid == opens);
    space_unshared(&space, n);
    MUST(fake.live("ctx") == 0);
}

TEST_LOOP(refused_once_and_for_all, 0, 2)
{
    stp_env.gpu_ipc = _i != 0;
    setenv("FAKECUDA_FAIL", "cuIpcOpenMemHandle_v2:801", 1);
    ck_assert_int_eq(run_pes(2, pe_refused), 0);
}
