/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of the GPU kind: the fake driver's counters, spaces and buffers, and forked
 * processes that play the PEs of a node. Nothing here is evidence about a GPU.
 */
#ifndef STP_TEST_CUDA_H
#define STP_TEST_CUDA_H

#include "spaces/cuda/cuda.h"
#include "test/fakecuda/more.h"
#include "capture.h"
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define N_PLACES 4

extern const struct stp_kind stp_kind_gpu;
static const struct stp_kind *const gpu = &stp_kind_gpu;

/* In the place of spaces/segment.c, which shares the data of a program that links it: not ours. */
struct stp_segment stp_segment = {.fd = -1};

static struct {
    void *(*alias)(CUdeviceptr address);
    int (*contexts)(int device);
    long (*calls)(const char *symbol);
    long (*live)(const char *what);
} fake;
static struct fake_cuda_api driver; /* as a program calls it */

static struct stp_window_layout layout;
static int window_fd = -1;

#define api (stp_cuda.api)
#define ck_cuda(call) ck_assert_int_eq((int)(call), CUDA_SUCCESS)
#define ck_said(capture, words)                                                                    \
    ck_assert_msg(strstr((capture).text, words) != NULL, "expected \"%s\" in: %s", words,          \
                  (capture).text)

/* ---- the world -------------------------------------------------------------------- */

