/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client of a process without a launcher: one rank, one node, and a key-value space that is
 * a list in memory. Design: docs/design/launch.md.
 */
#include "pmi/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct single_entry {
    struct single_entry *next;
    char *value;
    char key[STP_PMI_KEY_MAX];
};

static struct single_entry *single_list;

static int single_open(struct stp_pmi_session *session)
{
    session->rank = 0;
    session->size = 1;
    session->value_max = STP_PMI_VALUE_MAX;
    return 0;
}

static int single_put(struct stp_pmi_session *session, const char *key, const char *value)
{
    struct single_entry *entry = calloc(1, sizeof(*entry));

    (void)session;
    if (!entry) goto err_memory;
    entry->value = strdup(value);
    if (!entry->value) goto err_entry;
    strncpy(entry->key, key, sizeof(entry->key) - 1);
    entry->next = single_list;
    single_list = entry;
    return 0;

err_entry:
    free(entry);
err_memory:
    stp_error("pmi: out of memory for key %s", key);
    return -ENOMEM;
}

static int single_fence(struct stp_pmi_session *session)
{
    (void)session;
    return 0;
}

static int single_get(struct stp_pmi_session *session, int rank, const char *key, char *value,
                      size_t capacity)
{
    (void)session;
    (void)rank;
    for (const struct single_entry *entry = single_list; entry; entry = entry->next) {
        size_t len = strlen(entry->value);

        if (strcmp(entry->key, key) != 0) continue;
        if (len >= capacity) return -EPROTO;
        memcpy(value, entry->value, len + 1);
        return 0;
    }
    return -ENOENT;
}

static int single_mapping(struct stp_pmi_session *session, char *text, size_t capacity)
{
    static const char one[] = "(vector,(0,1,1))";

    (void)session;
    if (capacity < sizeof(one)) return -ENOENT;
    memcpy(text, one, sizeof(one));
    return 0;
}

static void single_finalize(struct stp_pmi_session *session)
{
    (void)session;
    while (single_list) {
        struct single_entry *entry = single_list;

        single_list = entry->next;
        free(entry->value);
        free(entry);
    }
}

static void single_abort(struct stp_pmi_session *session, int status, const char *message)
{
    (void)session;
    (void)status;
    (void)message;
}

const struct stp_pmi_client stp_single_client = {
    .name = "single",
    .open = single_open,
    .put = single_put,
    .fence = single_fence,
    .get = single_get,
    .mapping = single_mapping,
    .host = stp_pmi_no_host,
    .finalize = single_finalize,
    .abort = single_abort,
};
