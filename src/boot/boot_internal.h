/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the start share: boot.c (launcher, node file), exchange.c (PE infos) and
 * ip_network_choice.c (which interface reaches the other hosts). Design: docs/design/launch.md.
 */
#ifndef STP_BOOT_INTERNAL_H
#define STP_BOOT_INTERNAL_H

#include "boot.h"
#include "core/job_state.h"

#define STP_BOOT_VERSION_MAX 32

/*
 * At the start of the node's area; PE infos of the node's PEs follow, then, where there are several
 * nodes, the names of hosts and the world's addresses.
 */
struct stp_node_shm_header {
    uint64_t magic;
    uint64_t nonce;
    uint64_t job_key, job_token;
    int n_local;
    int n_networks;    /* of this host, judged; 0 when the job has one host */
    uint32_t addr_len; /* of the world's addresses */
    uint32_t missing;  /* kinds of memory that the leader found no driver for */
    bool ident_addr;   /* what the leader has learned of the job */
    bool registered;
    bool peer_table;
    struct stp_cores cores; /* that the PEs of this host may run on */
    int ended;              /* the job ends with this status, plus 1; 0: it goes on */
    uint64_t hang_reported; /* stp_boot_hang_reported() */
    uint32_t bcast_bytes;   /* stp_boot_bcast_data() */
    int arrived STP_ALIGNED_LINE;
    int generation STP_ALIGNED_LINE;
    struct stp_network networks[STP_NETWORKS_MAX] STP_ALIGNED_LINE;
    unsigned char bcast[STP_BOOT_BCAST_MAX] STP_ALIGNED_LINE;
    struct stp_pe_info pes[] STP_ALIGNED_LINE; /* n_local, by local index */
};

/* Filled by stp_boot_join_job_open_window(). */
struct stp_boot {
    int n_local;
    int local;      /* my index on the node; 0 leads it */
    int node;       /* mine */
    int first_pe;   /* the leader */
    int n_hosts;    /* as the launcher sees it, whatever SHMEM_NODE says */
    int host_rank;  /* likewise, the number of PEs of this host with a lower number */
    int *local_pes; /* world numbers by local index */
    bool contiguous;
    bool foreign_pids; /* PE 0, or the leader of this node, is in another PID namespace */
    struct stp_window_layout layout;
    struct stp_node_shm_header *area;
};

extern struct stp_boot stp_boot;

/* Names of the hosts of all nodes, for whoever looks at the job from outside. */
static inline char *stp_boot_host(int node)
{
    return (char *)(stp_boot.area->pes + stp_boot.n_local) + (size_t)node * STP_HOST_MAX;
}

/* Returns the bytes of these names; 0 on one node. */
static inline size_t stp_boot_hosts_bytes(void)
{
    return stp_rt.n_nodes == 1 ? 0 : (size_t)stp_rt.n_nodes * STP_HOST_MAX;
}

/* Then n_pes addresses, at most so long each. */
static inline unsigned char *stp_boot_world(void)
{
    return (unsigned char *)(stp_boot.area->pes + stp_boot.n_local) + stp_boot_hosts_bytes();
}

/* Then the regions of all PEs, one table a number, only where the fabric wants them. */
static inline struct stp_fabric_region *stp_boot_world_regions(unsigned number)
{
    unsigned char *at = stp_boot_world() + (size_t)stp_rt.n_pes * STP_FABRIC_ADDR_MAX;

    return (struct stp_fabric_region *)at + (size_t)stp_rt.n_pes * number;
}

/* Bytes of both; 0 on one node. */
static inline size_t stp_boot_world_bytes(void)
{
    if (stp_rt.n_nodes == 1) return 0;
    return (size_t)stp_rt.n_pes *
           (STP_FABRIC_ADDR_MAX + STP_PE_INFO_REGIONS * sizeof(struct stp_fabric_region));
}

/* Where in the area the pages of waits begin. */
size_t stp_boot_wait_pages_offset(void);

/* The leader of a node says at the end of its file what the area has for others to read. */
void stp_boot_write_trailer_for_oshrun(void);

/* Publish under what and the number of this PE. Fatal on error. */
void stp_boot_publish(const char *what, int pe, const void *data, size_t nbytes);

/* What PE pe has published, after a fence. Returns its bytes. Fatal on error. */
size_t stp_boot_kvs_get(const char *what, int pe, void *data, size_t capacity);

/* The launcher's fence; fatal on error. */
void stp_boot_fence(void);

/*
 * Between these two calls a fence that lasts reports that not all PEs have come
 * (init_stragglers.c).
 */
void stp_init_stragglers_begin(void);
void stp_init_stragglers_end(void);

/*
 * The PEs of a job differ, and it ends. One of them should say so: the others pass mine false and
 * stay silent for some seconds, in which the job ends, unless nobody ends it.
 */
_Noreturn void stp_boot_abort_mismatch(bool mine, const char *fmt, ...) STP_PRINTF(2, 3);

/*
 * Lists the addresses by which other hosts may reach this one, as far as this host can tell: rank
 * and refused stay empty. Returns their number.
 */
int stp_network_here(struct stp_network networks[STP_NETWORKS_MAX]);

/*
 * The networks of this PE's host out; called before the first fence by the first PE of each host.
 */
void stp_network_publish_host(int pe);

/*
 * Those of n_hosts hosts in, behind the fence, and the verdict on each network of this host into
 * networks; the leaders of nodes call it. Returns their number, 0 when all hosts are this one.
 */
int stp_network_judge_published(int pe, int n_pes, int n_hosts,
                                struct stp_network networks[STP_NETWORKS_MAX]);

#endif /* STP_BOOT_INTERNAL_H */
