/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doctor on the fabric: one check for each provider of libfabric, from what the module
 * reports, one for libfabric itself, and the network interfaces of this host.
 */
#include "doctor.h"

#include "info/library.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the module said of one provider; its best offer decides. */
struct verdict {
    char *provider;
    char *found;
    char *todo;
    const char *trouble; /* the module's, and it stays loaded */
    enum stp_offer_code code;
    bool leaves_host;
};

static struct {
    struct verdict *rows;
    size_t n;
    bool incomplete;
    struct stp_doctor *doctor;
    bool leaves_host; /* some provider that works does */
    char used_on[64];
    char error[256]; /* the first that the module logged */
} fabric;

/* ---- listening ------------------------------------------------------------ */

static bool works(enum stp_offer_code code)
{
    return code == STP_OFFER_USED || code == STP_OFFER_SPARE;
}

/* Which of two offers of a provider tells more; lower is better. */
static int weight(enum stp_offer_code code)
{
    switch (code) {
    case STP_OFFER_USED:
        return 0;
    case STP_OFFER_SPARE:
        return 1;
    case STP_OFFER_UNTRIED:
        return 2;
    case STP_OFFER_TRIAL:
        return 3;
    case STP_OFFER_NOT_OPENED:
        return 4;
    case STP_OFFER_NO_DATAGRAMS:
        return 1000;
    default:
        return 5 + (int)code;
    }
}

static struct verdict *verdict_of(const char *provider)
{
    struct verdict *rows;

    for (size_t i = 0; i < fabric.n; i++)
        if (strcmp(fabric.rows[i].provider, provider) == 0) return &fabric.rows[i];
    rows = realloc(fabric.rows, (fabric.n + 1) * sizeof(*rows));
    if (rows == NULL) return NULL;
    fabric.rows = rows;
    rows[fabric.n] = (struct verdict){.provider = strdup(provider), .code = STP_OFFER_FINE};
    return rows[fabric.n].provider != NULL ? &rows[fabric.n++] : NULL;
}

/* Add "on eth0: works" to what was found of it. */
static bool verdict_add(struct verdict *verdict, const struct stp_offer *offer)
{
    char *text, *old = verdict->found;
    const char *used = offer->code == STP_OFFER_USED ? "used, " : "";
    int n;

    if (strcmp(offer->domain, "-") == 0)
        n = asprintf(&text, "%s", offer->reason);
    else
        n = asprintf(&text, "%s%son %s: %s%s", old != NULL ? old : "", old != NULL ? "; " : "",
                     offer->domain, used, offer->reason);
    if (n < 0) return false;
    verdict->found = text;
    free(old);
    return true;
}

/* Remember what the trials measured. */
static void note_facts(const struct stp_offer *offer)
{
    struct stp_doctor *doctor = fabric.doctor;

    doctor->no_fds |= offer->error == EMFILE;
    if (!works(offer->code)) return;
    fabric.leaves_host |= offer->leaves_host;
    doctor->pins |= offer->pins;
    if (offer->code != STP_OFFER_USED) return;
    doctor->pins_used = offer->pins;
    doctor->fds_open = offer->fds_open;
    doctor->fds_peer = offer->fds_peer;
    snprintf(doctor->provider, sizeof(doctor->provider), "%s", offer->provider);
    snprintf(fabric.used_on, sizeof(fabric.used_on), "%s", offer->domain);
}

static void hear_offer(void *arg, const struct stp_offer *offer)
{
    struct verdict *verdict = verdict_of(offer->provider);

    (void)arg;
    note_facts(offer);
    if (verdict == NULL) {
        fabric.incomplete = true;
        return;
    }
    /* That tcp is also offered without what we need is no news when it is offered with it. */
    if (offer->code == STP_OFFER_NO_DATAGRAMS && verdict->found != NULL) return;
    if (verdict->code == STP_OFFER_NO_DATAGRAMS) {
        free(verdict->found);
        verdict->found = NULL;
    }
    if (verdict->found == NULL || weight(offer->code) < weight(verdict->code)) {
        free(verdict->todo);
        verdict->todo = offer->advice != NULL ? strdup(offer->advice) : NULL;
        verdict->trouble = offer->trouble;
        verdict->code = offer->code;
    }
    fabric.incomplete |= !verdict_add(verdict, offer);
}

