/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the functions that start a PE and exchange data between the PEs at start. After the
 * start, each PE knows the node and the fabric address of every PE. Design: docs/design/launch.md.
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
#define STP_PE_INFO_REGIONS 3   /* number of regions registered at start: internal, data and heap */

/* ---- boot (boot.c, exchange.c) -------------------------------------------- */

/* Values that must be equal on all PEs of a job. A mismatch ends the job with a message. */
struct stp_settings {
    uint64_t layout;  /* hash of the memory layout of the executable */
    uint64_t globals; /* hash of the address ranges of the symmetric global variables */
    uint64_t window_bytes;
    int64_t variables[STP_SETTINGS_VARIABLES]; /* values of the variables in exchange_variables[] */
    uint32_t n_globals; /* number of address ranges of symmetric global variables */
    /* The next six fields are copies of the fields with the same names in struct stp_fabric. */
    uint32_t abi; /* version of the fabric module's interface */
    uint32_t libfabric;
    uint32_t peer_table;
    uint32_t dialect;
    uint32_t addr_len;
    char provider[32];
    char program[48]; /* name of the program, for messages only */
};

/*
 * State of a PE that has reached the end of the job and waits for the other PEs to reach the end,
 * too. Such a PE takes no part in later collectives of the world team. The fields syncs and cells
 * count the collectives of the world team that the PE has started.
 */
struct stp_closing {
    /* Value of enum stp_pe_exit. The PE stores it atomically, after the fields syncs and cells. */
    int pe_exit;
    uint64_t syncs; /* number of syncs of the world team that the PE has started */
    uint64_t cells; /* number of other collectives of the world team that the PE has started */
};

/*
 * Descriptor of a file that a PE holds open while it runs its program. Other PEs check the
 * descriptor to find out whether the PE still runs. The kernel closes the descriptor when the
 * process ends or executes another program. Child processes may have copies of the descriptor, but
 * other PEs do not check the copies.
 */
struct stp_alive_fd {
    int fd;
    uint64_t device, inode; /* identity of the file, because the number fd can be reused */
};

/* Data of one PE, which the PE publishes at start. PEs on other nodes receive only some fields. */
struct stp_pe_info {
    /* The fields pe and pid have the layout of struct stp_process, because oshrun reads them. */
    int pe;
    pid_t pid;
    struct stp_alive_fd witness;
    /* State of this PE at the end of the job. All fields are 0 until the PE reaches the end. */
    struct stp_closing closing;
    int segment_fd;
    uint64_t window_base;
    struct stp_settings settings;
    struct stp_fabric_region regions[STP_PE_INFO_REGIONS];
    /* Data that the other PEs of the node need to access this PE's part of the default space. */
    struct stp_part_export heap_share;
    bool heap_registered;   /* whether this PE registered its part of the default space */
    struct stp_cores cores; /* cores on which this PE may run */
    char no_heap[128];      /* reason why this PE has no memory for the default space, or "" */
    unsigned char addr[STP_FABRIC_ADDR_MAX];
};

/* Gets PE numbers and nodes from the launcher. An error is fatal. */
void stp_boot_join_job(void);

/* Meets the other PEs at the launcher's fence and reserves the window. An error is fatal. */
void stp_boot_open_window(void);

/*
 * Publishes the PE info of this PE and reads the PE infos of the other PEs. PE 0 also sends the
 * nbytes bytes of bcast to all PEs. nbytes is at most STP_BOOT_BCAST_MAX. On other PEs, the
 * arguments bcast and nbytes are ignored. Each PE calls this function once at each start of the
 * library. An error is fatal.
 */
void stp_boot_exchange(const struct stp_pe_info *pe_info, const void *bcast, size_t nbytes);

/*
 * Returns the data that PE 0 passed to stp_boot_exchange() as bcast, and sets *nbytes to its size.
 * The data is valid until stp_boot_close_node_area().
 */
const void *stp_boot_bcast_data(size_t *nbytes);

