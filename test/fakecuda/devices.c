/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: the devices that the environment
 * asks for, and their attributes.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DRIVER_VERSION = 12040, FIRST_BUS = 0x17 };

/* ---- the environment ------------------------------------------------------ */

static long env_number(const char *name, long low, long high, long otherwise)
{
    const char *text = fake_env(name);
    char *end;
    long value;

    if (!text) return otherwise;
    value = strtol(text, &end, 10);
    if (*end != '\0' || value < low || value > high)
        fake_die("%s=%s: expected a number from %ld to %ld", name, text, low, high);
    return value;
}

static size_t env_bytes(const char *name, size_t otherwise)
{
    static const char suffixes[] = "kmg";
    const char *text = fake_env(name);
    const char *suffix;
    char *end;
    size_t value;

    if (!text) return otherwise;
    value = strtoull(text, &end, 10);
    suffix = *end ? strchr(suffixes, *end | 0x20) : NULL;
    if (suffix) {
        value <<= 10 * (suffix - suffixes + 1);
        end++;
    }
    if (end == text || *end != '\0' || value == 0)
        fake_die("%s=%s: expected bytes with k, m or g", name, text);
    return value;
}

/* Whether text, a list of numbers with commas, names number. */
static bool list_has(const char *text, long number)
{
    while (*text) {
        char *end;
        long value = strtol(text, &end, 10);

        if (end == text) return false;
        if (value == number) return true;
        text = *end == ',' ? end + 1 : end;
    }
    return false;
}

/* CUDA_VISIBLE_DEVICES: which devices, in which order; the first wrong entry ends the list. */
static void choose_visible(const char *text, int n_physical)
{
    fake.n_devices = 0;
    while (*text && fake.n_devices < FAKE_MAX_DEVICES) {
        char *end;
        long value = strtol(text, &end, 10);

        if (end == text || value < 0 || value >= n_physical || fake_device_find((int)value) >= 0)
            return;
        fake.physical[fake.n_devices++] = (int)value;
        if (*end != ',') return;
        text = end + 1;
    }
}

void fake_devices_configure(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"); /* empty: none */
    const char *ranks = fake_env("FAKECUDA_RANKS");
    int n_physical = (int)env_number("FAKECUDA_DEVICES", 0, FAKE_MAX_DEVICES, 1);

    fake.rank = (int)env_number("PMI_RANK", 0, 1 << 30, 0);
    fake.memory = env_bytes("FAKECUDA_MEMORY", (size_t)256 << 20);
    fake.delay_us = env_number("FAKECUDA_DELAY_US", 0, 10000000, -1);
    fake.p2p_atomics = env_number("FAKECUDA_P2P_ATOMICS", 0, 1, 0);
    fake.native_atomics = env_number("FAKECUDA_NATIVE_ATOMICS", 0, 1, 0);
    fake.reuses = env_number("FAKECUDA_REUSE", 0, 1, 0) != 0;
    fake.host_shift = (CUdeviceptr)env_number("FAKECUDA_HOST_SHIFT", 0, 1, 0) << 46;
    if (ranks && !list_has(ranks, fake.rank)) n_physical = 0;
    fake.n_devices = n_physical;
    for (int i = 0; i < n_physical; i++)
        fake.physical[i] = i;
    if (visible) choose_visible(visible, n_physical);
}

int fake_device_find(int physical)
{
    for (int i = 0; i < fake.n_devices; i++)
        if (fake.physical[i] == physical) return i;
    return -1;
}

bool fake_device_valid(CUdevice device)
{
    return device >= 0 && device < fake.n_devices;
}

/* ---- the API ---------------------------------------------------------------- */

CUresult cuInit(unsigned int flags)
{
    CUresult result = fake_begin(FAKE_cuInit);

    if (result != CUDA_SUCCESS) return result;
    if (flags != 0) return fake_end(CUDA_ERROR_INVALID_VALUE);
    if (fake.n_devices == 0) return fake_end(CUDA_ERROR_NO_DEVICE);
    fake.pid = getpid();
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version)
{
    CUresult result = fake_begin(FAKE_cuDriverGetVersion);

    if (result != CUDA_SUCCESS) return result;
    *version = DRIVER_VERSION;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetCount(int *count)
{
    CUresult result = fake_begin(FAKE_cuDeviceGetCount);

    if (result != CUDA_SUCCESS) return result;
    *count = fake.n_devices;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = fake_begin(FAKE_cuDeviceGet);

    if (result != CUDA_SUCCESS) return result;
    if (!fake_device_valid(ordinal)) return fake_end(CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return fake_end(CUDA_SUCCESS);
}

/* Begin a call about one device. */
static CUresult begin_device(enum fake_call call, CUdevice device)
{
    CUresult result = fake_begin(call);

    if (result != CUDA_SUCCESS) return result;
    return fake_device_valid(device) ? CUDA_SUCCESS : fake_end(CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
    CUresult result = begin_device(FAKE_cuDeviceGetName, device);

    if (result != CUDA_SUCCESS) return result;
    if (!name || len <= 0) return fake_end(CUDA_ERROR_INVALID_VALUE);
    snprintf(name, (size_t)len, "fakecuda test double %d", fake.physical[device]);
    return fake_end(CUDA_SUCCESS);
}

static CUresult get_uuid(enum fake_call call, CUuuid *uuid, CUdevice device)
{
    CUresult result = begin_device(call, device);

    if (result != CUDA_SUCCESS) return result;
    memset(uuid, 0, sizeof(*uuid));
    memcpy(uuid->bytes, "fakecuda", 8);
    uuid->bytes[15] = (char)(fake.physical[device] + 1);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    return get_uuid(FAKE_cuDeviceGetUuid_v2, uuid, device);
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return get_uuid(FAKE_cuDeviceGetUuid, uuid, device);
}

CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice device)
{
    CUresult result = begin_device(FAKE_cuDeviceGetPCIBusId, device);

    if (result != CUDA_SUCCESS) return result;
    if (!id || len < 13) return fake_end(CUDA_ERROR_INVALID_VALUE);
    snprintf(id, (size_t)len, "0000:%02X:00.0", FIRST_BUS + fake.physical[device]);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *nbytes, CUdevice device)
{
    CUresult result = begin_device(FAKE_cuDeviceTotalMem_v2, device);

    if (result != CUDA_SUCCESS) return result;
    *nbytes = fake.memory;
    return fake_end(CUDA_SUCCESS);
}

static int attribute_value(CUdevice_attribute attribute)
{
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
        return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
        return 1;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
        return fake.host_shift == 0;
    case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
        return fake.native_atomics;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
        return CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST;
    default: /* without an order of writes, the weakest there is, so that users flush */
        return 0;
    }
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult result = begin_device(FAKE_cuDeviceGetAttribute, device);

    if (result != CUDA_SUCCESS) return result;
    *value = attribute_value(attribute);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                 CUdevice to)
{
    CUresult result = begin_device(FAKE_cuDeviceGetP2PAttribute, from);

    if (result != CUDA_SUCCESS) return result;
    if (!value || !fake_device_valid(to) || from == to) return fake_end(CUDA_ERROR_INVALID_DEVICE);
    if (attribute != CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
        return fake_end(CUDA_ERROR_INVALID_VALUE);
    *value = fake.p2p_atomics;
    return fake_end(CUDA_SUCCESS);
}
