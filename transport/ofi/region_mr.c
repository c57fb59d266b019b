/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers memory and lets regions grow. An extent is a registered block of memory. A region has
 * one extent at first, and each growth adds another extent at the end of the region. Each extent
 * has its own registration, its own key and, with some providers, its own address. A libfabric
 * operation can access only one extent, so a transfer that spans several extents is cut into
 * several operations. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- registrations --------------------------------------------------------------------------- */

int stp_ofi_mr_enable(struct fid_mr *mr)
{
    int rc;

    if (!(stp_ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT)) return 0;
    rc = fi_mr_bind(mr, &stp_ofi.main.ep->fid, 0);
    if (rc == 0) rc = fi_mr_enable(mr);
    if (rc != 0) fi_close(&mr->fid);
    return rc;
}

int stp_ofi_mr_open(void *base, size_t nbytes, uint64_t key, struct fid_mr **mr)
{
    uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
    int rc;

    /* Also allow local access, because local buffers may be in this memory. */
    if (stp_ofi.mr_local) access |= FI_READ | FI_WRITE;
    rc = fi_mr_reg(stp_ofi.main.domain, base, nbytes, access, 0, key, 0, mr, NULL);
    return rc == 0 ? stp_ofi_mr_enable(*mr) : rc;
}

/*
 * Returns the attributes for registering device memory. The access rights always include local
 * access, because a local buffer in device memory must be registered. Most providers do not require
 * a registration for local buffers in host memory.
 */
static struct fi_mr_attr device_attr(uint64_t key, int device)
{
    return (struct fi_mr_attr){.iov_count = 1,
                               .access = FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE,
                               .requested_key = key,
                               .iface = FI_HMEM_CUDA,
                               .device.cuda = device};
}

#ifdef FI_MR_DMABUF
/*
 * Returns whether the provider supports DMA-BUF descriptors in the libfabric version that is in
 * use. A provider without this support may ignore FI_MR_DMABUF. Such a provider interprets the
 * number of the descriptor as an address, registers this address, and reports success. Software
 * providers of libfabric 1.20 to 2.6 do this if memory is addressed by offset.
 */
static bool knows_descriptors(void)
{
    uint32_t since = stp_ofi_provider_of(stp_ofi.info)->dmabuf_since;

    return since != 0 && FI_VERSION_GE(fi_version(), since);
}
#endif

/*
 * Registers device memory by its DMA-BUF descriptor. Returns 0, or -errno. On failure, the caller
 * registers the memory by its address.
 */
static int mr_open_dmabuf(void *base, size_t nbytes, uint64_t key, int device, struct fid_mr **mr)
{
    int rc = -FI_EOPNOTSUPP;
#ifdef FI_MR_DMABUF
    size_t offset = 0;
    int fd = -1;

    if (stp_ofi.core->dmabuf != NULL && knows_descriptors())
        fd = stp_ofi.core->dmabuf(base, nbytes, &offset);
    if (fd >= 0) {
        struct fi_mr_dmabuf dmabuf = {
            .fd = fd, .offset = offset, .len = nbytes, .base_addr = (char *)base - offset};
        struct fi_mr_attr attr = device_attr(key, device);

        attr.dmabuf = &dmabuf;
        rc = fi_mr_regattr(stp_ofi.main.domain, &attr, FI_MR_DMABUF, mr);
        close(fd); /* The registration holds its own reference to the memory. */
    }
#else
    (void)base, (void)nbytes, (void)key, (void)device, (void)mr;
#endif
    return rc;
}

int stp_ofi_mr_open_device(void *base, size_t nbytes, uint64_t key, int device, struct fid_mr **mr)
{
    struct iovec iov = {.iov_base = base, .iov_len = nbytes};
    struct fi_mr_attr attr = device_attr(key, device);
    int rc;

    if (!stp_ofi.hmem) return -FI_EOPNOTSUPP;
    rc = mr_open_dmabuf(base, nbytes, key, device, mr);
    if (rc != 0) {
        attr.mr_iov = &iov;
        rc = fi_mr_regattr(stp_ofi.main.domain, &attr, 0, mr);
    }
    return rc == 0 ? stp_ofi_mr_enable(*mr) : rc;
}

struct stp_fabric_region stp_ofi_mr_describe(struct fid_mr *mr, void *base)
{
    bool virt = (stp_ofi.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;

    return (struct stp_fabric_region){virt ? (uint64_t)(uintptr_t)base : 0, fi_mr_key(mr)};
}

int stp_ofi_peer_regions_replace(struct stp_fabric_region **table,
                                 const struct stp_fabric_region *peers)
{
    size_t nbytes = (size_t)stp_ofi.core->n_pes * sizeof(*peers);
    struct stp_fabric_region *copy = malloc(nbytes);

    if (copy == NULL) return -ENOMEM;
    free(*table);
    *table = memcpy(copy, peers, nbytes);
    return 0;
}

/* ---- extent of an offset ------------------------------------------------------------------- */

/*
 * Returns the index of the extent that contains the offset. Index 0 is the region's first extent.
 * Searches from the last extent, because extents double in size and the last one is used most.
 */
static unsigned extent_of(const struct stp_ofi_extents *extents, size_t offset)
{
    /* Pairs with the release store in stp_ofi_region_grown(). */
    unsigned i = __atomic_load_n(&extents->n, __ATOMIC_ACQUIRE);

    while (i > 0 && offset < extents->begin[i - 1])
        i--;
    return i;
}

size_t stp_ofi_extent_remaining(const struct stp_ofi_extents *extents, size_t offset)
{
    /* Pairs with the release store in stp_ofi_region_grown(). */
    unsigned n = __atomic_load_n(&extents->n, __ATOMIC_ACQUIRE), i = extent_of(extents, offset);

    /*
     * For the last extent, return SIZE_MAX, because the caller has already checked that the
     * transfer does not exceed the region.
     */
    return i < n ? extents->begin[i] - offset : SIZE_MAX;
}

unsigned stp_ofi_extent_pieces(const struct stp_ofi_extents *extents, size_t offset, size_t nbytes,
                               size_t size)
{
    unsigned n = 0;

    while (extents != NULL && nbytes > stp_ofi_extent_remaining(extents, offset)) {
        size_t extent_bytes = stp_ofi_extent_remaining(extents, offset);

        n += (unsigned)((extent_bytes + size - 1) / size);
        offset += extent_bytes;
        nbytes -= extent_bytes;
    }
    return n + (unsigned)((nbytes + size - 1) / size);
}

struct fid_mr *stp_ofi_extent_mr(const struct stp_ofi_region *region, size_t offset, size_t nbytes)
{
    const struct stp_ofi_extents *extents = stp_ofi_extents(region);
    unsigned i = extents != NULL ? extent_of(extents, offset) : 0;

