/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: what the provider claims. The shim asks the real provider for nothing special and
 * changes each fi_info that it returns to what PROVSHIM says. An fi_info that comes from the
 * program is changed back to what the real provider can do. Calls that libfabric makes to itself
 * pass unchanged.
 */
#include "shim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NESTED (1ULL << 59) /* libfabric's own flag of a layer that asks for the one below it */
#define RMA_ORDERS                                                                                 \
    (FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAR |                \
     FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR |                \
     FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW | FI_ORDER_RAS |              \
     FI_ORDER_SAR | FI_ORDER_WAS | FI_ORDER_SAW)

/* The versions that programs of the present headers link with. */
SHIM_EXPORT int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                           const struct fi_info *hints, struct fi_info **info);
SHIM_EXPORT uint32_t fi_version(void);
SHIM_EXPORT int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* A function of libfabric itself: it is loaded by now, but perhaps for the fabric module alone. */
static void *real(const char *name)
{
    void *library = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *function = library != NULL ? dlsym(library, name) : NULL;

    if (function == NULL) shim_die("no %s in libfabric: %s", name, dlerror());
    dlclose(library); /* it stays: whoever called us holds it */
    return function;
}

static struct fi_info *dup_info(const struct fi_info *info)
{
    struct fi_info *(*dup)(const struct fi_info *) =
        (struct fi_info * (*)(const struct fi_info *)) real("fi_dupinfo");
    struct fi_info *copy = dup(info);

    if (copy == NULL) shim_die("no memory");
    return copy;
}

static void free_info(struct fi_info *info)
{
    void (*give)(struct fi_info *) = (void (*)(struct fi_info *))real("fi_freeinfo");

    give(info);
}

static const char *public_name(void)
{
    return shim_modes()->name != NULL ? shim_modes()->name : shim_modes()->base;
}

static void set_name(char **at, const char *name)
{
    free(*at);
    *at = strdup(name);
    if (*at == NULL) shim_die("no memory");
}

/* The fabric's name with the prefix that the program sees. */
static void add_prefix(struct fi_fabric_attr *attr)
{
    const char *prefix = shim_modes()->fabric;
    char name[256];

    if (prefix == NULL || attr->name == NULL) return;
    snprintf(name, sizeof(name), "%s%s", prefix, attr->name);
    set_name(&attr->name, name);
}

/* The part of a fabric's name that the real provider knows. */
static char *real_fabric(char *name)
{
    const char *prefix = shim_modes()->fabric;
    size_t n = prefix != NULL ? strlen(prefix) : 0;

    return name != NULL && n > 0 && strncmp(name, prefix, n) == 0 ? name + n : name;
}

static bool is_named(const struct fi_fabric_attr *attr, const char *name)
{
    return attr != NULL && attr->prov_name != NULL && strcmp(attr->prov_name, name) == 0;
}

/* ---- claims ---------------------------------------------------------------------- */

static int claimed_mr_mode(void)
{
    const struct shim_modes *modes = shim_modes();

    return (modes->mr_local ? FI_MR_LOCAL : 0) | (modes->prov_key ? FI_MR_PROV_KEY : 0) |
           (modes->virt_addr ? FI_MR_VIRT_ADDR : 0) | (modes->allocated ? FI_MR_ALLOCATED : 0) |
           (modes->endpoint ? FI_MR_ENDPOINT : 0);
}

static uint64_t claimed_mode(void)
{
    return (shim_modes()->context ? FI_CONTEXT : 0) | (shim_modes()->context2 ? FI_CONTEXT2 : 0);
}

/* Does the provider say that it makes progress of its own? */
static bool promises_auto(void)
{
    return shim_modes()->automatic || shim_modes()->false_auto;
}

static bool has_progress(const struct fi_info *info, enum fi_progress progress)
{
    return info->domain_attr != NULL && info->domain_attr->data_progress == progress;
}

/* Would a provider like this be listed for such hints? */
static bool fits(const struct fi_info *hints)
{
    const struct shim_modes *modes = shim_modes();
    uint64_t order = 0;

    if (hints == NULL) return true;
    if (has_progress(hints, FI_PROGRESS_AUTO) && !promises_auto()) return false;
    if (hints->tx_attr != NULL) order |= hints->tx_attr->msg_order;
    if (hints->rx_attr != NULL) order |= hints->rx_attr->msg_order;
    if (modes->no_order && (order & RMA_ORDERS) != 0) return false;
    if ((claimed_mode() & ~hints->mode) != 0) return false;
    if (modes->hmem && (hints->caps & FI_HMEM) && !(hints->domain_attr->mr_mode & FI_MR_HMEM))
        return false;
    if (modes->small_inject && hints->tx_attr != NULL &&
        hints->tx_attr->inject_size > modes->inject_size)
        return false;
    if (modes->max_msg > 0 && hints->ep_attr != NULL &&
        hints->ep_attr->max_msg_size > modes->max_msg)
        return false;
    return hints->domain_attr == NULL || (claimed_mr_mode() & ~hints->domain_attr->mr_mode) == 0;
}

