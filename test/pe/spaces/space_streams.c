/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks operations in the order of CUDA streams: transfers between memory of each kind with
 * signals, streams that wait for each other, more waiting streams than the library has queues, and
 * collectives.
 *
 * usage: space_streams [WAY]
 *   WAY: a way to end the job, of which run_space_streams.sh checks the message and the status
 */
#include "pe_gpu.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { N = 3000, MANY = 12 };

static struct {
    int (*create)(void **stream, unsigned flags);
    int (*destroy)(void *stream);
    int (*wait)(void *stream);
    int (*begin_capture)(void *stream, int mode);
    int (*ctx_create)(void **context, unsigned flags, int device);
} cu;

static shmem_space_t spaces[3]; /* on the device, pinned, and of the host alone */
static shmem_team_t teams[3];
static uint64_t *signals[3];
static long *blocks[3]; /* 2 N longs */
static void *streams[2];
static int next, before;

static bool find_calls(void)
{
    void *library;

    if (!pe_gpu_load()) return false;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&cu.create = pe_gpu_symbol(library, "cuStreamCreate");
    *(void **)&cu.destroy = pe_gpu_symbol(library, "cuStreamDestroy_v2");
    *(void **)&cu.wait = pe_gpu_symbol(library, "cuStreamSynchronize");
    *(void **)&cu.begin_capture = pe_gpu_symbol(library, "cuStreamBeginCapture_v2");
    *(void **)&cu.ctx_create = pe_gpu_symbol(library, "cuCtxCreate_v2");
    return true;
}

static void begin(void)
{
    static const shmem_device_type_t kinds[] = {SHMEM_DEVICE_GPU, SHMEM_DEVICE_CPU,
                                                SHMEM_DEVICE_CPU};
    void *context = NULL;

    PE_CHECK_EQ(pe_cuda.retain(&context, 0), 0);
    PE_CHECK_EQ(pe_cuda.set_current(context), 0);
    next = (pe_me + 1) % pe_n;
    before = (pe_me + pe_n - 1) % pe_n;
    for (int i = 0; i < 3; i++) {
        shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
        shmem_space_config_t config = pe_kind_config(kinds[i], 4 * PE_MIB);

        attr.flags = i == 1 ? SHMEMX_SPACE_PINNED : 0;
        attr.device = i == 0 ? 0 : -1;
        PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &spaces[i], &teams[i]) == 0,
                   "creating space %d (0 on the device, 1 pinned, 2 host) failed", i);
        signals[i] = shmem_space_calloc(spaces[i], 64, sizeof(*signals[i]));
        blocks[i] = shmem_space_calloc(spaces[i], 2 * N, sizeof(*blocks[i]));
    }
    for (unsigned i = 0; i < 2; i++)
        PE_CHECK_EQ(cu.create(&streams[i], 1), 0); /* not blocking */
}

static void end(void)
{
    shmem_barrier_all();
    for (int i = 0; i < 2; i++)
        PE_CHECK_EQ(cu.destroy(streams[i]), 0);
    for (int i = 0; i < 3; i++) {
        shmem_space_free(spaces[i], signals[i]);
        shmem_space_free(spaces[i], blocks[i]);
        pe_space_end(spaces[i], teams[i]);
    }
    PE_CHECK_EQ(pe_cuda.release(0), 0);
}

static uint64_t load(uint64_t *word)
{
    uint64_t value;

    shmem_uint64_get(&value, word, 1, pe_me);
    return value;
}

/* ---- transfers ---------------------------------------------------------------------------- */

/* From a block of one kind to one of another, with a signal of any; the next PE's stream waits. */
static void check_pair(int from, int to, int sig, long base, void *stream)
{
    uint64_t *word = signals[sig] + 1;
    uint64_t value = (uint64_t)base;
    long *got = calloc(N, sizeof(*got));

    pe_gpu_fill(blocks[from], base + pe_me, N);
    shmem_barrier_all();
    shmemx_putmem_signal_on_stream(blocks[to] + N, blocks[from], N * sizeof(long), word, value,
                                   SHMEM_SIGNAL_SET, next, stream);
    shmemx_signal_wait_until_on_stream(word, base % 2 ? SHMEM_CMP_EQ : SHMEM_CMP_GE, value, stream);
    shmemx_long_get_on_stream(got, blocks[to] + N, N, pe_me, stream);
    PE_CHECK_EQ(cu.wait(stream), 0);
    PE_EXPECT(got, base + before, N, "put with a signal, then get");
    PE_CHECK_EQ(load(word), value);
    shmem_barrier_all();
    free(got);
}

