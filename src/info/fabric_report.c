/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the report sections about data paths. The first section lists the paths that this process
 * can use. The second section lists every libfabric provider, with the reason why the fabric module
 * uses or refuses it.
 */
#include "info.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fabric_module_dlopen.h"
#include "core/job_state.h"
#include "provider_verdicts.h"

static void info_node(struct stp_report *report)
{
    struct stp_window_layout layout;
    int fd = memfd_create("steppe-probe", MFD_CLOEXEC);
    int error = errno;

    stp_report_item(report, "path", "node");
    stp_report_text(report, "how", "load and store in memory that the PEs of a node share");
    stp_report_flag(report, "usable", fd >= 0);
    if (fd < 0) stp_report_textf(report, "why_not", "memfd_create: %s", strerror(error));
    stp_report_text(report, "used",
                    stp_env.node ? "between PEs of one node" : "never, because SHMEM_NODE is off");
    if (stp_window_choose(1, stp_env.symmetric.max, stp_env.window_size, &layout) == 0)
        stp_report_bytes(report, "window", layout.nbytes);
    stp_report_end_group(report);
    if (fd >= 0) close(fd);
}

static void info_fabric(struct stp_report *report)
{
    char path[PATH_MAX], reason[PATH_MAX + 64];
    int rc = stp_fabric_module_path(path, sizeof(path), reason, sizeof(reason));

    stp_report_item(report, "path", "fabric");
    stp_report_text(report, "how", "libfabric, loaded only by jobs that need a fabric");
    stp_report_text(report, "module", rc == 0 ? path : NULL);
    if (rc != 0) stp_report_text(report, "why_not", reason);
    stp_report_text(report, "used",
                    stp_env.node ? "between nodes" : "between all PEs, because SHMEM_NODE is off");
    stp_report_end_group(report);
}

void stp_info_conduits(struct stp_report *report)
{
    stp_report_list(report, "paths");
    info_node(report);
    info_fabric(report);
    stp_report_end_group(report);
}

/* ---- providers ----------------------------------------------------------- */

static void info_offer(struct stp_report *report, const struct stp_info_offer *offer)
{
    stp_report_item(report, "provider", offer->provider);
    stp_report_text(report, "domain", offer->domains);
    stp_report_flag(report, "used", offer->code == STP_PROVIDER_USED);
    stp_report_text(report, "reason", offer->reason);
    stp_report_end_group(report);
}

/*
 * Writes only the provider that this job uses. Other providers cannot be tested, because the fabric
 * module has only one endpoint, which the job uses.
 */
static void info_live_provider(struct stp_report *report)
{
    struct stp_info_offer offer = {.code = STP_PROVIDER_USED, .reason = "used by this job"};

    snprintf(offer.provider, sizeof(offer.provider), "%s", stp_rt.fabric.provider);
    snprintf(offer.domains, sizeof(offer.domains), "%s", stp_rt.fabric.domain);
    stp_report_list(report, "offered");
    info_offer(report, &offer);
    stp_report_end_group(report);
    stp_report_flag(report, "usable", true);
}

static void info_all_providers(struct stp_report *report)
{
    struct stp_info_offers offers;
    char reason[PATH_MAX + 64];
    int rc = stp_info_offers_query_providers(&offers, 1, 1, NULL, 0, reason, sizeof(reason));

    if (reason[0] != '\0') {
        stp_report_text(report, "why_not", reason);
        return;
    }
    stp_report_list(report, "offered");
    for (size_t i = 0; i < offers.n; i++)
        info_offer(report, &offers.rows[i]);
    stp_report_end_group(report);
    free(offers.rows);
    if (offers.incomplete)
        stp_report_text(report, "missing", "some providers, because memory ran out");
    stp_report_flag(report, "usable", rc == 0);
    if (rc != 0) stp_report_textf(report, "why_not", "no provider works: %s", strerror(-rc));
}

void stp_info_providers(struct stp_report *report)
{
    if (stp_rt.has_fabric)
        info_live_provider(report);
    else
        info_all_providers(report);
}