static void lower(size_t *value, size_t limit)
{
    if (*value > limit) *value = limit;
}

static void claim_no_order(struct fi_info *info)
{
    info->tx_attr->msg_order &= ~RMA_ORDERS;
    info->rx_attr->msg_order &= ~RMA_ORDERS;
    info->ep_attr->max_order_raw_size = 0;
    info->ep_attr->max_order_war_size = 0;
    info->ep_attr->max_order_waw_size = 0;
}

/* The format of a source address that the program was told to be of another kind. */
static uint32_t real_format(const struct fi_info *info)
{
    const struct sockaddr *addr = info->src_addr;

    if (!shim_modes()->opaque || info->addr_format != FI_ADDR_EFA || addr == NULL)
        return info->addr_format;
    return addr->sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
}

/* Device memory is reached by those who ask for that, and is to be registered. */
static void claim_device_memory(struct fi_info *info)
{
    info->caps |= FI_HMEM;
    info->tx_attr->caps |= FI_HMEM;
    info->rx_attr->caps |= FI_HMEM;
    info->domain_attr->mr_mode |= FI_MR_HMEM;
}

static void claim(struct fi_info *info, const struct fi_info *hints, bool device_memory)
{
    const struct shim_modes *modes = shim_modes();

    /* Automatic progress is given without being asked for, as by tcp of libfabric 2. */
    info->domain_attr->data_progress =
        promises_auto() && (hints == NULL || !has_progress(hints, FI_PROGRESS_MANUAL))
            ? FI_PROGRESS_AUTO
            : FI_PROGRESS_MANUAL;
    if (modes->host_only) info->caps &= ~FI_REMOTE_COMM;
    if (modes->host_only) info->domain_attr->caps &= ~FI_REMOTE_COMM;
    info->domain_attr->mr_mode = claimed_mr_mode();
    info->mode |= claimed_mode();
    info->tx_attr->mode |= claimed_mode();
    info->rx_attr->mode |= claimed_mode();
    if (modes->key32) info->domain_attr->mr_key_size = sizeof(uint32_t);
    info->tx_attr->iov_limit = info->tx_attr->rma_iov_limit = 1; /* see need_one() */
    if (modes->small_inject) lower(&info->tx_attr->inject_size, modes->inject_size);
    if (modes->max_msg > 0) lower(&info->ep_attr->max_msg_size, modes->max_msg);
    if (modes->cqsize > 0) lower(&info->tx_attr->size, modes->cqsize);
    if (modes->no_order) claim_no_order(info);
    if (modes->opaque && info->addr_format != FI_ADDR_STR) info->addr_format = FI_ADDR_EFA;
    if (modes->name != NULL) set_name(&info->fabric_attr->prov_name, modes->name);
    add_prefix(info->fabric_attr);
    if (device_memory) claim_device_memory(info);
}

/* Keep only the provider that we play. */
static void claim_all(struct fi_info **list, const struct fi_info *hints)
{
    bool device_memory = shim_modes()->hmem && hints != NULL && (hints->caps & FI_HMEM);
    struct fi_info *info, **at = list;

    while ((info = *at) != NULL) {
        if (is_named(info->fabric_attr, shim_modes()->base)) {
            claim(info, hints, device_memory);
            at = &info->next;
        } else {
            *at = info->next;
            info->next = NULL;
            free_info(info);
        }
    }
}

static void forget_device_memory(struct fi_info *info)
{
    info->caps &= ~FI_HMEM;
    if (info->tx_attr != NULL) info->tx_attr->caps &= ~FI_HMEM;
    if (info->rx_attr != NULL) info->rx_attr->caps &= ~FI_HMEM;
}

/* A copy as the real provider understands it. */
static struct fi_info *dup_real(const struct fi_info *info)
{
    struct fi_info *copy = dup_info(info);

