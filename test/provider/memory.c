/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: registrations. The program gets a region of the shim, which has a region of the
 * real provider. The real provider addresses by offset. For virtual addressing the shim therefore
 * registers from address 0 to the end of the region, so that offset and address are equal. This
 * protects the end of the region, but not the memory below its start. Keys that the provider
 * chooses contain a check, so that the shim recognizes a foreign key before the key is used.
 */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define LOWEST_ADDRESS 0x10000u /* vm.mmap_min_addr */
#define CHECK_BITS 8
#define BUCKETS 1024

struct shim_region {
    struct fid_mr fid; /* first: what the program has */
    struct fi_ops ops;
    struct shim_region *next; /* in its bucket */
    struct shim_domain *domain;
    struct fid_mr *mr; /* the real one; NULL: not enabled */
    struct fid_ep *ep; /* bound to */
    char *base;        /* as the program has it */
    char *real;        /* what the real provider may touch: another address for device memory */
    size_t nbytes;
    uint64_t access, key, flags;
    long n_uses; /* operations under way */
};

static struct shim_region *buckets[BUCKETS];

static struct shim_region **bucket_of(const void *region)
{
    return &buckets[((uintptr_t)region >> 6) % BUCKETS];
}

/* Does desc stand for a live registration? */
static struct shim_region *find_locked(const void *desc)
{
    struct shim_region *region = *bucket_of(desc);

    while (region != NULL && region != desc)
        region = region->next;
    return region;
}

/* ---- keys -------------------------------------------------------------------------- */

static uint64_t check_of(uint64_t bits)
{
    return (bits * 0x9e3779b97f4a7c15u) >> (64 - CHECK_BITS);
}

static uint64_t choose_key_locked(void)
{
    /* The top bit stays clear: libfabric's own layers use it. */
    uint64_t bits = shim_random() >> (shim_modes()->key32 ? 64 - 31 + CHECK_BITS : 1 + CHECK_BITS);

    return bits << CHECK_BITS | check_of(bits);
}

void shim_memory_target(const char *operation, uint64_t addr, uint64_t key)
{
    const struct shim_modes *modes = shim_modes();

    if (modes->key32 && key > UINT32_MAX)
        shim_die("%s: key %#lx has more than 32 bits", operation, key);
    if (modes->prov_key && (key & ((1u << CHECK_BITS) - 1)) != check_of(key >> CHECK_BITS))
        shim_die("%s: key %#lx was not made by this provider", operation, key);
    if (modes->virt_addr && addr < LOWEST_ADDRESS)
        shim_die("%s: %#lx is an offset, and addressing is virtual", operation, addr);
}

/* ---- device memory, of the fake driver --------------------------------------------------- */

/* A function of the driver, or NULL where there is no driver. */
static void *of_driver(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *function = driver != NULL ? dlsym(driver, name) : NULL;

    if (driver != NULL && function == NULL) shim_die("libcuda.so.1 is not the fake driver");
    if (driver != NULL) dlclose(driver); /* it stays: the program holds it */
    return function;
}

/* The driver's own address of device memory; NULL for host memory. */
static char *alias_of(const void *address)
{
    static void *(*alias)(unsigned long long);

    if (__atomic_load_n(&alias, __ATOMIC_ACQUIRE) == NULL) {
        void *found = of_driver("fakecuda_alias");

        if (found == NULL) return NULL; /* no driver, no device memory */
        __atomic_store_n(&alias, (void *(*)(unsigned long long))found, __ATOMIC_RELEASE);
    }
    return alias((uintptr_t)address);
}

static bool is_device(const struct shim_region *region)
{
    return region->real != region->base;
}

/* Does this PE get no device memory registered? PROVSHIM_REFUSE is "all" or its PMI_RANK. */
static bool refuses_device(void)
{
    const char *who = getenv("PROVSHIM_REFUSE"), *rank = getenv("PMI_RANK");

    return who != NULL && (strcmp(who, "all") == 0 || (rank != NULL && strcmp(who, rank) == 0));
}

/* A real provider asks the driver about the memory, which needs a current context. */
static void check_device(const struct fi_mr_attr *attr)
{
    const struct iovec *iov = attr->mr_iov;
    int (*get_current)(void **context);
    void *context = NULL;

    *(void **)&get_current = of_driver("cuCtxGetCurrent");
    if (get_current == NULL || get_current(&context) != 0 || context == NULL)
        shim_die("device memory is registered without a current context");
    if (iov->iov_len == 0 || alias_of(iov->iov_base) == NULL ||
        alias_of((char *)iov->iov_base + iov->iov_len - 1) == NULL)
        shim_die("%p to be registered is no device memory", iov->iov_base);
    if ((attr->access & (FI_READ | FI_WRITE)) != (FI_READ | FI_WRITE))
        shim_die("%p is registered, but not for local use", iov->iov_base);
    if (attr->device.cuda < 0) shim_die("device %d does not exist", attr->device.cuda);
}

