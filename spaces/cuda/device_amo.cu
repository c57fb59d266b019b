/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel by which a PE does atomics of hosts on words of its device while kernels change them,
 * too. CUDA without its headers; test/gpu/make_ptx.sh makes device_amo_ptx.inc of it, which the library
 * has in it and the driver compiles for its device.
 */
#include <shmemx_device.h>

#include "device_amo_kernel_body.h"

extern "C" __attribute__((global)) void stp_atomic(void *word, uint64_t nbytes, uint64_t variant,
                                                   uint64_t value, uint64_t compare, uint64_t *old)
{
    stp_word_atomic(word, nbytes, variant, value, compare, old);
}
