/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel that uses the functions of shmemx_device.h. check_device_header.sh compiles it for
 * devices, without CUDA headers or libraries. Nobody runs it.
 */
#include <shmemx_device.h>

extern "C" __attribute__((global)) void uses(shmemx_device_handle_t handle, long *data,
                                             unsigned int *bits, double *real, uint64_t *signal)
{
    int next = (shmemx_dev_my_pe(&handle) + 1) % shmemx_dev_n_pes(&handle);

    shmemx_dev_long_p(&handle, data, shmemx_dev_long_g(&handle, data + 1, next), next);
    shmemx_dev_long_put(&handle, data, data + 8, 100, next);
    shmemx_dev_double_get_nbi_warp(&handle, real, real + 1, 10, next);
    shmemx_dev_fence(&handle);
    shmemx_dev_putmem_signal_block(&handle, data, data + 8, 100, signal, 1,
                                   SHMEMX_DEV_SIGNAL_ADD, next);
    shmemx_dev_double_atomic_set(&handle, real, 0.5, next);
    (void)shmemx_dev_long_atomic_compare_swap(&handle, data, 1, 2, next);
    (void)shmemx_dev_uint_atomic_fetch_xor(&handle, bits, 1, next);
    (void)shmemx_dev_signal_wait_until(&handle, signal, SHMEMX_DEV_CMP_GE, 1);
    shmemx_dev_long_wait_until(&handle, data, SHMEMX_DEV_CMP_NE, 0);
    shmemx_dev_quiet(&handle);
    shmemx_dev_barrier_block(&handle);
}