void *shim_memory_real(const char *operation, void *buffer, size_t nbytes, const void *desc)
{
    const struct shim_region *region = desc != NULL ? find_locked(desc) : NULL;
    char *at = buffer;

    if (region != NULL && is_device(region)) {
        size_t offset = (size_t)(at - region->base);

        if (offset >= region->nbytes || nbytes > region->nbytes - offset)
            shim_die("%s: %zu bytes at %p are not what the descriptor is of", operation, nbytes,
                     buffer);
        shim_counts.device_buffers++;
        return region->real + offset;
    }
    if (nbytes > 0 && (alias_of(at) != NULL || alias_of(at + nbytes - 1) != NULL))
        shim_die("%s: device memory %p comes without its descriptor", operation, buffer);
    return buffer;
}

/* ---- the life of a region ----------------------------------------------------------- */

static int close_region(struct fid *fid)
{
    struct shim_region *region = (struct shim_region *)fid, **at;
    int rc = 0;

    pthread_mutex_lock(&shim_lock);
    for (at = bucket_of(region); *at != NULL && *at != region;)
        at = &(*at)->next;
    if (*at == NULL) shim_die("fi_close: no such registration");
    if (region->n_uses > 0)
        shim_die("fi_close: the registration of %zu bytes at %p is used by %ld operations "
                 "under way",
                 region->nbytes, (void *)region->base, region->n_uses);
    *at = region->next;
    shim_counts.regions--;
    shim_counts.device_regions -= is_device(region);
    pthread_mutex_unlock(&shim_lock);
    if (region->mr != NULL) rc = fi_close(&region->mr->fid);
    memset(region, 0xdb, sizeof(*region));
    free(region);
    return rc;
}

/* Let the real provider know the region. */
static int enable(struct shim_region *region)
{
    struct shim_domain *domain = region->domain;
    bool virtual = shim_modes()->virt_addr;
    void *base = virtual ? NULL : region->real;
    size_t nbytes = region->nbytes + (virtual ? (uintptr_t)region->base : 0);
    int rc = domain->real_mr_ops->reg(&domain->domain->fid, base, nbytes, region->access, 0,
                                      region->key, 0, &region->mr, NULL);

    if (rc != 0) region->mr = NULL;
    if (rc == 0) region->fid.key = fi_mr_key(region->mr);
    return rc;
}

static int bind_region(struct fid *fid, struct fid *to, uint64_t flags)
{
    struct shim_region *region = (struct shim_region *)fid;

    if (to->fclass != FI_CLASS_EP || flags != 0)
        shim_die("fi_mr_bind: only to endpoints, without flags");
    if (!shim_modes()->endpoint) shim_die("fi_mr_bind: this provider does not ask for it");
    if (region->mr != NULL) shim_die("fi_mr_bind: the registration is enabled already");
    region->ep = (struct fid_ep *)to;
    return 0;
}

static int control_region(struct fid *fid, int command, void *arg)
{
    struct shim_region *region = (struct shim_region *)fid;

    (void)arg;
    if (command != FI_ENABLE) return -FI_ENOSYS;
    if (!shim_modes()->endpoint) shim_die("fi_mr_enable: this provider does not ask for it");
    if (region->ep == NULL) shim_die("fi_mr_enable: not bound to an endpoint");
    if (region->mr != NULL) shim_die("fi_mr_enable: enabled already");
    return enable(region);
}

static void check_mapped(const char *base, size_t nbytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)base & ~(page - 1);
    unsigned char byte;

    /* Ends suffice to notice what is not there at all; nothing is pinned. */
    if (mincore((void *)first, 1, &byte) != 0 ||
        mincore((void *)(((uintptr_t)base + nbytes - 1) & ~(page - 1)), 1, &byte) != 0)
        shim_die("fi_mr_reg: %zu bytes at %p are not all mapped", nbytes, (void *)base);
}

/* real: what the provider beneath registers for buf; buf itself when that is host memory. */
static int add_region(struct fid *fid, const void *buf, const void *real, size_t len,
                      uint64_t access, uint64_t offset, uint64_t requested_key, uint64_t flags,
                      struct fid_mr **mr, void *context)
{
    struct shim_domain *domain =
        SHIM_OF(((struct fid_domain *)fid)->mr, struct shim_domain, mr_ops);
    const struct shim_modes *modes = shim_modes();
    struct shim_region *region;
    int rc = 0;

