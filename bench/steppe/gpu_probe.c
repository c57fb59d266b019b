/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports whether there is a GPU, for scripts/gpu-check.sh, before anything else is built. Prints
 * the device, the driver, and "real" or "double", one per line. Exits with 0, or 77 and a reason.
 */
#include "raw_cuda_driver.h"

#include <stdio.h>

int main(void)
{
    const struct raw_cuda *raw;
    char why[256];

    if (raw_cuda_open(0, 4096, &raw, why, sizeof(why)) != 0) {
        fprintf(stderr, "%s\n", why);
        return 77;
    }
    printf("%s\n%s\n%s\n", raw->device, raw->driver, raw->test_double ? "double" : "real");
    raw_cuda_close();
    return 0;
}
