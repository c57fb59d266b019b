/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles the address that this PE publishes, and each endpoint's table of peer addresses.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <rdma/fi_cm.h>
#include <string.h>
#include <sys/mman.h>

static size_t table_bytes(void)
{
    return (size_t)stp_ofi.core->n_pes * sizeof(fi_addr_t);
}

/*
 * Returns whether the address of a peer is inserted into the address vector only when it is first
 * used. This saves 12 us and several hundred bytes for each unused address. In large jobs most
 * pairs of PEs never communicate. With some providers, a PE must know the address of each peer that
 * contacts it. All addresses are then inserted at the start.
 */
static bool inserts_at_first_use(void)
{
    return stp_ofi_is(stp_ofi.info, STP_OFI_LATE);
}

int stp_ofi_av_open(struct stp_ofi_endpoint *endpoint)
{
    size_t n = (size_t)stp_ofi.core->n_pes;
    /* Pass a small count, because the provider allocates memory for count entries immediately. */
    struct fi_av_attr attr = {.type = FI_AV_TABLE,
                              .count = inserts_at_first_use() && n > 64 ? 64 : n};

    return fi_av_open(endpoint->domain, &attr, &endpoint->av, NULL);
}

int stp_ofi_make_published_address(unsigned char *addr, size_t *addr_len)
{
    size_t len = STP_FABRIC_ADDR_MAX - STP_OFI_LIVENESS;
    int rc;

    memset(addr, 0, STP_FABRIC_ADDR_MAX);
    rc = fi_getname(&stp_ofi.main.ep->fid, addr, &len);
    if (rc != 0) return rc;
    /*
     * An address of the shm provider is a string, and its length differs between PEs (libfabric
     * 1.17). Publish the maximum length, so that all PEs publish the same number of bytes.
     */
    if (stp_ofi.info->addr_format == FI_ADDR_STR) len = STP_FABRIC_ADDR_MAX - STP_OFI_LIVENESS;
    stp_ofi_liveness_listen(addr, addr + len);
    *addr_len = len + STP_OFI_LIVENESS;
    return 0;
}

/* Returns the entry of PE pe in the address vector. Inserts the address if necessary. */
static fi_addr_t addr_find(struct stp_ofi_endpoint *endpoint, int pe)
{
    const unsigned char *addr = stp_ofi.world + (size_t)pe * stp_ofi.addr_len;
    fi_addr_t fi_addr;

    pthread_mutex_lock(&stp_ofi.av_lock);
    fi_addr = ~endpoint->addrs[pe];
    if (fi_addr == FI_ADDR_NOTAVAIL && fi_av_insert(endpoint->av, addr, 1, &fi_addr, 0, NULL) != 1)
        fi_addr = FI_ADDR_NOTAVAIL;
    /* Pairs with the acquire load in stp_ofi_addr(), whose caller then uses the inserted entry. */
    __atomic_store_n(&endpoint->addrs[pe], ~fi_addr, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&stp_ofi.av_lock);
    return fi_addr;
}

fi_addr_t stp_ofi_addr_slow(struct stp_ofi_endpoint *endpoint, int pe)
{
    fi_addr_t fi_addr = addr_find(endpoint, pe);

    if (fi_addr == FI_ADDR_NOTAVAIL)
        stp_ofi.core->fatal("fabric", "provider %s does not accept the address of pe %d",
                            stp_ofi.info->fabric_attr->prov_name, pe);
    return fi_addr;
}

int stp_ofi_endpoint_connect(struct stp_ofi_endpoint *endpoint)
{
    void *table = mmap(NULL, table_bytes(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int n = inserts_at_first_use() ? 0 : stp_ofi.core->n_pes;

    if (table == MAP_FAILED) return -errno;
    endpoint->addrs = table;
    for (int pe = 0; pe < n; pe++) {
        if (addr_find(endpoint, pe) != FI_ADDR_NOTAVAIL) continue;
        stp_ofi.core->log(STP_LOG_ERROR, "fabric: provider %s does not accept the address of pe %d",
                          stp_ofi.info->fabric_attr->prov_name, pe);
        return -FI_EADDRNOTAVAIL;
    }
    return 0;
}

void stp_ofi_endpoint_free_addrs(struct stp_ofi_endpoint *endpoint)
{
    if (endpoint->addrs != NULL) munmap(endpoint->addrs, table_bytes());
    endpoint->addrs = NULL;
}
