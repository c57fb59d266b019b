/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered memory. A region is known by its number; what a peer must say to reach it (address
 * and key) follows from the mr_mode the provider granted. Where this side chooses keys and
 * addressing is by offset nothing is stored per peer.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Register with the key of the number; a provider that makes keys ignores it. */
static int mr_open(void *base, size_t nbytes, unsigned number, struct fid_mr **mr)
{
    int mode = stp_ofi.info->domain_attr->mr_mode;
    int rc = fi_mr_reg(stp_ofi.domain, base, nbytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                       stp_ofi.key_base + number, 0, mr, NULL);

    if (rc != 0 || !(mode & FI_MR_ENDPOINT)) return rc;
    rc = fi_mr_bind(*mr, &stp_ofi.ep->fid, 0);
    if (rc == 0) rc = fi_mr_enable(*mr);
    if (rc != 0) fi_close(&(*mr)->fid);
    return rc;
}

int stp_ofi_region_add(unsigned number, void *base, size_t nbytes, struct stp_fabric_region *mine)
{
    struct stp_ofi_region *region = &stp_ofi.regions[number];
    int mode = stp_ofi.info->domain_attr->mr_mode;
    int rc;

    if (number >= STP_FABRIC_REGIONS || region->mr != NULL) {
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: region number %u is %s", number,
                          number >= STP_FABRIC_REGIONS ? "out of range" : "in use");
        return -EINVAL;
    }
    rc = mr_open(base, nbytes, number, &region->mr);
    if (rc != 0) {
        region->mr = NULL;
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: %s refuses to register %zu bytes at %p: %s",
                          stp_ofi.info->fabric_attr->prov_name, nbytes, base, fi_strerror(-rc));
        return rc;
    }
    region->base = base;
    mine->addr = mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)base : 0;
    mine->key = fi_mr_key(region->mr);
    return 0;
}

int stp_ofi_region_peers(unsigned number, const struct stp_fabric_region *peers)
{
    struct stp_ofi_region *region = &stp_ofi.regions[number];
    size_t nbytes = (size_t)stp_ofi.core->n_pes * sizeof(*peers);
    struct stp_fabric_region *copy;

    if (!stp_ofi.peer_table) return 0;
    if (number >= STP_FABRIC_REGIONS || peers == NULL) return -EINVAL;
    copy = malloc(nbytes);
    if (copy == NULL) return -ENOMEM;
    memcpy(copy, peers, nbytes);
    free(region->peers);
    region->peers = copy;
    return 0;
}

void stp_ofi_region_remove(unsigned number)
{
    struct stp_ofi_region *region = &stp_ofi.regions[number];

    if (region->mr != NULL) fi_close(&region->mr->fid);
    free(region->peers);
    region->mr = NULL;
    region->base = NULL;
    region->peers = NULL;
}

void stp_ofi_region_remove_all(void)
{
    for (unsigned i = 0; i < STP_FABRIC_REGIONS; i++)
        stp_ofi_region_remove(i);
}
