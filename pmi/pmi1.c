/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMI-1 client. Requests and replies are lines whose fields are separated by blanks. A barrier
 * makes the data of earlier puts visible to all ranks. Rank and size are environment variables.
 * Design: docs/design/launch.md.
 */
#include "pmi/client.h"

#include <errno.h>

#define BLANK ' '

static int pmi1_limits(struct stp_pmi_session *session)
{
    const char *text = session->wire.text;
    int key_max;
    int value_max;
    int rc = stp_pmi_ask(session, STP_WIRE_LINE, "maxes", STP_PMI_REPLY_MS, "cmd=get_maxes");

    if (rc != 0) return rc;
    if (stp_wire_number(text, BLANK, "keylen_max", &key_max) ||
        stp_wire_number(text, BLANK, "vallen_max", &value_max))
        return stp_pmi_malformed(session, "maxes",
                                 "keylen_max or vallen_max is missing or is not a number");
    session->reported_key_max = key_max;
    session->reported_value_max = value_max;
    /* Both limits include the terminating zero byte, as in the implementations of PMI. */
    if (key_max < STP_PMI_KEY_MAX || value_max <= STP_PMI_VALUE_MIN)
        return stp_pmi_malformed(session, "maxes",
                                 "keylen_max or vallen_max is too small for Steppe");
    session->value_max = value_max > STP_PMI_VALUE_MAX ? STP_PMI_VALUE_MAX : (size_t)value_max - 1;
    return 0;
}

static int pmi1_open(struct stp_pmi_session *session)
{
    int rc;

    if (stp_pmi_env_int("PMI_SIZE", 1, &session->size) ||
        stp_pmi_env_int("PMI_RANK", 0, &session->rank)) {
        stp_error("pmi: PMI_FD is set, but PMI_RANK or PMI_SIZE is missing or invalid: start the "
                  "program with oshrun, or unset PMI_FD");
        return -EPROTO;
    }
    rc = pmi1_limits(session);
    if (rc == 0)
        rc = stp_pmi_ask(session, STP_WIRE_LINE, "my_kvsname", STP_PMI_REPLY_MS,
                         "cmd=get_my_kvsname");
    if (rc != 0) return rc;
    if (stp_wire_field(session->wire.text, BLANK, "kvsname", session->job, sizeof(session->job)))
        return stp_pmi_malformed(session, "my_kvsname", "kvsname is missing or too long");
    return 0;
}

static int pmi1_put(struct stp_pmi_session *session, const char *key, const char *value)
{
    return stp_pmi_ask(session, STP_WIRE_LINE, "put_result", STP_PMI_REPLY_MS,
                       "cmd=put kvsname=%s key=%s value=%s", session->job, key, value);
}

static int pmi1_fence(struct stp_pmi_session *session)
{
    return stp_pmi_ask(session, STP_WIRE_LINE, "barrier_out", STP_WIRE_FOREVER, "cmd=barrier_in");
}

/* Copies the value of key. Ignores the argument rank, because all ranks share the keys. */
static int pmi1_get(struct stp_pmi_session *session, int rank, const char *key, char *value,
                    size_t capacity)
{
    int rc = stp_pmi_ask(session, STP_WIRE_LINE, "get_result", STP_PMI_REPLY_MS,
                         "cmd=get kvsname=%s key=%s", session->job, key);

    (void)rank;
    if (rc != 0) return rc;
    rc = stp_wire_field(session->wire.text, BLANK, "value", value, capacity);
    return rc != 0 ? stp_pmi_malformed(session, "get_result", "the value is missing or too long")
                   : 0;
}

static int pmi1_mapping(struct stp_pmi_session *session, char *text, size_t capacity)
{
    return pmi1_get(session, 0, "PMI_process_mapping", text, capacity);
}

static void pmi1_finalize(struct stp_pmi_session *session)
{
    (void)stp_wire_send(&session->wire, STP_WIRE_LINE, "cmd=finalize");
    /* Wait for the reply, because the launcher fails if it cannot deliver the reply. */
    (void)stp_wire_recv_line(&session->wire, STP_PMI_FINALIZE_MS);
}

static void pmi1_abort(struct stp_pmi_session *session, int status, const char *message)
{
    (void)message; /* the command has no field for a message */
    (void)stp_wire_send(&session->wire, STP_WIRE_LINE, "cmd=abort exitcode=%d", status);
}

const struct stp_pmi_client stp_pmi1_client = {
    .name = "pmi1",
    .open = pmi1_open,
    .put = pmi1_put,
    .fence = pmi1_fence,
    .get = pmi1_get,
    .mapping = pmi1_mapping,
    .finalize = pmi1_finalize,
    .abort = pmi1_abort,
};
