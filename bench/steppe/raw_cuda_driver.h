/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw side on GPUs. It calls the CUDA driver directly, and copies only within this process. The
 * code opens the driver with dlopen() and declares the few functions that it needs. It does not use
 * OpenSHMEM. The programs steppe-bench and gpu_probe use it. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_RAW_CUDA_DRIVER_H
#define STEPPE_BENCH_RAW_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

struct raw_cuda {
    char device[128];
    char driver[64];  /* version of CUDA that the driver supports */
    bool test_double; /* whether the driver is a test double, whose times mean nothing */
    char *buffer[2];  /* two buffers of nbytes bytes each, in the memory of the device */

    /*
     * Starts a copy. Both addresses can be in host or device memory. The data at source must not
     * change until wait() returns.
     */
    void (*copy)(void *dest, const void *source, size_t nbytes);
    void (*wait)(void); /* waits until all copies are complete */
};

/*
 * Loads the driver and checks that it has a device. Returns 0, or -errno with the reason in
 * `reason`. Later calls return the result of the first call.
 */
int raw_cuda_load(char *reason, size_t len);

/*
 * Opens a device and allocates two buffers of nbytes on it. Only one device can be open. Returns 0,
 * or -errno with the reason in `reason`.
 */
int raw_cuda_open(int ordinal, size_t nbytes, const struct raw_cuda **raw, char *reason,
                  size_t len);
void raw_cuda_close(void);

#endif /* STEPPE_BENCH_RAW_CUDA_DRIVER_H */
