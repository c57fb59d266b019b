/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out whether there is a GPU. scripts/gpu-check.sh runs this program before it builds
 * anything else. If there is a GPU, prints three lines and exits with 0. The lines are the device,
 * the driver, and "real" or "double" (a test double). If there is no GPU, prints the reason and
 * exits with 77.
 */
#include "raw_cuda_driver.h"

#include <stdio.h>

int main(void)
{
    const struct raw_cuda *raw;
    char reason[256];

    if (raw_cuda_open(0, 4096, &raw, reason, sizeof(reason)) != 0) {
        fprintf(stderr, "%s\n", reason);
        return 77;
    }
    printf("%s\n%s\n%s\n", raw->device, raw->driver, raw->test_double ? "double" : "real");
    raw_cuda_close();
    return 0;
}
