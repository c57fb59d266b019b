/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the devices on which spaces can be made. */
#ifndef STP_DEVICE_INFO_QUERY_H
#define STP_DEVICE_INFO_QUERY_H

#include "shmemx.h"
#include "spaces/kinds.h"

/*
 * Fills info, of this library's size, with the facts about device i of a kind. Returns 0, or 1 if
 * the device does not exist. Kinds must be started, as they are in a job.
 */
int stp_device_query(const struct stp_kind *kind, int i, shmemx_device_info_t *info);

#endif /* STP_DEVICE_INFO_QUERY_H */