static void check_pairs(void)
{
    long base = 1000;

    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
            for (int sig = 0; sig < 3; sig++)
                check_pair(from, to, sig, base++ * 1000 + sig, streams[sig % 2]);
    check_pair(0, 0, 0, base * 1000, NULL);
}

/* Buffers of the program, additions, nbi with quiet, the other comparisons. */
static void check_private(void)
{
    long *mine = malloc(N * sizeof(*mine)), *got = calloc(N, sizeof(*got));

    for (int i = 0; i < N; i++)
        mine[i] = 5000 + pe_me + i;
    for (int k = 0; k < 3; k++) {
        uint64_t *word = signals[k] + 8;

        shmemx_long_put_nbi_on_stream(blocks[k], mine, N, next, streams[0]);
        shmemx_quiet_on_stream(streams[0]);
        for (int i = 0; i < 3; i++)
            shmemx_signal_op_on_stream(word, 2, SHMEM_SIGNAL_ADD, next, streams[0]);
        shmemx_signal_wait_until_on_stream(word, SHMEM_CMP_GT, 5, streams[1]);
        shmemx_signal_wait_until_on_stream(word, SHMEM_CMP_NE, 4, streams[1]);
        shmemx_getmem_nbi_on_stream(got, blocks[k], N * sizeof(long), pe_me, streams[1]);
        shmemx_quiet_on_stream(streams[1]);
        PE_CHECK_EQ(cu.wait(streams[1]), 0);
        PE_EXPECT(got, 5000 + before, N, "from a private buffer");
        PE_CHECK_EQ(cu.wait(streams[0]), 0);
        PE_CHECK_EQ(load(word), 6);
        shmem_barrier_all();
        shmemx_getmem_on_stream(got, blocks[k], N * sizeof(long), next, streams[0]);
        PE_CHECK_EQ(cu.wait(streams[0]), 0);
        PE_EXPECT(got, 5000 + pe_me, N, "got from the next PE");
        shmem_barrier_all();
    }
    free(mine);
    free(got);
}

/* Without streams: the signal is set behind the copy, by whatever sets it. */
static void check_signal_behind(void)
{
    for (int k = 0; k < 3; k++)
        for (uint64_t round = 1; round <= 5; round++) {
            uint64_t *word = signals[k] + 50;

            pe_gpu_fill(blocks[0], 900 * (long)round + pe_me, N);
            shmem_putmem_signal_nbi(blocks[0] + N, blocks[0], N * sizeof(long), word, round,
                                    SHMEM_SIGNAL_SET, next);
            PE_CHECK_EQ(shmem_signal_wait_until(word, SHMEM_CMP_EQ, round), round);
            PE_GPU_EXPECT(blocks[0] + N, 900 * (long)round + before, N,
                          "data of putmem_signal_nbi when their signal is here");
            shmem_barrier_all();
        }
}

/* ---- streams that wait --------------------------------------------------------------------- */

/* The first stream waits for what the second one sends to this PE, which is called later. */
static void check_two(void)
{
    for (int k = 0; k < 3; k++)
        for (int to = 0; to < 3; to++) {
            uint64_t *word = signals[k] + 16 + to;
            long *got = calloc(N, sizeof(*got));

            pe_gpu_fill(blocks[k], 70 + k, N);
            shmemx_signal_wait_until_on_stream(word, SHMEM_CMP_EQ, 9, streams[0]);
            shmemx_long_get_on_stream(got, blocks[to] + N, N, pe_me, streams[0]);
            shmemx_putmem_signal_on_stream(blocks[to] + N, blocks[k], N * sizeof(long), word, 9,
                                           SHMEM_SIGNAL_SET, pe_me, streams[1]);
            PE_CHECK_EQ(cu.wait(streams[0]), 0);
            PE_EXPECT(got, 70 + k, N, "what the other stream sent");
            PE_CHECK_EQ(cu.wait(streams[1]), 0);
            free(got);
        }
    shmem_barrier_all();
}

