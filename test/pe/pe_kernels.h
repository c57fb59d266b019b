/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests that launch kernels: the calls of the CUDA driver that a program with
 * kernels makes, one stream, and a module that the driver compiles from a PTX file. On the fake
 * driver, host functions of the same names run instead of the kernels.
 */
#ifndef STEPPE_TEST_PE_KERNELS_H
#define STEPPE_TEST_PE_KERNELS_H

#include "pe_gpu.h"

#define PE_KERNEL_CALLS(X)                                                                         \
    X(attribute, cuDeviceGetAttribute, (int *value, int which, int device))                        \
    X(load, cuModuleLoadData, (void **module, const void *image))                                  \
    X(unload, cuModuleUnload, (void *module))                                                      \
    X(get_function, cuModuleGetFunction, (void **function, void *module, const char *name))        \
    X(launch, cuLaunchKernel,                                                                      \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **params,           \
       void **extra))                                                                              \
    X(stream_create, cuStreamCreate, (void **stream, unsigned flags))                              \
    X(stream_destroy, cuStreamDestroy_v2, (void *stream))                                          \
    X(stream_wait, cuStreamSynchronize, (void *stream))                                            \
    X(copy_in, cuMemcpyHtoDAsync_v2,                                                               \
      (unsigned long long dest, const void *source, size_t nbytes, void *stream))                  \
    X(host_register, cuMemHostRegister_v2, (void *address, size_t nbytes, unsigned flags))         \
    X(host_unregister, cuMemHostUnregister, (void *address))                                       \
    X(host_pointer, cuMemHostGetDevicePointer_v2,                                                  \
      (unsigned long long *address, void *host, unsigned flags))

static struct {
#define PE_KERNEL_MEMBER(member, symbol, arguments) int(*member) arguments;
    PE_KERNEL_CALLS(PE_KERNEL_MEMBER)
#undef PE_KERNEL_MEMBER
} driver;

static struct {
    void *module, *stream, *context, *before;
    int device;
} gpu;

/* Make the primary context of this device current, and a stream in it. */
static inline void pe_kernels_begin(int device)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

#define PE_KERNEL_FIND(member, symbol, arguments)                                                  \
    *(void **)&driver.member = pe_gpu_symbol(library, #symbol);
    PE_KERNEL_CALLS(PE_KERNEL_FIND)
#undef PE_KERNEL_FIND
    gpu.device = device;
    PE_REQUIRE(pe_cuda.retain(&gpu.context, device) == 0,
               "cuDevicePrimaryCtxRetain failed: no context for the kernels");
    PE_CHECK_EQ(pe_cuda.get_current(&gpu.before), 0);
    PE_REQUIRE(pe_cuda.set_current(gpu.context) == 0,
               "cuCtxSetCurrent failed for the primary context of the device");
    PE_REQUIRE(driver.stream_create(&gpu.stream, 1 /* non-blocking */) == 0,
               "cuStreamCreate failed: no stream for the kernels");
}

/* The driver compiles the text of a file for its device now. */
static inline void pe_kernels_load(const char *name)
{
    FILE *file = fopen(name, "re");
    char *text = calloc(1, 1 << 20);
    int error;

    PE_REQUIRE(file != NULL && text != NULL,
               "the PTX file %s cannot be opened, or no memory for its text", name);
    PE_REQUIRE(fread(text, 1, (1 << 20) - 1, file) > 0, "the PTX file %s is empty", name);
    fclose(file);
    error = driver.load(&gpu.module, text);
    PE_REQUIRE(error == 0, "cuModuleLoadData of %s returned error %d, expected 0", name, error);
    free(text);
}

static inline void *pe_kernel(const char *name)
{
    void *function = NULL;

    PE_REQUIRE(driver.get_function(&function, gpu.module, name) == 0, "the module has no kernel %s",
               name);
    return function;
}

static inline void pe_kernels_end(void)
{
    PE_CHECK_EQ(driver.stream_destroy(gpu.stream), 0);
    PE_CHECK_EQ(driver.unload(gpu.module), 0);
    PE_CHECK_EQ(pe_cuda.set_current(gpu.before), 0);
    PE_CHECK_EQ(pe_cuda.release(gpu.device), 0);
}

static inline void launch(void *kernel, unsigned blocks, unsigned threads, void **params)
{
    int error = driver.launch(kernel, blocks, 1, 1, threads, 1, 1, 0, gpu.stream, params, NULL);

    PE_REQUIRE(error == 0, "cuLaunchKernel returned error %d, expected 0", error);
}

static inline void finish(const char *what)
{
    int error = driver.stream_wait(gpu.stream);

    PE_REQUIRE(error == 0, "%s: cuStreamSynchronize returned error %d, expected 0", what, error);
}

#endif
