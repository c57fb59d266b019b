/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes the domain, the address vector and the endpoints with their completion queues.
 * Derives the settings of the module from the attributes that the provider granted.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "am.h"
#include "batch.h"
#include "peer_liveness_and_fd_limits.h"
#include "tcp_socket_sleep.h"

#include <errno.h>
#include <rdma/fi_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Number of entries of a completion queue. Half of the entries are for outstanding requests. The
 * other half is for incoming messages and replies.
 */
#define QUEUE_SIZE                                                                                 \
    (2 * (STP_OFI_PLAIN_REQS + STP_OFI_BOUNCE_REQS + STP_OFI_MESSAGES + STP_OFI_PACKED_REQS +      \
          STP_OFI_JOINED_REQS))

#define CLOSE(holder, object)                                                                      \
    do {                                                                                           \
        if ((holder)->object != NULL) fi_close(&(holder)->object->fid);                            \
        (holder)->object = NULL;                                                                   \
    } while (0)

/*
 * Maximum number of retries after EBUSY. The shm provider of libfabric 1.17 derives the name of an
 * endpoint's file from the process number and a counter. An earlier process with the same number
 * may have been killed and may have left such files. These files block the first names. Without
 * enough retries, this PE would use another configuration than its peers.
 */
#define BUSY_TRIES 64

/* ---- an endpoint --------------------------------------------------------------- */

int stp_ofi_domain_open(struct stp_ofi_endpoint *endpoint, const char **reason)
{
    struct fi_info *info = stp_ofi.info;
    int rc;

    *reason = "cannot open the fabric";
    if ((rc = fi_fabric(info->fabric_attr, &endpoint->fabric, NULL)) != 0) return rc;
    *reason = "cannot open the domain";
    if ((rc = fi_domain(endpoint->fabric, info, &endpoint->domain, NULL)) != 0) return rc;
    *reason = "cannot open an address vector";
    return stp_ofi_av_open(endpoint);
}

void stp_ofi_domain_close(struct stp_ofi_endpoint *endpoint)
{
    stp_ofi_endpoint_free_addrs(endpoint);
    CLOSE(endpoint, av);
    CLOSE(endpoint, domain);
    CLOSE(endpoint, fabric);
}

static int queue_open(struct stp_ofi_endpoint *endpoint, bool wait_fd)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_DATA,
                              .wait_obj = wait_fd ? FI_WAIT_FD : FI_WAIT_NONE,
                              .size = QUEUE_SIZE};
    int rc = fi_cq_open(endpoint->domain, &attr, &endpoint->cq, NULL);

    if (rc != 0) endpoint->cq = NULL;
    if (rc != 0 || !wait_fd) return rc;
    rc = fi_control(&endpoint->cq->fid, FI_GETWAIT, &stp_ofi.wait_fd);
    if (rc != 0) {
        stp_ofi.wait_fd = -1;
        CLOSE(endpoint, cq);
    }
    return rc;
}

/*
 * Opens the completion queue and the endpoint. Returns 0 on success. If a step fails, returns its
 * error, and *reason describes the failed step.
 */
static int endpoint_open(struct stp_ofi_endpoint *endpoint, bool wait_fd, const char **reason)
{
    int rc = -FI_ENOSYS;

    *reason = "cannot open a completion queue";
    if (wait_fd) rc = queue_open(endpoint, true);
    if (rc != 0 && (rc = queue_open(endpoint, false)) != 0) return rc;
    *reason = "cannot open an endpoint";
    if ((rc = fi_endpoint(endpoint->domain, stp_ofi.info, &endpoint->ep, NULL)) != 0) return rc;
    *reason = "calls CUDA in operations (FI_OPT_CUDA_API_PERMITTED=false fails)";
    if ((rc = stp_ofi_forbid_cuda(endpoint->ep)) != 0) return rc;
    *reason = "cannot bind and enable the endpoint";
    if ((rc = fi_ep_bind(endpoint->ep, &endpoint->av->fid, 0)) != 0) return rc;
    rc = fi_ep_bind(endpoint->ep, &endpoint->cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc == 0 && stp_ofi_is(stp_ofi.info, STP_OFI_SHM)) rc = stp_ofi_shm_try_file();
    return rc != 0 ? rc : fi_enable(endpoint->ep);
}

