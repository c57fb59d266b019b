/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens the fabric module. Tries the providers in the order that provider_select.c determines,
 * reports the verdict on each, and fills in the functions that the library calls. Also restores the
 * program's signal handlers, because libraries that libfabric loads install their own handlers.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "provider_report.h"
#include "batch.h"
#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEW_FDS 16 /* number of descriptors that a provider needs before it connects */

/* ---- signal handlers ---------------------------------------------------- */

#define N_SIGNALS 32

static struct sigaction handlers[N_SIGNALS];
static bool handlers_saved;

/*
 * Saves the program's signal handlers. This constructor runs before the constructors of libfabric's
 * libraries, because the module is linked with -z initfirst. With Debian's libfabric 1.17,
 * libpsm_infinipath installs handlers for SIGSEGV, SIGINT and other signals.
 */
__attribute__((constructor)) static void handlers_save(void)
{
    for (int sig = 1; sig < N_SIGNALS; sig++)
        if (sigaction(sig, NULL, &handlers[sig]) != 0) handlers[sig].sa_handler = SIG_DFL;
    handlers_saved = true;
}

static void handlers_restore(void)
{
    struct sigaction current;

    for (int sig = 1; handlers_saved && sig < N_SIGNALS; sig++)
        if (sigaction(sig, NULL, &current) == 0 && current.sa_handler != handlers[sig].sa_handler)
            sigaction(sig, &handlers[sig], NULL);
    /* Restore only once, because the application may install its own handlers later. */
    handlers_saved = false;
}

/* ---- report ------------------------------------------------------------- */

static const char *name_of(const char *name)
{
    return name != NULL ? name : "-";
}

static const char *provider_of(const struct stp_ofi_choice *choice)
{
    return name_of(choice->info->fabric_attr->prov_name);
}

static const char *domain_of(const struct stp_ofi_choice *choice)
{
    return name_of(choice->info->domain_attr->name);
}

/*
 * Returns whether an earlier choice has the same provider, interface and verdict as choices[i].
 * Such choices differ only in their address.
 */
static bool repeats(const struct stp_ofi_choice *choices, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(provider_of(&choices[k]), provider_of(&choices[i])) == 0 &&
            strcmp(domain_of(&choices[k]), domain_of(&choices[i])) == 0 &&
            strcmp(choices[k].reason, choices[i].reason) == 0)
            return true;
    return false;
}

static void report(const struct stp_core *core, const struct stp_ofi_choice *choices, int n,
                   int used)
{
    for (int i = 0; i < n; i++) {
        const struct stp_ofi_choice *choice = &choices[i];

        if (repeats(choices, i)) continue;
        if (core->report != NULL) stp_ofi_report_candidate(core, choice);
        core->log(STP_LOG_DEBUG, "fabric: %s on %s: %s (%s)", provider_of(choice),
                  domain_of(choice), i == used ? "used" : "not used", choice->reason);
    }
    if (core->report != NULL) stp_ofi_report_providers_without_info(core, choices, n);
}

static const char *or_any(const char *name)
{
    return name != NULL ? name : "any";
}

/* Logs why no provider could be opened. Omits providers that the user's settings exclude. */
static void explain(const struct stp_core *core, const struct stp_ofi_choice *choices, int n)
{
    const struct stp_env *env = core->env;
    int n_logged = 0;
    bool short_of_fds = stp_ofi_fds_free() < FEW_FDS;
    char names[256] = ""; /* names of the providers that SHMEM_OFI_PROVIDER excludes */

    core->log(STP_LOG_ERROR,
              "fabric: libfabric %u.%u has no usable provider "
              "(SHMEM_OFI_PROVIDER %s, SHMEM_OFI_FABRIC %s, SHMEM_OFI_DOMAIN %s)",
              FI_MAJOR(fi_version()), FI_MINOR(fi_version()), or_any(env->ofi_provider),
              or_any(env->ofi_fabric), or_any(env->ofi_domain));
    for (int i = 0; i < n; i++) {
        if (choices[i].excluded || repeats(choices, i)) continue;
        short_of_fds |= choices[i].error == EMFILE || choices[i].error == ENFILE;
        core->log(STP_LOG_ERROR, "fabric: %s on %s: %s", provider_of(&choices[i]),
                  domain_of(&choices[i]), choices[i].reason);
        n_logged++;
    }
    for (int i = 0; i < n && n_logged == 0; i++) {
        const char *name = provider_of(&choices[i]);
        size_t used = strlen(names);

        if (choices[i].code != STP_PROVIDER_NOT_PROVIDER && !repeats(choices, i))
            core->log(STP_LOG_ERROR, "fabric: %s on %s is available, but %s", name,
                      domain_of(&choices[i]), choices[i].reason);
        if (choices[i].code == STP_PROVIDER_NOT_PROVIDER &&
            (i == 0 || strcmp(provider_of(&choices[i - 1]), name) != 0))
            snprintf(names + used, sizeof(names) - used, " %s", name);
    }
    if (names[0] != '\0')
        core->log(STP_LOG_ERROR, "fabric: SHMEM_OFI_PROVIDER excludes the available providers:%s",
                  names);
    if (core->env->ofi_provider != NULL && strcasecmp(core->env->ofi_provider, "shm") == 0)
        stp_ofi_shm_explain_failure(core);
    /* Log the lack of descriptors, because libfabric may have reported another error instead. */
    if (short_of_fds) core->log(STP_LOG_ERROR, "fabric: %s", stp_errno_text(EMFILE));
}

