/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface to the launcher. It provides the rank of this process, the number of ranks, the node of
 * each rank, and a small key-value space. The environment decides at run time which client is used.
 * There are clients for PMI-2, for PMI-1, for PMIx, and for a single process without a launcher.
 * Design: docs/design/launch.md.
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

#define STP_PMI_REASON_MAX 512

/* Description of the client that this process has chosen or would choose. */
struct stp_pmi_details {
    const char *client; /* name of the client, or "none" if the launcher is not supported */
    char reason[STP_PMI_REASON_MAX]; /* reason for the choice, or the error if client is "none" */
    char libpmix[256];               /* reason why libpmix cannot be loaded, or "" */
    int key_max;     /* greatest length of a key, or 0 if the launcher has not reported it */
    int value_max;   /* greatest length of a value, or 0 if the launcher has not reported it */
    size_t fragment; /* most characters in a fragment of a value, or 0 without a session */
};

/*
 * Describes the client that stp_pmi_open() has chosen. If stp_pmi_open() has not been called,
 * describes the client that it would choose. Sends nothing to the launcher.
 */
void stp_pmi_describe_client(struct stp_pmi_details *details);

/*
 * Connects to the launcher at the first call. Later calls return the result of the first call. The
 * connection stays open until the process exits. An atexit handler then sends finalize to the
 * launcher, but not in a forked child. Returns 0, or -errno. Logs all errors except -ENOMEM.
 * Returns -EPROTO if this process is one of several according to the environment, but the library
 * does not support the launcher's protocol.
 */
int stp_pmi_open(struct stp_pmi_info *info);

/* Returns the node of a rank, 0 to n_nodes-1. May be called after stp_pmi_open(). */
int stp_pmi_node_of(int rank);

/*
 * Publishes nbytes of data under key. The key has at most 40 characters of [A-Za-z0-9_.-]. The data
 * can have any length and any bytes. It is sent in fragments that the launcher accepts. A key may
 * be put only once in a job. Returns 0, or -errno after logging the reason.
 */
int stp_pmi_put(const char *key, const void *data, size_t nbytes);

/*
 * Waits until all processes of the job have called this function. After the return, stp_pmi_get()
 * finds the data of all earlier puts. Returns 0, or -errno after logging the reason.
 */
int stp_pmi_fence(void);

/*
 * Reads the data that rank has put under key. The caller must have called stp_pmi_fence() before,
 * because some launchers do not reply to a get before the first fence. With PMIx each rank has its
 * own keys. With the other protocols all ranks share the keys, and rank is ignored.
 * Returns 0 and sets *nbytes. Returns -ENOENT if no rank has put the key or this process has no
 * launcher. Returns -EMSGSIZE if the data is longer than capacity. Logs all other errors.
 */
int stp_pmi_get(int rank, const char *key, void *data, size_t capacity, size_t *nbytes);

/*
 * Returns true if the launcher has closed the connection of the open session. This happens if the
 * launcher dies or if an MPI library in this process is finalized. Any thread may call this
 * function after stp_pmi_open().
 */
bool stp_pmi_hung_up(void);

/* Returns the descriptor of the connection to Hydra, or -1 with another launcher. */
int stp_pmi_socket(void);

/*
 * Sets a function that is called four times a second while this process waits for other processes,
 * for example in stp_pmi_fence(). NULL removes the function. Only the thread that calls
 * stp_pmi_fence() may call stp_pmi_set_idle(). With PMIx the function is never called, because
 * libpmix itself waits.
 */
void stp_pmi_set_idle(void (*idle)(void));

/*
 * Announces that stp_pmi_abort() will end this process. From now on, the exit handler does not send
 * finalize.
 */
void stp_pmi_will_abort(void);

/*
 * Returns true if the job ends with the exit status that is passed to stp_pmi_abort(). Returns
 * false with Slurm's PMI-2, because Slurm replaces this status by its own.
 */
bool stp_pmi_keeps_status(void);

/*
 * Asks the launcher to end the job with this exit status, and then ends this process by _exit()
 * with the same status. If the status is not 0 but its low eight bits are 0, the status 1 is used.
 * message: text for launchers that print it, such as Slurm, or NULL.
 * The function flushes no streams. If standard output or standard error is a pipe, the function
 * waits for a short time until the data in the pipe has been read. The function may be called
 * before stp_pmi_open() and in a signal handler. In a forked child, it ends only the child.
 */
_Noreturn void stp_pmi_abort(int status, const char *message);

#endif /* STP_PMI_H */
