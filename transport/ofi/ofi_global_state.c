/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all files of the module read: the open provider, what was decided about it, its endpoints
 * and regions. Written by domain_endpoint.c, region.c and endpoint_sharing.c.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

struct stp_ofi stp_ofi = {.av_lock = PTHREAD_MUTEX_INITIALIZER};
