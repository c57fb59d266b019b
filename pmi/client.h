/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internal interface of pmi/: the table of a client, the session that the clients share, the
 * key-value space of fragments, and the map from ranks to nodes.
 */
#ifndef STP_PMI_CLIENT_H
#define STP_PMI_CLIENT_H

#include "base/base.h"
#include "pmi/pmi1_pmi2_framing.h"

#define STP_PMI_REPLY_MS 60000   /* timeout of replies that depend only on the launcher */
#define STP_PMI_FINALIZE_MS 5000 /* timeout of finalize; the process ends in any case */
#define STP_PMI_VALUE_MAX 1000   /* characters of one value; launchers silently cut at 1023 */
#define STP_PMI_VALUE_MIN 64     /* smallest limit of a launcher that is of use */
#define STP_PMI_KEY_MAX 64 /* bytes of a key: prefix, at most 40 characters, fragment, zero byte */
#define STP_PMI_JOB_MAX 256
#define STP_PMI_NAME_MAX 40 /* longest key that the library uses */

struct stp_pmi_session {
    int rank;
    int size;
    size_t value_max; /* longest value that this launcher accepts, in characters */
    int told_key_max; /* PMI-1: longest key that the launcher reports; else 0 */
    int told_value_max;
    char job[STP_PMI_JOB_MAX]; /* PMI-1: name of the key-value space; PMI-2: job ID or "" */
    struct stp_wire wire;      /* connection to the launcher; not used by a single process */
};

/*
 * One protocol to reach a launcher. Functions that return int return 0, or -errno after logging the
 * reason unless stated otherwise. Without a launcher a client has only open().
 */
struct stp_pmi_client {
    const char *name;
    /* Called after the greeting. Sets rank, size and value_max. */
    int (*open)(struct stp_pmi_session *session);
    int (*put)(struct stp_pmi_session *session, const char *key, const char *value);
    int (*fence)(struct stp_pmi_session *session); /* returns after all ranks have entered */
    /* Copies the value that rank has put under key. Returns -ENOENT, not logged, if none exists. */
    int (*get)(struct stp_pmi_session *session, int rank, const char *key, char *value,
               size_t capacity);
    /* Copies the launcher's process mapping. Returns -ENOENT, not logged, if none exists. */
    int (*mapping)(struct stp_pmi_session *session, char *text, size_t capacity);
    /* Copies the host name of a rank, or returns -ENOENT, not logged. The pointer may be NULL. */
    int (*host)(struct stp_pmi_session *session, int rank, char *name, size_t capacity);
    /* Logs nothing, because the launcher may already have closed the connection. */
    void (*finalize)(struct stp_pmi_session *session);
    void (*abort)(struct stp_pmi_session *session, int status, const char *message);
};

extern const struct stp_pmi_client stp_pmi1_client;
extern const struct stp_pmi_client stp_pmi2_client;
extern const struct stp_pmi_client stp_pmix_client;

/* Opens libpmix at the first call. Returns 0, or -ENOENT, not logged, if it is unusable. */
int stp_pmix_load(void);

/* Returns the text of the error of stp_pmix_load(), or "". */
const char *stp_pmix_missing(void);

/* Logs that request failed with rc (from stp_wire_*); shows a malformed reply. Returns rc. */
int stp_pmi_complain(const struct stp_pmi_session *session, const char *request, int rc);

/* Logs an error in the reply to request, and shows the reply. Returns -EPROTO. */
int stp_pmi_malformed(const struct stp_pmi_session *session, const char *request, const char *what);

/*
 * Sends a request and receives the reply, which must belong to command and report no error. Returns
 * 0; -ENOENT, not logged, if a get of PMI-1 finds no value; or -errno after logging the reason.
 */
int stp_pmi_ask(struct stp_pmi_session *session, enum stp_wire_framing framing, const char *command,
                int timeout_ms, const char *fmt, ...) STP_PRINTF(5, 6);

/* Reads a number >= lowest from a variable. Returns 0, -ENOENT (unset) or -EPROTO (malformed). */
int stp_pmi_env_int(const char *name, int lowest, int *number);

/* ---- key-value space: any bytes under a name, in fragments (kvs.c) ------------- */

int stp_kvs_put(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                const char *name, const void *data, size_t nbytes);
int stp_kvs_get(const struct stp_pmi_client *client, struct stp_pmi_session *session, int rank,
                const char *name, void *data, size_t capacity, size_t *nbytes);

/* ---- map from ranks to nodes (map.c) ------------------------------------ */

struct stp_map_block {
    int node; /* first of n_nodes consecutive nodes */
    int n_nodes;
    int per_node; /* number of consecutive ranks on each node */
};

/* Map from ranks to nodes: a vector of blocks repeated every period ranks, or a table by rank. */
struct stp_pmi_map {
    int n_nodes;
    int period;
    size_t n_blocks;
    struct stp_map_block *blocks;
    int *table;
};

/*
 * Parses "(vector,(node,n_nodes,per_node),...)" for a job of size ranks. Renumbers the nodes
 * without holes, in their order. Returns 0, -EPROTO if text is malformed, or -ENOMEM; logs nothing.
 */
int stp_map_parse(struct stp_pmi_map *map, const char *text, int size);

/* Makes a map with all ranks on one node. Returns 0, or -errno without logging. */
int stp_map_one(struct stp_pmi_map *map, int size);

/* Makes the map from the launcher's host names. Returns 0, -ENOENT if none exist, or -errno. */
int stp_map_from_launcher_hosts(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                                struct stp_pmi_session *session);

/*
 * Makes the map by a collective exchange of host names. Returns 0 or -errno; logs all but -ENOMEM.
 */
int stp_map_exchange(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                     struct stp_pmi_session *session);

int stp_map_node(const struct stp_pmi_map *map, int rank);
void stp_map_free(struct stp_pmi_map *map);

#endif /* STP_PMI_CLIENT_H */
