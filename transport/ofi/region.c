/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers the memory of regions. A region is memory that all PEs name by the same region number.
 * Other PEs need an address and a key in order to access the memory of a PE. How a PE gets the
 * address and the key depends on the mr_mode that the provider has granted. If this module chooses
 * the keys and memory is addressed by offset, a PE can compute the address and the key. Otherwise a
 * PE must store the addresses and keys of all other PEs. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Gives the region a new generation number. A queued operation stores the generation number that
 * the region had when the operation was issued. If the two numbers differ later, the region was
 * replaced meanwhile.
 */
static void region_new_generation(struct stp_ofi_region *region)
{
    /*
     * No other access pairs with these two accesses, because no thread may use a region while the
     * region is added or removed.
     */
    unsigned generation = __atomic_add_fetch(&stp_ofi.generation, 1, __ATOMIC_RELAXED);

    __atomic_store_n(&region->generation, generation, __ATOMIC_RELAXED);
}

/*
 * Logs the reason why the provider refused a registration. For host memory, returns rc unchanged.
 * For device memory, always returns -EOPNOTSUPP, because the library can copy device memory through
 * host memory instead (staging). Typical reasons for device memory are a provider without support
 * for it, a missing kernel module, and a device aperture that is too small.
 */
static int report_refusal(void *base, size_t nbytes, enum stp_fabric_memory memory, int rc)
{
    bool is_host = memory == STP_MEMORY_HOST;

    stp_ofi.core->log(is_host ? STP_LOG_ERROR : STP_LOG_DEBUG,
                      "fabric: provider %s refuses to register %zu bytes of %s memory at %p: %s",
                      stp_ofi.info->fabric_attr->prov_name, nbytes, is_host ? "host" : "device",
                      base, stp_ofi_strerror(-rc));
    return is_host ? rc : -EOPNOTSUPP;
}

int stp_ofi_region_add(unsigned number, void *base, size_t nbytes, enum stp_fabric_memory memory,
                       int device, struct stp_fabric_region *my_region)
{
    struct stp_ofi_region *region = &stp_ofi.regions[number];
    uint64_t key = stp_ofi.key_base + number;
    struct fid_mr *mr;
    int rc;

    if (number >= STP_FABRIC_REGIONS || region->mr != NULL) {
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: region number %u is %s", number,
                          number >= STP_FABRIC_REGIONS ? "out of range" : "in use");
        return -EINVAL;
    }
    rc = memory == STP_MEMORY_HOST ? stp_ofi_mr_open(base, nbytes, key, &mr)
                                   : stp_ofi_mr_open_device(base, nbytes, key, device, &mr);
    if (rc != 0) return report_refusal(base, nbytes, memory, rc);
    region->base = base;
    region->nbytes = nbytes;
    region->device = memory == STP_MEMORY_CUDA;
    region_new_generation(region);
    /*
     * Store mr last, because a message handler that finds mr set uses the other members of the
     * region. Pairs with the acquire load in stp_ofi_local_part().
     */
    __atomic_store_n(&region->mr, mr, __ATOMIC_RELEASE);
    if (region->device || stp_ofi.mr_local) stp_ofi_local_mr_index_add(number);
    *my_region = stp_ofi_mr_describe(mr, base);
    return 0;
}

int stp_ofi_region_peers(unsigned number, const struct stp_fabric_region *peers)
{
    if (!stp_ofi.peer_table) return 0;
    if (number >= STP_FABRIC_REGIONS || peers == NULL) return -EINVAL;
    return stp_ofi_peer_regions_replace(&stp_ofi.regions[number].peers, peers);
}

void stp_ofi_region_remove(unsigned number)
{
    struct stp_ofi_region *region = &stp_ofi.regions[number];
    struct fid_mr *mr = region->mr;

    if (region->listed) stp_ofi_local_mr_index_remove(number);
    /* Pairs with the acquire load in stp_ofi_local_part(). */
    __atomic_store_n(&region->mr, NULL, __ATOMIC_RELEASE);
    if (mr != NULL) fi_close(&mr->fid);
    stp_ofi_extents_close(region);
    free(region->peers);
    *region = (struct stp_ofi_region){.mr = NULL};
    region_new_generation(region);
}

void stp_ofi_region_remove_all(void)
{
    for (unsigned i = 0; i < STP_FABRIC_REGIONS; i++)
        stp_ofi_region_remove(i);
}