/* The fake driver and no other, or the run is worth nothing. */
static inline void fake_find(void)
{
    void *library = dlopen(STP_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    struct {
        const char *symbol;
        void *at;
    } wanted[] = {{"fakecuda_alias", &fake.alias},
                  {"fakecuda_contexts", &fake.contexts},
                  {"fakecuda_calls", &fake.calls},
                  {"fakecuda_live", &fake.live}};

    for (size_t i = 0; i < STP_COUNT(wanted); i++) {
        void *address = library != NULL ? dlsym(library, wanted[i].symbol) : NULL;
        if (address == NULL) {
            fprintf(stderr, "the fake driver is needed: set LD_LIBRARY_PATH to its folder\n");
            exit(2);
        }
        memcpy(wanted[i].at, &address, sizeof(address));
    }
#define FIND(member, symbol, arguments) *(void **)&driver.member = dlsym(library, #symbol);
    FAKE_DRIVER_FUNCTIONS(FIND)
#undef FIND
}

/* Be the PE at a place of a node of N_PLACES. */
static inline void window_up(int local)
{
    if (stp_win.view != NULL) stp_window_close();
    if (stp_window_open(&layout, window_fd, local) != 0) abort();
}

static inline void world_up(void)
{
    stp_env_load();
    stp_log_identify(0, STP_LOG_INFO);
    if (stp_window_choose(N_PLACES, 64 * MIB, (size_t)1 << 30, &layout) != 0) abort();
    layout.area_bytes = 0;
    window_fd = stp_window_create_file(&layout);
    if (window_fd < 0) abort();
    window_up(0);
}

static inline void world_down(void)
{
    stp_window_close();
    close(window_fd);
}

/* The case of all tests of a program. */
#define CUDA_TESTS                                                                                 \
    TEST_CASE(cuda, world_up, world_down)                                                          \
    TEST_ONCE(fake_find, NULL)

static inline void start_with(const char *n_devices)
{
    setenv("FAKECUDA_DEVICES", n_devices, 1);
    gpu->device->start();
}

/* Nothing of ours is left with the driver. */
static inline void ck_nothing_left(void)
{
    static const char *const things[] = {"alloc",      "ipc",    "managed", "host",
                                         "registered", "stream", "ctx",     "lost"};

    for (size_t i = 0; i < STP_COUNT(things); i++)
        ck_assert_msg(fake.live(things[i]) == 0, "%ld %s are left", fake.live(things[i]),
                      things[i]);
}

/* ---- spaces ------------------------------------------------------------------------- */

static inline struct stp_space_params params_of(size_t nbytes, int device)
{
    return (struct stp_space_params){.nbytes = nbytes, .device = device, .n_pes = 1};
}

static inline int space_try(struct stp_space *space, const struct stp_space_params *params)
{
    struct stp_share share = {.pe = 0};
    int rc = gpu->admit(params);

    *space = (struct stp_space){
        .kind = gpu, .nbytes = params->nbytes, .max_bytes = params->nbytes, .number = 3};
    if (rc == 0) rc = gpu->create(space, params, &share);
    if (rc == 0) rc = gpu->attach(space, stp_window_local(), &share);
    return rc;
}

static inline void space_up(struct stp_space *space, size_t nbytes, int device)
{
    struct stp_space_params params = params_of(nbytes, device);

    ck_assert_int_eq(space_try(space, &params), 0);
}

static inline void space_down(struct stp_space *space)
{
    gpu->device->detach(space);
    gpu->destroy(space);
}

/* The bytes of device memory, as no host may see them but a test. */
static inline unsigned char *bytes_of(const void *device_memory)
{
    return fake.alias((CUdeviceptr)(uintptr_t)device_memory);
}

static inline CUdeviceptr address_of(const void *ptr)
{
    return (CUdeviceptr)(uintptr_t)ptr;
}

/* Memory of the program's own in the primary context of a device, which it keeps. */
static inline void *private_memory(int device, size_t nbytes)
{
    CUcontext ctx;
    CUdeviceptr address;

    ck_cuda(api.primary_ctx_retain(&ctx, device));
    ck_cuda(api.ctx_push_current(ctx));
    ck_cuda(api.mem_alloc(&address, nbytes));
    ck_cuda(api.ctx_pop_current(&ctx));
    return (void *)(uintptr_t)address;
}

static inline void fill(unsigned char *bytes, size_t nbytes, unsigned seed)
{
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (unsigned char)((i + seed) * 167 + (i >> 8));
}

static inline bool is_filled(const unsigned char *bytes, size_t nbytes, unsigned seed)
{
    for (size_t i = 0; i < nbytes; i++)
        if (bytes[i] != (unsigned char)((i + seed) * 167 + (i >> 8))) return false;
    return true;
}

/* ---- other processes ------------------------------------------------------------------ */

/* What forked processes share. */
struct meeting {
    atomic_int arrived, generation;
    struct stp_share shares[N_PLACES];
};

static struct meeting *meeting;

/* In children Check cannot be told. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: process %d: %s\n", __FILE__, __LINE__, getpid(), #condition);  \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

/* All n of them, or whoever waits gives up: nobody hangs when another one fails. */
static inline void meet(int n)
{
    int generation = atomic_load(&meeting->generation);
    uint64_t end = stp_now_ns() + 30000000000u;

    if (atomic_fetch_add(&meeting->arrived, 1) == n - 1) {
        atomic_store(&meeting->arrived, 0);
        atomic_store(&meeting->generation, generation + 1);
        return;
    }
    while (atomic_load(&meeting->generation) == generation) {
        MUST(stp_now_ns() < end);
        stp_wait_yield();
    }
}

/* Run body as PE 0..n-1 of the node; how many of them failed. Before any call of the driver. */
static inline int run_pes(int n, void (*body)(int pe, int n))
{
    pid_t pids[N_PLACES];
    int failed = 0;

    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int pe = 0; pe < n; pe++) {
        pids[pe] = fork();
        if (pids[pe] != 0) continue;
        window_up(pe);
        stp_log_identify(pe, STP_LOG_INFO);
        body(pe, n);
        _exit(0);
    }
    for (int pe = 0; pe < n; pe++) {
        int status;
        failed += waitpid(pids[pe], &status, 0) != pids[pe] || status != 0;
    }
    munmap(meeting, sizeof(*meeting));
    return failed;
}

#endif /* STP_TEST_CUDA_H */
