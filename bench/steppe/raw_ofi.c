/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw module of steppe-bench. It uses libfabric as a careful program would: one
 * reliable-datagram endpoint, one registered memory region, and one thread that posts and polls all
 * operations.
 */
#include "portable/raw_ofi.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N_CONTEXTS 1024
#define IDLE_POLLS 200
#define KEY 0x57e99e

/*
 * Number of bytes that the module registers in addition to the requested memory. The operands and
 * results of fetching atomics are in these bytes.
 */
#define RESULT_BYTES 64

static struct raw_state {
    struct raw_ofi_request request;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *mr;
    void *desc;
    char *memory;
    size_t nbytes;
    struct raw_ofi_card *cards;
    fi_addr_t *peers;
    struct fi_context2 contexts[N_CONTEXTS];
    struct fi_context2 *free[N_CONTEXTS]; /* stack of free contexts */
    int n_free;
    int n_idle; /* number of successive polls that found nothing */
    bool atomic_stores;
} raw;

static void __attribute__((noreturn)) raw_fatal(const char *call, const char *text)
{
    char line[256];

    snprintf(line, sizeof(line), "%s: %s", call, text);
    raw.request.fatal(line);
    abort();
}

/* ---- completions ------------------------------------------------------------ */

static void __attribute__((noreturn, cold)) completion_failed(void)
{
    struct fi_cq_err_entry entry = {0};
    char text[160];

    if (fi_cq_readerr(raw.cq, &entry, 0) < 0) raw_fatal("fi_cq_readerr", "no entry");
    fi_cq_strerror(raw.cq, entry.prov_errno, entry.err_data, text, sizeof(text));
    raw_fatal("completion", entry.prov_errno != 0 ? text : fi_strerror(entry.err));
}

/*
 * Counts a poll without a result. Calls sched_yield() after IDLE_POLLS successive polls without a
 * result. If PEs share cores, calls sched_yield() after every poll without a result.
 */
static void found_nothing(void)
{
    if (++raw.n_idle < (raw.request.yields ? 1 : IDLE_POLLS)) return;
    raw.n_idle = 0;
    sched_yield();
}

static void raw_poll(void)
{
    struct fi_cq_entry entries[16];
    ssize_t n = fi_cq_read(raw.cq, entries, 16);

    if (n == -FI_EAGAIN || n == 0) {
        found_nothing();
        return;
    }
    raw.n_idle = 0;
    if (n < 0) {
        if (n == -FI_EAVAIL) completion_failed();
        raw_fatal("fi_cq_read", fi_strerror((int)-n));
    }
    for (ssize_t i = 0; i < n; i++)
        raw.free[raw.n_free++] = entries[i].op_context;
}

static void raw_wait(void)
{
    while (raw.n_free < N_CONTEXTS)
        raw_poll();
}

static struct fi_context2 *take_context(void)
{
    while (raw.n_free == 0)
        raw_poll();
    return raw.free[--raw.n_free];
}

/*
 * Handles the result of a libfabric call. Returns false if the call succeeded. If the result is
 * -FI_EAGAIN, polls and returns true, and the caller must repeat the call. Ends the job on other
 * errors.
 */
static bool must_retry(const char *call, ssize_t rc)
{
    if (rc == 0) return false;
    if (rc != -FI_EAGAIN) raw_fatal(call, fi_strerror((int)-rc));
    raw_poll();
    return true;
}

/* ---- operations -------------------------------------------------------------- */

static void raw_put(int pe, size_t offset, const void *local, size_t nbytes)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)local, .iov_len = nbytes};
    struct fi_rma_iov target = {
        .addr = raw.cards[pe].base + offset, .len = nbytes, .key = raw.cards[pe].key};
    struct fi_msg_rma msg = {.msg_iov = &iov,
                             .desc = &raw.desc,
                             .iov_count = 1,
                             .addr = raw.peers[pe],
                             .rma_iov = &target,
                             .rma_iov_count = 1,
                             .context = take_context()};

    while (
        must_retry("fi_writemsg", fi_writemsg(raw.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE)))
        continue;
}

static void raw_get(int pe, size_t offset, void *local, size_t nbytes)
{
    struct fi_context2 *context = take_context();
    const struct raw_ofi_card *card = &raw.cards[pe];

    while (must_retry("fi_read", fi_read(raw.ep, local, nbytes, raw.desc, raw.peers[pe],
                                         card->base + offset, card->key, context)))
        continue;
}

