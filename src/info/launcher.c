/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The section of the report about the launcher: which of its protocols is spoken, or would be, and
 * what decides. Design: docs/design/launch.md.
 */
#include "info.h"

#include "library.h"

void stp_info_launcher(struct stp_report *report)
{
    struct stp_pmi_outlook outlook;

    stp_lib->pmi_look(&outlook);
    stp_report_text(report, "client", outlook.client);
    stp_report_text(report, "why", outlook.why);
    stp_report_flag(report, "libpmix", outlook.libpmix[0] == '\0');
    if (outlook.libpmix[0] != '\0') stp_report_text(report, "libpmix_why_not", outlook.libpmix);
    if (stp_lib->rt->references == 0) return;
    stp_report_number(report, "pe", stp_lib->rt->pe);
    stp_report_number(report, "pes", stp_lib->rt->n_pes);
    stp_report_number(report, "nodes", stp_lib->rt->n_nodes);
}
