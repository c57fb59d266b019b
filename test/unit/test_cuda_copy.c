/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the copies of the GPU kind on the fake CUDA driver, whose streams do their work late: all
 * directions between all kinds of memory, strided rows, order, small sources, several threads, and
 * failures of the driver. CTest runs the program as unit.cuda_copy, with the fake driver in
 * LD_LIBRARY_PATH. A pass says nothing about a GPU.
 */
#include "cuda_test.h"

#include <pthread.h>

#define SPACE_BYTES (4 * MIB)

CUDA_TESTS

static struct stp_space first, second; /* on gpu 0 and gpu 1 */
static struct stp_queue *queue;
static unsigned char *source_bytes, *dest_bytes; /* host memory that the driver does not know */

static void spaces_up(void)
{
    start_with("2");
    space_up(&first, SPACE_BYTES, 0);
    space_up(&second, SPACE_BYTES, 1);
    ck_assert_int_eq(gpu->device->queue_create(&queue), 0);
    source_bytes =
        mmap(NULL, 2 * SPACE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    dest_bytes = source_bytes + SPACE_BYTES;
}

static void spaces_down(void)
{
    gpu->device->queue_destroy(queue);
    space_down(&first);
    space_down(&second);
    ck_nothing_left();
    ck_assert_int_eq(fake.live("stack"), 0);
    gpu->stop();
}

/* ---- directions and ends -------------------------------------------------------------- */

/* Memory of a sort: what copies get, and where a test sees the bytes. */
enum sort { HOST, FIRST, SECOND, PRIVATE, PINNED, MANAGED, N_SORTS };

struct memory {
    void *at;
    unsigned char *bytes;
};

static struct memory memory_of(enum sort sort, bool dest)
{
    static void *private, *pinned, *managed;
    size_t at = dest ? SPACE_BYTES / 2 + 3 : 1; /* of no alignment */
    CUdeviceptr address;
    CUcontext ctx;
    void *memory = NULL;

    if (private == NULL) {
        private = private_memory(1, SPACE_BYTES);
        ck_cuda(api.primary_ctx_retain(&ctx, 0));
        ck_cuda(api.ctx_push_current(ctx));
        ck_cuda(api.mem_host_alloc(&pinned, SPACE_BYTES, CU_MEMHOSTALLOC_PORTABLE));
        ck_cuda(driver.mem_alloc_managed(&address, SPACE_BYTES, CU_MEM_ATTACH_GLOBAL));
        ck_cuda(api.ctx_pop_current(&ctx));
        managed = (void *)(uintptr_t)address;
    }
    switch (sort) {
    case HOST:
        memory = source_bytes;
        break;
    case FIRST:
        memory = first.base;
        break;
    case SECOND:
        memory = second.base;
        break;
    case PRIVATE:
        memory = private;
        break;
    case PINNED:
        memory = pinned;
        break;
    default:
        memory = managed;
        break;
    }
    memory = (char *)memory + at;
    return (struct memory){memory, gpu->device->owns(memory) ? bytes_of(memory) : memory};
}

static void check_copy(const struct memory *to, const struct memory *from, size_t nbytes,
                       enum stp_copy_completion end, unsigned seed)
{
    fill(from->bytes, nbytes, seed);
    memset(to->bytes, 0, nbytes);
    ck_assert_int_eq(gpu->device->copy(queue, to->at, from->at, nbytes, end), 0);
    if (end == STP_COPY_LOCAL) memset(from->bytes, 0xee, nbytes);
    if (end != STP_COPY_REMOTE) ck_assert_int_eq(gpu->device->flush(queue), 0);
    ck_assert_msg(is_filled(to->bytes, nbytes, seed),
                  "wrong data after a copy with completion %d of %zu bytes", end, nbytes);
}

TEST(all_directions_and_ends)
{
    static const size_t sizes[] = {1, 8, 100, CUDA_SMALL, CUDA_SMALL + 1, 70000, MIB};

    spaces_up();
    for (int from = 0; from < N_SORTS; from++) {
        for (int to = 0; to < N_SORTS; to++) {
            struct memory source = memory_of((enum sort)from, false);
            struct memory dest = memory_of((enum sort)to, true);
            if (!gpu->device->owns(source.at) && !gpu->device->owns(dest.at)) continue;
            for (size_t i = 0; i < STP_COUNT(sizes); i++)
                for (int end = STP_COPY_NONE; end <= STP_COPY_REMOTE; end++)
                    for (unsigned times = 0; times < 3; times++)
                        check_copy(&dest, &source, sizes[i], (enum stp_copy_completion)end, times);
        }
    }
}

TEST(nothing_to_copy)
{
    struct stp_strided_copy none = {.width = 8, .n = 0, .dest_pitch = 8, .source_pitch = 8};

    spaces_up();
    ck_assert_int_eq(gpu->device->copy(queue, first.base, source_bytes, 0, STP_COPY_REMOTE), 0);
    ck_assert_int_eq(gpu->device->copy(queue, first.base, first.base, 100, STP_COPY_REMOTE), 0);
    ck_assert_int_eq(
        gpu->device->copy_rows(queue, first.base, source_bytes, &none, STP_COPY_REMOTE), 0);
    none.n = 3;
    none.width = 0;
    ck_assert_int_eq(
        gpu->device->copy_rows(queue, first.base, source_bytes, &none, STP_COPY_REMOTE), 0);
    ck_assert_int_eq(gpu->device->flush(queue), 0);
    CAPTURE(ck_assert_int_eq(gpu->device->copy(queue, dest_bytes, source_bytes, 8, STP_COPY_REMOTE),
                             -EINVAL));
    ck_said("is device memory");
    gpu->device->queue_destroy(NULL);
    spaces_down();
}

/* Issued copies return before they are done, and a flush without any asks nobody. */
TEST(flush_waits_for_what_is_dirty)
{
    int n_late = 0;
    long before;

    setenv("FAKECUDA_DELAY_US", "2000", 1);
    spaces_up();
    for (int i = 0; i < 10; i++) {
        bytes_of(first.base)[0] = 0;
        source_bytes[0] = 1;
        ck_assert_int_eq(gpu->device->copy(queue, first.base, source_bytes, 1, STP_COPY_NONE), 0);
        n_late += *(volatile unsigned char *)bytes_of(first.base) == 0;
        ck_assert_int_eq(gpu->device->flush(queue), 0);
        ck_assert_int_eq(bytes_of(first.base)[0], 1);
    }
    ck_assert_int_gt(n_late, 5);
    before = fake.calls("cuStreamSynchronize");
    ck_assert_int_eq(gpu->device->flush(queue), 0);
    ck_assert_int_eq(fake.calls("cuStreamSynchronize"), before);
    spaces_down();
}

/* One source for very many puts: copied aside, with few waits in between. */
TEST(small_sources_are_reused_at_once)
{
    enum { N = 20000 };
    uint64_t value, back;
    long waits;

    setenv("FAKECUDA_DELAY_US", "0", 1);
    spaces_up();
    waits = fake.calls("cuStreamSynchronize");
    for (uint64_t i = 0; i < N; i++) {
        value = i * 3;
        ck_assert_int_eq(gpu->device->copy(queue, first.base + 8 * i, &value, 8, STP_COPY_LOCAL),
                         0);
    }
    ck_assert_int_eq(gpu->device->flush(queue), 0);
    waits = fake.calls("cuStreamSynchronize") - waits;
    ck_assert_int_gt(waits, 1);
    ck_assert_int_lt(waits, 50);
    for (uint64_t i = 0; i < N; i++) {
        memcpy(&back, bytes_of(first.base) + 8 * i, 8);
        ck_assert_uint_eq(back, i * 3);
    }
    ck_assert_int_eq(fake.live("host"), 2); /* of each device that has a space */
    spaces_down();
}

TEST(without_pinned_memory_sources_are_waited_for)
{
    struct memory to, from;

    setenv("FAKECUDA_FAIL", "cuMemHostAlloc:2", 1);
    spaces_up();
    to = (struct memory){first.base, bytes_of(first.base)};
    from = (struct memory){source_bytes, source_bytes};
    for (unsigned i = 0; i < 50; i++)
        check_copy(&to, &from, 64, STP_COPY_LOCAL, i);
    spaces_down();
}

/* From device to device and back, each step on another one's stream. */
TEST(a_queue_keeps_its_order)
{
    spaces_up();
    for (unsigned i = 0; i < 100; i++) {
        unsigned char byte = (unsigned char)(i + 1);
        ck_assert_int_eq(gpu->device->copy(queue, first.base, &byte, 1, STP_COPY_LOCAL), 0);
        ck_assert_int_eq(gpu->device->copy(queue, second.base, first.base, 1, STP_COPY_NONE), 0);
        ck_assert_int_eq(gpu->device->copy(queue, first.base + 1, second.base, 1, STP_COPY_NONE),
                         0);
        ck_assert_int_eq(gpu->device->copy(queue, dest_bytes, first.base + 1, 1, STP_COPY_NONE), 0);
        ck_assert_int_eq(gpu->device->flush(queue), 0);
        ck_assert_int_eq(dest_bytes[0], byte);
    }
    ck_assert_int_eq(fake.live("stream"), 2);
    spaces_down();
}

/* ---- rows ------------------------------------------------------------------------------ */

static void check_rows(char *dest, const unsigned char *dest_seen, const unsigned char *source,
                       unsigned char *source_seen, const struct stp_strided_copy *rows,
                       enum stp_copy_completion end)
{
    size_t extent = (rows->n - 1) * rows->source_pitch + rows->width;
    unsigned char *copy = malloc(extent);
    unsigned char *whole = malloc(rows->n * rows->dest_pitch);

    fill(source_seen, extent, (unsigned)rows->n);
    memcpy(copy, source_seen, extent);
    memcpy(whole, dest_seen, rows->n * rows->dest_pitch);
    for (size_t i = 0; i < rows->n; i++)
        memcpy(whole + i * rows->dest_pitch, copy + i * rows->source_pitch, rows->width);
    ck_assert_int_eq(gpu->device->copy_rows(queue, dest, source, rows, end), 0);
    if (end == STP_COPY_LOCAL) memset(source_seen, 0x55, extent);
    if (end != STP_COPY_REMOTE) ck_assert_int_eq(gpu->device->flush(queue), 0);
    ck_assert_msg(
        memcmp(whole, dest_seen, rows->n * rows->dest_pitch) == 0,
        "wrong data after a copy of rows: width %zu, %zu rows, pitches %zu and %zu, completion %d",
        rows->width, rows->n, rows->dest_pitch, rows->source_pitch, end);
    free(copy);
    free(whole);
}

static const struct stp_strided_copy shapes[] = {
    {8, 1, 8, 8},       {8, 100, 8, 8},     {8, 100, 24, 8}, {8, 100, 8, 40},
    {4, 1000, 12, 20},  {4, 2000, 4, 8},    {1, 4096, 3, 2}, {3000, 100, 5000, 3001},
    {100, 40, 100, 99}, {100, 7, 1000, 50}, /* rows of the source overlap */
};

/* With what the driver refuses, or a limit, there are more calls and the same bytes. */
static const char *const row_rules[] = {"", "cuMemcpy2DAsync_v2:1", "cuMemHostAlloc:2", "pitch"};

TEST_LOOP(rows_of_all_shapes, 0, (int)STP_COUNT(row_rules))
{
    setenv("FAKECUDA_FAIL", strchr(row_rules[_i], ':') ? row_rules[_i] : "", 1);
    setenv("FAKECUDA_DELAY_US", "0", 1);
    spaces_up();
    if (strcmp(row_rules[_i], "pitch") == 0) stp_cuda.devices[0].max_pitch = 32;
    for (size_t i = 0; i < STP_COUNT(shapes); i++) {
        for (int end = STP_COPY_NONE; end <= STP_COPY_REMOTE; end++) {
            check_rows(first.base, bytes_of(first.base), source_bytes, source_bytes, &shapes[i],
                       (enum stp_copy_completion)end);
            check_rows((char *)dest_bytes, dest_bytes, (unsigned char *)first.base,
                       bytes_of(first.base), &shapes[i], (enum stp_copy_completion)end);
            check_rows(second.base, bytes_of(second.base), (unsigned char *)first.base,
                       bytes_of(first.base), &shapes[i], (enum stp_copy_completion)end);
        }
    }
    spaces_down();
}

TEST(rows_take_one_call)
{
    struct stp_strided_copy rows = {.width = 8, .n = 500, .dest_pitch = 800, .source_pitch = 16};
    long waits;

    spaces_up();
    for (int i = 0; i < 2; i++) {
        waits = fake.calls("cuStreamSynchronize");
        ck_assert_int_eq(
            gpu->device->copy_rows(queue, first.base, source_bytes, &rows, STP_COPY_LOCAL), 0);
        ck_assert_int_eq(fake.calls("cuMemcpy2DAsync_v2"), i + 1);
        ck_assert_int_eq(fake.calls("cuStreamSynchronize") - waits, i); /* 4000 and 40000 bytes */
        rows.n = 5000;
    }
    stp_cuda.devices[0].max_pitch = 799; /* now a call a row */
    rows.n = 30;
    ck_assert_int_eq(
        gpu->device->copy_rows(queue, first.base, source_bytes, &rows, STP_COPY_REMOTE), 0);
    ck_assert_int_eq(fake.calls("cuMemcpy2DAsync_v2"), 2);
    ck_assert_int_eq(fake.calls("cuMemcpyHtoDAsync_v2"), 30);
    spaces_down();
}

/* ---- threads --------------------------------------------------------------------------- */

enum { N_THREADS = 4, N_PUTS = 300 };

static void *put_on_thread(void *arg)
{
    size_t me = (size_t)(uintptr_t)arg;

    for (size_t i = 0; i < N_PUTS; i++) {
        uint64_t value = me * N_PUTS + i;
        struct stp_space *space = i % 2 ? &first : &second;
        if (gpu->device->copy(queue, space->base + 8 * value, &value, 8, STP_COPY_LOCAL) != 0)
            return arg;
        if (i % 50 == 0 && gpu->device->flush(queue) != 0) return arg;
    }
    return gpu->device->flush(queue) == 0 ? NULL : arg;
}

TEST(threads_share_a_queue)
{
    pthread_t threads[N_THREADS];
    void *failed;
    uint64_t back;

    spaces_up();
    for (size_t i = 0; i < N_THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, put_on_thread, (void *)i), 0);
    for (size_t i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    for (size_t i = 0; i < N_THREADS * N_PUTS; i++) {
        memcpy(&back, bytes_of((i % N_PUTS) % 2 ? first.base : second.base) + 8 * i, 8);
        ck_assert_uint_eq(back, i);
    }
    spaces_down();
}

static atomic_bool stop_churning;

static void *churn(void *arg)
{
    struct stp_space space;

    while (!atomic_load(&stop_churning)) {
        space_up(&space, 4096, 1);
        ck_assert_int_eq(gpu->device->zero(queue, &space, 0, 4096), 0);
        space_down(&space);
    }
    return arg;
}

/* The last space of a device goes while another thread copies private memory on it. */
TEST(spaces_go_while_others_copy)
{
    struct memory to, from;
    pthread_t thread;

    spaces_up();
    space_down(&second);
    to = memory_of(PRIVATE, true);
    from = memory_of(HOST, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, churn, NULL), 0);
    for (unsigned i = 0; i < 300; i++)
        check_copy(&to, &from, 64, (enum stp_copy_completion)(i % 3), i);
    atomic_store(&stop_churning, true);
    pthread_join(thread, NULL);
}

