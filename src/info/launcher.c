/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the report section about the launcher. The section names the protocol with which this
 * process contacts the launcher, or would contact it. It also names the environment variable that
 * determines this choice. Design: docs/design/launch.md.
 */
#include "info.h"

#include "core/job_state.h"
#include "pmi/pmi.h"

void stp_info_launcher(struct stp_report *report)
{
    struct stp_pmi_details details;

    stp_pmi_describe_client(&details);
    stp_report_text(report, "client", details.client);
    stp_report_text(report, "why", details.reason);
    stp_report_flag(report, "libpmix", details.libpmix[0] == '\0');
    if (details.libpmix[0] != '\0') stp_report_text(report, "libpmix_why_not", details.libpmix);
    if (stp_references() == 0) return;
    stp_report_number(report, "pe", stp_rt.pe);
    stp_report_number(report, "pes", stp_rt.n_pes);
    stp_report_number(report, "nodes", stp_rt.n_nodes);
}
