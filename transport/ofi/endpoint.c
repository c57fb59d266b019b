/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Domain, completion queue, address vector and the one endpoint; the job's addresses.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <rdma/fi_cm.h>
#include <stdlib.h>
#include <string.h>

#define CLOSE(object)                                                                              \
    do {                                                                                           \
        if (stp_ofi.object != NULL) fi_close(&stp_ofi.object->fid);                                \
        stp_ofi.object = NULL;                                                                     \
    } while (0)

static int queue_open(enum fi_wait_obj wait_obj)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_CONTEXT,
                              .wait_obj = wait_obj,
                              .size = STP_OFI_PLAIN_REQS + STP_OFI_BOUNCE_REQS};
    int rc = fi_cq_open(stp_ofi.domain, &attr, &stp_ofi.cq, NULL);

    if (rc != 0) stp_ofi.cq = NULL;
    if (rc != 0 || wait_obj != FI_WAIT_FD) return rc;
    rc = fi_control(&stp_ofi.cq->fid, FI_GETWAIT, &stp_ofi.wait_fd);
    if (rc != 0) {
        stp_ofi.wait_fd = -1;
        CLOSE(cq);
    }
    return rc;
}

/* A queue that the progress thread can sleep on, if there will be one and the provider can. */
static int any_queue_open(void)
{
    stp_ofi.wait_fd = -1;
    if (stp_ofi.core->env->ofi_progress_thread && queue_open(FI_WAIT_FD) == 0) return 0;
    return queue_open(FI_WAIT_NONE);
}

/* Where the provider runs atomics on the target's CPU with its atomic instructions. */
static bool atomics_by_cpu(const char *provider)
{
    const char *layer = strchr(provider, ';');

    return strcmp(provider, "shm") == 0 || (layer != NULL && strcmp(layer, ";ofi_rxm") == 0);
}

/* The choices that the granted attributes leave to operations. */
static void settle(const struct stp_core *core)
{
    const struct fi_info *info = stp_ofi.info;
    int mr_mode = info->domain_attr->mr_mode;
    size_t key_size = info->domain_attr->mr_key_size;
    uint64_t keys = key_size >= sizeof(uint64_t) ? UINT64_MAX : (1ull << (8 * key_size)) - 1;

    stp_ofi.core = core;
    stp_ofi.peer_table = (mr_mode & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)) != 0;
    /* Random above the region number; the top bit stays clear, some providers reserve it. */
    stp_ofi.key_base = core->job_key & keys >> 1 & ~(uint64_t)(STP_FABRIC_REGIONS - 1);
    stp_ofi.max_msg = info->ep_attr->max_msg_size;
    stp_ofi.bounce_size = core->env->ofi_bounce_size;
    if (stp_ofi.bounce_size > stp_ofi.max_msg) stp_ofi.bounce_size = stp_ofi.max_msg;
    stp_ofi.cpu_atomics = atomics_by_cpu(info->fabric_attr->prov_name);
    /* shm up to 1.17 at least frees a buffer twice when an update asks for delivery. */
    stp_ofi.update_by_fetch = strcmp(info->fabric_attr->prov_name, "shm") == 0;
    stp_ofi.self = stp_ofi.cpu_atomics ? core->pe : -1;
    stp_ofi.hmem = core->devices && (info->caps & FI_HMEM) != 0;
    stp_ofi.ordered = (info->tx_attr->msg_order & STP_OFI_ORDER) == STP_OFI_ORDER &&
                      info->ep_attr->max_order_waw_size >= stp_ofi.max_msg;
}

/* Run the steps in order; *why names the first that failed. */
static int open_all(const char **why)
{
    struct fi_av_attr av = {.type = FI_AV_TABLE, .count = (size_t)stp_ofi.core->n_pes};
    struct fi_info *info = stp_ofi.info;
    int rc;

    *why = "cannot open the fabric";
    if ((rc = fi_fabric(info->fabric_attr, &stp_ofi.fabric, NULL)) != 0) return rc;
    *why = "cannot open the domain";
    if ((rc = fi_domain(stp_ofi.fabric, info, &stp_ofi.domain, NULL)) != 0) return rc;
    *why = stp_ofi_atomics_missing(stp_ofi.domain);
    if (*why != NULL) return -FI_ENOSYS;
    *why = "cannot open a completion queue";
    if ((rc = any_queue_open()) != 0) return rc;
    *why = "cannot open an address vector";
    if ((rc = fi_av_open(stp_ofi.domain, &av, &stp_ofi.av, NULL)) != 0) return rc;
    *why = "cannot open an endpoint";
    if ((rc = fi_endpoint(stp_ofi.domain, info, &stp_ofi.ep, NULL)) != 0) return rc;
    *why = "cannot bind and enable the endpoint";
    if ((rc = fi_ep_bind(stp_ofi.ep, &stp_ofi.av->fid, 0)) != 0) return rc;
    rc = fi_ep_bind(stp_ofi.ep, &stp_ofi.cq->fid, FI_TRANSMIT | FI_RECV);
    return rc != 0 ? rc : fi_enable(stp_ofi.ep);
}