static enum fi_datatype type_of(size_t nbytes)
{
    return nbytes == sizeof(uint32_t) ? FI_UINT32 : FI_UINT64;
}

static enum fi_op op_of(enum raw_ofi_op op)
{
    static const enum fi_op ops[] = {[RAW_OFI_ADD] = FI_SUM,
                                     [RAW_OFI_XOR] = FI_BXOR,
                                     [RAW_OFI_READ] = FI_ATOMIC_READ,
                                     [RAW_OFI_WRITE] = FI_ATOMIC_WRITE,
                                     [RAW_OFI_CSWAP] = FI_CSWAP};

    return ops[op];
}

/*
 * The memory for fetching atomics consists of cells of 8 bytes. This function stores the operand in
 * cell 0 and the value to compare in cell 1. The atomic stores its result in cell 2. A value of 4
 * bytes is at the start of its cell. Returns the address of cell 0.
 */
static uint64_t *set_cells(uint64_t value, uint64_t compare, size_t nbytes)
{
    uint64_t *cell = (uint64_t *)(raw.memory + raw.request.nbytes);

    memcpy(&cell[0],
           nbytes == sizeof(uint32_t) ? (const void *)&(uint32_t){(uint32_t)value}
                                      : (const void *)&value,
           nbytes);
    memcpy(&cell[1],
           nbytes == sizeof(uint32_t) ? (const void *)&(uint32_t){(uint32_t)compare}
                                      : (const void *)&compare,
           nbytes);
    return cell;
}

static void raw_fetch_atomic(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes,
                             uint64_t value, uint64_t compare)
{
    uint64_t address = raw.cards[pe].base + offset, key = raw.cards[pe].key;
    struct fi_context2 *context = take_context();
    uint64_t *cell = set_cells(value, compare, nbytes);

    if (op == RAW_OFI_CSWAP)
        while (must_retry("fi_compare_atomic",
                          fi_compare_atomic(raw.ep, &cell[0], 1, raw.desc, &cell[1], raw.desc,
                                            &cell[2], raw.desc, raw.peers[pe], address, key,
                                            type_of(nbytes), FI_CSWAP, context)))
            continue;
    else
        while (
            must_retry("fi_fetch_atomic", fi_fetch_atomic(raw.ep, &cell[0], 1, raw.desc, &cell[2],
                                                          raw.desc, raw.peers[pe], address, key,
                                                          type_of(nbytes), op_of(op), context)))
            continue;
}

static void raw_fetch_add(int pe, size_t offset, uint64_t value)
{
    raw_fetch_atomic(pe, offset, RAW_OFI_ADD, sizeof(uint64_t), value, 0);
}

static void raw_atomic(int pe, size_t offset, enum raw_ofi_op op, size_t nbytes, uint64_t value)
{
    const struct raw_ofi_card *card = &raw.cards[pe];
    uint32_t narrow = (uint32_t)value;
    const void *operand = nbytes == sizeof(narrow) ? (const void *)&narrow : (const void *)&value;

    while (must_retry("fi_inject_atomic",
                      fi_inject_atomic(raw.ep, operand, 1, raw.peers[pe], card->base + offset,
                                       card->key, type_of(nbytes), op_of(op))))
        continue;
}

static void raw_store(int pe, size_t offset, uint64_t value)
{
    const struct raw_ofi_card *card = &raw.cards[pe];

    if (raw.atomic_stores) {
        raw_atomic(pe, offset, RAW_OFI_WRITE, sizeof(value), value);
        return;
    }
    while (
        must_retry("fi_inject_write", fi_inject_write(raw.ep, &value, sizeof(value), raw.peers[pe],
                                                      card->base + offset, card->key)))
        continue;
}

/* ---- opening ------------------------------------------------------------------ */

static struct fi_info *make_hints(const struct raw_ofi_request *request, uint64_t caps)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL) return NULL;
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->fabric_attr->prov_name = strdup(request->provider);
    return hints;
}

/*
 * Returns whether info has the requested names. libfabric also lists the provider on other
 * interfaces, and lists tcp;ofi_rxm if tcp is requested with atomics and has none.
 */
