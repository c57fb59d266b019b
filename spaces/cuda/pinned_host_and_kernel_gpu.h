/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares functions for host memory that GPUs can access, and for the GPU on which
 * kernels of the program use device handles. Design: docs/design/cuda.md.
 */
#ifndef STP_PINNED_HOST_AND_KERNEL_GPU_H
#define STP_PINNED_HOST_AND_KERNEL_GPU_H

#include "spaces/kinds.h"

/*
 * Pins a host space for GPUs (spaces/cuda/pinned_host.c): chooses a device, takes a reference to
 * its context, and registers this PE's part with the driver. Registered memory stays resident until
 * the space is destroyed. Returns 0, or -errno after logging an error.
 */
int stp_pinned_register_space(struct stp_space *space, const struct stp_space_params *params);

/* Returns whether host memory can be pinned for GPUs. If not, writes the reason to why. */
bool stp_pinned_is_possible(char *why, size_t len);

/* Unregisters the peers' parts before they are unmapped. Does nothing if nothing is pinned. */
void stp_pinned_unregister_peers(struct stp_space *space);

/* Unregisters all parts before this PE's part is freed. Does nothing if nothing is pinned. */
void stp_pinned_unregister_space(struct stp_space *space);

/*
 * Registers a range of one part with the driver. The range has to - from bytes and begins at offset
 * "from". The part belongs to the PE whose index in this node is local, and has this size already.
 * Returns 0, or -errno after writing the reason to why.
 */
int stp_pinned_register(struct stp_space *space, int local, size_t from, size_t to, char *why,
                        size_t len);

/* Unregisters, in all parts, the ranges that begin at or after the offset "from". */
void stp_pinned_unregister_from(struct stp_space *space, size_t from);

/*
 * Returns the address by which the device accesses a byte in the part of a PE of the node, or NULL
 * if there is no such address. Any thread may call this function.
 */
void *stp_pinned_device_ptr(struct stp_space *space, int local, size_t offset);

/* Returns the ordinal of the device for which the space is pinned. */
int stp_pinned_device_ordinal(const struct stp_space *space);

/* The GPU on which kernels of the program use a device handle. */
struct stp_gpu {
    int device;          /* ordinal of the GPU */
    bool native_atomics; /* true if the GPU's atomics on host memory are atomic to those of CPUs */
    bool host_pointers;  /* true if GPU and host use the same address for registered memory */
};

/*
 * Chooses the GPU with this ordinal or, if ordinal is -1, the default GPU of this PE's spaces.
 * Returns 0, -ENODEV if this PE has no usable GPU, or -EINVAL if the ordinal is wrong. Writes the
 * name of the GPU, or the reason for the failure, to text.
 */
int stp_gpu_choose(int ordinal, struct stp_gpu *gpu, char *text, size_t len);

/*
 * Lets this device, and all devices with spaces of this PE, perform the PEs' atomics on GPU spaces
 * (spaces/cuda/device_amo.c). These are then atomic to atomics of kernels. During the call, no
 * other thread performs such an atomic. Returns 0, or -errno if a device cannot perform atomics.
 */
int stp_gpu_amo_acquire(int ordinal);

/* Undoes one successful stp_gpu_amo_acquire(), under the same condition. */
void stp_gpu_amo_release(void);

/* Returns whether the device of this GPU space performs the PEs' atomics on this PE's part. */
bool stp_gpu_amo_enabled(const struct stp_space *space);

/*
 * Returns whether kernels on this PE's device can perform atomics on the part of the PE whose index
 * in this node is local, so that these are atomic to atomics of the device that holds the part.
 */
bool stp_gpu_atomics_reach(const struct stp_space *space, int local);

/* Returns whether atomics of the device that pinned this space are atomic to those of CPUs. */
bool stp_pinned_has_native_atomics(const struct stp_space *space);

#endif /* STP_PINNED_HOST_AND_KERNEL_GPU_H */