/* Open with an info, which becomes ours; NULL: there is none such. */
static int open_with(const struct stp_core *core, struct fi_info *info, const char **why)
{
    int rc;

    if (info == NULL) return -FI_ENODATA;
    stp_ofi.info = info;
    settle(core);
    rc = open_all(why);
    if (rc != 0) stp_ofi_endpoint_close();
    return rc;
}

int stp_ofi_endpoint_open(const struct stp_core *core, const struct fi_info *info, const char **why)
{
    int rc = -ENOMEM;

    *why = "no memory";
    for (int ordered = 1; ordered >= 0 && rc != 0; ordered--) {
        struct fi_info *base = ordered ? stp_ofi_ordered(info) : fi_dupinfo(info);

        if (base == NULL) continue;
        if (core->devices) rc = open_with(core, stp_ofi_with_devices(base), why);
        if (rc == 0)
            fi_freeinfo(base);
        else
            rc = open_with(core, base, why);
    }
    return rc;
}

void stp_ofi_endpoint_close(void)
{
    CLOSE(ep);
    CLOSE(av);
    CLOSE(cq);
    CLOSE(domain);
    CLOSE(fabric);
    fi_freeinfo(stp_ofi.info);
    stp_ofi.info = NULL;
    free(stp_ofi.addrs);
    stp_ofi.addrs = NULL;
}

int stp_ofi_endpoint_name(unsigned char *addr, size_t *addr_len)
{
    size_t len = STP_FABRIC_ADDR_MAX;
    int rc;

    memset(addr, 0, STP_FABRIC_ADDR_MAX);
    rc = fi_getname(&stp_ofi.ep->fid, addr, &len);
    if (rc != 0) return rc;
    /* Textual addresses differ in length between PEs. */
    *addr_len = stp_ofi.info->addr_format == FI_ADDR_STR ? STP_FABRIC_ADDR_MAX : len;
    return 0;
}

/* Insert one by one: providers with textual addresses do not agree on their spacing. */
static int insert_all(const unsigned char *addrs, size_t addr_len, int n_pes)
{
    for (int pe = 0; pe < n_pes; pe++) {
        if (fi_av_insert(stp_ofi.av, addrs + (size_t)pe * addr_len, 1, &stp_ofi.addrs[pe], 0,
                         NULL) != 1) {
            stp_ofi.core->log(STP_LOG_ERROR, "fabric: %s does not accept the address of pe %d",
                              stp_ofi.info->fabric_attr->prov_name, pe);
            return -FI_EADDRNOTAVAIL;
        }
    }
    return 0;
}

/* With an address table a PE's address is its number, as a rule: nothing to keep then. */
static void forget_plain_addrs(int n_pes)
{
    for (int pe = 0; pe < n_pes; pe++)
        if (stp_ofi.addrs[pe] != (fi_addr_t)pe) return;
    free(stp_ofi.addrs);
    stp_ofi.addrs = NULL;
}

int stp_ofi_connect(const void *addrs)
{
    int n_pes = stp_ofi.core->n_pes;
    unsigned char own[STP_FABRIC_ADDR_MAX];
    size_t addr_len;
    int rc = stp_ofi_endpoint_name(own, &addr_len);

    if (rc != 0) return rc;
    stp_ofi.addrs = malloc((size_t)n_pes * sizeof(*stp_ofi.addrs));
    if (stp_ofi.addrs == NULL) return -ENOMEM;
    rc = insert_all(addrs, addr_len, n_pes);
    if (rc == 0) forget_plain_addrs(n_pes);
    return rc;
}