    if (len == 0 || offset != 0) shim_die("fi_mr_reg: %zu bytes, offset %lu", len, offset);
    if (modes->allocated) check_mapped(buf, len);
    if (!modes->prov_key && modes->key32 && requested_key > UINT32_MAX) return -FI_EKEYREJECTED;
    region = calloc(1, sizeof(*region));
    if (region == NULL) return -FI_ENOMEM;
    region->ops = (struct fi_ops){.size = sizeof(struct fi_ops),
                                  .close = close_region,
                                  .bind = bind_region,
                                  .control = control_region};
    region->fid.fid = (struct fid){.fclass = FI_CLASS_MR, .context = context, .ops = &region->ops};
    region->fid.mem_desc = region;
    region->fid.key = FI_KEY_NOTAVAIL;
    region->domain = domain;
    region->base = (char *)(uintptr_t)buf;
    region->real = (char *)(uintptr_t)real;
    region->nbytes = len;
    region->access = access;
    region->flags = flags;
    pthread_mutex_lock(&shim_lock);
    region->key = modes->prov_key ? choose_key_locked() : requested_key;
    if (!modes->endpoint) rc = enable(region);
    if (rc == 0) {
        region->next = *bucket_of(region);
        *bucket_of(region) = region;
        shim_counts.regions++;
        shim_counts.device_regions += is_device(region);
        shim_counts.device_made += is_device(region);
    }
    pthread_mutex_unlock(&shim_lock);
    if (rc == 0)
        *mr = &region->fid;
    else
        free(region);
    return rc;
}

static int reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
               uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
    if (shim_modes()->hmem && alias_of(buf) != NULL)
        shim_die("device memory %p is registered as the host's", buf);
    return add_region(fid, buf, buf, len, access, offset, requested_key, flags, mr, context);
}

static int reg_device(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **mr)
{
    const struct iovec *iov = attr->mr_iov;

    if (refuses_device()) {
        pthread_mutex_lock(&shim_lock);
        shim_counts.device_refused++;
        pthread_mutex_unlock(&shim_lock);
        return -FI_ENOSYS;
    }
    check_device(attr);
    return add_region(fid, iov->iov_base, alias_of(iov->iov_base), iov->iov_len, attr->access,
                      attr->offset, attr->requested_key, flags, mr, attr->context);
}

static int regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                   struct fid_mr **mr)
{
    if (attr->iov_count != 1) shim_die("fi_mr_regattr: one piece of memory at a time");
    if (shim_modes()->hmem && attr->iface == FI_HMEM_CUDA) return reg_device(fid, attr, flags, mr);
    if (attr->iface != FI_HMEM_SYSTEM) return -FI_ENOSYS;
    return reg(fid, attr->mr_iov->iov_base, attr->mr_iov->iov_len, attr->access, attr->offset,
               attr->requested_key, flags, mr, attr->context);
}

static int regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
                void *context)
{
    if (count != 1) shim_die("fi_mr_regv: one piece of memory at a time");
    return reg(fid, iov->iov_base, iov->iov_len, access, offset, requested_key, flags, mr, context);
}

void shim_memory_wrap(struct shim_domain *domain)
{
    domain->mr_ops = *domain->real_mr_ops;
    domain->mr_ops.reg = reg;
    domain->mr_ops.regv = regv;
    domain->mr_ops.regattr = regattr;
}

/* ---- its use ------------------------------------------------------------------------- */

static const char *access_name(uint64_t access)
{
    return access == FI_READ    ? "FI_READ"
           : access == FI_WRITE ? "FI_WRITE"
           : access == FI_SEND  ? "FI_SEND"
                                : "FI_RECV";
}

struct shim_region *shim_memory_use(const char *operation, const char *what,
                                    const struct shim_ep *ep, const void *buffer, size_t nbytes,
                                    const void *desc, uint64_t access)
{
    struct shim_region *region = desc != NULL ? find_locked(desc) : NULL;
    size_t offset;

    if (region == NULL)
        shim_die("%s: %s, %zu bytes at %p: its descriptor %p is of no registration", operation,
                 what, nbytes, buffer, desc);
    offset = (size_t)((const char *)buffer - region->base);
    if (offset > region->nbytes || nbytes > region->nbytes - offset)
        shim_die("%s: %s, %zu bytes at %p: its registration is of %zu bytes at %p", operation, what,
                 nbytes, buffer, region->nbytes, (void *)region->base);
    if (region->domain != ep->domain)
        shim_die("%s: %s is registered with another domain", operation, what);
    if (!(region->access & access))
        shim_die("%s: %s at %p is registered without %s", operation, what, buffer,
                 access_name(access));
    if (region->mr == NULL) shim_die("%s: the registration of %s is not enabled", operation, what);
    if (shim_modes()->endpoint && region->ep != ep->ep)
        shim_die("%s: %s is registered for another endpoint", operation, what);
    shim_counts.buffers++;
    region->n_uses++;
    return region;
}

void shim_memory_unuse(struct shim_region *region)
{
    region->n_uses--;
}

long shim_memory_bound(const struct fid_ep *ep)
{
    long n = 0;

    for (int i = 0; i < BUCKETS; i++)
        for (const struct shim_region *region = buckets[i]; region != NULL; region = region->next)
            n += region->ep == ep && (region->access & REMOTE);
    return n;
}
