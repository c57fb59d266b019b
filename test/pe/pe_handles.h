/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates GPU memory by handles, as a program does (cuMemCreate, cuMemAddressReserve, cuMemMap,
 * cuMemSetAccess). The structures are those of the driver's interface.
 */
#ifndef STEPPE_TEST_PE_HANDLES_H
#define STEPPE_TEST_PE_HANDLES_H

#include "pe_gpu.h"

#define PE_HANDLES_UNIT ((size_t)2 << 20) /* memory comes in multiples */

struct pe_handles_prop {
    int type, handle_types, location_type, device;
    void *unused;
    unsigned char flags[8];
};

struct pe_handles_access {
    int location_type, device, flags;
};

static struct {
    int (*create)(unsigned long long *handle, size_t nbytes, const struct pe_handles_prop *prop,
                  unsigned long long flags);
    int (*release)(unsigned long long handle);
    int (*reserve)(unsigned long long *address, size_t nbytes, size_t alignment,
                   unsigned long long wanted, unsigned long long flags);
    int (*unreserve)(unsigned long long address, size_t nbytes);
    int (*map)(unsigned long long address, size_t nbytes, size_t offset, unsigned long long handle,
               unsigned long long flags);
    int (*unmap)(unsigned long long address, size_t nbytes);
    int (*access)(unsigned long long address, size_t nbytes, const struct pe_handles_access *access,
                  size_t n);
} pe_handles;

/* False: no driver, no device, or a driver that has none. */
static inline bool pe_handles_load(void)
{
    void *library = pe_gpu_load() ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

    if (library == NULL || dlsym(library, "cuMemCreate") == NULL) return false;
    *(void **)&pe_handles.create = pe_gpu_symbol(library, "cuMemCreate");
    *(void **)&pe_handles.release = pe_gpu_symbol(library, "cuMemRelease");
    *(void **)&pe_handles.reserve = pe_gpu_symbol(library, "cuMemAddressReserve");
    *(void **)&pe_handles.unreserve = pe_gpu_symbol(library, "cuMemAddressFree");
    *(void **)&pe_handles.map = pe_gpu_symbol(library, "cuMemMap");
    *(void **)&pe_handles.unmap = pe_gpu_symbol(library, "cuMemUnmap");
    *(void **)&pe_handles.access = pe_gpu_symbol(library, "cuMemSetAccess");
    return true;
}

/* nbytes on device 0, which other processes can get, or not. */
static inline unsigned long long pe_handles_alloc(size_t nbytes, bool shareable)
{
    struct pe_handles_prop prop = {1, shareable ? 1 : 0, 1, 0, NULL, {0}};
    struct pe_handles_access access = {1, 0, 3};
    unsigned long long handle, address;

    PE_REQUIRE(pe_handles.create(&handle, nbytes, &prop, 0) == 0 &&
                   pe_handles.reserve(&address, nbytes, 0, 0, 0) == 0 &&
                   pe_handles.map(address, nbytes, 0, handle, 0) == 0 &&
                   pe_handles.access(address, nbytes, &access, 1) == 0 &&
                   pe_handles.release(handle) == 0,
               "the driver did not create and map %zu bytes of device memory by a handle", nbytes);
    return address;
}

static inline void pe_handles_free(unsigned long long address, size_t nbytes)
{
    PE_CHECK_EQ(pe_handles.unmap(address, nbytes), 0);
    PE_CHECK_EQ(pe_handles.unreserve(address, nbytes), 0);
}

#endif
