/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of memory this build knows: one row, one file each.
 */
#include "spaces/spaces.h"

extern const struct stp_kind stp_kind_cpu;

const struct stp_kind *const stp_kinds[STP_N_KINDS] = {
    [STP_KIND_CPU] = &stp_kind_cpu,
};

const struct stp_kind *stp_kind_find(int device_type)
{
    for (int i = 0; i < STP_N_KINDS; i++)
        if (stp_kinds[i]->device_type == device_type) return stp_kinds[i];
    return NULL;
}
