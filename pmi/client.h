/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internal interface of the files in pmi/. A client is the code for one protocol to the launcher.
 * This header declares the table of functions of a client, the session that all clients use, the
 * key-value space, and the map from ranks to nodes.
 */
#ifndef STP_PMI_CLIENT_H
#define STP_PMI_CLIENT_H

#include "base/base.h"
#include "pmi/pmi1_pmi2_framing.h"

#define STP_PMI_REPLY_MS 60000   /* timeout of replies that do not depend on other processes */
#define STP_PMI_FINALIZE_MS 5000 /* timeout of finalize; the process then ends without a reply */
/*
 * Most characters in a value. Launchers silently cut values at 1023 characters. Hydra of MPICH 4.2
 * and later dies of an assertion if the reply to a get, with its other words, is longer than that.
 */
#define STP_PMI_VALUE_MAX 900
#define STP_PMI_VALUE_MIN 64 /* smallest limit for values with which a launcher is accepted */
#define STP_PMI_KEY_MAX 64   /* bytes of a key with its prefix, fragment number and zero byte */
#define STP_PMI_JOB_MAX 256
#define STP_PMI_NAME_MAX 40 /* maximum length of a key that a caller may pass */

struct stp_pmi_session {
    int rank;
    int size;
    size_t value_max;     /* maximum length of a value that this launcher accepts */
    int reported_key_max; /* greatest length of a key, or 0 if no PMI-1 launcher has reported it */
    /* greatest length of a value, or 0 if no PMI-1 launcher has reported it */
    int reported_value_max;
    /*
     * With PMI-1, name of the key-value space. With PMI-2, job ID of the launcher, or "" if there
     * is none.
     */
    char job[STP_PMI_JOB_MAX];
    struct stp_wire wire; /* connection to the launcher; unused without a launcher */
};

/*
 * Table of the functions of a client. Functions of type int return 0, or -errno after logging the
 * reason. There is one exception. get(), mapping() and host() return -ENOENT without logging if the
 * launcher does not have the value. The client for a process without a launcher has only open().
 * Its other pointers are NULL.
 */
struct stp_pmi_client {
    const char *name;
    /*
     * Opens the session. With PMI-1 and PMI-2, the launcher and the library have already agreed on
     * the version. Sets session->rank, session->size and session->value_max.
     */
    int (*open)(struct stp_pmi_session *session);
    int (*put)(struct stp_pmi_session *session, const char *key, const char *value);
    int (*fence)(struct stp_pmi_session *session); /* waits until all ranks have called fence() */
    /* Gets the text that a rank has put under a key. Copies the text to the buffer value. */
    int (*get)(struct stp_pmi_session *session, int rank, const char *key, char *value,
               size_t capacity);
    /* Copies the launcher's process mapping, a vector that maps ranks to nodes. */
    int (*mapping)(struct stp_pmi_session *session, char *text, size_t capacity);
    /*
     * Copies the name of the host on which rank runs. This pointer is NULL if the protocol does not
     * provide host names.
     */
    int (*host)(struct stp_pmi_session *session, int rank, char *name, size_t capacity);
    /* Ends the session. Logs nothing, because the launcher may have closed the connection. */
    void (*finalize)(struct stp_pmi_session *session);
    void (*abort)(struct stp_pmi_session *session, int status, const char *message);
};

extern const struct stp_pmi_client stp_pmi1_client;
extern const struct stp_pmi_client stp_pmi2_client;
extern const struct stp_pmi_client stp_pmix_client;

/*
 * Loads libpmix at the first call. Returns 0, or -ENOENT without logging if libpmix cannot be used.
 */
int stp_pmix_load(void);

/* Returns the reason why stp_pmix_load() has failed, or "" if it has not failed. */
const char *stp_pmix_missing(void);

/*
 * Logs that a request has failed with the error rc. If rc is -EPROTO, the message also shows the
 * start of the reply. Returns rc.
 */
int stp_pmi_complain(const struct stp_pmi_session *session, const char *request, int rc);

/*
 * Logs that the reply to a request is malformed. The message contains the text fault, which says
 * what is wrong, and the start of the reply. Returns -EPROTO.
 */
int stp_pmi_malformed(const struct stp_pmi_session *session, const char *request,
                      const char *fault);

/*
 * Sends a request, which is formatted by fmt, and receives its reply. The field cmd of the reply
 * must match command, and the reply must not report an error. Returns 0, or -errno after logging
 * the reason. If a get of PMI-1 finds no value, returns -ENOENT without logging.
 */
int stp_pmi_ask(struct stp_pmi_session *session, enum stp_wire_framing framing, const char *command,
                int timeout_ms, const char *fmt, ...) STP_PRINTF(5, 6);

/*
 * Reads a number from an environment variable. Returns 0, -ENOENT if the variable is unset, or
 * -EPROTO if its value is not a number or is less than lowest.
 */
int stp_pmi_env_int(const char *name, int lowest, int *number);

/* ---- key-value space: any bytes under a name, in fragments (kvs.c) ------------- */

int stp_kvs_put(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                const char *name, const void *data, size_t nbytes);
int stp_kvs_get(const struct stp_pmi_client *client, struct stp_pmi_session *session, int rank,
                const char *name, void *data, size_t capacity, size_t *nbytes);

/* ---- map from ranks to nodes (map.c) ------------------------------------ */

struct stp_map_block {
    int node;     /* number of the first node in the block */
    int n_nodes;  /* number of consecutive nodes in the block */
    int per_node; /* number of consecutive ranks on each of these nodes */
};

/*
 * Map from ranks to nodes. The map is either a table with the node of each rank, or an array of
 * blocks. The blocks describe the nodes of the first `period` ranks of the job. For later ranks,
 * the same blocks with the same nodes are repeated.
 */
struct stp_pmi_map {
    int n_nodes;
    int period;
    size_t n_blocks;
    struct stp_map_block *blocks;
    int *table;
};

/*
 * Parses the launcher's mapping vector, which has the form "(vector,(node,n_nodes,per_node),...)",
 * and makes the map of a job of size ranks. Hydra of MPICH 4.2 and later also writes "node" instead
 * of "(node,1,1)", and "[block,...]xcount" for a repeated list of blocks. Nodes without ranks are
 * left out. The other nodes get new numbers from 0, in the order of their numbers in the text.
 * Returns 0, -EPROTO if text is malformed, or -ENOMEM. Logs nothing.
 */
int stp_map_parse(struct stp_pmi_map *map, const char *text, int size);

/* Makes a map in which all ranks are on one node. Returns 0, or -errno without logging. */
int stp_map_one(struct stp_pmi_map *map, int size);

/*
 * Makes the map from the host names that the launcher provides. Returns 0, -ENOENT if the launcher
 * provides no host names, or another -errno.
 */
int stp_map_from_launcher_hosts(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                                struct stp_pmi_session *session);

/*
 * Exchanges the host names of all ranks, and makes the map from these names. All ranks must call
 * this function. Returns 0 or -errno. Logs all errors except -ENOMEM.
 */
int stp_map_exchange(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                     struct stp_pmi_session *session);

int stp_map_node(const struct stp_pmi_map *map, int rank);
void stp_map_free(struct stp_pmi_map *map);

#endif /* STP_PMI_CLIENT_H */