/* ---- opening ------------------------------------------------------------ */

/*
 * Opens the provider of a choice, tests it on this PE alone, and closes it. Returns 0, or -errno
 * with the failed step in *reason. If a report is wanted, also counts the descriptors that an
 * endpoint and a connection use. Both ends of the test's connection are in this process, so one end
 * uses half of the counted descriptors.
 */
static int probe(const struct stp_core *core, struct stp_ofi_choice *choice, const char **reason)
{
    static struct stp_core single;
    int before = core->report != NULL ? stp_count_fds() : -1, open = -1;
    int rc;

    single = *core;
    single.pe = 0;
    single.n_pes = 1;
    single.on_progress = NULL;
    stp_ofi.naps = true; /* until the self-test shows that a PE that sleeps answers */
    rc = stp_ofi_domain_endpoint_open(&single, choice->info, reason);
    choice->code = STP_PROVIDER_NOT_OPENED;
    if (rc != 0) return rc;
    if (before >= 0) open = stp_count_fds();
    choice->code = STP_PROVIDER_TRIAL;
    rc = stp_ofi_provider_self_test(reason);
    if (rc == 0 && open >= 0 && stp_ofi_probe_fds >= 0) {
        choice->fds_open = open - before;
        choice->fds_peer = stp_ofi_probe_fds > open ? (stp_ofi_probe_fds - open + 1) / 2 : 0;
    }
    return rc;
}

/*
 * Returns whether the provider passes its test. If not, stores the reason in the choice. If a PE
 * that sleeps does not answer although the provider promises progress of its own, tests the
 * provider again with manual progress.
 */
static bool passes(const struct stp_core *core, struct stp_ofi_choice *choice)
{
    enum fi_progress *progress = &choice->info->domain_attr->data_progress;
    const char *reason;
    int rc;

    choice->fds_open = choice->fds_peer = -1;
    stp_ofi_request_progress(choice->info);
    rc = probe(core, choice, &reason);
    if (*progress == FI_PROGRESS_AUTO && stp_ofi.naps && rc != -FI_ETIMEDOUT) {
        *progress = FI_PROGRESS_MANUAL;
        rc = probe(core, choice, &reason);
    }
    if (rc == 0) return true;
    choice->error = -rc;
    snprintf(choice->text, sizeof(choice->text), "%s (%s)", reason, stp_ofi_strerror(-rc));
    choice->reason = choice->text;
    return false;
}

/*
 * Returns the index of the first choice that passes its test, or -ENODEV if no choice passes. If a
 * report is wanted, also tests all later choices.
 */
static int open_first(const struct stp_core *core, struct stp_ofi_choice *choices, int n)
{
    bool test_all = core->report != NULL, short_of_fds = false;
    int used = -ENODEV;

    for (int i = 0; i < n; i++) {
        struct stp_ofi_choice *choice = &choices[i];
        /*
         * If a test failed because no descriptor was free, do not test the next choice. The next
         * test would fail, too, or this PE would use another provider than its peers.
         */
        bool should_test = test_all || (used < 0 && !short_of_fds);

        if (choice->reason != NULL) continue;
        if (should_test && !passes(core, choice)) {
            short_of_fds |= choice->error == EMFILE;
            continue;
        }
        choice->code = !should_test ? STP_PROVIDER_UNTRIED
                       : used < 0   ? STP_PROVIDER_USED
                                    : STP_PROVIDER_NOT_CHOSEN;
        choice->reason = stp_ofi_reason(choice->code);
        if (should_test && used < 0) used = i;
    }
    return used;
}

