/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host memory that GPUs reach, and GPUs that kernels of the program run on. Design:
 * docs/design/cuda.md.
 */
#ifndef STP_MAPPED_H
#define STP_MAPPED_H

#include "spaces/kinds.h"

/*
 * Host spaces that are pinned for GPUs (spaces/cuda/mapped.c). Pieces are registered with the
 * driver when the heap hands them out, and stay so until the space goes. create: a device of this
 * PE's, held from then on. 0 or -errno, logged. detach, before peers' parts go, and destroy, before
 * the own one does, may be called for any space.
 */
int stp_mapped_create(struct stp_space *space, const struct stp_space_params *params);
bool stp_mapped_can(char *why, size_t len); /* would it work? else why not */
void stp_mapped_detach(struct stp_space *space);
void stp_mapped_destroy(struct stp_space *space);

/*
 * Handing out nbytes at offset: are pieces new? Where members' heaps are equal, all say the same.
 * Then register them in the part of local, whose part must be there, in each that is mapped here;
 * 0 or -errno, with a warning. At last settle what became of it, the same on all members: pieces
 * that were refused are tried again with the next block, in a permanent space no more.
 */
bool stp_mapped_lacks(const struct stp_space *space, size_t offset, size_t nbytes);
int stp_mapped_add(struct stp_space *space, int local, size_t offset, size_t nbytes);
void stp_mapped_settle(struct stp_space *space, size_t offset, size_t nbytes, bool there);

/* What devices call a byte of the part of local; NULL when it is not pinned. Any thread. */
void *stp_mapped_ptr(const struct stp_space *space, int local, size_t offset);

int stp_mapped_ordinal(const struct stp_space *space); /* of the device that it is pinned for */

/* Is a piece of it not pinned for good, which a permanent space may have? */
bool stp_mapped_refused(const struct stp_space *space);

/* A GPU that kernels run on (spaces/cuda/kernel.c). */
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
 * (spaces/cuda/atomic.c), so that the kind's atomic is done by it, and by other devices that have
 * spaces; keep undoes one call. Caller: one at a time, with no atomic
 * under way. 0; -errno, not logged: a device cannot do that, and all is as before.
 */
int stp_gpu_share_words(int ordinal);
void stp_gpu_keep_words(void);

/* Are they, of this GPU space? Are atomics of its device on the part of local atomic there? */
bool stp_gpu_words_shared(const struct stp_space *space);
bool stp_gpu_atomics_reach(const struct stp_space *space, int local);

/* Are atomics of the device that this pinned host space is for atomic to CPUs? */
bool stp_mapped_native(const struct stp_space *space);

#endif /* STP_MAPPED_H */
