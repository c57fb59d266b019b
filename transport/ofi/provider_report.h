/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares functions that report which providers are used or refused. A report contains the reason
 * and advice to the user. Also declares the number of file descriptors that the last self-test
 * counted.
 */
#ifndef STP_PROVIDER_REPORT_H
#define STP_PROVIDER_REPORT_H

#include "ofi_internal.h"

/*
 * Returns the text that explains the verdict code. Returns NULL if the verdict has no fixed text.
 */
const char *stp_ofi_reason(enum stp_provider_verdict code);

/* Calls core->report() with the provider of choice, the verdict on it, and advice to the user. */
void stp_ofi_report_candidate(const struct stp_core *core, const struct stp_ofi_choice *choice);

/*
 * Calls core->report() for each provider of libfabric that has no entry in the array choices. Such
 * a provider has found no device on this host that it can use.
 */
void stp_ofi_report_providers_without_info(const struct stp_core *core,
                                           const struct stp_ofi_choice *choices, int n);

/*
 * Number of file descriptors that this process had open at the end of the last self-test. The
 * number is -1 if they were not counted.
 */
extern int stp_ofi_probe_fds;

/* Returns whether other hosts can reach the address of choice. Defined in provider_select.c. */
bool stp_ofi_leaves_host(const struct stp_ofi_choice *choice);

#endif /* STP_PROVIDER_REPORT_H */
