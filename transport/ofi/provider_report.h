/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the reports about providers: the reason for each code, the advice to the user, and the
 * number of descriptors that a self-test measures.
 */
#ifndef STP_PROVIDER_REPORT_H
#define STP_PROVIDER_REPORT_H

#include "ofi_internal.h"

/* Returns the reason that belongs to a code, or NULL if the reason differs from case to case. */
const char *stp_ofi_reason(enum stp_provider_verdict code);

/* Passes a judged choice to core->report, together with advice. */
void stp_ofi_report_candidate(const struct stp_core *core, const struct stp_ofi_choice *choice);

/* Passes the providers for which libfabric offers nothing on this host to core->report. */
void stp_ofi_report_providers_without_info(const struct stp_core *core,
                                           const struct stp_ofi_choice *choices, int n);

/* Number of descriptors open at the end of the last self-test, or -1 if no report was requested. */
extern int stp_ofi_probe_fds;

/* Returns whether other hosts can use the address of info (provider_select.c). */
bool stp_ofi_leaves_host(const struct fi_info *info);

#endif /* STP_PROVIDER_REPORT_H */
