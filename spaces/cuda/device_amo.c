/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file performs atomics of PEs on words in device memory. Kernels of the program may change
 * the same words at the same time. The atomics of different kernels are atomic with respect to each
 * other. This file therefore launches a kernel with one thread for each atomic. The module and the
 * stream for this kernel are created together with the first device handle. Design:
 * docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* PTX of device_amo.cu. */
static const char atomic_ptx[] =
#include "device_amo_ptx.inc"
    ;

/* State for atomics on the memory of one device. */
struct cuda_atomics {
    CUmodule module;
    CUfunction function;
    CUstream stream;
    void *old; /* pinned host memory into which the kernel stores the old value of the word */
    CUdeviceptr old_device_addr; /* address at which the device accesses this memory */
};

/*
 * Number of calls of stp_gpu_amo_acquire() without a matching stp_gpu_amo_release(). The callers of
 * these functions hold a lock that guards this counter.
 */
static int n_sharers;

/* ---- launch of the kernel --------------------------------------------------------------- */

/*
 * Launches the kernel for one atomic and waits for the result. The caller has made the device's
 * context current.
 */
static int word_launch(struct cuda_device *device, CUdeviceptr word, const struct stp_word_op *op,
                       uint64_t *old)
{
    struct cuda_atomics *atomics = device->atomics;
    uint64_t nbytes = op->nbytes, variant = op->variant, value = op->value, compare = op->compare;
    void *params[] = {&word, &nbytes, &variant, &value, &compare, &atomics->old_device_addr};
    int rc = stp_cuda_check(device,
                            stp_cuda.api.launch_kernel(atomics->function, 1, 1, 1, 1, 1, 1, 0,
                                                       atomics->stream, params, NULL),
                            "cuLaunchKernel");

    if (rc == 0)
        rc = stp_cuda_check(device, stp_cuda.api.stream_synchronize(atomics->stream),
                            "cuStreamSynchronize");
    if (rc == 0) memcpy(old, atomics->old, sizeof(*old));
    return rc;
}

int stp_cuda_word(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                  uint64_t *old)
{
    const struct cuda_part *part = space->kind_data;
    struct cuda_device *device = part->device;
    int rc;

    if (device->atomics == NULL) return -ENOTSUP;
    rc = stp_cuda_enter(device);
    if (rc != 0) return rc;
    rc = word_launch(device, (CUdeviceptr)(uintptr_t)space->base + offset, op, old);
    stp_cuda_leave();
    return rc;
}

/* ---- creation of the driver's objects ----------------------------------------------------- */

/* Destroys the driver's objects in device->atomics. The caller has made the context current. */
static void atomics_undo(struct cuda_device *device)
{
    const struct stp_cuda_api *api = &stp_cuda.api;
    struct cuda_atomics *atomics = device->atomics;

    if (atomics->stream != NULL)
        stp_cuda_log_failure(api->stream_destroy(atomics->stream), "cuStreamDestroy");
    if (atomics->old != NULL)
        stp_cuda_log_failure(api->mem_free_host(atomics->old), "cuMemFreeHost");
    if (atomics->module != NULL)
        stp_cuda_log_failure(api->module_unload(atomics->module), "cuModuleUnload");
}

/*
 * Creates the driver's objects for atomics and launches the kernel once. Some drivers load a kernel
 * only at its first launch, and the load may wait until other kernels end. This early launch
 * prevents a deadlock. Without it, a kernel of the program could wait for an atomic while the load
 * waits for this kernel. The caller has made the device's context current.
 */
