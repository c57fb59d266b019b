/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw side on GPUs: the CUDA driver called directly, in this process alone. Opened with
 * dlopen(); the few prototypes are our own. Knows nothing of OpenSHMEM. Used by steppe-bench and
 * gpu_probe. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_RAW_CUDA_DRIVER_H
#define STEPPE_BENCH_RAW_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

struct raw_cuda {
    char device[128];
    char driver[64];  /* its CUDA version */
    bool test_double; /* the driver is no driver: its times mean nothing */
    char *buffer[2];  /* on the device, nbytes each */

    /* Start a copy between any two places; returns when source may be reused or later. */
    void (*copy)(void *dest, const void *source, size_t nbytes);
    void (*wait)(void); /* until all copies are done */
};

/*
 * Load the driver and count devices. 0, or -errno with the reason in why: no driver, no device.
 * Again: the same answer.
 */
int raw_cuda_load(char *why, size_t len);

/* Open a device, by its ordinal, with buffers of nbytes; once. 0, or -errno with the reason. */
int raw_cuda_open(int ordinal, size_t nbytes, const struct raw_cuda **raw, char *why, size_t len);
void raw_cuda_close(void);

#endif /* STEPPE_BENCH_RAW_CUDA_DRIVER_H */