int stp_ofi_endpoint_open(struct stp_ofi_endpoint *endpoint, bool wait_fd, const char **reason)
{
    struct stp_sigxfsz growth;
    int rc, tries = 0;

    /* Block SIGXFSZ, which the shm provider could raise when it writes its files. */
    stp_sigxfsz_block(&growth);
    while ((rc = endpoint_open(endpoint, wait_fd, reason)) != 0) {
        CLOSE(endpoint, ep);
        CLOSE(endpoint, cq);
        if (rc != -FI_EBUSY || tries++ == BUSY_TRIES) break;
    }
    stp_sigxfsz_unblock(&growth);
    if (rc != 0) return rc;
    pthread_mutex_init(&endpoint->drain, NULL);
    endpoint->retry = NULL;
    endpoint->activity = 0;
    endpoint->drains = 0;
    endpoint->draining = false;
    stp_ofi_pools_init(endpoint);
    return 0;
}

void stp_ofi_endpoint_close(struct stp_ofi_endpoint *endpoint)
{
    if (endpoint->ep == NULL) return;
    /*
     * If registrations are bound to the endpoint, they must be closed before the endpoint.
     * Otherwise they are closed later, together with the objects that use them.
     */
    if (stp_ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        if (endpoint == &stp_ofi.main) stp_ofi_inbox_unregister();
        stp_ofi_pools_unregister(endpoint);
    }
    CLOSE(endpoint, ep);
    stp_ofi_pools_fini(endpoint);
    CLOSE(endpoint, cq);
    pthread_mutex_destroy(&endpoint->drain);
}

/* ---- the main endpoint and its fabric objects ------------------------------ */

/*
 * Returns the size of a packed message in bytes. Returns 0 if packed messages are not used. They
 * are used only if the target's CPU also executes the atomics. With ofi_rxm, a message must fit in
 * one buffer of ofi_rxm, whose size open.c sets to 1 KiB.
 */
static size_t packed_size(const struct fi_info *info)
{
    size_t size = strchr(info->fabric_attr->prov_name, ';') != NULL ? 1024 : 2048;

    if (!(info->caps & FI_MSG) || !stp_ofi.cpu_atomics) return 0;
    /* Use no smaller size, because the largest put and its signal must fit in one message. */
    return size <= stp_ofi.max_msg ? size : 0;
}

/*
 * Returns whether a write may carry the update of a word in its remote CQ data. Otherwise the
 * update needs a message of its own, after the data has arrived. Remote CQ data is used only if the
 * target's CPU also executes the atomics, because the target's library updates the word.
 */
static bool takes_cqdata(const struct fi_info *info)
{
    return stp_ofi.needs_syscalls && stp_ofi.cpu_atomics && !stp_ofi.mr_local &&
           info->domain_attr->cq_data_size >= sizeof(uint64_t);
}

/*
 * Returns the maximum number of puts that one write combines. If it is 0 or 1, each put is a write
 * of its own.
 */
static unsigned max_pieces(const struct fi_info *info)
{
    size_t n = info->tx_attr->rma_iov_limit;

    if (!stp_ofi.coalesces_small || stp_ofi.mr_local) return 0;
    if (stp_ofi.max_msg < (size_t)STP_OFI_PIECES * STP_OFI_PIECE_MAX) return 0;
    if (n > info->tx_attr->iov_limit) n = info->tx_attr->iov_limit;
    return n < STP_OFI_PIECES ? (unsigned)n : STP_OFI_PIECES;
}

