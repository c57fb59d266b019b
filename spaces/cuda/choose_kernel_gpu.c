/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file chooses the GPU on which the program's kernels use device handles. It also queries the
 * driver about the access of this GPU to host memory. Design: docs/design/streams.md.
 */
#include "cuda.h"

int stp_gpu_choose(int ordinal, struct stp_gpu *gpu, char *text, size_t len)
{
    struct stp_space_params params = {.device = ordinal};
    struct cuda_device *device;
    int rc = stp_cuda_choose(&params, &device, text, len);

    if (rc != 0) return rc;
    gpu->device = device->ordinal;
    gpu->native_atomics =
        stp_cuda_attribute(device, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED) != 0;
    gpu->host_pointers =
        stp_cuda_attribute(device, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) !=
        0;
    return 0;
}
