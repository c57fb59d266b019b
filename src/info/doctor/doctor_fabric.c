/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the fabric. For each libfabric provider, one check reports the verdict of the fabric
 * module. Other checks are for libfabric itself, the choice of a provider, and the addresses of
 * this host.
 */
#include "doctor.h"

#include "base/fabric_module_dlopen.h"
#include "boot/boot_internal.h"
#include "core/job_state.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one provider ---------------------------------------------------------- */

static bool same_provider(const struct stp_info_offer *a, const struct stp_info_offer *b)
{
    return strcmp(a->provider, b->provider) == 0;
}

/*
 * Returns the offer with the best verdict among the offers of one provider. Row `first` is an offer
 * of this provider. Returns NULL if an earlier row belongs to the same provider, so that each
 * provider is handled once.
 */
static const struct stp_info_offer *best_of(const struct stp_info_offers *offers, size_t first)
{
    const struct stp_info_offer *best = &offers->rows[first];

    for (size_t i = 0; i < first; i++)
        if (same_provider(&offers->rows[i], best)) return NULL;
    for (size_t i = first + 1; i < offers->n; i++)
        if (same_provider(&offers->rows[i], best) && offers->rows[i].code < best->code)
            best = &offers->rows[i];
    return best;
}

/*
 * Writes the verdicts on all offers of a provider, for example "on eth0: used, works; on lo:
 * works". Skips offers without reliable datagrams, unless the provider has no better offer.
 */
static void found_text(const struct stp_info_offers *offers, const struct stp_info_offer *best,
                       char *text, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < offers->n && len < size; i++) {
        const struct stp_info_offer *offer = &offers->rows[i];
        bool has_domain = strcmp(offer->domains, "-") != 0;

        if (!same_provider(offer, best) ||
            (offer->code == STP_PROVIDER_NO_DATAGRAMS && offer->code != best->code))
            continue;
        len += (size_t)snprintf(text + len, size - len, "%s%s%s%s%s%s", len > 0 ? "; " : "",
                                has_domain ? "on " : "", has_domain ? offer->domains : "",
                                has_domain ? ": " : "",
                                offer->code == STP_PROVIDER_USED ? "used, " : "", offer->reason);
    }
}

static enum stp_check_severity severity_of(enum stp_provider_verdict code)
{
    if (code <= STP_PROVIDER_UNTRIED) return STP_CHECK_OK;
    return code <= STP_PROVIDER_NOT_OPENED ? STP_CHECK_WARNING : STP_CHECK_NOTE;
}

/* Copies the advice to text, with the name of the provider in place of the word PROVIDER. */
static void fill_in_provider(char *text, size_t size, const char *advice, const char *provider)
{
    const char *placeholder = strstr(advice, "=PROVIDER");

    if (placeholder == NULL) placeholder = strstr(advice, " PROVIDER");
    if (placeholder == NULL)
        snprintf(text, size, "%s", advice);
    else
        snprintf(text, size, "%.*s%s%s", (int)(placeholder + 1 - advice), advice, provider,
                 placeholder + strlen("=PROVIDER"));
}

static void check_provider(struct stp_doctor *doctor, const struct stp_info_offer *best)
{
    char name[96], reason[400], todo[400], found[1200] = "";
    bool works = stp_info_offer_works(best->code);
    const char *trouble = works ? best->trouble : NULL;

    snprintf(name, sizeof(name), "provider %s", best->provider);
    fill_in_provider(todo, sizeof(todo), best->advice, best->provider);
    found_text(&doctor->offers, best, found, sizeof(found));
    snprintf(reason, sizeof(reason), "%s%s%s",
             best->code == STP_PROVIDER_USED
                 ? "jobs use this provider between hosts, and with SHMEM_NODE=off between all PEs"
             : works ? "this provider also works; jobs use it if SHMEM_OFI_PROVIDER names it, or "
                       "if the provider in use fails its self-test"
                     : "jobs do not use this provider",
             trouble != NULL ? "; known defect of this version: " : "",
             trouble != NULL ? trouble : "");
    stp_doctor_add_check(doctor, severity_of(best->code), name, reason,
                         works || todo[0] == '\0' ? NULL : todo, "%s", found);
}