static void close_all(void)
{
    stp_ofi_progress_stop();
    stp_ofi_user_buffers_close();
    stp_ofi_region_remove_all();
    stp_ofi_extra_endpoints_close();
    stp_ofi_close_endpoint_domain_fabric();
    pthread_mutex_destroy(&stp_ofi.endpoints_lock);
}

static void fill(struct stp_fabric *fabric)
{
    fabric->abi = STP_FABRIC_ABI;
    fabric->provider = stp_ofi.info->fabric_attr->prov_name;
    fabric->no_devices_reason = stp_ofi.no_devices_reason;
    fabric->domain = name_of(stp_ofi.info->domain_attr->name);
    fabric->network = name_of(stp_ofi.info->fabric_attr->name);
    fabric->cpu_atomics = stp_ofi.cpu_atomics;
    fabric->needs_syscalls = stp_ofi.needs_syscalls;
    fabric->peer_table = stp_ofi.peer_table;
    fabric->dialect = (uint32_t)stp_ofi.by_message | (uint32_t)stp_ofi.cpu_atomics << 1 |
                      (uint32_t)stp_ofi.has_cqdata << 2 |
                      (uint32_t)stp_ofi.info->domain_attr->mr_key_size << 8 |
                      (uint32_t)stp_ofi.packed_size << 16;
    fabric->libfabric = fi_version();
    fabric->one_libfabric = stp_ofi_is(stp_ofi.info, STP_OFI_SHM);
    fabric->connect = stp_ofi_connect;
    fabric->remove_files = stp_ofi_is(stp_ofi.info, STP_OFI_SHM) ? stp_ofi_shm_remove_files : NULL;
    fabric->region_add = stp_ofi_region_add;
    fabric->region_peers = stp_ofi_region_peers;
    fabric->region_drain = stp_ofi_region_drain;
    fabric->region_remove = stp_ofi_region_remove;
    fabric->region_grow = stp_ofi_region_grow;
    fabric->region_grown = stp_ofi_region_grown;
    fabric->region_shrink = stp_ofi_region_undo_grow;
    fabric->buffer_add = stp_ofi_buffer_add;
    fabric->set_current_local_mr = stp_ofi_set_current_local_mr;
    fabric->buffer_remove = stp_ofi_buffer_remove;
    fabric->ctx_create = stp_ofi_ctx_create;
    fabric->ctx_destroy = stp_ofi_ctx_free;
    fabric->put = stp_ofi_put;
    fabric->get = stp_ofi_get;
    fabric->store = stp_ofi_store_atomic;
    fabric->amo = stp_ofi_amo;
    fabric->put_signal = stp_ofi_put_signal;
    fabric->put_notify = stp_ofi_put_notify;
    fabric->fence = stp_ofi_fence;
    fabric->quiet = stp_ofi_quiet;
    fabric->quiet_pes = stp_ofi_quiet_pes;
    fabric->session = stp_ofi_session;
    fabric->allow_delayed_ack = stp_ofi_allows_delayed_ack;
    fabric->progress = stp_ofi_progress;
    fabric->finish = stp_ofi_set_job_ending;
    fabric->send_notice = stp_ofi_notice_send_pow2_peers;
    fabric->close = close_all;
}

/*
 * Opens the chosen provider. Returns 0. On failure, logs the error, closes everything and returns
 * -errno.
 */
static int start(const struct stp_core *core, const struct stp_ofi_choice *choice,
                 struct stp_fabric *fabric)
{
    const char *reason;
    int rc = stp_ofi_domain_endpoint_open(core, choice->info, &reason);

    if (rc != 0) {
        core->log(STP_LOG_ERROR, "fabric: %s on %s %s: %s", provider_of(choice), domain_of(choice),
                  reason, stp_ofi_strerror(-rc));
        if (stp_ofi_is(choice->info, STP_OFI_SHM)) stp_ofi_shm_explain_failure(core);
        return rc;
    }
    pthread_mutex_init(&stp_ofi.endpoints_lock, NULL);
    /* No other access pairs with this store, because no other thread reads this flag yet. */
    __atomic_store_n(&stp_ofi.finishing, false, __ATOMIC_SEQ_CST);
    fill(fabric);
    rc = stp_ofi_make_published_address(fabric->addr, &fabric->addr_len);
    if (rc != 0)
        core->log(STP_LOG_ERROR, "fabric: cannot read the address of this pe's endpoint: %s",
                  stp_ofi_strerror(-rc));
    core->log(STP_LOG_DEBUG, "fabric: progress for a pe outside the library: %s",
              stp_ofi.info->domain_attr->data_progress == FI_PROGRESS_AUTO ? "provider"
              : !core->env->ofi_progress_thread                            ? "none"
              : stp_ofi.naps || (stp_ofi.wait_fd < 0 && !stp_ofi.by_sockets)
                  ? "thread that polls and naps"
                  : "thread that sleeps until an event");
    if (rc == 0 && core->env->ofi_progress_thread) rc = stp_ofi_progress_start();
    if (rc != 0) close_all();
    return rc;
}

