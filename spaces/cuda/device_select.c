/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file chooses the GPU of a PE. If no GPU was requested, it chooses the GPU that is nearest to
 * the CPUs of this process. If several GPUs are equally near, the PEs of the node are distributed
 * over these GPUs. This file also describes the devices as text. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/*
 * Distance of a device whose location is unknown. It is larger than any distance that the firmware
 * reports.
 */
#define CHOOSE_FAR 1000

/* ---- locality -------------------------------------------------------------------------- */

int stp_cuda_numa(const struct cuda_device *device)
{
    char path[96], line[32];
    int node = -1;

    if (device->bus[0] == '\0') return -1;
    snprintf(path, sizeof(path), "bus/pci/devices/%s/numa_node", device->bus);
    return sscanf(stp_sysfs_read_or_empty(line, sizeof(line), path), "%d", &node) == 1 ? node : -1;
}

int stp_cuda_distance(const struct cuda_device *device, const struct stp_numbers *own_cpus)
{
    struct stp_numbers cpus;
    char path[96];

    if (device->bus[0] == '\0') return -1;
    snprintf(path, sizeof(path), "bus/pci/devices/%s/local_cpulist", device->bus);
    stp_sysfs_list(&cpus, path);
    if (stp_numbers_meet(&cpus, own_cpus)) return STP_DISTANCE_LOCAL;
    return stp_numa_distance(device->numa, own_cpus);
}

int stp_cuda_nearest(void)
{
    int nearest[CUDA_MAX_DEVICES], n = 0, best = INT_MAX;
    struct stp_numbers own_cpus;

    stp_numbers_own_cpus(&own_cpus);
    for (int i = 0; i < stp_cuda.n_devices; i++) {
        int distance;
        if (stp_cuda.devices[i].unusable_reason[0] != '\0') continue;
        distance = stp_cuda_distance(&stp_cuda.devices[i], &own_cpus);
        if (distance < 0) distance = CHOOSE_FAR;
        if (distance < best) n = 0;
        if (distance <= best) nearest[n++] = i;
        if (distance < best) best = distance;
    }
    return n == 0 ? 0 : nearest[stp_window_local() % n];
}

/* ---- choice ------------------------------------------------------------------------------ */

/*
 * Chooses the device with this ordinal. If the device cannot be used, writes an error text to text
 * and returns -EINVAL. The error text begins with prefix, for example "device is".
 */
static int choose_number(int ordinal, const char *prefix, struct cuda_device **device, char *text,
                         size_t len)
{
    if (ordinal < 0 || ordinal >= stp_cuda.n_devices)
        return stp_reason(-EINVAL, text, len,
                          "%s %d, but the valid numbers of GPUs on this PE are 0..%d", prefix,
                          ordinal, stp_cuda.n_devices - 1);
    *device = &stp_cuda.devices[ordinal];
    if ((*device)->unusable_reason[0] == '\0') return 0;
    return stp_reason(-EINVAL, text, len, "%s %d, which cannot be used: %s", prefix, ordinal,
                      (*device)->unusable_reason);
}

/* Chooses the device that holds params->buffer, which is memory of the program. */
static int choose_by_buffer(const struct stp_space_params *params, struct cuda_device **device,
                            char *text, size_t len)
{
    struct cuda_location location = stp_cuda_location(params->buffer);

    *device = location.device;
    if (location.peer)
        return stp_reason(-EINVAL, text, len, "buffer %p is memory of another PE", params->buffer);
    if (*device == NULL)
        return stp_reason(
            -EINVAL, text, len,
            "buffer %p is not device memory: allocate it with cudaMalloc or cuMemAlloc",
            params->buffer);
    if (params->device >= 0 && params->device != (*device)->ordinal)
        return stp_reason(-EINVAL, text, len,
                          "attr->device is %d, but buffer %p is memory of device %d",
                          params->device, params->buffer, (*device)->ordinal);
    return 0;
}

/*
 * Writes the name and memory size of a device to the buffer "text", for example "gpu 0: NAME, 80
 * GiB".
 */
static void choose_name(const struct cuda_device *device, char *text, size_t len)
{
    char size[STP_SIZE_TEXT];

    snprintf(text, len, "gpu %d: %s, %s", device->ordinal, device->name,
             stp_size_text(device->total, size));
}

int stp_cuda_choose(const struct stp_space_params *params, struct cuda_device **device, char *text,
                    size_t len)
{
    int rc = 0;

    if (!stp_cuda.usable)
        return stp_reason(-ENODEV, text, len, "%s",
                          stp_cuda.reason[0] != '\0' ? stp_cuda.reason
                                                     : "this PE has not searched for GPUs yet");
    *device = &stp_cuda.devices[stp_cuda.nearest];
    if (params->buffer != NULL) {
        rc = choose_by_buffer(params, device, text, len);
    } else if (params->device != -1) {
        rc = choose_number(params->device, "attr->device is", device, text, len);
    } else if (stp_env.gpu_device >= 0) {
        rc = choose_number(stp_env.gpu_device, "SHMEM_GPU_DEVICE is", device, text, len);
        if (rc != 0) return -ENODEV;
    }
    if (rc == 0) choose_name(*device, text, len);
    return rc;
}

/* ---- descriptions of devices --------------------------------------------------------------- */

bool stp_cuda_describe(int i, char *text, size_t len)
{
    const struct cuda_device *device = &stp_cuda.devices[i < 0 ? 0 : i];
    const unsigned char *u = (const unsigned char *)device->uuid.bytes;
    char name[160];

    if (i < 0 || i >= stp_cuda.n_devices) return false;
    if (device->unusable_reason[0] != '\0') {
        snprintf(text, len, "gpu %d cannot be used: %s", i, device->unusable_reason);
        return true;
    }
    choose_name(device, name, sizeof(name));
    snprintf(text, len,
             "%s, pci %s, numa %d, uuid %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x%s",
             name, device->bus, device->numa, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8],
             u[9], u[10], u[11], u[12], u[13], u[14], u[15],
             i == stp_cuda.nearest ? ", nearest to this PE" : "");
    return true;
}