    copy->addr_format = real_format(info);
    copy->mode &= ~claimed_mode();
    if (shim_modes()->hmem) forget_device_memory(copy);
    if (copy->tx_attr != NULL) copy->tx_attr->mode &= ~claimed_mode();
    if (copy->rx_attr != NULL) copy->rx_attr->mode &= ~claimed_mode();
    if (copy->domain_attr != NULL) copy->domain_attr->mr_mode = 0;
    if (shim_modes()->false_auto && has_progress(copy, FI_PROGRESS_AUTO))
        copy->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    if (shim_modes()->name != NULL && is_named(copy->fabric_attr, shim_modes()->name))
        set_name(&copy->fabric_attr->prov_name, shim_modes()->base);
    if (copy->fabric_attr != NULL && copy->fabric_attr->name != NULL) {
        char *name = copy->fabric_attr->name, *known = real_fabric(name);

        memmove(name, known, strlen(known) + 1);
    }
    return copy;
}

/*
 * Ends the process with the status of a skipped test if the real provider is net and libfabric is
 * newer than 1.17. The commit 5ce675a6c of libfabric ("prov/tcp: Replace tcp with net code") merged
 * net into tcp.
 */
static void skip_without_net(void)
{
    uint32_t version = ((uint32_t(*)(void))real("fi_version"))();

    if (strcmp(shim_modes()->base, "net") != 0 || version < FI_VERSION(1, 18)) return;
    fprintf(stderr,
            "skipped: libfabric %u.%u has no provider net (TCP_INI in prov/tcp/src/xnet_init.c "
            "registers the code of net as tcp)\n",
            FI_MAJOR(version), FI_MINOR(version));
    _exit(77);
}

static __thread int depth; /* of calls into libfabric that may call us again */

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    int (*get)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
               struct fi_info **) =
        (int (*)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                 struct fi_info **))real("fi_getinfo");
    struct fi_info *copy;
    int rc;

    if (depth > 0 || (flags & NESTED)) return get(version, node, service, flags, hints, info);
    if (shim_modes()->one_name &&
        (hints == NULL || hints->fabric_attr == NULL || hints->fabric_attr->prov_name == NULL))
        shim_die("fi_getinfo: the hints name no provider");
    skip_without_net();
    if (!fits(hints)) return -FI_ENODATA;
    copy = hints != NULL ? dup_real(hints) : NULL;
    depth++;
    rc = get(version, node, service, flags, copy, info);
    depth--;
    if (copy != NULL) free_info(copy);
    if (rc != 0) return rc;
    claim_all(info, hints);
    return *info != NULL ? 0 : -FI_ENODATA;
}

uint32_t fi_version(void)
{
    uint32_t (*get)(void) = (uint32_t(*)(void))real("fi_version");

    /* libfabric itself must get its real version. */
    return shim_modes()->version != 0 && depth == 0 ? shim_modes()->version : get();
}

/* ---- opening ------------------------------------------------------------------- */

struct shim_fabric {
    struct fi_ops fid_ops;
    struct fi_ops_fabric ops;
    struct fi_ops *real_fid_ops;
    struct fi_ops_fabric *real_ops;
};

static int query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
                        struct fi_atomic_attr *attr, uint64_t flags)
{
    struct shim_domain *ours = SHIM_OF(domain->ops, struct shim_domain, ops);

    if (shim_modes()->no_atomics) return -FI_EOPNOTSUPP;
    if (shim_modes()->no_fetch && (flags & (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC)))
        return -FI_EOPNOTSUPP;
    return ours->real_ops->query_atomic(domain, type, op, attr, flags);
}

static int open_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                         void *context)
{
    struct shim_domain *ours = SHIM_OF(domain->ops, struct shim_domain, ops);
    struct fi_info *copy;
    int rc;

    /* net connects with endpoints of its own, in its own domain. */
    if (info->ep_attr->type != FI_EP_RDM)
        return ours->real_ops->endpoint(domain, info, ep, context);
    if (shim_modes()->hmem_no_endpoint && (info->caps & FI_HMEM)) return -FI_EOPNOTSUPP;
    copy = dup_real(info);
    if (claimed_mr_mode() & ~info->domain_attr->mr_mode)
        shim_die("fi_endpoint: the info lacks a mode that fi_getinfo said");
    depth++;
    rc = shim_endpoint_open(domain, copy, ep, context);
    depth--;
    free_info(copy);
    return rc;
}

static int open_counter(struct fid_domain *domain, struct fi_cntr_attr *attr,
                        struct fid_cntr **cntr, void *context)
{
    (void)domain, (void)attr, (void)cntr, (void)context;
    shim_die("fi_cntr_open: counters are not watched");
}

