/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of the GPU kind: the counters of the fake driver, spaces and buffers, and forked
 * processes that play the PEs of a node. These tests say nothing about a GPU.
 */
#ifndef STP_TEST_CUDA_H
#define STP_TEST_CUDA_H

#include "spaces/cuda/cuda.h"
#include "test/fakecuda/more.h"
#include "capture.h"
#include "node.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((size_t)1 << 10)

extern const struct stp_kind stp_kind_gpu;
static const struct stp_kind *const gpu = &stp_kind_gpu;

static struct {
    void *(*alias)(CUdeviceptr address);
    int (*contexts)(int device);
    long (*calls)(const char *symbol);
    long (*live)(const char *what);
} fake;
static struct fake_cuda_api driver; /* as a program calls it */

#define api (stp_cuda.api)
#define ck_cuda(call) ck_assert_int_eq((int)(call), CUDA_SUCCESS)

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
            fprintf(stderr, "the loader finds no fake driver: set LD_LIBRARY_PATH to its folder\n");
            exit(2);
        }
        memcpy(wanted[i].at, &address, sizeof(address));
    }
#define FIND(member, symbol, arguments) *(void **)&driver.member = dlsym(library, #symbol);
    FAKE_DRIVER_FUNCTIONS(FIND)
#undef FIND
}

static inline void world_up(void)
{
    stp_env_load();
    stp_log_identify(0, STP_LOG_INFO);
    node_up();
}

/* The case of all tests of a program. */
#define CUDA_TESTS                                                                                 \
    TEST_CASE(cuda, world_up, node_down)                                                           \
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
        ck_assert_msg(fake.live(things[i]) == 0, "%ld objects of the driver were not released: %s",
                      fake.live(things[i]), things[i]);
}

/* ---- spaces ------------------------------------------------------------------------- */

static inline struct stp_space_params params_of(size_t nbytes, int device)
{
    return (struct stp_space_params){.nbytes = nbytes, .device = device, .n_pes = 1};
}

static inline int space_try(struct stp_space *space, const struct stp_space_params *params)
{
    struct stp_part_export share = {.pe = 0};
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

#endif /* STP_TEST_CUDA_H */
