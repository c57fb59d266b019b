/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file registers (pins) host memory that copies use frequently. Such memory is registered with
 * the driver only while a context exists. This file also flushes data that network adapters have
 * written to device memory, so that the device sees the data. Failures of these operations are
 * ignored. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <stdlib.h>

struct pin {
    struct pin *next;
    void *host;
    size_t nbytes;
    /*
     * Device in whose context the memory is registered, or NULL if it is not registered. The
     * registration holds a reference to this context.
     */
    struct cuda_device *device;
};

static struct {
    pthread_mutex_t lock; /* lock of the list, which is taken before stp_cuda.lock */
    struct pin *first;
} pins = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- registration ---------------------------------------------------------------------- */

static void pin_register_locked(struct pin *pin)
{
    for (int i = 0; i < stp_cuda.n_devices && pin->device == NULL; i++) {
        struct cuda_device *device = &stp_cuda.devices[i];
        CUresult result;

        if (!stp_cuda_retain_and_enter_if_up(device)) continue;
        result =
            stp_cuda.api.mem_host_register(pin->host, pin->nbytes, CU_MEMHOSTREGISTER_PORTABLE);
        stp_cuda_leave();
        stp_cuda_log_failure(result, "cuMemHostRegister");
        if (result == CUDA_SUCCESS)
            pin->device = device;
        else
            stp_cuda_context_unref(device);
    }
}

static void pin_unregister_locked(struct pin *pin)
{
    struct cuda_device *device = pin->device;

    if (device == NULL) return;
    if (stp_cuda_enter(device) == 0) {
        stp_cuda_log_failure(stp_cuda.api.mem_host_unregister(pin->host), "cuMemHostUnregister");
        stp_cuda_leave();
    }
    pin->device = NULL;
    stp_cuda_context_unref(device);
}

void stp_cuda_pin(void *host, size_t nbytes)
{
    struct pin *pin = stp_cuda.usable ? calloc(1, sizeof(*pin)) : NULL;

    if (pin == NULL) return;
    pin->host = host;
    pin->nbytes = nbytes;
    pthread_mutex_lock(&pins.lock);
    pin->next = pins.first;
    pins.first = pin;
    pin_register_locked(pin);
    pthread_mutex_unlock(&pins.lock);
}

void stp_cuda_unpin(void *host, size_t nbytes)
{
    struct pin **link = &pins.first, *pin;

    (void)nbytes;
    pthread_mutex_lock(&pins.lock);
    while (*link != NULL && (*link)->host != host)
        link = &(*link)->next;
    pin = *link;
    if (pin != NULL) {
        *link = pin->next;
        pin_unregister_locked(pin);
    }
    pthread_mutex_unlock(&pins.lock);
    free(pin);
}

void stp_cuda_pin_refresh(void)
{
    pthread_mutex_lock(&pins.lock);
    for (struct pin *pin = pins.first; pin != NULL; pin = pin->next)
        if (pin->device == NULL) pin_register_locked(pin);
    pthread_mutex_unlock(&pins.lock);
}

void stp_cuda_pin_drop(struct cuda_device *device)
{
    pthread_mutex_lock(&pins.lock);
    for (struct pin *pin = pins.first; pin != NULL; pin = pin->next)
        if (pin->device == device) pin_unregister_locked(pin);
    pthread_mutex_unlock(&pins.lock);
}

/* ---- flush of writes by network adapters ------------------------------------------------- */

static void flush_device(struct cuda_device *device)
{
    if (!device->flushes || !stp_cuda_retain_and_enter_if_up(device)) return;
    stp_cuda_log_failure(
        stp_cuda.api.flush_rdma_writes(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
        "cuFlushGPUDirectRDMAWrites");
    stp_cuda_leave_and_release(device);
}

void stp_cuda_flush_remote(void)
{
    if (!stp_cuda.usable || stp_cuda.api.flush_rdma_writes == NULL) return;
    for (int i = 0; i < stp_cuda.n_devices; i++)
        flush_device(&stp_cuda.devices[i]);
}
