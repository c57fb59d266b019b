/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This kernel performs atomics of hosts on words of device memory while other kernels change these
 * words. It is CUDA without the CUDA headers. test/gpu/make_ptx.sh compiles it to
 * device_amo_ptx.inc, which is part of the library and which the driver compiles for its device.
 */
#include <shmemx_device.h>

#include "device_amo_kernel_body.h"

extern "C" __attribute__((global)) void stp_atomic(void *word, uint64_t nbytes, uint64_t variant,
                                                   uint64_t value, uint64_t compare, uint64_t *old)
{
    stp_word_atomic(word, nbytes, variant, value, compare, old);
}