/* Returns the PE info of a PE of this node. The info is valid until stp_boot_close_node_area(). */
const struct stp_pe_info *stp_boot_local_pe_info(int pe);

/*
 * Returns the array of the fabric addresses of all PEs, with addr_len bytes per PE. The array is
 * valid until stp_boot_close_node_area().
 */
const void *stp_boot_addrs(void);

/*
 * Returns a table with the descriptors of all PEs for one of the regions that were registered at
 * start. `number` is the number of the region, below STP_PE_INFO_REGIONS. Returns NULL if the
 * fabric does not need such a table.
 */
const struct stp_fabric_region *stp_boot_regions(unsigned number);
/* Returns whether every PE has registered its part of the default space with the fabric. */
bool stp_boot_heap_registered(void);
/* Frees the tables that stp_boot_regions() returns. Collective over the PEs of the node. */
void stp_boot_free_region_tables(void);

/* Executes a barrier over the PEs of this node. Usable until stp_boot_close_node_area(). */
void stp_boot_node_barrier(void);
/* Unmaps the node's area after a barrier of the node. */
void stp_boot_close_node_area(void);

/* Returns the number of this node. */
int stp_boot_node(void);
/* Returns the number of PEs of this node. */
int stp_boot_n_local(void);
/*
 * Sends the stage of this PE to oshrun, if oshrun runs on this host. May be called in a signal
 * handler, except with STP_STAGE_ENTERED and STP_STAGE_BEGUN.
 */
void stp_boot_tell_oshrun(enum stp_pe_stage stage);
/*
 * Announces to the PEs of this node that the job ends with this exit status. May be called at any
 * time. Only the first announcement on a node has an effect.
 */
void stp_boot_publish_job_ended(int status);
/*
 * Returns whether a PE of this node has announced the end of the job. If so, sets *status to the
 * announced exit status.
 */
bool stp_boot_ended(int *status);

/*
 * Announces to the PEs of this node that this PE has reached the end of the job. The arguments are
 * the values for the fields of struct stp_closing.
 */
void stp_boot_set_closing(enum stp_pe_exit pe_exit, uint64_t syncs, uint64_t cells);

/* Returns the wait state page of the PE that has this local index on the node. */
struct stp_wait_state_page *stp_boot_wait_state_page(int local);

/*
 * Returns the address of the word that holds the time of this node's last hang report. The time is
 * 0 before the first report. A PE that prints a report stores the new time in this word.
 */
uint64_t *stp_boot_hang_reported(void);

/* Returns the local index of a PE on this node, or -1 if the PE is on another node. */
int stp_local_of(int pe);
/* Returns the world number of the PE that has this local index on the node. */
int stp_local_pe(int local);
/* Returns the number of the node of any PE, from 0 to stp_rt.n_nodes - 1. */
int stp_node_of(int pe);
/* Returns the number of the host of any PE. With SHMEM_NODE=off, one host has several nodes. */
int stp_host_of(int pe);

/* ---- the fabric module (fabric_module.c) ------------------------------------------ */

/* Functions of the library that the fabric module calls. struct stp_core describes each of them. */
struct stp_fabric_callbacks {
    void (*on_progress)(void);
    void (*on_notice)(const struct stp_notice *notice);
    void (*on_stall)(unsigned looks, int pe);
    int (*dmabuf)(void *base, size_t nbytes, size_t *offset);
};

/* Opens the fabric module if the job has several nodes. An error is fatal. */
void stp_fabric_module_open(const struct stp_fabric_callbacks *callbacks);
/* Passes the number of this host's cores to the fabric module. Called before PEs are connected. */
void stp_fabric_set_host_cores(void);
/* Calls remove_files() of the fabric module, if the provider creates files (transport.h). */
void stp_fabric_remove_files(bool ending);
void stp_fabric_close(void);

/*
 * Passes the thread level of the program to the fabric module. Each init calls this function,
 * because a later init may raise the thread level.
 */
void stp_fabric_set_threads(void);

#endif /* STP_BOOT_H */
