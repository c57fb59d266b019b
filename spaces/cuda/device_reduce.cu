/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With this kernel a PE reduces its share of vectors on its device. It is CUDA without the CUDA
 * headers. test/gpu/make_ptx.sh compiles it to device_reduce_ptx.inc, which is part of the library
 * and which the driver compiles for its device.
 */
#include <shmemx_device.h>

#include "device_reduce_kernel_body.h"

/* Works with any grid and blocks of one dimension. */
extern "C" __attribute__((global)) void stp_reduce(struct stp_reduce_job job)
{
    uint64_t n_threads = stp_dev_ntid_x();

    stp_reduce_elements(&job, stp_dev_ctaid_x() * n_threads + stp_dev_tid_x(),
                        stp_dev_nctaid_x() * n_threads);
}
