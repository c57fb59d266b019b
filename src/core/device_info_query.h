/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts about the devices that spaces can be made on. */
#ifndef STP_DEVICE_INFO_QUERY_H
#define STP_DEVICE_INFO_QUERY_H

#include "shmemx.h"
#include "spaces/kinds.h"

/*
 * What is known of device i of a kind, in a structure of this library's size: 0, or 1 when there is
 * none. While kinds are started: in a job they are.
 */
int stp_device_query(const struct stp_kind *kind, int i, shmemx_device_info_t *info);

#endif /* STP_DEVICE_INFO_QUERY_H */
