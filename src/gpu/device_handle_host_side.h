/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that kernels begin: handles, and the thread that empties their rings. Design:
 * docs/design/kernel.md.
 */
#ifndef STP_DEVICE_HANDLE_HOST_SIDE_H
#define STP_DEVICE_HANDLE_HOST_SIDE_H

#include "spaces/cuda/pinned_host_and_kernel_gpu.h"
#include "spaces/space_registry.h"

#include <shmemx_device.h>

struct stp_ctx;

/* What the host keeps of a handle. */
struct stp_device_handle {
    shmemx_device_handle_t view;    /* with the host's addresses of its words */
    bool on_gpu;                    /* kernels use it, not threads of the host, */
    struct stp_gpu gpu;             /* on this one, */
    uint64_t shift;                 /* which finds the words so much further on */
    bool by_ring;                   /* all that is not this PE's */
    bool shares;                    /* all members share words of their devices with kernels */
    struct stp_space *words;        /* the handle's own, of all its tables and rings */
    struct stp_space **used;        /* by number in the handle's table; each a user of its space */
    char **bases;                   /* the host's addresses of this PE's parts, likewise */
    int *pes;                       /* world numbers of the team's PEs */
    struct stp_ctx *ctx;            /* of what the rings ask for */
    uint64_t *served;               /* requests of each ring */
    struct stp_device_handle *next; /* live ones, guarded by the thread's lock */
};

/* What the host keeps of a handle, whose words and context have gone, or go (device_handle.c). */
void stp_device_handle_free_host_records(struct stp_device_handle *handle);

/* ---- what lies where (device_table.c) --------------------------------------------- */

/* Spaces that would have a row now, but for the handle's own. */
size_t stp_device_handle_count_eligible(const struct stp_device_handle *handle);

/* Where the GPU finds the words: shift. 0; -EFAULT: nowhere. Before the others. */
int stp_device_handle_find_gpu_words(struct stp_device_handle *handle);

/* view.n_spaces rows at most, then as many as there are; tables: room for two words a PE each. */
void stp_device_handle_fill_tables(struct stp_device_handle *handle, uint64_t *tables);

/* The handle as those have it who run with it. */
shmemx_device_handle_t stp_device_handle_view(const struct stp_device_handle *handle);

/* ---- the thread (device_ring.c) --------------------------------------------------- */

/* Serve the rings of a handle from now on. 0 or -errno. */
int stp_device_handle_start_serving(struct stp_device_handle *handle);

/* No longer: what its rings have is done first, and complete. False: it is no live handle. */
bool stp_device_handle_stop_if_live(struct stp_device_handle *handle);

/* The live one that owner is; NULL: none. */
struct stp_device_handle *stp_device_handle_check_live(const void *owner);

/* Its thread ends, and handles that nobody destroyed are none; before the contexts go. */
void stp_device_handles_stop_and_free(void);

/* The same when the job is aborted: false when the thread did not come back in time. */
bool stp_device_handles_try_stop(void);

#endif /* STP_DEVICE_HANDLE_HOST_SIDE_H */
