/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the host's side of operations that kernels begin: handles, and the thread
 * that serves their rings. Design: docs/design/kernel.md.
 */
#ifndef STP_DEVICE_HANDLE_HOST_SIDE_H
#define STP_DEVICE_HANDLE_HOST_SIDE_H

#include "spaces/cuda/pinned_host_and_kernel_gpu.h"
#include "spaces/space_registry.h"

#include <shmemx_device.h>

struct stp_ctx;

/* The host's record of a handle. */
struct stp_device_handle {
    shmemx_device_handle_t view; /* handle with the host's addresses */
    bool on_gpu;             /* whether kernels on a GPU use the handle, not threads of the host */
    struct stp_gpu gpu;      /* GPU of the kernels */
    uint64_t shift;          /* difference between the GPU's and the host's address of a word */
    bool by_ring;            /* whether all operations on other PEs use rings */
    bool shares;             /* whether all members allow kernels' atomics on device memory */
    struct stp_space *words; /* handle's own space, with its tables and rings */
    struct stp_space **used; /* space of each row of the table, with the handle as a user */
    char **bases;            /* host address of this PE's part, for each row */
    int *pes;                /* world numbers of the team's PEs */
    struct stp_ctx *ctx;     /* context of the requested operations */
    uint64_t *served;        /* number of requests served, for each ring */
    struct stp_device_handle *next; /* next live handle, guarded by the lock in device_ring.c */
};

/* Frees the host's record of a handle, but neither its space nor its context (device_handle.c). */
void stp_device_handle_free_host_records(struct stp_device_handle *handle);

/* ---- what lies where (device_table.c) --------------------------------------------- */

/* Returns how many spaces would have a row in the table now, without the handle's own space. */
size_t stp_device_handle_count_eligible(const struct stp_device_handle *handle);

/* Sets shift, for the functions below. Returns 0, or -EFAULT if the GPU cannot reach the words. */
int stp_device_handle_find_gpu_words(struct stp_device_handle *handle);

/* Fills up to view.n_spaces rows and sets that number. tables has 2 words per row and PE. */
void stp_device_handle_fill_tables(struct stp_device_handle *handle, uint64_t *tables);

/* Returns the handle with the addresses that the handle's kernels or threads use. */
shmemx_device_handle_t stp_device_handle_view(const struct stp_device_handle *handle);

/* ---- the thread (device_ring.c) --------------------------------------------------- */

/* Starts to serve the rings of a handle. Returns 0, or -errno. */
int stp_device_handle_start_serving(struct stp_device_handle *handle);

/* Serves the requests left in the rings, then stops. Returns false if the handle is not live. */
bool stp_device_handle_stop_if_live(struct stp_device_handle *handle);

/* Returns the live handle whose address is owner, or NULL. */
struct stp_device_handle *stp_device_handle_check_live(const void *owner);

/* Ends the thread and frees handles that the program did not destroy, before contexts end. */
void stp_device_handles_stop_and_free(void);

/* Stops the thread when the job is aborted. Returns false if the thread does not end in time. */
bool stp_device_handles_try_stop(void);

#endif /* STP_DEVICE_HANDLE_HOST_SIDE_H */
