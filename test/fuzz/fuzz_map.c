/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the launcher's map from ranks to nodes. Input: two bytes of size, then the text. In
 * a map that the parser accepts, every rank is on a node, and every node has a rank.
 */
#include "fuzz.h"

#include "pmi/client.h"

#include <errno.h>

/* Not reached from the parser. */
int stp_kvs_put(const struct stp_pmi_client *client, struct stp_pmi_session *session,
                const char *key, const void *bytes, size_t nbytes)
{
    (void)client, (void)session, (void)key, (void)bytes, (void)nbytes;
    abort();
}

int stp_kvs_get(const struct stp_pmi_client *client, struct stp_pmi_session *session, int rank,
                const char *key, void *bytes, size_t capacity, size_t *nbytes)
{
    (void)client, (void)session, (void)rank, (void)key, (void)bytes, (void)capacity, (void)nbytes;
    abort();
}

const char *stp_hostname(void)
{
    abort();
}

static void check(const struct stp_pmi_map *map, int size)
{
    unsigned char *used = calloc((size_t)size, 1);
    int n_used = 0;

    FUZZ_CHECK(used != NULL && map->n_nodes > 0 && map->n_nodes <= size);
    for (int rank = 0; rank < size; rank++) {
        int node = stp_map_node(map, rank);

        FUZZ_CHECK(node >= 0 && node < map->n_nodes);
        n_used += !used[node];
        used[node] = 1;
    }
    FUZZ_CHECK(n_used == map->n_nodes);
    free(used);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct stp_pmi_map map;
    uint16_t size;
    char *text;
    int rc;

    fuzz_take(&data, &nbytes, &size, sizeof(size));
    text = fuzz_string(data, nbytes);
    rc = stp_map_parse(&map, text, size + 1);
    FUZZ_CHECK(rc == 0 || rc == -EPROTO);
    if (rc == 0) {
        check(&map, size + 1);
        /* What ranks of a huge job are on is in bounds too. */
        stp_map_free(&map);
        if (stp_map_parse(&map, text, INT32_MAX) == 0)
            for (int rank = INT32_MAX - 1; rank > 0; rank /= 2) {
                int node = stp_map_node(&map, rank);

                FUZZ_CHECK(node >= 0 && node < map.n_nodes);
            }
        stp_map_free(&map);
    }
    free(text);
    return 0;
}