static void *send_all(void *arg)
{
    uint64_t *words = arg;

    for (int i = 0; i < MANY; i++)
        shmem_signal_set(&words[i], 1, next);
    return NULL;
}

/* A call that finds no room waits; another thread sends what the streams wait for. */
static void check_many(void)
{
    void *many[MANY];

    for (int k = 0; k < 3; k++) {
        pthread_t thread;

        for (int i = 0; i < MANY; i++)
            PE_CHECK_EQ(cu.create(&many[i], 1), 0);
        for (int i = 0; i < MANY; i++) {
            if (i == 6) PE_CHECK_EQ(pthread_create(&thread, NULL, send_all, signals[k] + 32), 0);
            shmemx_signal_wait_until_on_stream(signals[k] + 32 + i, SHMEM_CMP_GE, 1, many[i]);
        }
        for (int i = 0; i < MANY; i++) {
            PE_CHECK_EQ(cu.wait(many[i]), 0);
            PE_CHECK_EQ(cu.destroy(many[i]), 0);
        }
        PE_CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    shmem_barrier_all();
}

/* ---- collectives ----------------------------------------------------------------------------- */

static void check_collectives(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;

    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, pe_n > 1 ? -1 : 1, pe_n, NULL,
                                         0, &team),
                0);
    for (int k = 0; k < 3; k++) {
        long *a = blocks[k], *b = a + N;

        pe_gpu_fill(a, pe_me, N);
        /* two streams, one order */
        PE_CHECK_EQ(shmemx_long_sum_reduce_on_stream(team, b, a, N, streams[0]), 0);
        PE_CHECK_EQ(shmemx_long_sum_reduce_on_stream(team, a, a, N, streams[1]), 0);
        shmemx_barrier_all_on_stream(streams[1]);
        PE_CHECK_EQ(shmemx_sync_on_stream(team, streams[0]), 0);
        shmem_barrier_all(); /* not what streams meet in */
        PE_CHECK_EQ(cu.wait(streams[0]), 0);
        PE_CHECK_EQ(cu.wait(streams[1]), 0);
        for (int i = 0; i < 2; i++) {
            long *got = malloc(N * sizeof(*got)), wrong = 0;

            shmem_long_get(got, i == 0 ? a : b, N, pe_me);
            for (long j = 0; j < N; j++)
                wrong += got[j] != j * pe_n + (long)pe_n * (pe_n - 1) / 2;
            PE_CHECK(
                wrong == 0,
                "sum_reduce on streams in space %d (0 on the device, 1 pinned, 2 host): %ld sums "
                "are wrong",
                k, wrong);
            free(got);
        }
        pe_gpu_fill(a, 100 * pe_me, N);
        shmemx_sync_all_on_stream(streams[0]);
        /* rank 0 of the team is the last PE */
        PE_CHECK_EQ(shmemx_broadcastmem_on_stream(team, b, a, N * sizeof(long), 0, streams[0]), 0);
        PE_CHECK_EQ(shmemx_barrier_on_stream(team, streams[0]), 0);
        PE_CHECK_EQ(cu.wait(streams[0]), 0);
        PE_GPU_EXPECT(b, 100 * (pe_n - 1), N, "broadcast on a stream");
    }
    shmem_barrier_all();
    shmem_team_destroy(team);
}

/* ---- ends ------ */

/* No elements: nobody looks at the addresses, as in the routines without a stream. */
static void check_nothing(void)
{
    shmemx_long_put_on_stream(NULL, blocks[0], 0, next, streams[0]);
    shmemx_long_put_nbi_on_stream(NULL, NULL, 0, next, streams[0]);
    shmemx_long_get_on_stream(blocks[0], NULL, 0, next, streams[0]);
    shmemx_putmem_on_stream(blocks[0] + (size_t)2 * N, NULL, 0, next, streams[0]);
    PE_CHECK_EQ(shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_WORLD, NULL, NULL, 0, streams[0]), 0);
    PE_CHECK_EQ(shmemx_broadcastmem_on_stream(SHMEM_TEAM_WORLD, NULL, NULL, 0, 0, streams[0]), 0);
    shmemx_barrier_all_on_stream(streams[0]);
    PE_CHECK_EQ(cu.wait(streams[0]), 0);
}