static void hear_log(int level, const char *fmt, ...) STP_PRINTF(2, 3);

static void hear_log(int level, const char *fmt, ...)
{
    va_list args;

    if (level != STP_LOG_ERROR || fabric.error[0] != '\0') return;
    va_start(args, fmt);
    vsnprintf(fabric.error, sizeof(fabric.error), fmt, args);
    va_end(args);
}

/* ---- saying ---------------------------------------------------------------- */

static enum stp_health health_of(const struct verdict *verdict)
{
    switch (verdict->code) {
    case STP_OFFER_USED:
    case STP_OFFER_SPARE:
    case STP_OFFER_UNTRIED:
        return STP_HEALTH_OK;
    case STP_OFFER_NOT_OPENED:
    case STP_OFFER_TRIAL:
        return STP_HEALTH_WARNING;
    default:
        return STP_HEALTH_NOTE;
    }
}

/* The advice with the provider's name where it says PROVIDER. */
static void fill_in(char *text, size_t size, const char *advice, const char *provider)
{
    const char *mark = strstr(advice, "=PROVIDER");

    if (mark == NULL) mark = strstr(advice, " PROVIDER");
    if (mark == NULL)
        snprintf(text, size, "%s", advice);
    else
        snprintf(text, size, "%.*s%s%s", (int)(mark + 1 - advice), advice, provider,
                 mark + strlen("=PROVIDER"));
}

static void say_provider(const struct verdict *verdict)
{
    char name[96], why[400], todo[400] = "";
    bool good = works(verdict->code);

    snprintf(name, sizeof(name), "provider %s", verdict->provider);
    if (verdict->todo != NULL) fill_in(todo, sizeof(todo), verdict->todo, verdict->provider);
    snprintf(why, sizeof(why), "%s%s%s",
             verdict->code == STP_OFFER_USED
                 ? "jobs reach other hosts, or with SHMEM_NODE=off other "
                   "PEs, through it"
             : good ? "it would serve if the one that is used did not"
                    : "jobs cannot use it as things are",
             good && verdict->trouble != NULL ? "; known of this version: " : "",
             good && verdict->trouble != NULL ? verdict->trouble : "");
    stp_doctor_say(fabric.doctor, health_of(verdict), name, why,
                   good || todo[0] == '\0' ? NULL : todo, "%s", verdict->found);
}

static void say_library(const struct stp_fabric_version *version)
{
    bool older = version->running < version->built;

    stp_doctor_say(fabric.doctor, older ? STP_HEALTH_WARNING : STP_HEALTH_OK, "libfabric",
                   "the fabric module is compiled for one version and runs with the one that the "
                   "system loads; an older one may lack what it calls",
                   older
                       ? "put the newer library first: LD_LIBRARY_PATH, or build Steppe anew with "
                         "the one that is installed"
                       : NULL,
                   "version %u.%u runs, the module was built with %u.%u", version->running >> 16,
                   version->running & 0xffff, version->built >> 16, version->built & 0xffff);
}

