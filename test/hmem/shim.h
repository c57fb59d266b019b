/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test double: preloaded, it makes libfabric's tcp;ofi_rxm look like a provider that reaches
 * device memory (FI_HMEM) of the fake CUDA driver. It registers and copies that driver's own
 * addresses in place of the device's, and ends the process when a device address comes without
 * its descriptor. What passes with it says that the fabric module asks for the right things,
 * nothing about an adapter.
 *
 * HMEMSHIM_REFUSE=all, or the PMI_RANK of one process: FI_HMEM is granted there, but no device
 * memory can be registered, as without the kernel's part of GPUDirect. HMEMSHIM_NO_ENDPOINT: no
 * endpoint can be opened with it, as by a provider that would not do without CUDA.
 */
#ifndef STP_HMEM_SHIM_H
#define STP_HMEM_SHIM_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdbool.h>
#include <stddef.h>

#define SHIM_EXPORT __attribute__((visibility("default")))

__attribute__((noreturn, format(printf, 1, 2))) void shim_die(const char *fmt, ...);

/* ---- memory.c -------------------------------------------------------------- */

/* Let the domain register device memory. */
void shim_memory_wrap(struct fid_domain *domain);

/*
 * What the provider may touch for a local buffer that operation passes with desc: the buffer, or
 * what stands behind it in device memory. *desc becomes NULL if it is of device memory.
 */
void *shim_memory_local(const char *operation, const void *buffer, size_t nbytes, void **desc);

/* ---- rma.c ----------------------------------------------------------------- */

/* Let the endpoint's operations take device memory. */
void shim_rma_wrap(struct fid_ep *ep);

/* ---- for tests, found with dlsym() ----------------------------------------- */

/*
 * How many: "regions" of device memory are registered, "made" were ever, "buffers" of device memory
 * were passed to operations, "refused" registrations. -1: no such thing.
 */
SHIM_EXPORT long hmemshim_count(const char *what);

#endif /* STP_HMEM_SHIM_H */