static CUresult atomics_fill(struct cuda_device *device, const char **call)
{
    const struct stp_cuda_api *api = &stp_cuda.api;
    struct cuda_atomics *atomics = device->atomics;
    struct stp_word_op no_op = {.nbytes = sizeof(uint64_t)};
    uint64_t old;
    CUresult result;

    *call = "cuModuleLoadData";
    result = api->module_load(&atomics->module, atomic_ptx);
    if (result != CUDA_SUCCESS) return result;
    *call = "cuModuleGetFunction";
    result = api->module_get_function(&atomics->function, atomics->module, "stp_atomic");
    if (result != CUDA_SUCCESS) return result;
    *call = "cuStreamCreate";
    result = api->stream_create(&atomics->stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return result;
    *call = "cuMemHostAlloc";
    result = api->mem_host_alloc(&atomics->old, sizeof(old),
                                 CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    if (result != CUDA_SUCCESS) return result;
    *call = "cuMemHostGetDevicePointer";
    result = api->mem_host_get_device_pointer(&atomics->old_device_addr, atomics->old, 0);
    if (result != CUDA_SUCCESS) return result;
    *call = "the first launch";
    return word_launch(device, 0, &no_op, &old) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static void atomics_end(struct cuda_device *device)
{
    if (device->atomics == NULL) return;
    if (stp_cuda_enter(device) == 0) {
        atomics_undo(device);
        stp_cuda_leave();
    }
    free(device->atomics);
    device->atomics = NULL;
    stp_cuda_context_unref(device);
}

static int atomics_make(struct cuda_device *device)
{
    char text[CUDA_TEXT];
    const char *call;
    CUresult result;

    device->atomics = calloc(1, sizeof(*device->atomics));
    if (device->atomics == NULL) return -ENOMEM;
    if (stp_cuda_retain_and_enter(device) != 0) {
        free(device->atomics);
        device->atomics = NULL;
        return -EIO;
    }
    result = atomics_fill(device, &call);
    stp_cuda_leave();
    if (result == CUDA_SUCCESS) return 0;
    stp_info("gpu %d does not accept the library's kernel for atomics, so a host thread performs "
             "the atomics of GPU kernels: %s: %s",
             device->ordinal, call, stp_cuda_text(result, text, sizeof(text)));
    atomics_end(device);
    return -EIO;
}

/* ---- operations on all devices -------------------------------------------------------------- */

static bool word_calls(void)
{
    const struct stp_cuda_api *api = &stp_cuda.api;

    return api->module_load != NULL && api->module_unload != NULL &&
           api->module_get_function != NULL && api->launch_kernel != NULL &&
           api->mem_host_get_device_pointer != NULL;
}

int stp_gpu_amo_acquire(int ordinal)
{
    int rc = word_calls() ? 0 : -ENOTSUP;

    for (int i = 0; i < stp_cuda.n_devices && rc == 0; i++) {
        struct cuda_device *device = &stp_cuda.devices[i];
        bool used = i == ordinal || stp_cuda_has_spaces(device);

        if (used && device->atomics == NULL) rc = atomics_make(device);
    }
    n_sharers++;
    if (rc != 0) stp_gpu_amo_release();
    return rc;
}

void stp_gpu_amo_release(void)
{
    if (--n_sharers > 0) return;
    for (int i = 0; i < stp_cuda.n_devices; i++)
        atomics_end(&stp_cuda.devices[i]);
}

void stp_cuda_device_amo_stop(void)
{
    /*
     * The program may still have device handles. Set the counter to 1, so that the release below is
     * the last one and destroys the objects.
     */
    n_sharers = 1;
    stp_gpu_amo_release();
}

bool stp_gpu_amo_enabled(const struct stp_space *space)
{
    const struct cuda_part *part = space->kind_data;

    return part->device->atomics != NULL;
}

/*
 * Returns whether atomics of this device on the memory of another device are atomic with respect to
 * the other device's own atomics. other_uuid is the UUID of the other device. Returns false if the
 * UUID is zero, which means that the driver does not report UUIDs.
 */
static bool word_atomics_are_mutual(const struct cuda_device *device, const CUuuid *other_uuid)
{
    static const CUuuid unknown;
    int supported = 0;

    if (memcmp(other_uuid, &unknown, sizeof(unknown)) == 0) return false;
    if (memcmp(&device->uuid, other_uuid, sizeof(*other_uuid)) == 0) return true;
    if (stp_cuda.api.device_p2p_attribute == NULL) return false;
    for (int i = 0; i < stp_cuda.n_devices; i++) {
        const struct cuda_device *peer = &stp_cuda.devices[i];

        if (memcmp(&peer->uuid, other_uuid, sizeof(*other_uuid)) == 0)
            return stp_cuda.api.device_p2p_attribute(
                       &supported, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, device->handle,
                       peer->handle) == CUDA_SUCCESS &&
                   supported != 0;
    }
    return false; /* this process cannot see the other device */
}

bool stp_gpu_atomics_reach(const struct stp_space *space, int local)
{
    const struct cuda_part *part = space->kind_data;

    if (local == stp_window_local()) return true;
    return local >= 0 && local < part->n_peers &&
           word_atomics_are_mutual(part->device, &part->peers[local].uuid);
}