/* Does one that suits the job work? */
static void say_choice(int rc)
{
    struct stp_doctor *doctor = fabric.doctor;
    bool needed = stp_doctor_needs_fabric(doctor), alone = !doctor->has_job;
    const char *named = stp_lib->env->ofi_provider != NULL ? stp_lib->env->ofi_provider : "any";
    static const char why[] = "jobs on several hosts, and all jobs with SHMEM_NODE=off, need one; "
                              "PEs of one host share memory without it";

    if (rc != 0)
        stp_doctor_say(doctor, needed || alone ? STP_HEALTH_PROBLEM : STP_HEALTH_WARNING, "fabric",
                       why,
                       "see each provider below; unset SHMEM_OFI_PROVIDER, SHMEM_OFI_FABRIC, "
                       "SHMEM_OFI_DOMAIN and SHMEM_OFI_INTERFACE to have all of them tried",
                       "no provider serves (%s); SHMEM_OFI_PROVIDER: %s%s%s", strerror(-rc), named,
                       fabric.error[0] != '\0' ? "; " : "", fabric.error);
    else if (!fabric.leaves_host && doctor->n_hosts == 1)
        stp_doctor_say(doctor, STP_HEALTH_WARNING, "fabric", why,
                       "bring an interface up and give it an address: ip link set eth0 up; ip addr "
                       "add ADDRESS/BITS dev eth0 (as root)",
                       "%s on %s serves this host; no provider that works reaches another",
                       doctor->provider, fabric.used_on);
    else
        stp_doctor_say(doctor, STP_HEALTH_OK, "fabric", why, NULL,
                       "%s on %s is used%s; SHMEM_OFI_PROVIDER: %s", doctor->provider,
                       fabric.used_on, needed ? "" : " when a job needs one", named);
}

/* ---- asking ---------------------------------------------------------------- */

static int ask_module(struct stp_doctor *doctor, struct stp_fabric_version *version, char *why,
                      size_t len)
{
    struct stp_core core = {
        .abi = STP_FABRIC_ABI,
        .n_pes = doctor->n_pes,
        .n_local = doctor->n_local,
        .env = stp_lib->env,
        .networks = doctor->networks,
        .n_networks = doctor->n_networks,
        .log = hear_log,
        .fatal = stp_lib->fatal,
        .report = hear_offer,
        .version = version,
    };
    stp_module_entry_fn open_fabric;
    int rc = stp_lib->module_open(STP_MODULE_FABRIC, &open_fabric, why, len);

    return rc != 0 ? rc : ((stp_ofi_open_fn)open_fabric)(&core, NULL);
}

static void forget(void)
{
    for (size_t i = 0; i < fabric.n; i++) {
        free(fabric.rows[i].provider);
        free(fabric.rows[i].found);
        free(fabric.rows[i].todo);
    }
    free(fabric.rows);
    fabric.rows = NULL;
    fabric.n = 0;
}

void stp_doctor_fabric(struct stp_doctor *doctor)
{
    struct stp_fabric_version version = {0};
    char why[PATH_MAX + 64] = "";
    int rc;

    memset(&fabric, 0, sizeof(fabric));
    fabric.doctor = doctor;
    if (stp_lib->rt->has_fabric) {
        snprintf(doctor->provider, sizeof(doctor->provider), "%s", stp_lib->rt->fabric.provider);
        snprintf(fabric.used_on, sizeof(fabric.used_on), "%s", stp_lib->rt->fabric.domain);
        stp_doctor_say(doctor, STP_HEALTH_OK, "fabric", "the others are not tried inside a job",
                       NULL, "this job uses %s on %s", stp_lib->rt->fabric.provider,
                       stp_lib->rt->fabric.domain);
        return;
    }
    rc = ask_module(doctor, &version, why, sizeof(why));
    if (version.running == 0) {
        stp_doctor_say(
            doctor, stp_doctor_needs_fabric(doctor) ? STP_HEALTH_PROBLEM : STP_HEALTH_WARNING,
            "fabric", "jobs on several hosts need it",
            "install libfabric (Debian: libfabric1), and Steppe with its fabric module",
            "the fabric module cannot be loaded: %s", why[0] != '\0' ? why : strerror(-rc));
        return;
    }
    say_choice(rc);
    say_library(&version);
    for (size_t i = 0; i < fabric.n; i++)
        say_provider(&fabric.rows[i]);
    doctor->incomplete |= fabric.incomplete;
    forget();
}

/* ---- interfaces ------------------------------------------------------------- */

static bool address_text(const struct sockaddr *addr, char *text, socklen_t len)
{
    if (addr == NULL) return false;
    if (addr->sa_family == AF_INET)
        return inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)addr)->sin_addr, text,
                         len) != NULL;
    if (addr->sa_family == AF_INET6)
        return inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr,
                         text, len) != NULL;
    return false;
}