static void end_as(const char *what)
{
    void *context = NULL, *stream = NULL;

    if (strcmp(what, "capture") == 0) {
        PE_CHECK_EQ(cu.begin_capture(streams[0], 2), 0);
        shmemx_long_put_on_stream(blocks[0], blocks[1], 1, pe_me, streams[0]);
    } else if (strcmp(what, "foreign") == 0) {
        PE_CHECK_EQ(cu.ctx_create(&context, 0, 0), 0);
        PE_CHECK_EQ(cu.create(&stream, 1), 0);
        shmemx_quiet_on_stream(stream);
    } else if (strcmp(what, "pe") == 0) {
        shmemx_putmem_on_stream(blocks[0], blocks[1], 8, pe_n, streams[0]);
    } else if (strcmp(what, "private") == 0) {
        shmemx_putmem_on_stream(&context, blocks[1], 8, pe_me, streams[0]);
    } else if (strcmp(what, "dies") == 0 && pe_me == pe_n - 1) {
        shmem_barrier_all();
        shmem_global_exit(7);
    } else if (strcmp(what, "dies") == 0) {
        shmemx_signal_wait_until_on_stream(signals[pe_me % 3], SHMEM_CMP_EQ, 1, streams[0]);
        shmemx_signal_wait_until_on_stream(signals[2], SHMEM_CMP_NE, 0, streams[1]);
        shmem_barrier_all();
        cu.wait(streams[pe_me % 2]);
    }
    printf("survived\n");
}

/* The last PE is killed; the others wait in the driver, for a stream that waits for that PE. */
static void end_killed(const char *what)
{
    shmem_barrier_all();
    if (pe_me == pe_n - 1) {
        printf("now\n");
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    if (strcmp(what, "killed_sync") == 0)
        shmemx_sync_all_on_stream(streams[0]);
    else if (strcmp(what, "killed_word") == 0)
        shmemx_signal_wait_until_on_stream(signals[pe_me % 2], SHMEM_CMP_EQ, 1, streams[0]);
    else
        shmemx_signal_wait_until_on_stream(signals[2], SHMEM_CMP_NE, 0, streams[0]);
    cu.wait(streams[0]); /* until the job ends, which lets streams go first */
    pause();
}

/* The streams are through with their waits, and the memory of their words is gone. */
static void end_late(void)
{
    for (int i = 0; i < 2; i++) {
        shmemx_signal_op_on_stream(signals[1] + i, 3, SHMEM_SIGNAL_SET, pe_me, streams[i]);
        shmemx_signal_wait_until_on_stream(signals[1] + i, SHMEM_CMP_EQ, 3, streams[i]);
        PE_CHECK_EQ(cu.wait(streams[i]), 0);
    }
    shmem_space_free(spaces[1], signals[1]);
    shmem_space_free(spaces[1], blocks[1]);
    pe_space_end(spaces[1], teams[1]);
    shmem_global_exit(7);
}

int main(int argc, char **argv)
{
    int provided;
    bool gpu;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    gpu = find_calls();
    if (!gpu) {
        if (argc > 1) shmemx_barrier_all_on_stream(NULL);
        pe_test_skip("this PE has no GPU");
        return pe_test_end();
    }
    begin();
    if (argc > 1 && strcmp(argv[1], "late") == 0) end_late();
    if (argc > 1 && strncmp(argv[1], "killed", 6) == 0) end_killed(argv[1]);
    if (argc > 1) {
        end_as(argv[1]);
        return pe_test_end();
    }
    check_pairs();
    check_private();
    check_signal_behind();
    check_two();
    check_many();
    check_collectives();
    check_nothing();
    end();
    return pe_test_end();
}
