/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of device memory of this PE, by address: a buffer in one of them needs the region's
 * descriptor and must not be touched by the CPU. Asked by every operation, but only while there
 * are such regions.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <string.h>

static struct {
    pthread_rwlock_t lock; /* guards all below; other threads may look while a region comes */
    unsigned n;
    uint16_t numbers[STP_FABRIC_REGIONS]; /* of regions, in the order of their addresses */
} devices = {.lock = PTHREAD_RWLOCK_INITIALIZER};

_Static_assert(STP_FABRIC_REGIONS <= UINT16_MAX, "a number fits");

/* How many regions begin at or below the address. */
static unsigned count_below_locked(const char *at)
{
    unsigned low = 0, high = devices.n;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (stp_ofi.regions[devices.numbers[middle]].base <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct stp_ofi_region *stp_ofi_device_find(const void *local)
{
    const struct stp_ofi_region *found = NULL;
    const char *at = local;
    unsigned below;

    pthread_rwlock_rdlock(&devices.lock);
    below = count_below_locked(at);
    if (below > 0) found = &stp_ofi.regions[devices.numbers[below - 1]];
    if (found != NULL && (size_t)(at - found->base) >= found->nbytes) found = NULL;
    pthread_rwlock_unlock(&devices.lock);
    return found;
}

static void publish_locked(void)
{
    /* Whoever passes a buffer of a new region has been told of it by who added it. */
    atomic_store_explicit(&stp_ofi.n_devices, devices.n, memory_order_relaxed);
}

void stp_ofi_device_add(unsigned number)
{
    unsigned at;

    pthread_rwlock_wrlock(&devices.lock);
    at = count_below_locked(stp_ofi.regions[number].base);
    memmove(&devices.numbers[at + 1], &devices.numbers[at],
            (devices.n - at) * sizeof(devices.numbers[0]));
    devices.numbers[at] = (uint16_t)number;
    devices.n++;
    stp_ofi.regions[number].device = true;
    publish_locked();
    pthread_rwlock_unlock(&devices.lock);
}

void stp_ofi_device_remove(unsigned number)
{
    unsigned at = 0;

    pthread_rwlock_wrlock(&devices.lock);
    while (at < devices.n && devices.numbers[at] != number)
        at++;
    if (at < devices.n) {
        devices.n--;
        memmove(&devices.numbers[at], &devices.numbers[at + 1],
                (devices.n - at) * sizeof(devices.numbers[0]));
    }
    stp_ofi.regions[number].device = false;
    publish_locked();
    pthread_rwlock_unlock(&devices.lock);
}
