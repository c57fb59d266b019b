/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launch and key-value exchange: who am I, how many are we, who shares my node, and
 * a small key-value space. One client is chosen at run time by what the environment offers:
 * PMI-2, PMI-1, PMIx, or a single process without a launcher. Design: docs/design/launch.md.
 *
 * Not thread safe: called inside init, by global_exit and from atexit only.
 */
#ifndef STP_PMI_H
#define STP_PMI_H

#include <stdbool.h>
#include <stddef.h>

struct stp_pmi_info {
    const char *client; /* "pmi2", "pmi1", "pmix", "single" */
    int rank;           /* 0 .. size-1 */
    int size;
    int n_nodes;
};

#define STP_PMI_WHY_MAX 512

/* What a process would do, or does, about a launcher. */
struct stp_pmi_details {
    const char *client; /* as above, or "none": there is a launcher, but no way to speak with it */
    char why[STP_PMI_WHY_MAX]; /* the variable that decides, or the error when there is none */
    char libpmix[256];         /* empty: can be loaded; else why not */
    int key_max; /* characters that the launcher says it carries, 0: it has not said */
    int value_max;
    size_t fragment; /* characters of the fragments that values are cut to; 0: not open */
};

/* Tell, without speaking to the launcher. Before open, from the environment; after, what is. */
void stp_pmi_describe_client(struct stp_pmi_details *details);

/*
 * Connect to the launcher, once per process; later calls return the same answer. The
 * connection stays open until the process exits: finalize is sent from atexit by the
 * process that opened it.
 * Returns 0, or -errno after logging why (a launcher that speaks nothing we know while
 * its variables say more than one process: -EPROTO).
 */
int stp_pmi_open(struct stp_pmi_info *info);

/* Node of a rank, 0 .. n_nodes-1, from the launcher's process mapping. Valid after open. */
int stp_pmi_node_of(int rank);

/*
 * Publish nbytes of data under key (at most 40 characters of [A-Za-z0-9_.-]); any bytes, any
 * length: cut into fragments the launcher can carry. A key may be put once in a job.
 * Returns 0 or -errno, logged.
 */
int stp_pmi_put(const char *key, const void *data, size_t nbytes);

/* Collective over all processes of the job. After it every put made before is visible to get. */
int stp_pmi_fence(void);

/*
 * Read what rank has put under key, after a fence: before the first one a launcher may not answer.
 * PMIx keeps what each rank puts apart; the others ignore rank.
 * Sets *nbytes on success. Returns 0, -ENOENT when nobody put it or this process has no launcher,
 * -EMSGSIZE when it is longer than capacity; other errors are logged.
 */
int stp_pmi_get(int rank, const char *key, void *data, size_t capacity, size_t *nbytes);

/*
 * True when the launcher has closed the connection of an open session: it has died, or an MPI
 * library in this process was finalized. Any thread, any time after open.
 */
bool stp_pmi_hung_up(void);

/*
 * Called four times a second by waits for other PEs, fences, in the thread that waits; NULL: nobody
 * is. Not with PMIx, whose library waits itself. For the thread that is about to fence.
 */
void stp_pmi_set_idle(void (*idle)(void));

/* This process ends with stp_pmi_abort() from an exit handler: finalize is not sent before. */
void stp_pmi_will_abort(void);

/* False when the launcher, asked to end the job with a status, ends with one of its own (Slurm). */
bool stp_pmi_keeps_status(void);

/*
 * Ask the launcher to end the job with status, then _exit(status). A status whose low eight bits
 * are 0 becomes 1, 0 itself stays. message: for a launcher that shows one (Slurm); may be NULL.
 * Nothing is flushed, but what has been written to pipes on standard output and error gets a
 * moment to be picked up. May be called before open, and in a forked child, where it ends the
 * caller alone; from a signal handler.
 */
_Noreturn void stp_pmi_abort(int status, const char *message);

#endif /* STP_PMI_H */
