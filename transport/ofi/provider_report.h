/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports about providers: codes with their reasons, advice, and what trials measure for them.
 */
#ifndef STP_PROVIDER_REPORT_H
#define STP_PROVIDER_REPORT_H

#include "ofi_internal.h"

/* The reason that goes with a code; NULL where that differs from case to case. */
const char *stp_ofi_reason(enum stp_provider_verdict code);

/* Pass a judged choice to core->report, with advice. */
void stp_ofi_report_candidate(const struct stp_core *core, const struct stp_ofi_choice *choice);

/* And the providers of which nothing is offered at all. */
void stp_ofi_report_providers_without_info(const struct stp_core *core,
                                           const struct stp_ofi_choice *choices, int n);

/* Those at the end of the last self-test; -1: not counted, for want of a report. */
extern int stp_ofi_probe_fds;

/* Does the address mean anything to other hosts? (provider_select.c) */
bool stp_ofi_leaves_host(const struct fi_info *info);

#endif /* STP_PROVIDER_REPORT_H */
