/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps ranks to nodes. If the launcher provides a usable mapping vector, the map consists of the
 * few blocks of this vector and has no data per rank. Otherwise the map is made from host names and
 * is a table with one element per rank. Design: docs/design/launch.md.
 */
#include "pmi/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the text after an unsigned number, or NULL if text is NULL or does not start with one. */
static const char *map_number(const char *text, int *number)
{
    long long value = 0;

    if (!text || *text < '0' || *text > '9') return NULL;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (*text - '0');
        if (value > INT_MAX) return NULL;
    }
    *number = (int)value;
    return text;
}

/* Returns the text after character c, or NULL if text is NULL or does not start with c. */
static const char *map_skip(const char *text, char c)
{
    return text && *text == c ? text + 1 : NULL;
}

/*
 * Reads a block "(node,n_nodes,per_node)", or "node", which means (node,1,1). Returns the text
 * after the block, or NULL if the block is malformed.
 */
static const char *map_block(const char *text, struct stp_map_block *block)
{
    *block = (struct stp_map_block){.n_nodes = 1, .per_node = 1};
    if (*text != '(') return map_number(text, &block->node);
    text = map_number(text + 1, &block->node);
    text = map_number(map_skip(text, ','), &block->n_nodes);
    text = map_number(map_skip(text, ','), &block->per_node);
    if (block->n_nodes < 1 || block->per_node < 1) return NULL;
    return map_skip(text, ')');
}

/*
 * Appends a block to the map of a job of size ranks. If too few ranks are left for all nodes of the
 * block, drops the nodes that would have no ranks. Returns 0, -ENOMEM, or -EPROTO if the number of
 * a node is too large.
 */
static int map_add(struct stp_pmi_map *map, struct stp_map_block block, int size)
{
    int n_remaining = size - map->period;
    int needed = n_remaining / block.per_node + (n_remaining % block.per_node != 0);
    struct stp_map_block *grown;

    if (n_remaining == 0) return 0;
    if (block.n_nodes >= needed) {
        block.n_nodes = needed;
        map->period = size;
    } else {
        map->period += block.n_nodes * block.per_node;
    }
    if (block.node > INT_MAX - block.n_nodes) return -EPROTO;
    grown = realloc(map->blocks, (map->n_blocks + 1) * sizeof(*grown));
    if (!grown) return -ENOMEM;
    map->blocks = grown;
    map->blocks[map->n_blocks++] = block;
    return 0;
}

static int map_by_node(const void *left, const void *right)
{
    const struct stp_map_block *a = *(struct stp_map_block *const *)left;
    const struct stp_map_block *b = *(struct stp_map_block *const *)right;

    return (a->node > b->node) - (a->node < b->node);
}

/*
 * Renumbers the nodes of the map, so that the nodes with ranks have consecutive numbers from 0.
 * Returns 0 or -ENOMEM.
 */
static int map_compact(struct stp_pmi_map *map)
{
    struct stp_map_block **sorted = malloc(map->n_blocks * sizeof(struct stp_map_block *));
    int top = 0; /* highest node number so far, plus 1 */
    int holes = 0;

    if (!sorted) return -ENOMEM;
    for (size_t i = 0; i < map->n_blocks; i++)
        sorted[i] = &map->blocks[i];
    qsort(sorted, map->n_blocks, sizeof(struct stp_map_block *), map_by_node);
    for (size_t i = 0; i < map->n_blocks; i++) {
        struct stp_map_block *block = sorted[i];
        int end = block->node + block->n_nodes;

        if (block->node > top) holes += block->node - top;
        if (end > top) top = end;
        block->node -= holes;
    }
    map->n_nodes = top - holes;
    free(sorted);
    return 0;
}

/* Adds a block and sets *text to the text after it. */
static int map_one(struct stp_pmi_map *map, const char **text, int size)
{
    struct stp_map_block block;

    *text = map_block(*text, &block);
    return *text ? map_add(map, block, size) : -EPROTO;
}

/* Adds the blocks of "[block,block,...]xcount", with the list repeated count times. */
static int map_repeated(struct stp_pmi_map *map, const char **text, int size)
{
    const char *list = *text + 1, *end = NULL;
    int count = 1;

    for (int i = 0; i < count && (i == 0 || map->period < size); i++) {
        int rc;

        *text = list;
        do
            rc = map_one(map, text, size);
        while (rc == 0 && **text == ',' && (*text)++);
        if (rc != 0) return rc;
        if (i == 0) end = map_number(map_skip(map_skip(*text, ']'), 'x'), &count);
        if (!end || count < 1) return -EPROTO;
    }
    *text = end;
    return 0;
}

int stp_map_parse(struct stp_pmi_map *map, const char *text, int size)
{
    static const char head[] = "(vector";
    int rc = -EPROTO;

    memset(map, 0, sizeof(*map));
    if (strncmp(text, head, sizeof(head) - 1) != 0) return rc;
    text += sizeof(head) - 1;
    while (*text == ',') {
        text++;
        rc = *text == '[' ? map_repeated(map, &text, size) : map_one(map, &text, size);
        if (rc != 0) goto err_free;
    }
    rc = rc == 0 && strcmp(text, ")") == 0 ? map_compact(map) : -EPROTO;
    if (rc != 0) goto err_free;
    return 0;

err_free:
    stp_map_free(map);
    return rc;
}