static bool is_requested(const struct fi_info *info, const struct raw_ofi_request *request)
{
    return strcmp(info->fabric_attr->prov_name, request->provider) == 0 &&
           strcmp(info->fabric_attr->name, request->fabric) == 0 &&
           strcmp(info->domain_attr->name, request->domain) == 0;
}

static int get_info(const struct raw_ofi_request *request, uint64_t caps)
{
    struct fi_info *hints = make_hints(request, caps), *list = NULL, *info;
    int rc =
        hints != NULL ? fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &list) : -FI_ENOMEM;

    fi_freeinfo(hints);
    if (rc != 0) return rc;
    for (info = list; info != NULL && !is_requested(info, request);)
        info = info->next;
    raw.info = info != NULL ? fi_dupinfo(info) : NULL;
    fi_freeinfo(list);
    return raw.info != NULL ? 0 : -FI_ENODATA;
}

__attribute__((visibility("default"))) int steppe_bench_raw_ofi_ask(const char *provider)
{
    const struct raw_ofi_request request = {.provider = provider};
    struct fi_info *hints = make_hints(&request, FI_RMA | FI_ATOMIC), *list = NULL;
    int rc =
        hints != NULL ? fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &list) : -FI_ENOMEM;

    fi_freeinfo(hints);
    if (rc == 0) fi_freeinfo(list);
    return rc;
}

static int find_provider(const struct raw_ofi_request *request, char *reason, size_t len)
{
    int rc = get_info(request, FI_MSG | FI_RMA | FI_ATOMIC);

    if (rc != 0) rc = get_info(request, FI_MSG | FI_RMA);
    if (rc != 0)
        snprintf(reason, len, "%s on %s %s does not offer FI_EP_RDM with FI_RMA: %s",
                 request->provider, request->fabric, request->domain, fi_strerror(-rc));
    return rc;
}

/*
 * Asks the domain, because some providers (such as net) report FI_ATOMIC but have no atomics.
 */
static bool raw_has_atomic(enum raw_ofi_op op, size_t nbytes, bool fetches)
{
    struct fi_atomic_attr attr;
    uint64_t flags = op == RAW_OFI_CSWAP ? FI_COMPARE_ATOMIC : fetches ? FI_FETCH_ATOMIC : 0;

    return (raw.info->caps & FI_ATOMIC) != 0 &&
           (fetches || raw_has_atomic(RAW_OFI_ADD, sizeof(uint64_t), true)) &&
           fi_query_atomic(raw.domain, type_of(nbytes), op_of(op), &attr, flags) == 0;
}

static int open_endpoint(const char **call)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE, .count = (size_t)raw.request.n_pes};
    struct fi_cq_attr cq_attr = {
        .size = 4 * N_CONTEXTS, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    int rc;

    *call = "fi_fabric";
    rc = fi_fabric(raw.info->fabric_attr, &raw.fabric, NULL);
    if (rc != 0) return rc;
    *call = "fi_domain";
    rc = fi_domain(raw.fabric, raw.info, &raw.domain, NULL);
    if (rc != 0) return rc;
    raw.atomic_stores = raw_has_atomic(RAW_OFI_WRITE, sizeof(uint64_t), false);
    *call = "fi_av_open";
    rc = fi_av_open(raw.domain, &av_attr, &raw.av, NULL);
    if (rc != 0) return rc;
    *call = "fi_cq_open";
    rc = fi_cq_open(raw.domain, &cq_attr, &raw.cq, NULL);
    if (rc != 0) return rc;
    *call = "fi_endpoint";
    rc = fi_endpoint(raw.domain, raw.info, &raw.ep, NULL);
    if (rc != 0) return rc;
    *call = "fi_ep_bind";
    rc = fi_ep_bind(raw.ep, &raw.av->fid, 0);
    if (rc == 0) rc = fi_ep_bind(raw.ep, &raw.cq->fid, FI_TRANSMIT | FI_RECV);
    if (rc != 0) return rc;
    *call = "fi_enable";
    return fi_enable(raw.ep);
}