/* ---- the rest of the row ------------------------------------------------------------------ */

TEST(zero_is_done_on_return)
{
    spaces_up();
    for (int i = 0; i < 50; i++) {
        unsigned char *bytes = bytes_of(first.base);
        memset(bytes, 7, 100);
        ck_assert_int_eq(gpu->device->zero(queue, &first, 10, 80), 0);
        for (int k = 0; k < 100; k++)
            ck_assert_int_eq(bytes[k], k < 10 || k >= 90 ? 7 : 0);
    }
    ck_assert_int_eq(gpu->device->zero(queue, &first, SPACE_BYTES, 0), 0);
    spaces_down();
}

TEST(pinned_while_a_context_is_up)
{
    static char buffer[8192];

    start_with("2");
    gpu->device->pin(buffer, sizeof(buffer));
    ck_assert_int_eq(fake.live("registered"), 0);
    space_up(&first, 4096, 0);
    ck_assert_int_eq(fake.live("registered"), 1);
    space_up(&second, 4096, 1);
    space_down(&first); /* the other context takes over */
    ck_assert_int_eq(fake.live("registered"), 1);
    ck_assert_int_eq(fake.contexts(0), 0);
    gpu->device->unpin(buffer + 1, 1); /* never pinned */
    gpu->device->unpin(buffer, sizeof(buffer));
    ck_assert_int_eq(fake.live("registered"), 0);
    gpu->device->pin(buffer, sizeof(buffer));
    ck_assert_int_eq(fake.live("registered"), 1);
    space_down(&second);
    ck_nothing_left();
    gpu->device->unpin(buffer, sizeof(buffer));
    gpu->stop();
}