static int close_domain(struct fid *fid)
{
    struct shim_domain *ours = SHIM_OF(fid->ops, struct shim_domain, fid_ops);
    int rc;

    fid->ops = ours->real_fid_ops;
    rc = fid->ops->close(fid);
    if (rc != 0) shim_die("fi_close: the domain is still in use (%d)", rc);
    free(ours);
    return 0;
}

static void wrap_domain(struct fid_domain *domain)
{
    struct shim_domain *ours = calloc(1, sizeof(*ours));

    if (ours == NULL) shim_die("no memory");
    ours->domain = domain;
    ours->real_fid_ops = domain->fid.ops;
    ours->real_ops = domain->ops;
    ours->real_mr_ops = domain->mr;
    ours->fid_ops = *domain->fid.ops;
    ours->fid_ops.close = close_domain;
    ours->ops = *domain->ops;
    ours->ops.endpoint = open_endpoint;
    ours->ops.cq_open = shim_cq_open;
    ours->ops.cntr_open = open_counter;
    ours->ops.query_atomic = query_atomic;
    shim_memory_wrap(ours);
    domain->fid.ops = &ours->fid_ops;
    domain->ops = &ours->ops;
    domain->mr = &ours->mr_ops;
}

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                       void *context)
{
    struct shim_fabric *ours = SHIM_OF(fabric->ops, struct shim_fabric, ops);
    struct fi_info *copy = dup_real(info);
    int rc;

    if (claimed_mr_mode() & ~info->domain_attr->mr_mode)
        shim_die("fi_domain: the info lacks a mode that fi_getinfo said");
    if (has_progress(info, FI_PROGRESS_AUTO)) {
        if (!promises_auto()) shim_die("fi_domain: FI_PROGRESS_AUTO, which fi_getinfo refused");
        shim_counts.automatic++;
    }
    depth++;
    rc = ours->real_ops->domain(fabric, copy, domain, context);
    depth--;
    free_info(copy);
    if (rc == 0) wrap_domain(*domain);
    return rc;
}

/* May the program sleep? Not while something waits for it to read. */
static int trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    struct shim_fabric *ours = SHIM_OF(fabric->ops, struct shim_fabric, ops);
    int rc = 0;

    pthread_mutex_lock(&shim_lock);
    for (int i = 0; i < count; i++) {
        struct shim_cq *cq = shim_cq_of(fids[i]);

        if (cq != NULL && shim_cq_busy(cq)) rc = -FI_EAGAIN;
        if (cq != NULL && shim_modes()->deaf_fd) shim_cq_progress(cq);
    }
    pthread_mutex_unlock(&shim_lock);
    return rc != 0 || shim_modes()->deaf_fd ? rc : ours->real_ops->trywait(fabric, fids, count);
}

static int close_fabric(struct fid *fid)
{
    struct shim_fabric *ours = SHIM_OF(fid->ops, struct shim_fabric, fid_ops);
    int rc;

    fid->ops = ours->real_fid_ops;
    rc = fid->ops->close(fid);
    if (rc != 0) shim_die("fi_close: the fabric is still in use (%d)", rc);
    free(ours);
    return 0;
}

static void wrap_fabric(struct fid_fabric *fabric)
{
    struct shim_fabric *ours = calloc(1, sizeof(*ours));

    if (ours == NULL) shim_die("no memory");
    ours->real_fid_ops = fabric->fid.ops;
    ours->real_ops = fabric->ops;
    ours->fid_ops = *fabric->fid.ops;
    ours->fid_ops.close = close_fabric;
    ours->ops = *fabric->ops;
    ours->ops.domain = open_domain;
    ours->ops.trywait = trywait;
    fabric->fid.ops = &ours->fid_ops;
    fabric->ops = &ours->ops;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    int (*get)(struct fi_fabric_attr *, struct fid_fabric **, void *) =
        (int (*)(struct fi_fabric_attr *, struct fid_fabric **, void *))real("fi_fabric");
    struct fi_fabric_attr copy = *attr;
    int rc;

    if (depth > 0 || !is_named(attr, public_name())) return get(attr, fabric, context);
    copy.prov_name = (char *)(uintptr_t)shim_modes()->base;
    copy.name = real_fabric(attr->name);
    depth++;
    rc = get(&copy, fabric, context);
    depth--;
    if (rc == 0) wrap_fabric(*fabric);
    return rc;
}
