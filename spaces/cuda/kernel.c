/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPUs as those see them that hand something to kernels: which one, and what it can do with host
 * memory. Design: docs/design/kernel.md.
 */
#include "cuda.h"

static bool kernel_can(const struct cuda_device *device, CUdevice_attribute attribute)
{
    int value = 0;

    return stp_cuda.api.device_attribute(&value, attribute, device->handle) == CUDA_SUCCESS &&
           value != 0;
}

int stp_gpu_choose(int ordinal, struct stp_gpu *gpu, char *text, size_t len)
{
    struct stp_space_params params = {.device = ordinal};
    struct cuda_device *device;
    int rc = stp_cuda_choose(&params, &device, text, len);

    if (rc != 0) return rc;
    gpu->device = device->ordinal;
    gpu->native_atomics = kernel_can(device, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
    gpu->host_pointers =
        kernel_can(device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
    return 0;
}

bool stp_mapped_native(const struct stp_space *space)
{
    return kernel_can(stp_mapped_device(space), CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
}