static int register_memory(const char **call)
{
    uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    int mr_mode = raw.info->domain_attr->mr_mode;
    void *memory;
    int rc;

    *call = "mmap";
    memory = mmap(NULL, raw.nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -errno;
    raw.memory = memset(memory, 0, raw.nbytes);
    *call = "fi_mr_reg";
    rc = fi_mr_reg(raw.domain, raw.memory, raw.nbytes, access, 0, KEY, 0, &raw.mr, NULL);
    if (rc == 0 && (mr_mode & FI_MR_ENDPOINT)) {
        rc = fi_mr_bind(raw.mr, &raw.ep->fid, 0);
        if (rc == 0) rc = fi_mr_enable(raw.mr);
    }
    if (rc == 0) raw.desc = fi_mr_desc(raw.mr);
    return rc;
}

static int fill_card(struct raw_ofi_card *card)
{
    size_t len = sizeof(card->address);
    int rc = fi_getname(&raw.ep->fid, card->address, &len);

    card->address_len = len;
    card->key = fi_mr_key(raw.mr);
    if (raw.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) card->base = (uintptr_t)raw.memory;
    return rc;
}

static int raw_connect(const struct raw_ofi_card *cards)
{
    size_t n = (size_t)raw.request.n_pes;

    raw.cards = calloc(n, sizeof(*raw.cards));
    raw.peers = calloc(n, sizeof(*raw.peers));
    if (raw.cards == NULL || raw.peers == NULL) return -ENOMEM;
    memcpy(raw.cards, cards, n * sizeof(*cards));
    for (size_t pe = 0; pe < n; pe++)
        if (fi_av_insert(raw.av, cards[pe].address, 1, &raw.peers[pe], 0, NULL) != 1)
            return -EHOSTUNREACH;
    return 0;
}

static void close_fid(void *fid)
{
    if (fid != NULL) fi_close(fid);
}

static void raw_close(void)
{
    close_fid(raw.ep);
    close_fid(raw.mr);
    close_fid(raw.cq);
    close_fid(raw.av);
    close_fid(raw.domain);
    close_fid(raw.fabric);
    if (raw.info != NULL) fi_freeinfo(raw.info);
    if (raw.memory != NULL) munmap(raw.memory, raw.nbytes);
    free(raw.cards);
    free(raw.peers);
    memset(&raw, 0, sizeof(raw));
}

static void fill_table(struct raw_ofi *out)
{
    snprintf(out->provider, sizeof(out->provider), "%s", raw.info->fabric_attr->prov_name);
    snprintf(out->fabric, sizeof(out->fabric), "%s", raw.info->fabric_attr->name);
    snprintf(out->domain, sizeof(out->domain), "%s", raw.info->domain_attr->name);
    out->atomic_stores = raw.atomic_stores;
    out->has_atomic = raw_has_atomic;
    out->memory = raw.memory;
    out->connect = raw_connect;
    out->put = raw_put;
    out->get = raw_get;
    out->atomic = raw_atomic;
    out->fetch_atomic = raw_fetch_atomic;
    out->fetch_add = raw_fetch_add;
    out->store = raw_store;
    out->wait = raw_wait;
    out->poll = raw_poll;
    out->close = raw_close;
}

__attribute__((visibility("default"))) int steppe_bench_raw_ofi_open(
    const struct raw_ofi_request *request, struct raw_ofi *out, char *reason, size_t len)
{
    const char *call = "fi_getname";
    int rc;

    memset(out, 0, sizeof(*out));
    if (request->abi != RAW_OFI_ABI) {
        snprintf(reason, len,
                 "the raw module belongs to another version of steppe-bench (interface %u, not "
                 "%u): install both from one build",
                 RAW_OFI_ABI, request->abi);
        return -EINVAL;
    }
    raw.request = *request;
    raw.nbytes = request->nbytes + RESULT_BYTES;
    for (raw.n_free = 0; raw.n_free < N_CONTEXTS; raw.n_free++)
        raw.free[raw.n_free] = &raw.contexts[raw.n_free];
    rc = find_provider(request, reason, len);
    if (rc == 0) {
        rc = open_endpoint(&call);
        if (rc == 0) rc = register_memory(&call);
        if (rc == 0) rc = fill_card(&out->card);
        if (rc != 0)
            snprintf(reason, len, "%s with provider %s: %s", call, raw.info->fabric_attr->prov_name,
                     fi_strerror(-rc));
    }
    if (rc == 0)
        fill_table(out);
    else
        raw_close();
    return rc;
}
