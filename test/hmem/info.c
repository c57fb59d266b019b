/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the provider claims: FI_HMEM is hidden from the real libfabric and added to what it grants
 * for tcp;ofi_rxm; with HMEMSHIM_KEYS the provider chooses keys, too. Objects opened from such an
 * info get their operations wrapped.
 */
#include "shim.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "tcp;ofi_rxm"

/* The versions that programs of the present headers link with. */
SHIM_EXPORT int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                           const struct fi_info *hints, struct fi_info **info);
SHIM_EXPORT int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

void shim_die(const char *fmt, ...)
{
    va_list args;

    fputs("hmemshim: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

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

/* ---- granting ----------------------------------------------------------------- */

/* The keys are those of the caller, which is not to rely on that. */
static bool chooses_keys(void)
{
    return getenv("HMEMSHIM_KEYS") != NULL;
}

/* A copy without what the real provider would refuse. */
static struct fi_info *dup_without(const struct fi_info *info)
{
    struct fi_info *copy = dup_info(info);

    copy->caps &= ~FI_HMEM;
    if (copy->tx_attr != NULL) copy->tx_attr->caps &= ~FI_HMEM;
    if (copy->rx_attr != NULL) copy->rx_attr->caps &= ~FI_HMEM;
    if (copy->domain_attr != NULL) copy->domain_attr->mr_mode &= ~FI_MR_HMEM;
    if (copy->domain_attr != NULL && chooses_keys()) copy->domain_attr->mr_mode &= ~FI_MR_PROV_KEY;
    return copy;
}

static void grant(struct fi_info *info)
{
    /* Peers would say device addresses, and nothing could translate them here. */
    if (info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) shim_die("needs addressing by offset");
    info->caps |= FI_HMEM;
    info->tx_attr->caps |= FI_HMEM;
    info->rx_attr->caps |= FI_HMEM;
    info->domain_attr->mr_mode |= FI_MR_HMEM;
    if (chooses_keys()) info->domain_attr->mr_mode |= FI_MR_PROV_KEY;
}

/* Keep only the provider that we play, now with FI_HMEM. */
static void grant_all(struct fi_info **list)
{
    struct fi_info *info, **at = list;

    while ((info = *at) != NULL) {
        if (strcmp(info->fabric_attr->prov_name, PROVIDER) == 0) {
            grant(info);
            at = &info->next;
        } else {
            *at = info->next;
            info->next = NULL;
            free_info(info);
        }
    }
}

/* Without device memory it chooses keys as well. */
static void grant_keys(const struct fi_info *hints, struct fi_info *info)
{
    if (!chooses_keys() || hints == NULL || hints->domain_attr == NULL) return;
    if (!(hints->domain_attr->mr_mode & FI_MR_PROV_KEY)) return;
    for (; info != NULL; info = info->next)
        if (strcmp(info->fabric_attr->prov_name, PROVIDER) == 0)
            info->domain_attr->mr_mode |= FI_MR_PROV_KEY;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
               const struct fi_info *hints, struct fi_info **info)
{
    int (*get)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
               struct fi_info **) =
        (int (*)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                 struct fi_info **))real("fi_getinfo");
    struct fi_info *copy;
    int rc;

    if (hints == NULL || !(hints->caps & FI_HMEM)) {
        rc = get(version, node, service, flags, hints, info);
        if (rc == 0) grant_keys(hints, *info);
        return rc;
    }
    /* A provider that reaches device memory wants it registered: whoever cannot is not served. */
    if (!(hints->domain_attr->mr_mode & FI_MR_HMEM)) return -FI_ENODATA;
    copy = dup_without(hints);
    rc = get(version, node, service, flags, copy, info);
    free_info(copy);
    if (rc != 0) return rc;
    grant_all(info);
    return *info != NULL ? 0 : -FI_ENODATA;
}

/* ---- opening ------------------------------------------------------------------- */

/* One provider, so one table of each sort. */
static struct fi_ops_fabric *fabric_ops, our_fabric_ops;
static struct fi_ops_domain *domain_ops, our_domain_ops;

static int open_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                         void *context)
{
    bool hmem = (info->caps & FI_HMEM) != 0;
    struct fi_info *copy;
    int rc;

    if (hmem && getenv("HMEMSHIM_NO_ENDPOINT") != NULL) return -FI_EOPNOTSUPP;
    copy = dup_without(info);
    rc = domain_ops->endpoint(domain, copy, ep, context);
    free_info(copy);
    if (rc == 0) shim_rma_wrap(*ep);
    return rc;
}

static int open_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
                       void *context)
{
    struct fi_info *copy = dup_without(info);
    int rc = fabric_ops->domain(fabric, copy, domain, context);

    free_info(copy);
    if (rc != 0) return rc;
    shim_memory_wrap(*domain);
    domain_ops = (*domain)->ops;
    our_domain_ops = *domain_ops;
    our_domain_ops.endpoint = open_endpoint;
    (*domain)->ops = &our_domain_ops;
    return 0;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
    int (*get)(struct fi_fabric_attr *, struct fid_fabric **, void *) =
        (int (*)(struct fi_fabric_attr *, struct fid_fabric **, void *))real("fi_fabric");
    int rc = get(attr, fabric, context);

    if (rc != 0 || attr->prov_name == NULL || strcmp(attr->prov_name, PROVIDER) != 0) return rc;
    fabric_ops = (*fabric)->ops;
    our_fabric_ops = *fabric_ops;
    our_fabric_ops.domain = open_domain;
    (*fabric)->ops = &our_fabric_ops;
    return 0;
}