int stp_map_one(struct stp_pmi_map *map, int size)
{
    char text[64];

    snprintf(text, sizeof(text), "(vector,(0,1,%d))", size);
    return stp_map_parse(map, text, size);
}

/*
 * Returns the index of name in the array *names. Appends a copy of name if the array does not
 * contain it. Returns -ENOMEM if there is not enough memory.
 */
static int map_number_of_host(char ***names, int *n_names, const char *name)
{
    char **grown;

    /* Search from the end, because a rank is often on the same host as the preceding rank. */
    for (int i = *n_names - 1; i >= 0; i--)
        if (strcmp((*names)[i], name) == 0) return i;
    grown = realloc(*names, ((size_t)*n_names + 1) * sizeof(char *));
    if (!grown) return -ENOMEM;
    *names = grown;
    grown[*n_names] = strdup(name);
    if (!grown[*n_names]) return -ENOMEM;
    return (*n_names)++;
}

/* Type of a function that copies the host name of rank to name. */
typedef int (*map_source)(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                          int rank, char *name, size_t capacity);

/*
 * Makes a map that is a table with one element per rank. Calls host_of() for the host name of each
 * rank. Returns 0 or -errno.
 */
static int map_from_hosts(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                          struct stp_pmi_session *session, map_source host_of)
{
    char name[256];
    char **names = NULL;
    int rc = 0;

    memset(map, 0, sizeof(*map));
    map->table = malloc((size_t)session->size * sizeof(int));
    if (!map->table) return -ENOMEM;
    for (int rank = 0; !rc && rank < session->size; rank++) {
        rc = host_of(client, session, rank, name, sizeof(name));
        if (rc != 0) break;
        map->table[rank] = map_number_of_host(&names, &map->n_nodes, name);
        if (map->table[rank] < 0) rc = map->table[rank];
    }
    for (int i = 0; i < map->n_nodes; i++)
        free(names[i]);
    free(names);
    if (rc != 0) stp_map_free(map);
    return rc;
}

/*
 * Copies the host name that the launcher provides for rank. Returns -ENOENT if the launcher
 * provides no host names, or provides only the host name of this process.
 * If the launcher provides host names of other ranks but not of rank, logs an error and returns
 * -EPROTO. The error -ENOENT would be wrong in this case. The caller would then start a collective
 * exchange, which other ranks may not join.
 */
static int map_reported_host(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                             int rank, char *name, size_t capacity)
{
    int rc = client->host(session, rank, name, capacity);

    if (rc != -ENOENT) return rc;
    for (int other_rank = 0; other_rank < session->size; other_rank++)
        if (other_rank != session->rank && client->host(session, other_rank, name, capacity) == 0) {
            stp_error("pmi: the launcher reports the host name of rank %d, but not that of rank %d",
                      other_rank, rank);
            return -EPROTO;
        }
    return -ENOENT;
}

int stp_map_from_launcher_hosts(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                                struct stp_pmi_session *session)
{
    return client->host ? map_from_hosts(map, client, session, map_reported_host) : -ENOENT;
}

static int map_host_of(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                       int rank, char *name, size_t capacity)
{
    char key[32];
    size_t nbytes;
    int rc;

    snprintf(key, sizeof(key), ":host:%d", rank);
    rc = stp_kvs_get(client, session, rank, key, name, capacity - 1, &nbytes);
    if (rc == 0) {
        name[nbytes] = '\0';
        return 0;
    }
    if (rc != -ENOENT && rc != -EMSGSIZE) return rc;
    stp_error("pmi: the launcher has %s host name of rank %d: see the output of that rank",
              rc == -ENOENT ? "no" : "a too long", rank);
    return -EPROTO;
}

int stp_map_exchange(struct stp_pmi_map *map, const struct stp_pmi_client *client,
                     struct stp_pmi_session *session)
{
    char key[32];
    int rc;

    snprintf(key, sizeof(key), ":host:%d", session->rank);
    rc = stp_kvs_put(client, session, key, stp_hostname(), strlen(stp_hostname()));
    if (rc == 0) rc = client->fence(session);
    return rc != 0 ? rc : map_from_hosts(map, client, session, map_host_of);
}

int stp_map_node(const struct stp_pmi_map *map, int rank)
{
    const struct stp_map_block *block = map->blocks;
    int rank_in_blocks;

    if (map->table) return map->table[rank];
    for (rank_in_blocks = rank % map->period; rank_in_blocks / block->per_node >= block->n_nodes;
         block++)
        rank_in_blocks -= block->n_nodes * block->per_node;
    return block->node + rank_in_blocks / block->per_node;
}

void stp_map_free(struct stp_pmi_map *map)
{
    free(map->blocks);
    free(map->table);
    memset(map, 0, sizeof(*map));
}
