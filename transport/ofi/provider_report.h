/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the functions that report on providers: the reason why a provider is used or refused,
 * and advice to the user. Also declares the number of descriptors that a self-test has needed.
 */
#ifndef STP_PROVIDER_REPORT_H
#define STP_PROVIDER_REPORT_H

#include "ofi_internal.h"

/* Returns the text that explains a verdict, or NULL if the text depends on the case. */
const char *stp_ofi_reason(enum stp_provider_verdict code);

/* Passes a choice and its verdict to core->report, together with advice to the user. */
void stp_ofi_report_candidate(const struct stp_core *core, const struct stp_ofi_choice *choice);

/* Passes the providers for which libfabric returned no fi_info on this host to core->report. */
void stp_ofi_report_providers_without_info(const struct stp_core *core,
                                           const struct stp_ofi_choice *choices, int n);

/* Number of descriptors that were open after the last self-test, or -1 if they were not counted. */
extern int stp_ofi_probe_fds;

/* Returns whether PEs on other hosts can use the address of info (provider_select.c). */
bool stp_ofi_leaves_host(const struct fi_info *info);

#endif /* STP_PROVIDER_REPORT_H */
