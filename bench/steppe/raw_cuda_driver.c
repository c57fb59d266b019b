/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the CUDA driver, and copies memory with it on one stream of the device's primary context.
 * The context is current in this thread, as it is in a CUDA program.
 */
#include "raw_cuda_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long device_address;

/* The functions of the driver, as X(member, symbol, arguments). Each returns 0 or an error code. */
#define CUDA_CALLS(X)                                                                              \
    X(init, cuInit, (unsigned flags))                                                              \
    X(version, cuDriverGetVersion, (int *version))                                                 \
    X(error_name, cuGetErrorName, (int error, const char **name))                                  \
    X(device_count, cuDeviceGetCount, (int *n))                                                    \
    X(device_get, cuDeviceGet, (int *device, int ordinal))                                         \
    X(device_name, cuDeviceGetName, (char *name, int len, int device))                             \
    X(retain, cuDevicePrimaryCtxRetain, (void **context, int device))                              \
    X(release, cuDevicePrimaryCtxRelease_v2, (int device))                                         \
    X(set_current, cuCtxSetCurrent, (void *context))                                               \
    X(alloc, cuMemAlloc_v2, (device_address * address, size_t nbytes))                             \
    X(free, cuMemFree_v2, (device_address address))                                                \
    X(copy, cuMemcpyAsync,                                                                         \
      (device_address dest, device_address source, size_t nbytes, void *stream))                   \
    X(stream_create, cuStreamCreate, (void **stream, unsigned flags))                              \
    X(stream_destroy, cuStreamDestroy_v2, (void *stream))                                          \
    X(stream_wait, cuStreamSynchronize, (void *stream))

static struct {
#define MEMBER(member, symbol, arguments) int(*member) arguments;
    CUDA_CALLS(MEMBER)
#undef MEMBER
} cuda;

static struct {
    void *library, *context, *stream;
    bool was_loaded, test_double;
    int n_devices, device;
    char reason[160]; /* reason why there is no driver or device */
} driver;

static struct raw_cuda gpu;

static const char *error_name(int error)
{
    const char *name = NULL;

    if (cuda.error_name(error, &name) != 0 || name == NULL) return "unknown error";
    return name;
}

/* Ends the process if a call has failed, because the measurement cannot continue. */
static void check(const char *call, int error)
{
    if (error == 0) return;
    fprintf(stderr, "steppe-bench: raw CUDA: %s: %s (%d)\n", call, error_name(error), error);
    abort();
}

static int find_calls(char *reason, size_t len)
{
    driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver.library == NULL) {
        snprintf(reason, len, "the CUDA driver (libcuda.so.1) is not installed");
        return -ENODEV;
    }
    driver.test_double = dlsym(driver.library, "fakecuda_alias") != NULL;
#define FIND(member, symbol, arguments)                                                            \
    *(void **)&cuda.member = dlsym(driver.library, #symbol);                                       \
    if (cuda.member == NULL) {                                                                     \
        snprintf(reason, len, "the CUDA driver does not have the function " #symbol);              \
        return -ENOSYS;                                                                            \
    }
    CUDA_CALLS(FIND)
#undef FIND
    return 0;
}

static int load(char *reason, size_t len)
{
    int error, status = find_calls(reason, len);

    if (status != 0) return status;
    error = cuda.init(0);
    if (error != 0) {
        snprintf(reason, len, "the CUDA driver finds no device: cuInit: %s (%d)", error_name(error),
                 error);
        return -ENODEV;
    }
    if (cuda.device_count(&driver.n_devices) == 0 && driver.n_devices > 0) return 0;
    snprintf(reason, len, "the CUDA driver finds no device");
    return -ENODEV;
}

int raw_cuda_load(char *reason, size_t len)
{
    static int status;

    if (!driver.was_loaded) status = load(driver.reason, sizeof(driver.reason));
    driver.was_loaded = true;
    if (status != 0) snprintf(reason, len, "%s", driver.reason);
    return status;
}

/* ---- measured operations ---------------------------------------------------------------- */

static void raw_copy(void *dest, const void *source, size_t nbytes)
{
    check("cuMemcpyAsync",
          cuda.copy((device_address)dest, (device_address)source, nbytes, driver.stream));
}

static void raw_wait(void)
{
    check("cuStreamSynchronize", cuda.stream_wait(driver.stream));
}

/* ---- a device ---------------------------------------------------------------------------- */

static int open_context(int ordinal)
{
    int error = cuda.device_get(&driver.device, ordinal);

    if (error == 0) error = cuda.retain(&driver.context, driver.device);
    if (error == 0) error = cuda.set_current(driver.context);
    if (error == 0) error = cuda.stream_create(&driver.stream, 1 /* CU_STREAM_NON_BLOCKING */);
    return error;
}

static int open_buffers(size_t nbytes)
{
    for (int i = 0; i < 2; i++) {
        device_address memory = 0;
        int error = cuda.alloc(&memory, nbytes);

        if (error != 0) return error;
        gpu.buffer[i] = (char *)memory;
    }
    return 0;
}

static void describe(int ordinal)
{
    char name[96] = "?";
    int version = 0;

    (void)cuda.device_name(name, (int)sizeof(name), driver.device);
    (void)cuda.version(&version);
    snprintf(gpu.device, sizeof(gpu.device), "gpu %d: %s", ordinal, name);
    snprintf(gpu.driver, sizeof(gpu.driver), "CUDA %d.%d", version / 1000, version % 1000 / 10);
    gpu.test_double = driver.test_double;
}

int raw_cuda_open(int ordinal, size_t nbytes, const struct raw_cuda **raw, char *reason, size_t len)
{
    int error, status = raw_cuda_load(reason, len);

    if (status != 0) return status;
    if (ordinal < 0) ordinal = 0;
    error = open_context(ordinal);
    if (error == 0) error = open_buffers(nbytes);
    if (error != 0) {
        snprintf(reason, len, "gpu %d cannot be used: %s (%d)", ordinal, error_name(error), error);
        raw_cuda_close();
        return -EIO;
    }
    describe(ordinal);
    gpu.copy = raw_copy;
    gpu.wait = raw_wait;
    *raw = &gpu;
    return 0;
}

void raw_cuda_close(void)
{
    for (int i = 0; i < 2; i++)
        if (gpu.buffer[i] != NULL) (void)cuda.free((device_address)gpu.buffer[i]);
    if (driver.stream != NULL) (void)cuda.stream_destroy(driver.stream);
    if (driver.context != NULL) {
        (void)cuda.set_current(NULL);
        (void)cuda.release(driver.device);
    }
    driver.stream = driver.context = NULL;
    gpu = (struct raw_cuda){0};
}
