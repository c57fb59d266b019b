/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file has the kernel for reductions on a device. Each PE launches the kernel to reduce its
 * share of the elements. The kernel is CUDA code that needs no CUDA headers. test/gpu/make_ptx.sh
 * compiles this file to PTX in device_reduce_ptx.inc, which is part of the library. At run time the
 * driver compiles the PTX for the device.
 */
#include <shmemx_device.h>

#include "device_reduce_kernel_body.h"

/*
 * Processes the elements of the job. The grid and the blocks may have any size, but only one
 * dimension.
 */
extern "C" __attribute__((global)) void stp_reduce(struct stp_reduce_job job)
{
    uint64_t n_threads = stp_dev_ntid_x();

    stp_reduce_elements(&job, stp_dev_ctaid_x() * n_threads + stp_dev_tid_x(),
                        stp_dev_nctaid_x() * n_threads);
}
