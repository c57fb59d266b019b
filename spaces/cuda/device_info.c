/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file reports the properties of devices to programs, without creating a context.
 * stp_cuda_start() has already read the names and sizes of the devices. The amount of free memory
 * is read in the device's primary context if this context exists. Otherwise the library NVML
 * reports it, if NVML can be loaded. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <dlfcn.h>
#include <stdio.h>

/* The part of nvml.h that this file uses. NVML comes with the driver and has a stable ABI. */
#define NVML_LIBRARY "libnvidia-ml.so.1"
typedef struct nvml_device *nvml_device_t;
struct nvml_memory {
    unsigned long long total, free, used;
};
#define NVML_FUNCTIONS(X)                                                                          \
    X(init, nvmlInit_v2, (void))                                                                   \
    X(shutdown, nvmlShutdown, (void))                                                              \
    X(by_bus, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, nvml_device_t *device))          \
    X(memory, nvmlDeviceGetMemoryInfo, (nvml_device_t device, struct nvml_memory * memory))

struct nvml {
#define NVML_MEMBER(member, symbol, arguments) int(*member) arguments;
    NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
};

static bool nvml_find(void *library, const char *symbol, void *function)
{
    void **slot = function;

    *slot = dlsym(library, symbol);
    return *slot != NULL;
}

/* Loads NVML, which is never unloaded. Several threads may call this function at the same time. */
static bool nvml_load(struct nvml *nvml)
{
    void *library = dlopen(NVML_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool complete = library != NULL;

#define NVML_FIND(member, symbol, arguments)                                                       \
    complete = complete && nvml_find(library, #symbol, (void *)&nvml->member);
    NVML_FUNCTIONS(NVML_FIND)
#undef NVML_FIND
    if (library != NULL) dlclose(library);
    return complete;
}

/*
 * Returns whether the memory size that NVML has reported belongs to this device. If the device is
 * an instance of a partitioned GPU (MIG), NVML reports the size of the whole GPU, because the
 * instance and the GPU have the same bus address. For the same device the two sizes may differ a
 * little, because the driver reports slightly less memory than NVML.
 */
static bool nvml_size_matches(const struct cuda_device *device, const struct nvml_memory *memory)
{
    return memory->total >= device->total && memory->total - device->total < device->total / 4;
}

static size_t free_by_nvml(const struct cuda_device *device)
{
    struct nvml_memory memory = {0};
    nvml_device_t handle;
    struct nvml nvml;
    size_t free = SIZE_MAX;

    if (device->bus[0] == '\0' || !nvml_load(&nvml) || nvml.init() != 0) return SIZE_MAX;
    if (nvml.by_bus(device->bus, &handle) == 0 && nvml.memory(handle, &memory) == 0 &&
        nvml_size_matches(device, &memory))
        free = (size_t)memory.free;
    nvml.shutdown();
    return free;
}

/*
 * Returns the number of free bytes on the device, which the driver reports in the primary context.
 * Returns SIZE_MAX if this context cannot be used, or if neither the library nor the program has
 * created it.
 */
static size_t free_by_context(struct cuda_device *device)
{
    size_t free = SIZE_MAX, total;
    unsigned flags;
    int active = 0;

    if (stp_cuda.api.primary_ctx_get_state(device->handle, &flags, &active) != CUDA_SUCCESS ||
        !active || stp_cuda_retain_and_enter(device) != 0)
        return SIZE_MAX;
    if (stp_cuda.api.mem_get_info(&free, &total) != CUDA_SUCCESS) free = SIZE_MAX;
    stp_cuda_leave_and_release(device);
    return free;
}

static void device_read(struct cuda_device *gpu, struct stp_device *device)
{
    struct stp_numbers own_cpus;

    snprintf(device->name, sizeof(device->name), "%s", gpu->name);
    snprintf(device->bus, sizeof(device->bus), "%s", gpu->bus);
    snprintf(device->unusable_reason, sizeof(device->unusable_reason), "%.127s",
             gpu->unusable_reason);
    if (gpu->unusable_reason[0] != '\0') return;
    stp_numbers_own_cpus(&own_cpus);
    device->numa = gpu->numa;
    device->distance = stp_cuda_distance(gpu, &own_cpus);
    device->pages[device->n_pages++] = CUDA_BASE_ALIGN;
    device->nbytes = gpu->total;
    device->free = free_by_context(gpu);
    if (device->free == SIZE_MAX) device->free = free_by_nvml(gpu);
}

int stp_cuda_count_devices(int i, struct stp_device *device)
{
    if (device != NULL && i >= 0 && i < stp_cuda.n_devices)
        device_read(&stp_cuda.devices[i], device);
    return stp_cuda.n_devices;
}
