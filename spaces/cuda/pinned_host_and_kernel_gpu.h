/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares functions for host memory that GPUs can access, and for the GPU on which
 * kernels of the program use device handles. Design: docs/design/cuda.md.
 */
#ifndef STP_PINNED_HOST_AND_KERNEL_GPU_H
#define STP_PINNED_HOST_AND_KERNEL_GPU_H

#include "spaces/kinds.h"

/*
 * Pins this PE's part of a host space, so that GPUs can access it (spaces/cuda/pinned_host.c).
 * Chooses a device, takes a reference to its context, and registers the part with the driver. The
 * part stays in physical memory until the space is destroyed. Returns 0, or -errno after logging an
 * error.
 */
int stp_pinned_register_space(struct stp_space *space, const struct stp_space_params *params);

/*
 * Returns whether host memory can be pinned for GPUs. If not, writes an error text to reason.
 */
bool stp_pinned_is_possible(char *reason, size_t len);

/*
 * Unregisters the peers' parts. Called before these parts are unmapped. Does nothing if the space
 * is not pinned.
 */
void stp_pinned_unregister_peers(struct stp_space *space);

/*
 * Unregisters all parts. Called before this PE's part is freed. Does nothing if the space is not
 * pinned.
 */
void stp_pinned_unregister_space(struct stp_space *space);

/*
 * Registers the range [start, end) of one part with the driver. The bounds are offsets in the part.
 * The part belongs to the PE with this local index. The part already has at least end bytes.
 * Returns 0. On failure, writes an error text to reason and returns -errno.
 */
int stp_pinned_register(struct stp_space *space, int local, size_t start, size_t end, char *reason,
                        size_t len);

/* Unregisters all ranges that begin at or after the offset start, in every part of the space. */
void stp_pinned_unregister_from(struct stp_space *space, size_t start);

/*
 * Returns the address at which the device accesses a byte of the space. The byte is at this offset
 * in the part of the PE with this local index. Returns NULL if the device cannot access the byte.
 * Any thread may call this function.
 */
void *stp_pinned_device_ptr(struct stp_space *space, int local, size_t offset);

/* Returns the ordinal of the device for which the space is pinned. */
int stp_pinned_device_ordinal(const struct stp_space *space);

/* The GPU on which kernels of the program use a device handle. */
struct stp_gpu {
    int device; /* ordinal of the GPU */
    /* True if the GPU's atomics on host memory and the CPUs' atomics are atomic to each other. */
    bool native_atomics;
    bool host_pointers; /* true if GPU and host use the same address for registered memory */
};

/*
 * Chooses the GPU with this ordinal and fills in *gpu. If ordinal is -1, chooses the GPU that this
 * PE's spaces use by default. Returns 0, -ENODEV if this PE has no usable GPU, or -EINVAL if the
 * ordinal is wrong. Writes the name of the GPU, or the reason for the failure, to the buffer
 * "text".
 */
int stp_gpu_choose(int ordinal, struct stp_gpu *gpu, char *text, size_t len);

/*
 * Makes the devices perform the PEs' atomics on this PE's parts of GPU spaces
 * (spaces/cuda/device_amo.c). These atomics are then atomic with respect to the atomics of kernels.
 * The function prepares the device with this ordinal and all devices on which this PE has spaces.
 * No other thread may perform an atomic on these parts during the call. Returns 0, or -errno if a
 * device cannot perform atomics.
 */
int stp_gpu_amo_acquire(int ordinal);

/*
 * Undoes one successful stp_gpu_amo_acquire(). No other thread may perform an atomic on this PE's
 * parts of GPU spaces during the call.
 */
void stp_gpu_amo_release(void);

/*
 * Returns whether the device that holds this PE's part performs the atomics of all PEs on this
 * part.
 */
bool stp_gpu_amo_enabled(const struct stp_space *space);

/*
 * Returns whether kernels on this PE's device can perform atomics on the part of the PE with this
 * local index. Returns false if these atomics would not be atomic with respect to those of the
 * device that holds the part.
 */
bool stp_gpu_atomics_reach(const struct stp_space *space, int local);

/*
 * Returns whether the device's atomics and the CPUs' atomics on this pinned space are atomic with
 * respect to each other.
 */
bool stp_pinned_has_native_atomics(const struct stp_space *space);

#endif /* STP_PINNED_HOST_AND_KERNEL_GPU_H */
