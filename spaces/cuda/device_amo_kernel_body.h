/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header has the code of the kernel in device_amo.cu. The host version of this kernel in
 * test/fakecuda uses the same code. shmemx_device.h must be included before this header. The kernel
 * runs with one thread.
 */
#ifndef STP_DEVICE_AMO_KERNEL_BODY_H
#define STP_DEVICE_AMO_KERNEL_BODY_H

/*
 * Performs one atomic with system scope on a word of nbytes bytes. A fence orders the atomic after
 * earlier writes to the device. Stores the previous value of the word in *old. The argument variant
 * is an SHMEMX_DEV_AMO_ constant, or 0. With variant 0 the kernel does not change the word. The
 * host launches the kernel with variant 0 when it loads the kernel.
 */
SHMEMX_DEV void stp_word_atomic(void *word, uint64_t nbytes, uint64_t variant, uint64_t value,
                                uint64_t compare, uint64_t *old)
{
    uint64_t previous = 0;

    stp_dev_fence_system();
    if (variant != 0)
        previous =
            stp_dev_amo_here((char *)word, (uint32_t)nbytes, (uint32_t)variant, value, compare);
    stp_dev_fence_system();
    stp_dev_store64(old, previous);
}

#endif /* STP_DEVICE_AMO_KERNEL_BODY_H */
