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
 * Header of the node's area. The PE infos of the node's PEs follow, then, in a job of several
 * nodes, the names of all hosts and the addresses and regions of all PEs.
 */
struct stp_node_shm_header {
    uint64_t magic;
    uint64_t nonce;
    uint64_t job_key, job_token;
    int n_local;
    int n_networks;         /* number of judged networks of this host; 0 in a job on one host */
    uint32_t addr_len;      /* length of a fabric address */
    uint32_t missing;       /* bits of the kinds for which the leader found no driver */
    bool ident_addr;        /* whether the windows of all PEs have one address */
    bool registered;        /* whether the default space is registered on all PEs */
    bool peer_table;        /* whether the fabric needs region descriptors of all PEs */
    struct stp_cores cores; /* cores on which the PEs of this host may run */
    int ended;              /* status of the ended job plus 1, or 0 while the job runs */
    uint64_t hang_reported; /* see stp_boot_hang_reported() */
    uint32_t bcast_bytes;   /* size of the data in bcast */
    int arrived STP_ALIGNED_LINE;
    int generation STP_ALIGNED_LINE;
    struct stp_network networks[STP_NETWORKS_MAX] STP_ALIGNED_LINE;
    unsigned char bcast[STP_BOOT_BCAST_MAX] STP_ALIGNED_LINE;
    struct stp_pe_info pes[] STP_ALIGNED_LINE; /* n_local entries, by local index */
};

/* State of the start, filled in by stp_boot_join_job_open_window(). */
struct stp_boot {
    int n_local;
    int local;      /* local index of this PE; index 0 is the leader of the node */
    int node;       /* number of this node */
    int first_pe;   /* world number of the leader */
    int n_hosts;    /* number of hosts that the launcher reports, with any SHMEM_NODE */
    int host_rank;  /* number of PEs of this host with a lower number, with any SHMEM_NODE */
    int *local_pes; /* world numbers by local index */
    bool contiguous;
    bool foreign_pids; /* whether PE 0 or the leader is in another PID namespace */
    struct stp_window_layout layout;
    struct stp_node_shm_header *area;
};

extern struct stp_boot stp_boot;

/* Returns the host name of a node in the area, from which oshrun reads it. */
static inline char *stp_boot_host(int node)
{
    return (char *)(stp_boot.area->pes + stp_boot.n_local) + (size_t)node * STP_HOST_MAX;
}

/* Returns the size of the names of all hosts, or 0 in a job on one node. */
static inline size_t stp_boot_hosts_bytes(void)
{
    return stp_rt.n_nodes == 1 ? 0 : (size_t)stp_rt.n_nodes * STP_HOST_MAX;
}

/* Returns the array of n_pes fabric addresses, which follows the host names. */
static inline unsigned char *stp_boot_world(void)
{
    return (unsigned char *)(stp_boot.area->pes + stp_boot.n_local) + stp_boot_hosts_bytes();
}

/* Returns the table of all PEs' descriptors of a region, used only if the fabric needs tables. */
static inline struct stp_fabric_region *stp_boot_world_regions(unsigned number)
{
    unsigned char *at = stp_boot_world() + (size_t)stp_rt.n_pes * STP_FABRIC_ADDR_MAX;

    return (struct stp_fabric_region *)at + (size_t)stp_rt.n_pes * number;
}

/* Returns the size of the space for addresses and region tables, or 0 in a job on one node. */
static inline size_t stp_boot_world_bytes(void)
{
    if (stp_rt.n_nodes == 1) return 0;
    return (size_t)stp_rt.n_pes *
           (STP_FABRIC_ADDR_MAX + STP_PE_INFO_REGIONS * sizeof(struct stp_fabric_region));
}

/* Returns the offset of the wait state pages in the area. */
size_t stp_boot_wait_pages_offset(void);

/*
 * Writes the trailer of the node's file, which describes the layout of the area to oshrun. Only the
 * leader of a node calls this function.
 */
void stp_boot_write_trailer_for_oshrun(void);

/* Publishes data through the launcher under what and this PE's number. An error is fatal. */
void stp_boot_publish(const char *what, int pe, const void *data, size_t nbytes);

/* Reads data that PE pe published before a fence. Returns its size. An error is fatal. */
size_t stp_boot_kvs_get(const char *what, int pe, void *data, size_t capacity);

/* Executes a fence of the launcher. An error is fatal. */
void stp_boot_fence(void);

/* A long fence between these calls reports that PEs are missing (init_stragglers.c). */
void stp_init_stragglers_begin(void);
void stp_init_stragglers_end(void);

/*
 * Ends the job because its PEs differ. One PE should print the message. The others pass mine =
 * false, stay silent for some seconds, and print it only if the job has not ended.
 */
_Noreturn void stp_boot_abort_mismatch(bool mine, const char *fmt, ...) STP_PRINTF(2, 3);

/*
 * Lists the addresses by which other hosts may reach this host, without data of the other hosts, so
 * that rank and refused stay empty. Returns the number of addresses.
 */
int stp_network_here(struct stp_network networks[STP_NETWORKS_MAX]);

/* Publishes this host's networks. The first PE of each host calls this before the first fence. */
void stp_network_publish_host(int pe);

/*
 * Reads the networks of n_hosts hosts after the fence and writes a verdict on each network of this
 * host. Only leaders call this. Returns the number of networks, 0 if all hosts are this host.
 */
int stp_network_judge_published(int pe, int n_pes, int n_hosts,
                                struct stp_network networks[STP_NETWORKS_MAX]);

#endif /* STP_BOOT_INTERNAL_H */
