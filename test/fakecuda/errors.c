/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: names and texts of result codes.
 */
#include "fake.h"

static const struct {
    CUresult result;
    const char *name;
    const char *text;
} errors[] = {
#define ERROR(name, text)                                                                          \
    {                                                                                              \
        name, #name, text                                                                          \
    }
    ERROR(CUDA_SUCCESS, "no error"),
    ERROR(CUDA_ERROR_INVALID_VALUE, "a wrong argument"),
    ERROR(CUDA_ERROR_OUT_OF_MEMORY, "the device has not that much memory left"),
    ERROR(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called in this process"),
    ERROR(CUDA_ERROR_DEINITIALIZED, "the driver is shutting down"),
    ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "the device is in use"),
    ERROR(CUDA_ERROR_NO_DEVICE, "no device is visible"),
    ERROR(CUDA_ERROR_INVALID_DEVICE, "there is no such device"),
    ERROR(CUDA_ERROR_INVALID_CONTEXT, "no context is current, or it does not fit"),
    ERROR(CUDA_ERROR_MAP_FAILED, "memory could not be mapped"),
    ERROR(CUDA_ERROR_ALREADY_MAPPED, "the memory is mapped already"),
    ERROR(CUDA_ERROR_ECC_UNCORRECTABLE, "the device's memory is damaged"),
    ERROR(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "the devices do not reach each other"),
    ERROR(CUDA_ERROR_OPERATING_SYSTEM, "a system call failed"),
    ERROR(CUDA_ERROR_INVALID_HANDLE, "a wrong handle"),
    ERROR(CUDA_ERROR_NOT_FOUND, "not found"),
    ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "the device met a wrong address"),
    ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context was destroyed"),
    ERROR(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "the host memory is registered already"),
    ERROR(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the host memory is not registered"),
    ERROR(CUDA_ERROR_LAUNCH_FAILED, "work on the device failed"),
    ERROR(CUDA_ERROR_NOT_SUPPORTED, "not supported"),
    ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef ERROR
};

static CUresult find(CUresult error, const char **name, const char **text)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].result != error) continue;
        if (name) *name = errors[i].name;
        if (text) *text = errors[i].text;
        return CUDA_SUCCESS;
    }
    if (name) *name = NULL;
    if (text) *text = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

/* The texts come in any case: callers print them when all else failed. */
CUresult cuGetErrorName(CUresult error, const char **text)
{
    CUresult found = find(error, text, NULL);
    CUresult result = fake_begin(FAKE_cuGetErrorName);

    return result != CUDA_SUCCESS ? result : fake_end(found);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    CUresult found = find(error, NULL, text);
    CUresult result = fake_begin(FAKE_cuGetErrorString);

    return result != CUDA_SUCCESS ? result : fake_end(found);
}
