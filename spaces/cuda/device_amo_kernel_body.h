/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header is the body of the kernel in device_amo.cu and of its host twin in test/fakecuda. The
 * including file includes shmemx_device.h first. The kernel has one thread.
 */
#ifndef STP_DEVICE_AMO_KERNEL_BODY_H
#define STP_DEVICE_AMO_KERNEL_BODY_H

/*
 * Performs an atomic of system scope on a word, ordered after earlier writes to the device. variant
 * is an SHMEMX_DEV_AMO_ constant, or 0 to only load the kernel. Sets *old to the previous value.
 */
SHMEMX_DEV void stp_word_atomic(void *word, uint64_t nbytes, uint64_t variant, uint64_t value,
                                uint64_t compare, uint64_t *old)
{
    uint64_t was = 0;

    stp_dev_fence_system();
    if (variant != 0)
        was = stp_dev_amo_here((char *)word, (uint32_t)nbytes, (uint32_t)variant, value, compare);
    stp_dev_fence_system();
    stp_dev_store64(old, was);
}

#endif /* STP_DEVICE_AMO_KERNEL_BODY_H */
