/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the data and functions shared by boot.c (launcher, node file), exchange.c (PE infos) and
 * ip_network_choice.c (choice of the interface to other hosts). Design: docs/design/launch.md.
 */
#ifndef STP_BOOT_INTERNAL_H
#define STP_BOOT_INTERNAL_H

#include "boot.h"
#include "core/job_state.h"

#define STP_BOOT_VERSION_MAX 32

/*
 * Header of the node's area, which is memory shared by the PEs of the node. The PE infos of these
 * PEs follow the header. In a job of several nodes, three arrays come next: the host names of all
 * nodes, the fabric addresses of all PEs, and the region descriptors of all PEs.
 */
struct stp_node_shm_header {
    uint64_t magic;
    uint64_t nonce;
    uint64_t job_key, job_token;
    int n_local;
    int n_networks;    /* number of entries in networks, or 0 in a job on one host */
    uint32_t addr_len; /* length of a fabric address */
    uint32_t
        missing_drivers;    /* one bit for each memory kind for which the leader found no driver */
    bool ident_addr;        /* whether the windows of all PEs begin at the same address */
    bool registered;        /* whether all PEs registered the default space with the fabric */
    bool peer_table;        /* whether the fabric needs region descriptors of all PEs */
    struct stp_cores cores; /* cores on which the PEs of this host may run */
    int end_status;         /* exit status of the job plus 1, or 0 while the job runs */
    uint64_t hang_reported; /* time of the node's last hang report, or 0 */
    uint32_t bcast_bytes;   /* size of the data in bcast */
    int arrived STP_ALIGNED_LINE;
    int generation STP_ALIGNED_LINE;
    struct stp_network networks[STP_NETWORKS_MAX] STP_ALIGNED_LINE;
    unsigned char bcast[STP_BOOT_BCAST_MAX] STP_ALIGNED_LINE;
    struct stp_pe_info pes[] STP_ALIGNED_LINE; /* PE infos of the node's PEs, by local index */
};

/*
 * Data about this PE's node, host and window. Filled in by stp_boot_join_job() and
 * stp_boot_open_window().
 */
struct stp_boot {
    int n_local;
    int local;    /* local index of this PE; index 0 is the leader of the node */
    int node;     /* number of this node */
    int first_pe; /* world number of the leader */
    /* Number of hosts that the launcher reports. SHMEM_NODE=off does not change this number. */
    int n_hosts;
    /*
     * Number of PEs on this host that have a lower number than this PE. SHMEM_NODE=off does not
     * change this number.
     */
    int host_rank;
    int max_local;  /* largest number of PEs of one node; known to the leaders of the nodes */
    int *local_pes; /* world numbers of the node's PEs, by local index */
    bool contiguous;
    bool foreign_pids; /* whether PE 0 or the node's leader is in another PID namespace */
    struct stp_window_layout layout;
    struct stp_node_shm_header *area;
};

extern struct stp_boot stp_boot;

/*
 * Returns the host name of a node. The names are stored in the area, so that oshrun can read them.
 */
static inline char *stp_boot_host(int node)
{
    return (char *)(stp_boot.area->pes + stp_boot.n_local) + (size_t)node * STP_HOST_MAX;
}

/* Returns the number of bytes of all host names in the area, or 0 in a job on one node. */
static inline size_t stp_boot_hosts_bytes(void)
{
    return stp_rt.n_nodes == 1 ? 0 : (size_t)stp_rt.n_nodes * STP_HOST_MAX;
}

/* Returns the array of all PEs' fabric addresses, which follows the host names in the area. */
static inline unsigned char *stp_boot_world(void)
{
    return (unsigned char *)(stp_boot.area->pes + stp_boot.n_local) + stp_boot_hosts_bytes();
}

/*
 * Returns the table of all PEs' descriptors of one region. The table exists only if the field
 * peer_table of the area is true.
 */
static inline struct stp_fabric_region *stp_boot_world_regions(unsigned number)
{
    unsigned char *tables = stp_boot_world() + (size_t)stp_rt.n_pes * STP_FABRIC_ADDR_MAX;

    return (struct stp_fabric_region *)tables + (size_t)stp_rt.n_pes * number;
}

/*
 * Returns the number of bytes of the address array and the region tables in the area, or 0 in a job
 * on one node.
 */
static inline size_t stp_boot_world_bytes(void)
{
    if (stp_rt.n_nodes == 1) return 0;
    return (size_t)stp_rt.n_pes *
           (STP_FABRIC_ADDR_MAX + STP_PE_INFO_REGIONS * sizeof(struct stp_fabric_region));
}

/* Returns the offset in the node's area at which the wait state pages begin. */
size_t stp_boot_wait_pages_offset(void);

/*
 * Writes the trailer of the node's file, which describes the layout of the area to oshrun. Only the
 * leader of a node calls this function.
 */
void stp_boot_write_trailer_for_oshrun(void);

/*
 * Publishes nbytes bytes of data through the launcher. The key consists of the word `label` and the
 * number `pe` of this PE. An error is fatal.
 */
void stp_boot_publish(const char *label, int pe, const void *data, size_t nbytes);

/*
 * Reads the data that PE pe published under the word `label`. Both PEs must have called
 * stp_boot_fence() after the publication and before this call. Returns the size of the data. An
 * error is fatal.
 */
size_t stp_boot_kvs_get(const char *label, int pe, void *data, size_t capacity);

/* Waits at the launcher's fence until all PEs have called this function. An error is fatal. */
void stp_boot_fence(void);

/*
 * Enables a warning about missing PEs. This PE prints the warning if it waits long at the next
 * fence of the launcher (init_stragglers.c).
 */
void stp_init_stragglers_begin(void);
/* Disables the warning that stp_init_stragglers_begin() has enabled. */
void stp_init_stragglers_end(void);

/*
 * Prints a message about PEs that do not match, and ends the job. The PE that should print passes
 * print_now = true. The other PEs pass print_now = false. They wait for some seconds first, so that
 * they print only if the job still runs.
 */
_Noreturn void stp_boot_abort_mismatch(bool print_now, const char *fmt, ...) STP_PRINTF(2, 3);

/*
 * Lists the addresses by which other hosts may reach this host, and returns their number. Uses no
 * data of other hosts, and therefore leaves the fields rank and refused empty.
 */
int stp_network_list_local(struct stp_network networks[STP_NETWORKS_MAX]);

/*
 * Publishes the networks of this host. pe is the number of this PE. The first PE of each host calls
 * this function before the first fence.
 */
void stp_network_publish_host(int pe);

/*
 * Reads the networks that the n_hosts hosts published before the fence. Writes the networks of this
 * host to `networks`, with a verdict on each, and returns their number. Returns 0 if all PEs share
 * one network stack, because every address then reaches all PEs. Leaders and the doctor call this
 * function.
 */
int stp_network_judge_published(int pe, int n_pes, int n_hosts,
                                struct stp_network networks[STP_NETWORKS_MAX]);

#endif /* STP_BOOT_INTERNAL_H */
