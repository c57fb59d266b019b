/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the routine wait from before OpenSHMEM 1.4. The routine returns when *ivar differs from
 * cmp_value. Spec 9.11.1.
 */

void STP_FN(wait)(TYPE *ivar, TYPE cmp_value)
{
    STP_LOCAL(wait_until)(ivar, SHMEM_CMP_NE, cmp_value, __func__);
}
STP_PUBLISH_ONE(wait);