/* Derives the settings of the module from the attributes that the provider granted. */
static void settle(const struct stp_core *core)
{
    const struct fi_info *info = stp_ofi.info;
    int mr_mode = info->domain_attr->mr_mode;
    size_t key_size = info->domain_attr->mr_key_size;
    uint64_t order = stp_ofi_order_needed(info);
    uint64_t key_mask = key_size >= sizeof(uint64_t) ? UINT64_MAX : (1ull << (8 * key_size)) - 1;

    stp_ofi.core = core;
    stp_ofi.mr_local = (mr_mode & FI_MR_LOCAL) != 0;
    stp_ofi.inject_size = info->tx_attr->inject_size;
    stp_ofi.by_message = (info->caps & FI_ATOMIC) == 0;
    stp_ofi.may_lose_amo = !stp_ofi.by_message && stp_ofi_is(info, STP_OFI_MAY_LOSE_AMO);
    stp_ofi.peer_table = (mr_mode & (FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)) != 0;
    /*
     * The bits of a key above the region number are random. The top bit of a key is 0, because some
     * providers reserve this bit.
     */
    stp_ofi.key_base = core->job_key & key_mask >> 1 & ~(uint64_t)(STP_FABRIC_REGIONS - 1);
    stp_ofi.max_msg = info->ep_attr->max_msg_size;
    stp_ofi.bounce_size = core->env->ofi_bounce_size;
    if (stp_ofi.bounce_size > stp_ofi.max_msg) stp_ofi.bounce_size = stp_ofi.max_msg;
    stp_ofi.cpu_atomics = stp_ofi.by_message || stp_ofi_is(info, STP_OFI_CPU);
    /*
     * Use fetches, because shm of libfabric 1.17 frees a buffer twice if an atomic without a result
     * requests FI_DELIVERY_COMPLETE.
     */
    stp_ofi.update_by_fetch = stp_ofi_is(info, STP_OFI_SHM);
    stp_ofi.needs_syscalls = stp_ofi_is(info, STP_OFI_KERNEL);
    stp_ofi.packed_size = packed_size(info);
    /*
     * Small operations are collected while an earlier operation to the same PE is not acknowledged.
     * This is done only on TCP. It also needs a progress thread, which sends collected operations
     * while the program computes.
     */
    stp_ofi.coalesces_small =
        stp_ofi.packed_size > 0 && core->env->ofi_progress_thread && stp_ofi.needs_syscalls;
    stp_ofi.max_pieces = max_pieces(info);
    stp_ofi.has_cqdata = takes_cqdata(info);
    stp_ofi.self = stp_ofi.cpu_atomics ? core->pe : -1;
    stp_ofi.hmem = core->devices && (info->caps & FI_HMEM) != 0;
    stp_ofi.ordered = (info->tx_attr->msg_order & order) == order &&
                      info->ep_attr->max_order_waw_size >= stp_ofi.max_msg;
}

/*
 * Opens the fabric, the domain and the main endpoint. Returns 0 on success. If a step fails,
 * returns its error, and *reason describes the failed step.
 */
static int open_all(const char **reason)
{
    bool has_thread = stp_ofi.core->env->ofi_progress_thread;
    int rc = stp_ofi_domain_open(&stp_ofi.main, reason);

    if (rc != 0) return rc;
    *reason = stp_ofi.by_message ? NULL : stp_ofi_atomics_missing(stp_ofi.main.domain);
    if (*reason != NULL) return -FI_ENOSYS;
    stp_ofi.by_sockets =
        has_thread && stp_ofi_socket_sleep_usable(stp_ofi.info, stp_ofi.core->n_pes);
    return stp_ofi_endpoint_open(&stp_ofi.main, has_thread && !stp_ofi.by_sockets, reason);
}

/*
 * Opens the provider with info, and takes ownership of info. Returns -FI_ENODATA if info is NULL.
 */
static int open_with(const struct stp_core *core, struct fi_info *info, const char **reason)
{
    int rc;

    if (info == NULL) return -FI_ENODATA;
    /* ofi_rxm allocates memory for as many receive buffers as it may hold (2048 by default). */
    if (stp_ofi_is(info, STP_OFI_MAY_LOSE_AMO) && info->rx_attr->size > STP_OFI_N_INBOXES)
        info->rx_attr->size = STP_OFI_N_INBOXES;
    stp_ofi.info = info;
    stp_ofi.wait_fd = -1;
    settle(core);
    rc = open_all(reason);
    if (rc != 0) stp_ofi_close_endpoint_domain_fabric();
    return rc;
}

/*
 * Opens the provider with a guaranteed order of operations. If this fails, opens the provider
 * without this guarantee. If this PE has devices, each of these two attempts is first made with
 * access to device memory.
 */