TEST(writes_of_adapters_are_flushed)
{
    start_with("2");
    gpu->device->flush_remote();
    ck_assert_int_eq(fake.calls("cuFlushGPUDirectRDMAWrites"), 0);
    space_up(&first, 4096, 1);
    gpu->device->flush_remote();
    ck_assert_int_eq(fake.calls("cuFlushGPUDirectRDMAWrites"), 1);
    space_down(&first);
    ck_nothing_left();
}

/* ---- failures ------------------------------------------------------------------------------- */

static int n_lines(const char *text)
{
    int n = 0;

    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

static const struct {
    const char *rule;
    size_t nbytes;
    bool to_host;
    const char *words;
} refusals[] = {
    {"cuMemcpyHtoDAsync_v2:1", 8, false, "gpu 0: cuMemcpyHtoDAsync: CUDA_ERROR_INVALID_VALUE (1)"},
    {"cuMemcpyHtoDAsync_v2:1", MIB, false, "cuMemcpyHtoDAsync"},
    {"cuMemcpyDtoHAsync_v2:999", 8, true, "cuMemcpyDtoHAsync: CUDA_ERROR_UNKNOWN (999)"},
    {"cuStreamCreate:46", 8, false, "cuStreamCreate: CUDA_ERROR_DEVICE_UNAVAILABLE (46)"},
    {"cuCtxPushCurrent_v2@7:201", 8, false, "cuCtxPushCurrent: CUDA_ERROR_INVALID_CONTEXT (201)"},
};

TEST_LOOP(refused_copies_say_so, 0, (int)STP_COUNT(refusals))
{
    void *dest, *source;

    setenv("FAKECUDA_FAIL", refusals[_i].rule, 1);
    spaces_up();
    dest = refusals[_i].to_host ? (void *)dest_bytes : first.base;
    source = refusals[_i].to_host ? first.base : (void *)source_bytes;
    CAPTURE(ck_assert_int_eq(
        gpu->device->copy(queue, dest, source, refusals[_i].nbytes, STP_COPY_LOCAL), -EIO));
    ck_said(refusals[_i].words);
    ck_assert_int_eq(n_lines(said.text), 1);
    ck_assert_int_eq(fake.live("stack"), 0);
}

/* An error that comes with the work: at the next wait. Everything fails then, with one line. */
TEST(a_lost_device)
{
    struct stp_strided_copy rows = {.width = 8, .n = 4, .dest_pitch = 16, .source_pitch = 8};
    struct stp_space_params params = params_of(4096, 0);
    struct stp_space third = {.kind = gpu, .nbytes = 4096, .max_bytes = 4096};
    struct stp_part_export share;

    setenv("FAKECUDA_FAIL", "cuMemcpyHtoDAsync_v2@2:719", 1);
    spaces_up();
    ck_assert_int_eq(gpu->device->copy(queue, first.base, source_bytes, 8, STP_COPY_LOCAL), 0);
    ck_assert_int_eq(gpu->device->copy(queue, first.base, source_bytes, 8, STP_COPY_NONE), 0);
    capture_begin(&said);
    ck_assert_int_eq(gpu->device->flush(queue), -EIO);
    ck_assert_int_eq(gpu->device->flush(queue), -EIO);
    ck_assert_int_eq(gpu->device->copy(queue, first.base, source_bytes, 8, STP_COPY_LOCAL), -EIO);
    ck_assert_int_eq(gpu->device->copy(queue, dest_bytes, first.base, MIB, STP_COPY_REMOTE), -EIO);
    ck_assert_int_eq(
        gpu->device->copy_rows(queue, first.base, source_bytes, &rows, STP_COPY_REMOTE), -EIO);
    ck_assert_int_eq(gpu->create(&third, &params, &share), -EIO);
    gpu->device->flush_remote();
    capture_end(&said);
    ck_said("gpu 0: cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719): work on the "
            "device failed; this PE can no longer use the device");
    ck_assert_int_eq(n_lines(said.text), 1);
    gpu->device->queue_destroy(queue);
    ck_assert_int_eq(gpu->device->queue_create(&queue), 0);
    ck_assert_int_eq(gpu->device->copy(queue, second.base, source_bytes, 8, STP_COPY_LOCAL), 0);
    ck_assert_int_eq(gpu->device->flush(queue), 0); /* the other one lives */
    gpu->device->queue_destroy(queue);
    space_down(&first);
    space_down(&second);
    ck_assert_int_eq(fake.live("ctx") + fake.live("stack"), 0);
    gpu->stop();
    gpu->device->start(); /* a context of its own again */
    space_up(&first, 4096, 0);
    space_down(&first);
}

TEST(zeros_that_cannot_be_written)
{
    setenv("FAKECUDA_FAIL", "cuMemsetD8Async:1", 1);
    spaces_up();
    ck_assert_int_eq(gpu->device->zero(queue, &first, 0, 8), -EIO);
    spaces_down();
}

/* For queues of before and of after the first space; the last one takes them along. */
TEST_LOOP(streams_are_there_before_copies, 0, 2)
{
    struct stp_queue *before, *after;
    struct stp_space space;
    char small[100] = {0};

    stp_env.gpu_ipc = _i == 0;
    start_with("2");
    ck_assert_int_eq(gpu->device->queue_create(&before), 0);
    ck_assert_int_eq(fake.live("stream"), 0);
    space_up(&space, MIB, 1);
    ck_assert_int_eq(gpu->device->queue_create(&after), 0);
    ck_assert_int_eq(fake.live("stream"), 2);
    ck_assert_int_eq(fake.live("host"), 2);
    ck_assert_int_eq(gpu->device->copy(before, space.base, small, sizeof(small), STP_COPY_LOCAL),
                     0);
    ck_assert_int_eq(gpu->device->copy(after, space.base, small, sizeof(small), STP_COPY_LOCAL), 0);
    ck_assert_int_eq(gpu->device->flush(before), 0);
    ck_assert_int_eq(gpu->device->flush(after), 0);
    ck_assert_int_eq(fake.calls("cuStreamCreate"), 2);
    ck_assert_int_eq(fake.calls("cuMemHostAlloc"), 2);
    gpu->destroy(&space);
    ck_assert_int_eq(fake.live("stream"), 0);
    ck_assert_int_eq(fake.contexts(1), 0);
    gpu->device->queue_destroy(before);
    gpu->device->queue_destroy(after);
    gpu->stop();
}
