/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines stp_ofi, the state that all files of the fabric module share: the provider, the settings,
 * the endpoints and the regions. domain_endpoint.c, region.c and endpoint_sharing.c write most of
 * this state. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

struct stp_ofi stp_ofi = {.av_lock = PTHREAD_MUTEX_INITIALIZER};
