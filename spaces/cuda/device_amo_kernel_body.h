/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel of device_amo.cu does, for the device and for its host twin on test/fakecuda;
 * shmemx_device.h has to be included. One thread.
 */
#ifndef STP_DEVICE_AMO_KERNEL_BODY_H
#define STP_DEVICE_AMO_KERNEL_BODY_H

/*
 * An atomic of the system on a word, behind what was done to the device before. variant: an
 * SHMEMX_DEV_AMO_..., 0: none, to have the kernel loaded. old gets what was there.
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
