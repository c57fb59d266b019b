/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares host memory that GPUs reach, and the GPUs on which kernels of the program
 * run. Design: docs/design/cuda.md.
 */
#ifndef STP_PINNED_HOST_AND_KERNEL_GPU_H
#define STP_PINNED_HOST_AND_KERNEL_GPU_H

#include "spaces/kinds.h"

/*
 * These pin host spaces for GPUs (spaces/cuda/pinned_host.c). The memory is registered with the
 * driver, and therefore resident, until the space is destroyed. register_space holds a device of
 * this PE and registers this PE's part. It returns 0, or -errno, logged. unregister_peers precedes
 * the release of peers' parts, unregister_space that of the own part; both accept any space.
 */
int stp_pinned_register_space(struct stp_space *space, const struct stp_space_params *params);
bool stp_pinned_is_possible(char *why, size_t len); /* true, or false with the reason in why */
void stp_pinned_unregister_peers(struct stp_space *space);
void stp_pinned_unregister_space(struct stp_space *space);

/*
 * Registers bytes from..to, which exist already, of the part of the PE with local index local.
 * Returns 0, or -errno with the reason in why. unregister_from ends this from an offset on, in all
 * parts.
 */
int stp_pinned_register(struct stp_space *space, int local, size_t from, size_t to, char *why,
                        size_t len);
void stp_pinned_unregister_from(struct stp_space *space, size_t from);

/* Returns the device address of a byte in the part of a PE of the node, or NULL. For any thread. */
void *stp_pinned_device_ptr(struct stp_space *space, int local, size_t offset);

/* Returns the ordinal of the device for which the space is pinned. */
int stp_pinned_device_ordinal(const struct stp_space *space);

/* GPU on which kernels run (spaces/cuda/choose_kernel_gpu.c). */
struct stp_gpu {
    int device;          /* ordinal of the GPU */
    bool native_atomics; /* true if the GPU's atomics on host memory are atomic to CPUs */
    bool host_pointers;  /* true if GPU and host use the same address for registered memory */
};

/*
 * Chooses the GPU with this ordinal, or, for -1, the GPU of this PE's spaces. Returns 0, -ENODEV if
 * there is none, or -EINVAL for a wrong ordinal. Writes the name, or the reason, to text.
 */
int stp_gpu_choose(int ordinal, struct stp_gpu *gpu, char *text, size_t len);

/*
 * Allows kernels on this device to change words of this PE's GPU spaces (spaces/cuda/device_amo.c).
 * This device, and others that have spaces, then do the kind's atomics. release undoes one call.
 * The caller excludes other calls and atomics. Returns 0, or -errno if a device cannot do this.
 */
int stp_gpu_amo_acquire(int ordinal);
void stp_gpu_amo_release(void);

/*
 * Return whether the device performs the atomics of this GPU space, and whether the device's
 * atomics on the part of the PE with local index local are atomic there.
 */
bool stp_gpu_amo_enabled(const struct stp_space *space);
bool stp_gpu_atomics_reach(const struct stp_space *space, int local);

/* Returns whether the atomics of the device for which the space is pinned are atomic to CPUs. */
bool stp_pinned_has_native_atomics(const struct stp_space *space);

#endif /* STP_PINNED_HOST_AND_KERNEL_GPU_H */
