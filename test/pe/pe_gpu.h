/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of GPU spaces: the calls of the CUDA driver that an application makes
 * (private device memory, current contexts), and patterns in memory that the host may not access.
 * The puts and gets of a PE to itself write and read such memory. The driver is the libcuda.so.1
 * that the loader finds: the fake driver of the build, or the real driver on a machine with a GPU.
 */
#ifndef STEPPE_TEST_PE_GPU_H
#define STEPPE_TEST_PE_GPU_H

#include "pe_spaces.h"

#include <dlfcn.h>
#include <shmemx.h>
#include <stdint.h>

/* The few calls of the driver that an application of these tests makes. */
static struct {
    int (*init)(unsigned flags);
    int (*device_count)(int *n);
    int (*retain)(void **context, int device);
    int (*release)(int device);
    int (*state)(int device, unsigned *flags, int *active);
    int (*get_current)(void **context);
    int (*set_current)(void *context);
    int (*alloc)(unsigned long long *address, size_t nbytes);
    int (*free)(unsigned long long address);
    int (*to_host)(void *host, unsigned long long device, size_t nbytes);
    int (*to_device)(unsigned long long device, const void *host, size_t nbytes);
    int (*finish)(void); /* the program's own work on its current device */
} pe_cuda;

static void *pe_gpu_symbol(void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    PE_REQUIRE(symbol != NULL, "libcuda.so.1 does not have the function %s", name);
    return symbol;
}

/* Load the driver for the test's own use. False where there is none or it has no device. */
static inline bool pe_gpu_load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int n = 0;

    if (library == NULL) return false;
    *(void **)&pe_cuda.init = pe_gpu_symbol(library, "cuInit");
    *(void **)&pe_cuda.device_count = pe_gpu_symbol(library, "cuDeviceGetCount");
    *(void **)&pe_cuda.retain = pe_gpu_symbol(library, "cuDevicePrimaryCtxRetain");
    *(void **)&pe_cuda.release = pe_gpu_symbol(library, "cuDevicePrimaryCtxRelease_v2");
    *(void **)&pe_cuda.state = pe_gpu_symbol(library, "cuDevicePrimaryCtxGetState");
    *(void **)&pe_cuda.get_current = pe_gpu_symbol(library, "cuCtxGetCurrent");
    *(void **)&pe_cuda.set_current = pe_gpu_symbol(library, "cuCtxSetCurrent");
    *(void **)&pe_cuda.alloc = pe_gpu_symbol(library, "cuMemAlloc_v2");
    *(void **)&pe_cuda.free = pe_gpu_symbol(library, "cuMemFree_v2");
    *(void **)&pe_cuda.to_host = pe_gpu_symbol(library, "cuMemcpyDtoH_v2");
    *(void **)&pe_cuda.to_device = pe_gpu_symbol(library, "cuMemcpyHtoD_v2");
    *(void **)&pe_cuda.finish = pe_gpu_symbol(library, "cuCtxSynchronize");
    return pe_cuda.init(0) == 0 && pe_cuda.device_count(&n) == 0 && n > 0;
}

/*
 * How often a function of the driver was called, on the stand-in, with private memory of device 0
 * and its context current. NULL, with a skip, where the driver does not count.
 */
static inline long (*pe_gpu_counted(size_t nbytes, void **memory))(const char *symbol)
{
    long (*calls)(const char *symbol) = NULL;
    unsigned long long address = 0;
    void *context = NULL;

    if (pe_gpu_load())
        *(void **)&calls = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "fakecuda_calls");
    if (calls == NULL) {
        pe_test_skip("the driver does not count its calls");
        return NULL;
    }
    PE_CHECK_EQ(pe_cuda.retain(&context, 0), 0);
    PE_CHECK_EQ(pe_cuda.set_current(context), 0);
    PE_CHECK_EQ(pe_cuda.alloc(&address, nbytes), 0);
    *memory = (void *)(uintptr_t)address;
    return calls;
}

static inline void pe_gpu_counted_end(void *memory)
{
    PE_CHECK_EQ(pe_cuda.free((uintptr_t)memory), 0);
    PE_CHECK_EQ(pe_cuda.release(0), 0);
}

static inline shmem_space_config_t pe_kind_config(shmem_device_type_t kind, size_t size)
{
    shmem_space_config_t config = {
        .device_type = kind, .size = size, .flags = SHMEM_SPACE_FLAG_DEFAULT};

    return config;
}

/*
 * A GPU space on all PEs that have a GPU; on the others INVALID. False, with a skip, where no PE
 * has one.
 */
static inline bool pe_gpu_space(size_t size, shmem_space_t *space, shmem_team_t *team)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_GPU, size);

    if (shmem_space_create(&config, space, team) == 0) return true;
    pe_test_skip("no PE can use a GPU");
    return false;
}

/* Memory of this PE, whatever kind: n longs as base + i. */
static inline void pe_gpu_fill(long *memory, long base, size_t n)
{
    long *values = calloc(n, sizeof(*values));

    for (size_t i = 0; i < n; i++)
        values[i] = base + (long)i;
    shmem_long_put(memory, values, n, pe_me);
    shmem_quiet();
    free(values);
}

/* values are base + i. */
static inline void pe_expect_at(const char *file, int line, const long *values, long base, size_t n,
                                const char *what)
{
    size_t wrong = 0, first = 0;

    for (size_t i = n; i-- > 0;)
        if (values[i] != base + (long)i) {
            wrong++;
            first = i;
        }
    pe_check_at(file, line, wrong == 0,
                "%s: %zu of %zu elements are wrong, the first is [%zu]: %ld, expected %ld", what,
                wrong, n, first, wrong ? values[first] : 0, base + (long)first);
}

/* The same in symmetric memory of this PE, of whatever kind. */
static inline void pe_gpu_expect(const char *file, int line, const long *memory, long base,
                                 size_t n, const char *what)
{
    long *values = malloc(n * sizeof(*values));

    memset(values, 0x5a, n * sizeof(*values));
    shmem_long_get(values, memory, n, pe_me);
    pe_expect_at(file, line, values, base, n, what);
    free(values);
}
#define PE_EXPECT(values, base, n, what) pe_expect_at(__FILE__, __LINE__, values, base, n, what)
#define PE_GPU_EXPECT(memory, base, n, what)                                                       \
    pe_gpu_expect(__FILE__, __LINE__, memory, base, n, what)

#endif