    if (nbytes > stp_ofi_region_bytes(region) - offset) return NULL;
    if (extents != NULL && nbytes > stp_ofi_extent_remaining(extents, offset)) return NULL;
    return i == 0 ? region->mr : extents->mr[i - 1];
}

/* Returns the key of an extent. Called only if the module chooses the keys. */
static uint64_t key_of(unsigned number, unsigned extent)
{
    return stp_ofi.key_base + number + (uint64_t)extent * STP_FABRIC_REGIONS;
}

struct stp_fabric_region stp_ofi_resolve_extent(const struct stp_ofi_place *place, int pe)
{
    const struct stp_ofi_region *region = &stp_ofi.regions[place->number];
    const struct stp_ofi_extents *extents = stp_ofi_extents(region);
    unsigned i = extent_of(extents, place->offset);
    const struct stp_fabric_region *peers = i == 0 ? region->peers : extents->peers[i - 1];
    size_t offset = place->offset - (i == 0 ? 0 : extents->begin[i - 1]);

    if (peers == NULL) return (struct stp_fabric_region){offset, key_of(place->number, i)};
    return (struct stp_fabric_region){offset + peers[pe].addr, peers[pe].key};
}

/* ---- growth ---------------------------------------------------------------------------------- */

/*
 * Returns the list of added extents, or NULL if out of memory. The first growth creates the list.
 */
static struct stp_ofi_extents *extents_of(struct stp_ofi_region *region)
{
    struct stp_ofi_extents *extents = region->extents;

    if (extents != NULL) return extents;
    extents = calloc(1, sizeof(*extents));
    if (extents == NULL) return NULL;
    extents->begin[0] = region->nbytes;
    /* Pairs with the acquire load in stp_ofi_extents(). */
    __atomic_store_n(&region->extents, extents, __ATOMIC_RELEASE);
    return extents;
}

int stp_ofi_region_grow(unsigned number, size_t nbytes, struct stp_fabric_region *my_region)
{
    struct stp_ofi_region *region = &stp_ofi.regions[number];
    struct stp_ofi_extents *extents = extents_of(region);
    char *base = region->base + region->nbytes;
    struct fid_mr **mr;
    uint64_t key;
    int rc;

    if (extents == NULL) return -ENOMEM;
    if (extents->n + 1 >= STP_FABRIC_EXTENTS) return -ENOSPC;
    key = key_of(number, extents->n + 1);
    mr = &extents->mr[extents->n];
    rc = stp_ofi_mr_open(base, nbytes, key, mr);
    if (rc != 0) {
        *mr = NULL;
        return rc;
    }
    extents->begin[extents->n + 1] = extents->begin[extents->n] + nbytes;
    *my_region = stp_ofi_mr_describe(*mr, base);
    return 0;
}

int stp_ofi_region_grown(unsigned number, const struct stp_fabric_region *peers)
{
    struct stp_ofi_region *region = &stp_ofi.regions[number];
    struct stp_ofi_extents *extents = region->extents;

    if (stp_ofi.peer_table && peers != NULL &&
        stp_ofi_peer_regions_replace(&extents->peers[extents->n], peers) != 0)
        return -ENOMEM;
    /*
     * Both stores pair with the acquire loads in extent_of(), stp_ofi_extent_left() and
     * stp_ofi_region_bytes(). A thread learns of the new extent from the caller of this function,
     * or from a message of another PE. Both happen only after these stores.
     */
    __atomic_store_n(&extents->n, extents->n + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&region->nbytes, extents->begin[extents->n], __ATOMIC_RELEASE);
    return 0;
}

void stp_ofi_region_undo_grow(unsigned number)
{
    struct stp_ofi_extents *extents = stp_ofi.regions[number].extents;

    if (extents == NULL || extents->mr[extents->n] == NULL) return;
    fi_close(&extents->mr[extents->n]->fid);
    extents->mr[extents->n] = NULL;
}

void stp_ofi_extents_close(struct stp_ofi_region *region)
{
    struct stp_ofi_extents *extents = region->extents;

    if (extents == NULL) return;
    for (unsigned i = 0; i < extents->n; i++) {
        fi_close(&extents->mr[i]->fid);
        free(extents->peers[i]);
    }
    /* Pairs with the acquire load in stp_ofi_extents(). */
    __atomic_store_n(&region->extents, NULL, __ATOMIC_RELEASE);
    free(extents);
}
