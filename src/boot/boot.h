/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges data between the PEs at start, after which each PE knows the nodes of all PEs and their
 * fabric addresses. Design: docs/design/launch.md.
 */
#ifndef STP_BOOT_H
#define STP_BOOT_H

#include "base/base.h"
#include "base/oshrun_inspect.h"
#include "base/wait_state_page.h"
#include "spaces/space_registry.h"
#include "transport/transport.h"

#define STP_SETTINGS_VARIABLES (5 + 2 * STP_N_DEVICE_TYPES)
#define STP_BOOT_BCAST_MAX 4096 /* maximum size of the data that PE 0 sends to all PEs */
#define STP_PE_INFO_REGIONS 3   /* number of regions at start: internal, data and heap */

/* ---- boot (boot.c, exchange.c) -------------------------------------------- */

/* Values that must be equal on all PEs of a job. A mismatch ends the job with a message. */
struct stp_settings {
    uint64_t layout;  /* hash of the executable's layout */
    uint64_t globals; /* hash of the ranges of globals that are symmetric */
    uint64_t window_bytes;
    int64_t variables[STP_SETTINGS_VARIABLES]; /* environment variables, named in exchange.c */
    uint32_t n_globals;                        /* number of symmetric ranges of globals */
    /* The next four fields are copies from struct stp_fabric. */
    uint32_t peer_table;
    uint32_t dialect;
    uint32_t addr_len;
    char provider[32];
    char program[48]; /* name of the program, for messages only */
};

/*
 * State of a PE that waits for all others at the end of the job. The PE takes no part in world
 * collectives after the counted ones.
 */
struct stp_closing {
    int how;        /* enum stp_pe_exit, stored atomically after the other fields */
    uint64_t syncs; /* number of world syncs that the PE has started */
    uint64_t cells; /* number of other world collectives that the PE has started */
};

/*
 * Descriptor that a PE holds open while it runs its program. The kernel closes it when the process
 * ends or executes another program. Copies of it in child processes have no effect.
 */
struct stp_alive_fd {
    int fd;
    uint64_t device, inode; /* identity of its file, because the number may be reused */
};

/* Data that a PE publishes at start. Only PEs of its node see all fields. */
struct stp_pe_info {
    int pe; /* number of the PE; pe and pid are a struct stp_process, which oshrun reads */
    pid_t pid;
    struct stp_alive_fd witness;
    struct stp_closing closing; /* state at the end of the job; zero before */
    int segment_fd;
    uint64_t window_base;
    struct stp_settings settings;
    struct stp_fabric_region regions[STP_PE_INFO_REGIONS];
    struct stp_part_export heap_share; /* data by which local PEs reach the default space */
    bool heap_registered;              /* whether the default space is registered with the fabric */
    struct stp_cores cores;            /* cores on which this PE may run */
    char no_heap[128]; /* reason why this PE has no memory for the default space, or "" */
    unsigned char addr[STP_FABRIC_ADDR_MAX];
};

/* Asks the launcher for PE numbers and nodes, and opens the window. An error is fatal. */
void stp_boot_join_job_open_window(void);

/*
 * Publishes the PE info of this PE and reads those of the others. PE 0 also sends nbytes at bcast,
 * up to STP_BOOT_BCAST_MAX, to all PEs. Other PEs' bcast is ignored. An error is fatal. Called once
 * per start.
 */
void stp_boot_exchange(const struct stp_pe_info *mine, const void *bcast, size_t nbytes);

/* Returns the bcast data of PE 0. Valid from stp_boot_exchange() to stp_boot_close_node_area(). */
const void *stp_boot_bcast_data(size_t *nbytes);

/* Returns the PE info of a PE of this node, valid as long as stp_boot_bcast_data(). */
const struct stp_pe_info *stp_boot_local_pe_info(int pe);

/* Returns the addresses of all PEs, addr_len bytes each, valid as long as stp_boot_bcast_data(). */
const void *stp_boot_addrs(void);

/*
 * stp_boot_regions() returns all PEs' descriptors of an early region, NULL if the fabric needs no
 * table. stp_boot_heap_registered() returns whether all PEs registered the default space.
 */
const struct stp_fabric_region *stp_boot_regions(unsigned number);
bool stp_boot_heap_registered(void);
void stp_boot_free_region_tables(void); /* Frees the tables of stp_boot_regions(). */

/* Waits for all PEs of the node. Usable until stp_boot_close_node_area(). */
void stp_boot_node_barrier(void);
void stp_boot_close_node_area(void);

/* Returns the number of this node. */
int stp_boot_node(void);
/* Returns the number of PEs of this node. */
int stp_boot_n_local(void);
/*
 * stp_boot_publish_job_ended() announces to the node that the job ends with status, at any time.
 * stp_boot_ended() returns whether a PE has done so, and then sets *status.
 */
void stp_boot_publish_job_ended(int status);
bool stp_boot_ended(int *status);

/* Announces to the node that this PE closes after these numbers of world collectives. */
void stp_boot_set_closing(enum stp_pe_exit how, uint64_t syncs, uint64_t cells);

/* Returns the wait state page of the PE of this node with a local index. */
struct stp_wait_state_page *stp_boot_wait_state_page(int local);

/* Returns the time of the node's last hang report, which the reporting PE advances, or 0. */
uint64_t *stp_boot_hang_reported(void);

/* Returns the local index of a PE on this node, or -1 if the PE is on another node. */
int stp_local_of(int pe);
/* Returns the world number of the PE with a local index. */
int stp_local_pe(int local);
/* Returns the node of any PE, 0 to stp_rt.n_nodes - 1. */
int stp_node_of(int pe);
/* Returns the host of any PE. With SHMEM_NODE=off one host has several nodes. */
int stp_host_of(int pe);

/* ---- the fabric module (fabric_module.c) ------------------------------------------ */

/* Functions that the module calls; struct stp_core describes them. */
struct stp_fabric_callbacks {
    void (*on_progress)(void);
    void (*on_notice)(const struct stp_notice *notice);
    void (*on_stall)(unsigned looks, int pe);
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
};

/* Opens the fabric module if the job has several nodes. An error is fatal. */
void stp_fabric_module_open(const struct stp_fabric_callbacks *callbacks);
/* Passes the number of cores of this host to the module, before the PEs connect. */
void stp_fabric_set_host_cores(void);
void stp_fabric_close(void);

/* Passes the thread level to the module, because a later init may raise the level. */
void stp_fabric_set_threads(void);

#endif /* STP_BOOT_H */
