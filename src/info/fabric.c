/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sections of the report about how bytes travel: what this process can use, and, by asking
 * the fabric module, every provider of libfabric with the reason it is used or not.
 */
#include "info.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "library.h"

static void info_node(struct stp_report *report)
{
    struct stp_window_layout layout;
    int fd = memfd_create("steppe-probe", MFD_CLOEXEC);
    int error = errno;

    stp_report_item(report, "path", "node");
    stp_report_text(report, "how", "load and store in memory shared by the PEs of a node");
    stp_report_flag(report, "usable", fd >= 0);
    if (fd < 0) stp_report_textf(report, "why_not", "memfd_create: %s", strerror(error));
    stp_report_text(report, "used",
                    stp_lib->env->node ? "between PEs of one node"
                                       : "not at all: SHMEM_NODE is off");
    if (stp_lib->window_choose(1, stp_lib->env->symmetric.max, stp_lib->env->window_size,
                               &layout) == 0)
        stp_report_bytes(report, "window", layout.nbytes);
    stp_report_end(report);
    if (fd >= 0) close(fd);
}

static void info_fabric(struct stp_report *report)
{
    char path[PATH_MAX], why[PATH_MAX + 64];
    int rc = stp_lib->module_path(STP_MODULE_FABRIC, path, sizeof(path), why, sizeof(why));

    stp_report_item(report, "path", "fabric");
    stp_report_text(report, "how", "libfabric, loaded by the jobs that need it");
    stp_report_text(report, "module", rc == 0 ? path : NULL);
    if (rc != 0) stp_report_text(report, "why_not", why);
    stp_report_text(report, "used",
                    stp_lib->env->node ? "between nodes" : "for everything: SHMEM_NODE is off");
    stp_report_end(report);
}

void stp_info_conduits(struct stp_report *report)
{
    stp_report_list(report, "paths");
    info_node(report);
    info_fabric(report);
    stp_report_end(report);
}

/* ---- providers ----------------------------------------------------------- */

/* What libfabric offers once for each address format and endpoint type, we say once. */
struct offer {
    char *provider;
    char *domains; /* joined by commas */
    char *reason;
    bool used;
};

struct offers {
    struct offer *rows;
    size_t n;
    bool incomplete; /* for lack of memory */
};

/* True when the list of domains, joined by ", ", has this one. */
static bool offer_has_domain(const struct offer *offer, const char *domain)
{
    size_t len = strlen(domain);

    for (const char *at = offer->domains; at != NULL; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (strncmp(at, domain, len) == 0 && (at[len] == ',' || at[len] == '\0')) return true;
    }
    return false;
}

static struct offer *offer_find(struct offers *offers, const char *provider, bool used,
                                const char *reason)
{
    for (size_t i = 0; i < offers->n; i++) {
        struct offer *row = &offers->rows[i];

        if (row->used == used && strcmp(row->provider, provider) == 0 &&
            strcmp(row->reason, reason) == 0)
            return row;
    }
    return NULL;
}

static bool offer_add(struct offers *offers, const char *provider, const char *domain, bool used,
                      const char *reason)
{
    struct offer *rows = realloc(offers->rows, (offers->n + 1) * sizeof(*rows));
    struct offer row = {strdup(provider), strdup(domain), strdup(reason), used};

    if (rows != NULL) offers->rows = rows;
    if (rows != NULL && row.provider != NULL && row.domains != NULL && row.reason != NULL) {
        rows[offers->n++] = row;
        return true;
    }
    free(row.provider);
    free(row.domains);
    free(row.reason);
    return false;
}

static bool offer_add_domain(struct offer *offer, const char *domain)
{
    char *joined;

    if (offer_has_domain(offer, domain)) return true;
    if (asprintf(&joined, "%s, %s", offer->domains, domain) < 0) return false;
    free(offer->domains);
    offer->domains = joined;
    return true;
}

static void info_offer(void *arg, const struct stp_offer *offer)
{
    struct offers *offers = arg;
    const char *where = offer->domain != NULL ? offer->domain : "";
    bool used = offer->code == STP_OFFER_USED;
    struct offer *row = offer_find(offers, offer->provider, used, offer->reason);
    bool done = row != NULL ? offer_add_domain(row, where)
                            : offer_add(offers, offer->provider, where, used, offer->reason);

    offers->incomplete |= !done;
}

static void info_offers(struct stp_report *report, struct offers *offers)
{
    stp_report_list(report, "offered");
    for (size_t i = 0; i < offers->n; i++) {
        struct offer *row = &offers->rows[i];

        stp_report_item(report, "provider", row->provider);
        stp_report_text(report, "domain", row->domains);
        stp_report_flag(report, "used", row->used);
        stp_report_text(report, "reason", row->reason);
        stp_report_end(report);
        free(row->provider);
        free(row->domains);
        free(row->reason);
    }
    stp_report_end(report);
    free(offers->rows);
    if (offers->incomplete) stp_report_text(report, "missing", "some, for lack of memory");
}

/* The report says what the module would log. */
static void info_no_log(int level, const char *fmt, ...)
{
    (void)level;
    (void)fmt;
}

/* In a live job the module's one endpoint is in use: what it opened is the answer. */
static void info_live_provider(struct stp_report *report)
{
    struct offers offers = {0};

    info_offer(&offers, &(struct stp_offer){.provider = stp_lib->rt->fabric.provider,
                                            .domain = stp_lib->rt->fabric.domain,
                                            .reason = "used by this job",
                                            .code = STP_OFFER_USED});
    info_offers(report, &offers);
    stp_report_flag(report, "usable", true);
}

/* Ask the module about every provider of libfabric; needs a process without a fabric. */
static void info_all_providers(struct stp_report *report)
{
    struct offers offers = {0};
    struct stp_core core = {
        .abi = STP_FABRIC_ABI,
        .n_pes = 1,
        .n_local = 1,
        .env = stp_lib->env,
        .log = info_no_log,
        .fatal = stp_lib->fatal,
        .report = info_offer,
        .report_arg = &offers,
    };
    stp_module_entry_fn open_fabric;
    char why[PATH_MAX + 64];
    int rc = stp_lib->module_open(STP_MODULE_FABRIC, &open_fabric, why, sizeof(why));

    if (rc != 0) {
        stp_report_text(report, "why_not", why);
        return;
    }
    rc = ((stp_ofi_open_fn)open_fabric)(&core, NULL);
    info_offers(report, &offers);
    stp_report_flag(report, "usable", rc == 0);
    if (rc != 0) stp_report_textf(report, "why_not", "no provider serves: %s", strerror(-rc));
}

void stp_info_providers(struct stp_report *report)
{
    if (stp_lib->rt->has_fabric)
        info_live_provider(report);
    else
        info_all_providers(report);
}