/* ---- defaults of libfabric ----------------------------------------------- */

/*
 * Environment variables that replace costly defaults of ofi_rxm, and of tcp since libfabric 1.20.
 */
static const struct {
    const char *name, *value;
    bool tcp_only; /* whether the value is set only if no adapter may be used */
} defaults[] = {
    /* Use small buffers. Messages have at most 1024 bytes, and 16 KiB buffers would take 70 MB. */
    {"FI_OFI_RXM_BUFFER_SIZE", "1024", false},
    /*
     * Post 512 buffers for all TCP connections, not 4096. With an adapter, ofi_rxm may post this
     * number of buffers for each connection.
     */
    {"FI_OFI_RXM_MSG_RX_SIZE", "512", true},
    /*
     * Check for new connections every 1 ms, not every 10 ms, because one connection takes several
     * checks.
     */
    {"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "1000", false},
    /*
     * Allocate no buffers of 16 KiB for tagged messages that arrive early, which take 17 MB. The
     * provider raises this value to the size of injected data.
     */
    {"FI_TCP_MAX_RX_SIZE", "128", false},
};

/*
 * Returns whether no other thread can read the environment while this thread changes it. The number
 * of links of /proc/self/task is 2 plus the number of threads.
 */
static bool owns_environment(void)
{
    struct stat task;

    return stat("/proc/self/task", &task) == 0 && task.st_nlink == 3;
}

/*
 * Sets the variables in defaults[] before libfabric reads them, which it does once, in the first
 * call of fi_getinfo(). Settings of the user have priority. Does nothing if the program has loaded
 * libfabric, because all users of libfabric in a process share these values. Sets a variable with
 * tcp_only only if the argument tcp is true, which means that libfabric is asked about TCP
 * providers alone. Returns a bit mask of the variables that were set.
 */
static unsigned defaults_set(const struct stp_core *core, bool tcp)
{
    unsigned set = 0;

    if (core->program_has_libfabric || !owns_environment()) return 0;
    for (size_t i = 0; i < STP_COUNT(defaults); i++)
        if ((tcp || !defaults[i].tcp_only) && getenv(defaults[i].name) == NULL &&
            setenv(defaults[i].name, defaults[i].value, 0) == 0)
            set |= 1u << i;
    return set;
}

/* Removes the variables that defaults_set() has set, so that children do not inherit them. */
static void defaults_unset(unsigned set)
{
    if (set == 0 || !owns_environment()) return;
    for (size_t i = 0; i < STP_COUNT(defaults); i++)
        if (set >> i & 1) unsetenv(defaults[i].name);
}

__attribute__((visibility("default"))) int stp_ofi_open(const struct stp_core *core,
                                                        struct stp_fabric *fabric)
{
    const char *first; /* provider about which libfabric is asked first, or NULL */
    struct stp_ofi_choice *choices;
    struct fi_info *infos;
    unsigned set;
    int n, used;

    handlers_restore();
    if (core->abi != STP_FABRIC_ABI) {
        core->log(STP_LOG_ERROR,
                  "fabric: the fabric module has version %u, but the library has version %u: "
                  "install both from one build",
                  STP_FABRIC_ABI, core->abi);
        return -EPROTO;
    }
    if (core->version != NULL)
        *core->version = (struct stp_fabric_version){FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
                                                     fi_version()};
    first = stp_ofi_provider_to_ask_first(core);
    set = defaults_set(core, first != NULL && strcasecmp(first, "tcp") == 0);
    n = stp_ofi_provider_select(core, first, &infos, &choices);
    defaults_unset(set);
    used = open_first(core, choices, n);
    if (first != NULL && used < 0) {
        free(choices);
        fi_freeinfo(infos);
        n = stp_ofi_provider_select(core, NULL, &infos, &choices);
        used = open_first(core, choices, n);
    }
    if (n < 0) return n;
    report(core, choices, n, used);
    if (used < 0 && core->report == NULL) explain(core, choices, n);
    if (used >= 0 && fabric != NULL) used = start(core, &choices[used], fabric);
    free(choices);
    fi_freeinfo(infos);
    return used < 0 ? used : 0;
}
