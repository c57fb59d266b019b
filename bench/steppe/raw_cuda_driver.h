/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw side on GPUs: direct calls of the CUDA driver, in this process alone. The driver is
 * opened with dlopen(), and raw_cuda_driver.c declares the few prototypes. This code does not use
 * OpenSHMEM. steppe-bench and gpu_probe use it. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_RAW_CUDA_DRIVER_H
#define STEPPE_BENCH_RAW_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

struct raw_cuda {
    char device[128];
    char driver[64];  /* CUDA version of the driver */
    bool test_double; /* whether the driver is a test double, with meaningless times */
    char *buffer[2];  /* buffers of nbytes on the device */

    /* Starts a copy between any two addresses. source must not change before wait() returns. */
    void (*copy)(void *dest, const void *source, size_t nbytes);
    void (*wait)(void); /* waits until all copies are done */
};

/*
 * Loads the driver and counts devices. Returns 0, or -errno with the reason in why if there is no
 * driver or no device. Later calls return the first result.
 */
int raw_cuda_load(char *why, size_t len);

/* Opens a device with buffers of nbytes, only once. Returns 0, or -errno with the reason in why. */
int raw_cuda_open(int ordinal, size_t nbytes, const struct raw_cuda **raw, char *why, size_t len);
void raw_cuda_close(void);

#endif /* STEPPE_BENCH_RAW_CUDA_DRIVER_H */
