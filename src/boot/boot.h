/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PEs tell each other at start, and what a PE knows of the launch: its node, the others'
 * nodes, the fabric's addresses. Design: docs/design/launch.md.
 */
#ifndef STP_BOOT_H
#define STP_BOOT_H

#include "base/base.h"
#include "base/oshrun_inspect.h"
#include "base/wait_state_page.h"
#include "spaces/space_registry.h"
#include "transport/transport.h"

#define STP_SETTINGS_VARIABLES (5 + 2 * STP_N_DEVICE_TYPES)
#define STP_BOOT_BCAST_MAX 4096 /* bytes that PE 0 may tell all others */
#define STP_PE_INFO_REGIONS 3   /* internal, data, heap: those that exist from the start */

/* ---- boot (boot.c, exchange.c) -------------------------------------------- */

/* What must be equal on all PEs of a job, so that a mismatch is named instead of suffered. */
struct stp_settings {
    uint64_t layout;  /* of the executable */
    uint64_t globals; /* which ranges of its globals are symmetric */
    uint64_t window_bytes;
    int64_t variables[STP_SETTINGS_VARIABLES]; /* of the environment: exchange.c has their names */
    uint32_t n_globals;
    uint32_t peer_table; /* of the fabric, as the next three */
    uint32_t dialect;
    uint32_t addr_len;
    char provider[32];
    char program[48]; /* for the message only */
};

/*
 * A PE that waits for all others to come to the end of the job: it will not take part in
 * collectives over the world behind these.
 */
struct stp_closing {
    int how; /* enum stp_pe_exit; read and written atomically, behind the rest */
    uint64_t syncs;
    uint64_t cells;
};

/*
 * A descriptor that a PE holds while it runs its program: closed by the kernel when the process
 * ends or turns to another program, and not shared with children in which it could outlive either.
 */
struct stp_alive_fd {
    int fd;
    uint64_t device, inode; /* of its file, by which it is told from another of the same number */
};

/* What one PE tells at start: how to reach it and what it is. All of it on its own node. */
struct stp_pe_info {
    int pe; /* as struct stp_process */
    pid_t pid;
    struct stp_alive_fd witness;
    struct stp_closing closing; /* later */
    int segment_fd;
    uint64_t window_base;
    struct stp_settings settings;
    struct stp_fabric_region regions[STP_PE_INFO_REGIONS];
    struct stp_part_export heap_share; /* how node peers reach the default space */
    bool heap_registered;              /* and others through the fabric */
    struct stp_cores cores;            /* that this PE may run on */
    char no_heap[128];                 /* why this PE has no memory for it; empty: it has */
    unsigned char addr[STP_FABRIC_ADDR_MAX];
};

/* Ask the launcher who we are, find the PEs of this node, and open the window. Fatal on error. */
void stp_boot_join_job_open_window(void);

/*
 * Publish the PE info of this PE and learn all others'. The nbytes at bcast of PE 0 go to all
 * others as well, up to STP_BOOT_BCAST_MAX; what other PEs pass is ignored. Fatal on error. Once
 * per start.
 */
void stp_boot_exchange(const struct stp_pe_info *mine, const void *bcast, size_t nbytes);

/* What PE 0 passed as bcast, from exchange to detach. */
const void *stp_boot_bcast_data(size_t *nbytes);

/* The PE info of a PE of this node, from exchange to detach. */
const struct stp_pe_info *stp_boot_local_pe_info(int pe);

/* The fabric's addresses of all PEs, addr_len bytes each; until detach. */
const void *stp_boot_addrs(void);

/*
 * Until boot_done: all PEs' descriptors of one of the first regions, NULL where every PE uses its
 * own; and is the default space registered with the fabric on all of them?
 */
const struct stp_fabric_region *stp_boot_regions(unsigned number);
bool stp_boot_heap_registered(void);
void stp_boot_free_region_tables(void); /* descriptors may go */

/* Wait for all PEs of the node; usable from attach to detach. */
void stp_boot_node_barrier(void);
void stp_boot_close_node_area(void);

/* Number of this node. */
int stp_boot_node(void);
/* PEs of this node. */
int stp_boot_n_local(void);
/*
 * Tell the node that the job ends with status, and ask whether somebody has; *status is set then.
 * Usable at any time.
 */
void stp_boot_publish_job_ended(int status);
bool stp_boot_ended(int *status);

/* Tell the node that this PE is closing, after these collectives; from exchange to detach. */
void stp_boot_set_closing(enum stp_pe_exit how, uint64_t syncs, uint64_t cells);

/* The page of a PE of this node, by its local index; from attach to detach. */
struct stp_wait_state_page *stp_boot_wait_state_page(int local);

/* When the node was told last who waits for what; 0: not yet. Whoever moves it on, tells. */
uint64_t *stp_boot_hang_reported(void);

/* Place of a PE on this node, or -1 when it is elsewhere. */
int stp_local_of(int pe);
/* World number of the PE with a local index. */
int stp_local_pe(int local);
/* Node of any PE, 0 .. stp_rt.n_nodes - 1. */
int stp_node_of(int pe);
/* Its host, which has several nodes where SHMEM_NODE is off. */
int stp_host_of(int pe);

/* ---- the fabric module (fabric_module.c) ------------------------------------------ */

/* What the module calls back, as struct stp_core says. */
struct stp_fabric_callbacks {
    void (*on_progress)(void);
    void (*on_notice)(const struct stp_notice *notice);
    void (*on_stall)(unsigned looks, int pe);
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
};

/* Open the fabric module when the job spans nodes; fatal when it cannot be. */
void stp_fabric_module_open(const struct stp_fabric_callbacks *callbacks);
void stp_fabric_set_host_cores(void); /* once they are counted; before its PEs are connected */
void stp_fabric_close(void);

/* Tell the module whether threads may call at once: a later init may allow it. */
void stp_fabric_set_threads(void);

#endif /* STP_BOOT_H */
