/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake NVML beside the fake CUDA driver, a test double: only the calls that report free memory. The
 * library knows devices whose PCI bus number is at least FAKECUDA_NVML (such as 0x17). Each has
 * FAKECUDA_NVML_TOTAL bytes, of which a quarter is free. Without FAKECUDA_NVML, NVML cannot be
 * initialized.
 */
#include <stdio.h>
#include <stdlib.h>

enum { OK = 0, UNINITIALIZED = 1, NOT_FOUND = 6, DRIVER_NOT_LOADED = 9 };

typedef struct device *nvmlDevice_t;
struct memory {
    unsigned long long total, free, used;
};

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *device);
EXPORT int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct memory *memory);
EXPORT int fakenvml_users(void);

static int users;

int fakenvml_users(void)
{
    return users;
}

int nvmlInit_v2(void)
{
    if (!getenv("FAKECUDA_NVML")) return DRIVER_NOT_LOADED;
    users++;
    return OK;
}

int nvmlShutdown(void)
{
    if (users == 0) return UNINITIALIZED;
    users--;
    return OK;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *device)
{
    unsigned domain, number, slot, function;

    if (users == 0) return UNINITIALIZED;
    if (sscanf(bus, "%x:%x:%x.%x", &domain, &number, &slot, &function) != 4) return NOT_FOUND;
    if (number < strtoul(getenv("FAKECUDA_NVML"), NULL, 0)) return NOT_FOUND;
    *device = (nvmlDevice_t)(size_t)number;
    return OK;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct memory *memory)
{
    const char *total = getenv("FAKECUDA_NVML_TOTAL");

    if (users == 0) return UNINITIALIZED;
    if (!device || !total) return NOT_FOUND;
    memory->total = strtoull(total, NULL, 0);
    memory->free = memory->total / 4;
    memory->used = memory->total - memory->free;
    return OK;
}