static int open_best(const struct stp_core *core, const struct fi_info *info, const char **reason)
{
    int rc = -ENOMEM;

    for (int ordered = 1; ordered >= 0 && rc != 0; ordered--) {
        struct fi_info *base = ordered ? stp_ofi_info_with_order(info) : fi_dupinfo(info);

        if (base == NULL) continue;
        if (core->devices) {
            *reason = "does not support device memory (FI_HMEM)";
            rc = open_with(core, stp_ofi_info_for_device_memory(base), reason);
            stp_ofi.no_devices_reason = rc != 0 ? *reason : NULL;
        }
        if (rc == 0)
            fi_freeinfo(base);
        else
            rc = open_with(core, base, reason);
    }
    return rc;
}

/*
 * Opens the provider with its atomics, and with messages if possible. Returns -FI_ENOSYS if the
 * provider lacks atomics that the library needs.
 */
static int open_with_atomics(const struct stp_core *core, const struct fi_info *info,
                             const char **reason)
{
    struct fi_info *with_messages =
        stp_ofi_is(info, STP_OFI_CPU) ? stp_ofi_info_for_amo_and_messages(info) : NULL;
    int rc = with_messages != NULL ? open_best(core, with_messages, reason) : -FI_ENODATA;

    /* Do not open shm without messages, because only a full directory hides this variant of shm. */
    if (with_messages == NULL && stp_ofi_is(info, STP_OFI_SHM)) {
        *reason = "needs more room in " STP_OFI_SHM_DIRECTORY;
        return -ENOSPC;
    }
    fi_freeinfo(with_messages);
    return rc == 0 || rc == -FI_ENOSYS ? rc : open_best(core, info, reason);
}

int stp_ofi_domain_endpoint_open(const struct stp_core *core, const struct fi_info *info,
                                 const char **reason)
{
    const char *messages_reason = NULL;
    struct fi_info *messages;
    int rc = -FI_ENOSYS;

    *reason = "has neither atomics nor messages";
    if (info->caps & FI_ATOMIC) rc = open_with_atomics(core, info, reason);
    if (rc != -FI_ENOSYS) return rc;
    messages = stp_ofi_info_for_messages(info);
    if (messages == NULL) return rc;
    rc = open_best(core, messages, &messages_reason);
    if (messages_reason != NULL) *reason = messages_reason;
    fi_freeinfo(messages);
    return rc;
}

void stp_ofi_close_endpoint_domain_fabric(void)
{
    stp_ofi_failure_close();
    stp_ofi_endpoint_close(&stp_ofi.main);
    stp_ofi_inbox_close();
    stp_ofi_domain_close(&stp_ofi.main);
    fi_freeinfo(stp_ofi.info);
    stp_ofi.info = NULL;
}

/* ---- addresses ------------------------------------------------------------- */

/*
 * Returns the number of polls after which a wait yields the core. The user can set this number. By
 * default, it is 0 if PEs share cores. On TCP, it is also 0 by default, because a yield costs
 * little compared with a poll. Another process may need the core, for example a process of another
 * job or of another simulated host.
 */
static int choose_spin(const struct stp_core *core, bool oversubscribed)
{
    if (core->env->spin >= 0) return core->env->spin;
    return stp_ofi.needs_syscalls || oversubscribed ? 0 : 100;
}

int stp_ofi_connect(const void *addrs)
{
    const struct stp_core *core = stp_ofi.core;
    bool oversubscribed = core->n_cores != 0 && core->n_local > core->n_cores;
    unsigned char my_addr[STP_FABRIC_ADDR_MAX];
    int rc = stp_ofi_make_published_address(my_addr, &stp_ofi.addr_len);

    if (rc != 0) return rc;
    stp_ofi.spin = choose_spin(core, oversubscribed);
    if (oversubscribed) stp_yield_turns = STP_YIELD_CROWDED;
    stp_ofi.world = addrs;
    if (stp_ofi.by_sockets)
        stp_ofi_socket_sleep_set_peers(addrs, stp_ofi.addr_len, stp_ofi.core->n_pes);
    rc = stp_ofi_endpoint_connect(&stp_ofi.main);
    if (rc == 0 && stp_ofi_is(stp_ofi.info, STP_OFI_SHM)) rc = stp_ofi_shm_check_files();
    if (rc == 0) stp_ofi_failure_connect();
    /*
     * Post the receive buffers last. A message may arrive at once, and its reply needs the
     * addresses.
     */
    return rc != 0 ? rc : stp_ofi_inbox_open();
}
