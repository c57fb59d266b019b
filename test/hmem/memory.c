/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered device memory: the real provider gets the driver's alias of it, and the program a
 * descriptor that only we understand.
 */
#include "shim.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One registration of device memory; its descriptor is its address. */
struct shim_region {
    struct shim_region *next;
    struct fid_mr *mr;
    struct fi_ops *real_ops; /* of mr->fid */
    struct fi_ops our_ops;
    char *base; /* as the program has it */
    char *alias;
    size_t nbytes;
};

static struct {
    pthread_mutex_t lock; /* guards all below */
    struct shim_region *regions;
    long n_regions, n_made, n_buffers, n_refused;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct fi_ops_mr *mr_ops, our_mr_ops;

/* ---- the fake driver ------------------------------------------------------------- */

/* The driver's own address of device memory; NULL: host memory. */
static char *alias_of(const void *address)
{
    static void *(*alias)(unsigned long long);
    void *driver;

    if (__atomic_load_n(&alias, __ATOMIC_ACQUIRE) == NULL) {
        driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (driver == NULL) return NULL; /* no driver, no device memory */
        __atomic_store_n(&alias, (void *(*)(unsigned long long))dlsym(driver, "fakecuda_alias"),
                         __ATOMIC_RELEASE);
        if (alias == NULL) shim_die("libcuda.so.1 is not the fake driver");
    }
    return alias((uintptr_t)address);
}

/* A real provider asks the driver about the memory, which it does in the current context. */
static bool shim_has_context(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), *context = NULL;
    int (*get_current)(void **context);

    *(void **)&get_current = driver != NULL ? dlsym(driver, "cuCtxGetCurrent") : NULL;
    return get_current != NULL && get_current(&context) == 0 && context != NULL;
}

/* ---- registration ------------------------------------------------------------------ */

static bool refuses(void)
{
    const char *who = getenv("HMEMSHIM_REFUSE"), *rank = getenv("PMI_RANK");

    if (who == NULL) return false;
    return strcmp(who, "all") == 0 || (rank != NULL && strcmp(who, rank) == 0);
}

static int close_region(struct fid *fid)
{
    struct shim_region **at = &memory.regions, *region;
    int rc;

    pthread_mutex_lock(&memory.lock);
    while (*at != NULL && &(*at)->mr->fid != fid)
        at = &(*at)->next;
    region = *at;
    if (region == NULL) shim_die("closes a region that it never had");
    *at = region->next;
    memory.n_regions--;
    pthread_mutex_unlock(&memory.lock);
    fid->ops = region->real_ops;
    rc = fid->ops->close(fid);
    free(region);
    return rc;
}

static void add_region(struct fid_mr *mr, char *base, char *alias, size_t nbytes)
{
    struct shim_region *region = calloc(1, sizeof(*region));

    if (region == NULL) shim_die("no memory");
    region->mr = mr;
    region->base = base;
    region->alias = alias;
    region->nbytes = nbytes;
    region->real_ops = mr->fid.ops;
    region->our_ops = *mr->fid.ops;
    region->our_ops.close = close_region;
    mr->fid.ops = &region->our_ops;
    mr->mem_desc = region;
    pthread_mutex_lock(&memory.lock);
    region->next = memory.regions;
    memory.regions = region;
    memory.n_regions++;
    memory.n_made++;
    pthread_mutex_unlock(&memory.lock);
}

static int reg_device(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **mr)
{
    struct iovec iov = *attr->mr_iov;
    struct fi_mr_attr host = *attr;
    char *alias = alias_of(iov.iov_base);
    int rc;

    if (!shim_has_context()) shim_die("device memory is registered without a current context");
    if (attr->iov_count != 1 || iov.iov_len == 0) shim_die("one piece of device memory at a time");
    if (alias == NULL || alias_of((char *)iov.iov_base + iov.iov_len - 1) == NULL)
        shim_die("%p to be registered is no device memory", iov.iov_base);
    if ((attr->access & (FI_READ | FI_WRITE)) != (FI_READ | FI_WRITE))
        shim_die("%p is registered, but not for local use", iov.iov_base);
    if (attr->device.cuda < 0) shim_die("device %d does not exist", attr->device.cuda);
    iov.iov_base = alias;
    host.mr_iov = &iov;
    host.iface = FI_HMEM_SYSTEM;
    host.device.reserved = 0;
    rc = mr_ops->regattr(fid, &host, flags, mr);
    if (rc == 0) add_region(*mr, attr->mr_iov->iov_base, alias, iov.iov_len);
    return rc;
}

static int regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                   struct fid_mr **mr)
{
    if (attr->iface == FI_HMEM_CUDA) {
        if (!refuses()) return reg_device(fid, attr, flags, mr);
        __atomic_add_fetch(&memory.n_refused, 1, __ATOMIC_RELAXED);
        return -FI_ENOSYS;
    }
    for (size_t i = 0; i < attr->iov_count; i++)
        if (alias_of(attr->mr_iov[i].iov_base) != NULL)
            shim_die("device memory %p is registered as the host's", attr->mr_iov[i].iov_base);
    return mr_ops->regattr(fid, attr, flags, mr);
}

static int reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
               uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
    if (alias_of(buf) != NULL) shim_die("device memory %p is registered as the host's", buf);
    return mr_ops->reg(fid, buf, len, access, offset, requested_key, flags, mr, context);
}

void shim_memory_wrap(struct fid_domain *domain)
{
    mr_ops = domain->mr;
    our_mr_ops = *mr_ops;
    our_mr_ops.reg = reg;
    our_mr_ops.regattr = regattr;
    domain->mr = &our_mr_ops;
}

/* ---- local buffers ------------------------------------------------------------------ */

static struct shim_region *find_locked(const void *desc)
{
    struct shim_region *region = memory.regions;

    while (region != NULL && region != desc)
        region = region->next;
    return region;
}

void *shim_memory_local(const char *operation, const void *buffer, size_t nbytes, void **desc)
{
    const struct shim_region *region;
    char *at = (char *)(uintptr_t)buffer;
    size_t offset;

    pthread_mutex_lock(&memory.lock);
    region = *desc != NULL ? find_locked(*desc) : NULL;
    if (region != NULL) {
        offset = (size_t)(at - region->base);
        if (offset >= region->nbytes || nbytes > region->nbytes - offset)
            shim_die("%s: %zu bytes at %p are not what the descriptor is of", operation, nbytes,
                     buffer);
        at = region->alias + offset;
        *desc = NULL;
        memory.n_buffers++;
    } else if (nbytes > 0 && (alias_of(at) != NULL || alias_of(at + nbytes - 1) != NULL)) {
        shim_die("%s: device memory %p comes without its descriptor", operation, buffer);
    }
    pthread_mutex_unlock(&memory.lock);
    return at;
}

long hmemshim_count(const char *what)
{
    long n = -1;

    pthread_mutex_lock(&memory.lock);
    if (strcmp(what, "regions") == 0) n = memory.n_regions;
    if (strcmp(what, "made") == 0) n = memory.n_made;
    if (strcmp(what, "buffers") == 0) n = memory.n_buffers;
    if (strcmp(what, "refused") == 0) n = memory.n_refused;
    pthread_mutex_unlock(&memory.lock);
    return n;
}
