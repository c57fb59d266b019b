/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to pmi/: the table each client fills in, the session they share, and what is
 * built on them: the key-value space of fragments and the map from ranks to nodes.
 */
#ifndef STP_PMI_CLIENT_H
#define STP_PMI_CLIENT_H

#include "base/base.h"
#include "pmi/pmi1_pmi2_framing.h"

#define STP_PMI_REPLY_MS 60000   /* for answers that depend on the launcher alone */
#define STP_PMI_FINALIZE_MS 5000 /* the process is leaving anyway */
#define STP_PMI_VALUE_MAX 1000   /* characters of one value; launchers cut silently at 1023 */
#define STP_PMI_VALUE_MIN 64     /* a launcher that carries less is of no use */
#define STP_PMI_KEY_MAX 64       /* key with its end: prefix, at most 40 characters, fragment */
#define STP_PMI_JOB_MAX 256
#define STP_PMI_NAME_MAX 40 /* characters of a key given by the library */

struct stp_pmi_session {
    int rank;
    int size;
    size_t value_max; /* characters a value may have with this launcher */
    int told_key_max; /* PMI-1: what the launcher says itself, for reports; else 0 */
    int told_value_max;
    char job[STP_PMI_JOB_MAX]; /* PMI-1: name of the key-value space; PMI-2: job id or "" */
    struct stp_wire wire;      /* not used by a single process */
};

/*
 * One way to speak with a launcher. Each int is 0 or -errno, logged unless said otherwise. The
 * client of a process without a launcher has only open().
 */
struct stp_pmi_client {
    const char *name;
    int (*open)(struct stp_pmi_session *session); /* after the greeting: rank, size, value_max */
    int (*put)(struct stp_pmi_session *session, const char *key, const char *value);
    int (*fence)(struct stp_pmi_session *session); /* leaves only when all have come */
    /* What rank has put; -ENOENT, not logged, when it has not, or when nobody has. */
    int (*get)(struct stp_pmi_session *session, int rank, const char *key, char *value,
               size_t capacity);
    /* The launcher's process mapping; -ENOENT, not logged, when it gives none. */
    int (*mapping)(struct stp_pmi_session *session, char *text, size_t capacity);
    /* The launcher's name for a rank's host, or -ENOENT, not logged. NULL: it never has one. */
    int (*host)(struct stp_pmi_session *session, int rank, char *name, size_t capacity);
    void (*finalize)(struct stp_pmi_session *session); /* silent: a closed connection is fine */
    void (*abort)(struct stp_pmi_session *session, int status, const char *message);
};

extern const struct stp_pmi_client stp_pmi1_client;
extern const struct stp_pmi_client stp_pmi2_client;
extern const struct stp_pmi_client stp_pmix_client;

/* Open libpmix, once. Returns 0, or -ENOENT, not logged, when there is no usable one. */
int stp_pmix_load(void);

/* Why stp_pmix_load() failed. */
const char *stp_pmix_missing(void);

/* Log why request failed with rc (from stp_wire_*), showing what was received. Returns rc. */
int stp_pmi_complain(const struct stp_pmi_session *session, const char *request, int rc);

/* Log what is wrong with the answer to request and show it. Returns -EPROTO. */
int stp_pmi_malformed(const struct stp_pmi_session *session, const char *request, const char *what);

/*
 * Sends a request and receives the answer, which must be that to command, without an error.
 * Returns 0; -ENOENT, not logged, when a get of PMI-1 finds no value; or -errno, logged.
 */
int stp_pmi_ask(struct stp_pmi_session *session, enum stp_wire_framing framing, const char *command,
                int timeout_ms, const char *fmt, ...) STP_PRINTF(5, 6);

/* An environment variable that is a number from lowest to INT_MAX. -ENOENT unset, else -EPROTO. */
int stp_pmi_env_int(const char *name, int lowest, int *number);

/* ---- key-value space: any bytes under a name, in fragments (kvs.c) ------------- */

int stp_kvs_put(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                const char *name, const void *data, size_t nbytes);
int stp_kvs_get(const struct stp_pmi_client *client, struct stp_pmi_session *session, int rank,
                const char *name, void *data, size_t capacity, size_t *nbytes);

/* ---- map from ranks to nodes (map.c) ------------------------------------ */

struct stp_map_block {
    int node; /* the first of n_nodes consecutive nodes */
    int n_nodes;
    int per_node; /* consecutive ranks on each of them */
};

/* Either a vector of blocks, repeated every period ranks, or a table by rank. */
struct stp_pmi_map {
    int n_nodes;
    int period;
    size_t n_blocks;
    struct stp_map_block *blocks;
    int *table;
};

/*
 * Read "(vector,(node,n_nodes,per_node),...)" for a job of size ranks. Nodes are renumbered
 * without holes, in their order. Returns 0, -EPROTO when text is malformed, -ENOMEM; no log.
 */
int stp_map_parse(struct stp_pmi_map *map, const char *text, int size);

/* All ranks on one node. */
int stp_map_one(struct stp_pmi_map *map, int size);

/* From the host names that the launcher tells. Returns 0, -ENOENT (it tells none), or -errno. */
int stp_map_from_launcher_hosts(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                                struct stp_pmi_session *session);

/* Collective: exchange host names over the key-value space. Returns 0 or -errno, logged. */
int stp_map_exchange(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                     struct stp_pmi_session *session);

int stp_map_node(const struct stp_pmi_map *map, int rank);
void stp_map_free(struct stp_pmi_map *map);

#endif /* STP_PMI_CLIENT_H */
