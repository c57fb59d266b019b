/* SPDX-License-Identifier: BSD-3-Clause */
/* Declares the query for the properties of devices on which spaces can be made. */
#ifndef STP_DEVICE_INFO_QUERY_H
#define STP_DEVICE_INFO_QUERY_H

#include "shmemx.h"
#include "spaces/kinds.h"

/*
 * Fills info with the properties of device i of a memory kind. The structure has the size that the
 * library's own header defines. Returns 0, or 1 if the device does not exist. The memory kinds must
 * already have been started, as they are in every job.
 */
int stp_device_query(const struct stp_kind *kind, int i, shmemx_device_info_t *info);

#endif /* STP_DEVICE_INFO_QUERY_H */