/* ---- all checks ------------------------------------------------------------ */

static void check_library(struct stp_doctor *doctor)
{
    const struct stp_fabric_version *version = &doctor->offers.version;
    bool older = version->running < version->built;

    stp_doctor_add_check(
        doctor, older ? STP_CHECK_WARNING : STP_CHECK_OK, "libfabric",
        "the fabric module runs with the libfabric that the system loads; a version older than "
        "the one of the build may lack functions that the module calls",
        older ? "put the folder of the newer libfabric first in LD_LIBRARY_PATH, or build Steppe "
                "again with the libfabric that is installed"
              : NULL,
        "version %u.%u is loaded; the module was built with %u.%u", version->running >> 16,
        version->running & 0xffff, version->built >> 16, version->built & 0xffff);
}

/*
 * Adds a check that reports whether any provider works for the job. rc is the result of
 * stp_info_offers_query_providers().
 */
static void check_choice(struct stp_doctor *doctor, int rc)
{
    const struct stp_info_offers *offers = &doctor->offers;
    bool needs_fabric = stp_doctor_job_needs_fabric(doctor), no_job = !doctor->has_job;
    const char *requested = stp_env.ofi_provider != NULL ? stp_env.ofi_provider : "not set";
    static const char reason[] = "jobs on several hosts, and all jobs with SHMEM_NODE=off, need a "
                                 "provider; otherwise the PEs of one host use shared memory";

    if (rc != 0)
        stp_doctor_add_check(
            doctor, needs_fabric || no_job ? STP_CHECK_PROBLEM : STP_CHECK_WARNING, "fabric",
            reason,
            "oshinfo --doctor --verbose prints the reason and advice for each provider; unset "
            "SHMEM_OFI_PROVIDER, SHMEM_OFI_FABRIC, SHMEM_OFI_DOMAIN and SHMEM_OFI_INTERFACE, so "
            "that all providers are tried",
            "no provider works for this job (%s); SHMEM_OFI_PROVIDER: %s%s%s", strerror(-rc),
            requested, offers->error[0] != '\0' ? "; " : "", offers->error);
    else if (!offers->leaves_host && doctor->n_hosts == 1)
        stp_doctor_add_check(
            doctor, STP_CHECK_WARNING, "fabric", reason,
            "bring an interface up and give it an address: ip link set eth0 up; ip addr "
            "add ADDRESS/BITS dev eth0 (as root)",
            "%s on %s works within this host, but no working provider reaches other hosts",
            offers->provider, offers->domain);
    else
        stp_doctor_add_check(doctor, STP_CHECK_OK, "fabric", reason, NULL,
                             "%s on %s is used%s; SHMEM_OFI_PROVIDER: %s", offers->provider,
                             offers->domain, needs_fabric ? "" : " when a job needs a provider",
                             requested);
}

static void report_used_provider(struct stp_doctor *doctor)
{
    struct stp_info_offers *offers = &doctor->offers;

    snprintf(offers->provider, sizeof(offers->provider), "%s", stp_rt.fabric.provider);
    snprintf(offers->domain, sizeof(offers->domain), "%s", stp_rt.fabric.domain);
    stp_doctor_add_check(doctor, STP_CHECK_OK, "fabric",
                         "other providers cannot be tried inside a job", NULL,
                         "this job uses %s on %s", offers->provider, offers->domain);
}