/* "eth0 up: 10.1.0.7, fd00::7; ifb0 down"; *outward: some address that other hosts may reach. */
static void list_interfaces(char *text, size_t size, bool *outward)
{
    struct if_nameindex *names = if_nameindex();
    struct ifaddrs *all = NULL;
    size_t used = 0;

    *outward = false;
    snprintf(text, size, "none");
    if (getifaddrs(&all) != 0) all = NULL;
    for (struct if_nameindex *name = names; name != NULL && name->if_index != 0; name++) {
        unsigned flags = 0;
        bool first = true;
        char addresses[512] = "", addr[INET6_ADDRSTRLEN];
        size_t n = 0;

        for (struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
            if (strcmp(at->ifa_name, name->if_name) != 0) continue;
            flags |= at->ifa_flags;
            if (!address_text(at->ifa_addr, addr, sizeof(addr))) continue;
            if (n < sizeof(addresses))
                n += (size_t)snprintf(addresses + n, sizeof(addresses) - n, "%s%s",
                                      first ? ": " : ", ", addr);
            first = false;
        }
        *outward |= (flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP && !first;
        if (used < size)
            used += (size_t)snprintf(
                text + used, size - used, "%s%s %s%s%s", used > 0 ? "; " : "", name->if_name,
                flags & IFF_UP ? "up" : "down",
                (flags & IFF_UP) && !(flags & IFF_RUNNING) ? " (no carrier)" : "", addresses);
    }
    freeifaddrs(all);
    if (names != NULL) if_freenameindex(names);
}

/* The rank and refusals that the start of a job came to. */
static void list_networks(const struct stp_doctor *doctor, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < doctor->n_networks && used < size; i++) {
        const struct stp_network *network = &doctor->networks[i];
        char addr[INET6_ADDRSTRLEN] = "";

        inet_ntop(network->version == 4 ? AF_INET : AF_INET6, network->addr, addr, sizeof(addr));
        used +=
            (size_t)snprintf(text + used, size - used, "; %s %s: %s", network->name, addr,
                             network->refused[0] != '\0' ? network->refused : "reaches all hosts");
    }
}

void stp_doctor_interfaces(struct stp_doctor *doctor)
{
    const char *wanted = stp_lib->env->ofi_interface;
    bool outward, several = doctor->n_hosts > 1, lost;
    char interfaces[1024], networks[1024];

    list_interfaces(interfaces, sizeof(interfaces), &outward);
    list_networks(doctor, networks, sizeof(networks));
    stp_doctor_say(doctor,
                   outward   ? STP_HEALTH_OK
                   : several ? STP_HEALTH_PROBLEM
                             : STP_HEALTH_WARNING,
                   "interfaces",
                   "other hosts are reached over an interface that is up and has an address; the "
                   "loopback interface reaches this host alone",
                   outward ? NULL
                           : "ip link set eth0 up; ip addr add ADDRESS/BITS dev eth0 (as "
                             "root), with your interface's name",
                   "%s%s", interfaces, outward ? "" : "; none but loopback is up with an address");
    lost = wanted != NULL && doctor->provider[0] == '\0' && !stp_lib->rt->has_fabric;
    stp_doctor_say(
        doctor, lost ? STP_HEALTH_PROBLEM : STP_HEALTH_OK, "interface choice",
        "jobs of one host need none; in jobs of several, the one whose network all hosts "
        "have is chosen, the fastest first, and SHMEM_OFI_INTERFACE overrides it",
        lost ? "unset SHMEM_OFI_INTERFACE, or set it to one of the names above or a subnet "
               "such as 10.1.0.0/16"
             : NULL,
        "SHMEM_OFI_INTERFACE: %s; the provider used is on: %s%s%s%s",
        wanted != NULL ? wanted : "not set", doctor->provider[0] == '\0' ? "none" : fabric.used_on,
        networks, lost && fabric.error[0] != '\0' ? "; " : "", lost ? fabric.error : "");
}
