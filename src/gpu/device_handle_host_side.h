/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the host's records of device handles, and the thread that serves their
 * rings. A ring is a queue of requests. A kernel puts an operation into a ring if the kernel cannot
 * perform the operation itself. The thread then performs the operation. Design:
 * docs/design/streams.md.
 */
#ifndef STP_DEVICE_HANDLE_HOST_SIDE_H
#define STP_DEVICE_HANDLE_HOST_SIDE_H

#include "spaces/cuda/pinned_host_and_kernel_gpu.h"
#include "spaces/space_registry.h"

#include <shmemx_device.h>

struct stp_ctx;

/* The host's record of a handle. */
struct stp_device_handle {
    shmemx_device_handle_t view; /* the handle that kernels get, but with the host's addresses */
    bool on_gpu;             /* whether kernels on a GPU use the handle, instead of host threads */
    struct stp_gpu gpu;      /* GPU on which the kernels run */
    uint64_t shift;          /* GPU's address of the handle's space, minus the host's address */
    bool by_ring;            /* whether operations on other PEs always use rings */
    bool kernel_atomics;     /* whether kernels may perform atomics on device memory */
    struct stp_space *words; /* the handle's own space, which holds its tables and rings */
    struct stp_space **row_spaces;  /* spaces of the table rows; each counts the handle as a user */
    char **bases;                   /* host's address of this PE's part, for each table row */
    int *pes;                       /* world numbers of the team's PEs, by rank */
    struct stp_ctx *ctx;            /* context for the operations that kernels request */
    uint64_t *served;               /* number of requests served so far, for each ring */
    struct stp_device_handle *next; /* next live handle, guarded by the lock in device_ring.c */
};

/* Frees the host's record of a handle, but not its space and its context (device_handle.c). */
void stp_device_handle_free_host_records(struct stp_device_handle *handle);

/* ---- layout (device_table.c) ------------------------------------------------------ */

/*
 * Returns the number of existing spaces that can get a row in the table. Does not count the
 * handle's own space.
 */
size_t stp_device_handle_count_eligible(const struct stp_device_handle *handle);

/*
 * Sets handle->shift, which the next two functions use. Returns 0, or -EFAULT if the GPU cannot
 * access the handle's own space.
 */
int stp_device_handle_find_gpu_words(struct stp_device_handle *handle);

/*
 * Fills the table of the handle, with at most view.n_spaces rows. Sets view.n_spaces to the number
 * of filled rows. The argument `tables` is a buffer with two 8-byte words for each row and PE.
 */
void stp_device_handle_fill_tables(struct stp_device_handle *handle, uint64_t *tables);

/*
 * Returns a copy of handle->view in which the addresses are valid for the users of the handle: for
 * kernels on the GPU, or for host threads.
 */
shmemx_device_handle_t stp_device_handle_view(const struct stp_device_handle *handle);

/* ---- the thread (device_ring.c) --------------------------------------------------- */

/* Makes the service thread serve the rings of a handle. Returns 0, or -errno. */
int stp_device_handle_start_serving(struct stp_device_handle *handle);

/* Serves the requests that are left in the rings of a handle, then stops serving these rings. */
void stp_device_handle_stop_serving(struct stp_device_handle *handle);

/* Returns the live handle at the address owner, or NULL if there is none. */
struct stp_device_handle *stp_device_handle_check_live(const void *owner);

/*
 * Ends the service thread and frees the handles that the program has not destroyed. Called before
 * contexts are destroyed.
 */
void stp_device_handles_stop_and_free(void);

/* Stops the service thread at an abort. Returns false if the thread does not end in time. */
bool stp_device_handles_try_stop(void);

#endif /* STP_DEVICE_HANDLE_HOST_SIDE_H */
