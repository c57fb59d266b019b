/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory that GPUs reach, and GPUs that kernels of the program run on. Design:
 * docs/design/cuda.md.
 */
#ifndef STP_PINNED_HOST_AND_KERNEL_GPU_H
#define STP_PINNED_HOST_AND_KERNEL_GPU_H

#include "spaces/kinds.h"

/*
 * Host spaces that are pinned for GPUs (spaces/cuda/pinned_host.c): their memory is registered with
 * the driver, and so resident, until the space goes. create: takes a device of this PE, which is
 * held from then on, and registers this PE's part. 0 or -errno, logged. detach, before peers' parts
 * go, and destroy, before the own part does, may be called for any space.
 */
int stp_pinned_register_space(struct stp_space *space, const struct stp_space_params *params);
bool stp_pinned_is_possible(char *why, size_t len); /* would it work? else why not */
void stp_pinned_unregister_peers(struct stp_space *space);
void stp_pinned_unregister_space(struct stp_space *space);

/*
 * Registers bytes from..to of the part of local, whose owner has them. 0, or -errno with the reason
 * as text. drop: no longer, from there on, in all parts.
 */
int stp_pinned_register(struct stp_space *space, int local, size_t from, size_t to, char *why,
                        size_t len);
void stp_pinned_unregister_from(struct stp_space *space, size_t from);

/* What devices call a byte of the part of local; NULL when it is not pinned. Any thread. */
void *stp_pinned_device_ptr(struct stp_space *space, int local, size_t offset);

int stp_pinned_device_ordinal(
    const struct stp_space *space); /* of the device that it is pinned for */

/* A GPU that kernels run on (spaces/cuda/choose_kernel_gpu.c). */
struct stp_gpu {
    int device;          /* its ordinal */
    bool native_atomics; /* its atomics on host memory are atomic to CPUs */
    bool host_pointers;  /* it calls host memory that is registered what the host does */
};

/*
 * The one with this ordinal, -1: that which spaces of this PE would be made on. 0; -ENODEV: this PE
 * has none; -EINVAL: the ordinal is wrong. The text tells which one, or why none.
 */
int stp_gpu_choose(int ordinal, struct stp_gpu *gpu, char *text, size_t len);

/*
 * Kernels on the device with this ordinal may change words of this PE's GPU spaces from now on
 * (spaces/cuda/device_amo.c), so that the kind's atomic is done by it, and by other devices that
 * have spaces; keep undoes one call. Caller: one at a time, with no atomic under way. 0; -errno,
 * not logged: a device cannot do that, and all is as before.
 */
int stp_gpu_amo_acquire(int ordinal);
void stp_gpu_amo_release(void);

/* Are they, of this GPU space? Are atomics of its device on the part of local atomic there? */
bool stp_gpu_amo_enabled(const struct stp_space *space);
bool stp_gpu_atomics_reach(const struct stp_space *space, int local);

/* Are atomics of the device that this pinned host space is for atomic to CPUs? */
bool stp_pinned_has_native_atomics(const struct stp_space *space);

#endif /* STP_PINNED_HOST_AND_KERNEL_GPU_H */
