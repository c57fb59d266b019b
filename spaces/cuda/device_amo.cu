/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file has the kernel that performs an atomic of the host on a word in device memory. Other
 * kernels may change the word at the same time. The kernel is CUDA code that needs no CUDA headers.
 * test/gpu/make_ptx.sh compiles this file to PTX in device_amo_ptx.inc, which is part of the
 * library. At run time the driver compiles the PTX for the device.
 */
#include <shmemx_device.h>

#include "device_amo_kernel_body.h"

extern "C" __attribute__((global)) void stp_atomic(void *word, uint64_t nbytes, uint64_t variant,
                                                   uint64_t value, uint64_t compare, uint64_t *old)
{
    stp_word_atomic(word, nbytes, variant, value, compare, old);
}
