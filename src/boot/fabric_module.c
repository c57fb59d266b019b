/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads, opens and closes the fabric module, and passes settings of the library to it. Design:
 * docs/design/transport.md.
 */
#include "boot_internal.h"

#include "base/fabric_module_dlopen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static struct stp_core fabric_core;

/*
 * Fills in fabric_core with the data and functions of the library that the fabric module uses. Must
 * be called before the module is loaded, because the module loads libfabric.
 */
static void fabric_fill_core(const struct stp_fabric_callbacks *calls)
{
    const struct stp_node_shm_header *area = stp_boot.area;

    fabric_core = (struct stp_core){
        .abi = STP_FABRIC_ABI,
        .pe = stp_rt.pe,
        .n_pes = stp_rt.n_pes,
        .n_local = stp_rt.host_pes,
        .foreign_pids = stp_boot.foreign_pids,
        .job_key = stp_rt.job_key,
        .job_token = stp_rt.job_token,
        .thread_multiple = stp_thread_level() == SHMEM_THREAD_MULTIPLE,
        .program_has_libfabric = stp_libfabric_is_loaded(),
        .env = &stp_env,
        .networks = area->n_networks > 0 ? area->networks : NULL,
        .n_networks = area->n_networks,
        .log = stp_log,
        .fatal = stp_fatal,
        .devices = stp_win.devices,
        .on_progress = calls->on_progress,
        .on_notice = calls->on_notice,
        .on_stall = calls->on_stall,
        .dmabuf = calls->dmabuf,
        .thread_start = stp_thread_start,
        .thread_exit_check = stp_process_exit_if_program_over,
    };
}

/* ---- names of providers ------------------------------------------------------------ */

/*
 * Returns false if each name in SHMEM_OFI_PROVIDER is that of a provider. Otherwise writes a text
 * about the first wrong name. Uses a fixed list, because libfabric itself takes 0.2 s to load.
 */
static bool fabric_describe_unknown_provider(char *text, size_t size)
{
    static const char *const names[] = {
        "tcp", "net", "udp", "shm",  "sm2",   "sockets", "verbs",   "efa",
        "cxi", "opx", "psm", "psm2", "psm3",  "gni",     "bgq",     "usnic",
        "ucx", "lnx", "lpp", "coll", "mrail", "rstream", "ofi_rxm", "ofi_rxd",
        "rxm", "rxd", "mlx", "hook", "self",  "ofi_lnx", "linkx",   "off",
    };

    for (const char *name = stp_env.ofi_provider; name != NULL && *name != '\0';) {
        size_t skip = *name == '^', len = strcspn(name, ";,") - skip, i = 0, best = 0;
        unsigned least = UINT_MAX, distance;

        for (name += skip; i < STP_COUNT(names); i++) {
            if (strlen(names[i]) == len && strncasecmp(names[i], name, len) == 0) break;
            distance = stp_name_distance(name, len, names[i]);
            if (distance >= least) continue;
            least = distance;
            best = i;
        }
        if (i == STP_COUNT(names)) {
            snprintf(
                text, size,
                "SHMEM_OFI_PROVIDER=%s contains a name that no provider of libfabric has%s%s%s",
                stp_env.ofi_provider, least <= 2 ? " (did you mean " : "",
                least <= 2 ? names[best] : "", least <= 2 ? "?)" : "");
            return true;
        }
        name += len + strspn(name + len, ";,");
    }
    return false;
}

void stp_fabric_module_open(const struct stp_fabric_callbacks *callbacks)
{
    stp_module_entry_fn open_fn;
    char reason[512];
    int rc;

    if (stp_rt.n_nodes == 1) {
        /* Users would otherwise notice a misspelt name only in a job on several nodes. */
        if (stp_rt.pe == 0 && fabric_describe_unknown_provider(reason, sizeof(reason)))
            stp_warn("%s; this job on one node does not use a provider, but a job on several nodes "
                     "may fail (oshinfo providers lists the names)",
                     reason);
        return;
    }
    fabric_fill_core(callbacks);
    rc = stp_fabric_module_dlopen(&open_fn, reason, sizeof(reason));
    if (rc != 0)
        stp_fatal("shmem_init",
                  "this job needs a fabric, because its PEs are on several nodes, but the fabric "
                  "module cannot be loaded: %s%s%s",
                  reason, rc == -ENOEXEC ? "; " : "",
                  rc == -ENOEXEC ? stp_fabric_module_advice : "");
    if (((stp_ofi_open_fn)open_fn)(&fabric_core, &stp_rt.fabric) != 0)
        stp_fatal("shmem_init",
                  "no usable fabric provider: %s, and oshinfo providers prints the reason for each "
                  "provider",
                  fabric_describe_unknown_provider(reason, sizeof(reason))
                      ? reason
                      : "the errors before this line give the reason");
    if (stp_rt.fabric.abi != STP_FABRIC_ABI)
        stp_fatal("shmem_init",
                  "the fabric module belongs to another version of Steppe than the library: "
                  "install both from one build");
    stp_rt.has_fabric = true;
    /*
     * With some providers, CPU atomics and the provider's atomics must not access the same word. In
     * this case, the fabric performs all atomics.
     */
    stp_window_set_cpu_atomics(stp_rt.fabric.cpu_atomics);
    stp_info("fabric: provider %s on %s, atomics by %s", stp_rt.fabric.provider,
             stp_rt.fabric.domain, stp_rt.fabric.cpu_atomics ? "CPUs" : "the adapter");
}

void stp_fabric_set_threads(void)
{
    fabric_core.thread_multiple = stp_thread_level() == SHMEM_THREAD_MULTIPLE;
}

void stp_fabric_set_host_cores(void)
{
    fabric_core.n_cores = stp_rt.host_cores;
}

void stp_fabric_remove_files(bool ending)
{
    if (stp_rt.has_fabric && stp_rt.fabric.remove_files != NULL) stp_rt.fabric.remove_files(ending);
}

void stp_fabric_close(void)
{
    if (!stp_rt.has_fabric) return;
    stp_rt.has_fabric = false;
    stp_rt.fabric.close();
}