void stp_doctor_fabric(struct stp_doctor *doctor)
{
    struct stp_info_offers *offers = &doctor->offers;
    char reason[PATH_MAX + 64];
    int rc;

    if (stp_rt.has_fabric) {
        report_used_provider(doctor);
        return;
    }
    rc = stp_info_offers_query_providers(offers, doctor->n_pes, doctor->n_local,
                                         doctor->n_networks > 0 ? doctor->networks : NULL,
                                         doctor->n_networks, reason, sizeof(reason));
    if (offers->version.running == 0) {
        bool broken = rc == -ENOEXEC;

        stp_doctor_add_check(
            doctor,
            stp_doctor_job_needs_fabric(doctor) || (broken && !doctor->has_job) ? STP_CHECK_PROBLEM
                                                                                : STP_CHECK_WARNING,
            "fabric", "jobs on several hosts need the fabric module",
            broken ? stp_fabric_module_advice
                   : "install Steppe with its fabric module (CMake option STEPPE_FABRIC=ON)",
            "the fabric module cannot be loaded: %s", reason[0] != '\0' ? reason : strerror(-rc));
        return;
    }
    check_choice(doctor, rc);
    check_library(doctor);
    for (size_t i = 0; i < offers->n; i++) {
        const struct stp_info_offer *best = best_of(offers, i);

        if (best != NULL) check_provider(doctor, best);
    }
    doctor->incomplete |= offers->incomplete;
}

/* ---- interfaces ------------------------------------------------------------- */

/*
 * Writes the addresses by which other hosts may reach this host. In a job of several hosts, also
 * writes the verdict on each address. Returns false if there is no address.
 */
static bool list_networks(const struct stp_doctor *doctor, char *text, size_t size)
{
    struct stp_network networks[STP_NETWORKS_MAX];
    bool judged = doctor->n_networks > 0;
    int n = judged ? doctor->n_networks : stp_network_list_local(networks);
    size_t len = 0;

    snprintf(text, size, "no interface except loopback is up and has an address");
    for (int i = 0; i < n && len < size; i++) {
        const struct stp_network *network = judged ? &doctor->networks[i] : &networks[i];
        char addr[INET6_ADDRSTRLEN] = "";

        inet_ntop(network->version == 4 ? AF_INET : AF_INET6, network->addr, addr, sizeof(addr));
        len += (size_t)snprintf(text + len, size - len, "%s%s %s%s%s", len > 0 ? "; " : "",
                                network->name, addr, judged ? ": " : "",
                                !judged                       ? ""
                                : network->refusal[0] != '\0' ? network->refusal
                                                              : "reaches all hosts");
    }
    return n > 0;
}

void stp_doctor_interfaces(struct stp_doctor *doctor)
{
    const struct stp_info_offers *offers = &doctor->offers;
    const char *interface = stp_env.ofi_interface;
    bool no_provider = offers->provider[0] == '\0', unmatched = interface != NULL && no_provider;
    char networks[1400];
    bool has_address = list_networks(doctor, networks, sizeof(networks));

    stp_doctor_add_check(
        doctor,
        has_address           ? STP_CHECK_OK
        : doctor->n_hosts > 1 ? STP_CHECK_PROBLEM
                              : STP_CHECK_WARNING,
        "interfaces",
        "other hosts can be reached only through an interface that is up and has an address; the "
        "loopback interface reaches only this host",
        has_address ? NULL
                    : "bring an interface up and give it an address: ip link set eth0 up; ip addr "
                      "add ADDRESS/BITS dev eth0 (as root), with the name of your interface",
        "%s", networks);
    stp_doctor_add_check(
        doctor, unmatched ? STP_CHECK_PROBLEM : STP_CHECK_OK, "interface choice",
        "a job on one host needs no interface; a job on several hosts uses the fastest interface "
        "whose network all hosts have, unless SHMEM_OFI_INTERFACE names another interface",
        unmatched ? "unset SHMEM_OFI_INTERFACE, or set it to the name of an interface (ip -brief "
                    "address lists them) or to a subnet such as 10.1.0.0/16"
                  : NULL,
        "SHMEM_OFI_INTERFACE: %s; domain of the provider in use: %s%s%s",
        interface != NULL ? interface : "not set", no_provider ? "none" : offers->domain,
        unmatched && offers->error[0] != '\0' ? "; " : "", unmatched ? offers->error : "");
}
