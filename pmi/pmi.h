/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launch and key-value exchange: the rank of this process, the number of ranks, the node of each
 * rank, and a small key-value space. The environment decides at run time which client is used:
 * PMI-2, PMI-1, PMIx, or a single process without a launcher. Design: docs/design/launch.md.
 *
 * The functions are not thread safe unless stated otherwise. Only init, global_exit and exit
 * handlers call these functions.
 */
#ifndef STP_PMI_H
#define STP_PMI_H

#include <stdbool.h>
#include <stddef.h>

struct stp_pmi_info {
    const char *client; /* name of the client: "pmi2", "pmi1", "pmix" or "single" */
    int rank;           /* rank of this process, 0 to size-1 */
    int size;
    int n_nodes;
};

#define STP_PMI_WHY_MAX 512

/* Client that a process uses or would use, and the limits of the client. */
struct stp_pmi_details {
    const char *client;        /* name of the client, or "none" if the launcher is not supported */
    char why[STP_PMI_WHY_MAX]; /* variable that decides, or the error if client is "none" */
    char libpmix[256];         /* reason why libpmix cannot be loaded, or "" */
    int key_max; /* longest key in characters that the launcher reports, 0: not reported */
    int value_max;
    size_t fragment; /* characters of a fragment of a value, 0: not open */
};

/* Describes the client that open would choose or has chosen. Sends nothing to the launcher. */
void stp_pmi_describe_client(struct stp_pmi_details *details);

/*
 * Connects to the launcher at the first call; later calls return the same result. The connection
 * stays open until the process exits. The process that opened the connection sends finalize from an
 * atexit handler. Returns 0, or -errno, which is logged except for -ENOMEM. The error is -EPROTO if
 * variables show several processes but no protocol that this library knows.
 */
int stp_pmi_open(struct stp_pmi_info *info);

/* Returns the node of a rank, 0 to n_nodes-1. Valid after stp_pmi_open(). */
int stp_pmi_node_of(int rank);

/*
 * Publishes nbytes of data under key, which has at most 40 characters of [A-Za-z0-9_.-]. The data
 * may have any bytes and any length and is cut into fragments that the launcher accepts. A key may
 * be put once in a job. Returns 0, or -errno after logging the reason.
 */
int stp_pmi_put(const char *key, const void *data, size_t nbytes);

/* Waits for all processes of the job; collective. Every earlier put is then visible to get. */
int stp_pmi_fence(void);

/*
 * Reads the data that rank has put under key. A fence must come before, because a launcher may not
 * reply before the first fence. PMIx separates the keys of ranks; the other clients ignore rank.
 * Returns 0 and sets *nbytes; returns -ENOENT if the key was not put or this process has no
 * launcher, and -EMSGSIZE if the data is longer than capacity. Only other errors are logged.
 */
int stp_pmi_get(int rank, const char *key, void *data, size_t capacity, size_t *nbytes);

/*
 * Returns true if the launcher has closed the connection of an open session, because the launcher
 * died or an MPI library in this process was finalized. Any thread may call this function after
 * open.
 */
bool stp_pmi_hung_up(void);

/*
 * Sets a function that a fence calls four times a second while it waits, in the waiting thread;
 * NULL removes the function. Only the thread that will fence may call stp_pmi_set_idle(). PMIx
 * ignores the function, because libpmix itself waits.
 */
void stp_pmi_set_idle(void (*idle)(void));

/* Announces that stp_pmi_abort() will end this process, so that finalize is not sent before. */
void stp_pmi_will_abort(void);

/* Returns false if the launcher replaces the status of an abort by its own status (Slurm). */
bool stp_pmi_keeps_status(void);

/*
 * Asks the launcher to end the job with status, then calls _exit(status). A nonzero status whose
 * low eight bits are 0 becomes 1. message: for a launcher that shows a message (Slurm); may be
 * NULL. Flushes nothing, but waits a moment until output in pipes on standard output and error has
 * been read. May be called before open, from a signal handler, and in a forked child, where only
 * the child ends.
 */
_Noreturn void stp_pmi_abort(int status, const char *message);

#endif /* STP_PMI_H */
