/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMI-2 client. Requests and replies are messages. Each message begins with its length, and
 * each of its fields ends with a semicolon. This file hides two differences between launchers. The
 * fence of hydra does not wait for other processes, and hydra does not know the abort of PMI-2.
 * Design: docs/design/launch.md.
 */
#include "pmi/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEMICOLON ';'
/*
 * Expands to text if the launcher has set PMI_JOBID, and to an empty string otherwise, because
 * Hydra of MPICH 4.2 refuses a field without a value.
 */
#define IF_JOB(text, session) ((session)->job[0] != '\0' ? (text) : "")
#define NOBODYS_KEY "stp::nobody" /* key that no process puts; see pmi2_fence() */

static int pmi2_open(struct stp_pmi_session *session)
{
    const char *text = session->wire.text;
    const char *job = getenv("PMI_JOBID");
    int rank;
    int rc;

    if (stp_pmi_env_int("PMI_RANK", 0, &rank)) {
        stp_error("pmi: PMI_FD is set, but PMI_RANK is missing or invalid: start the program "
                  "with oshrun, or unset PMI_FD");
        return -EPROTO;
    }
    if (!job || strlen(job) >= sizeof(session->job) || strchr(job, SEMICOLON)) job = "";
    strcpy(session->job, job);
    rc = stp_pmi_ask(session, STP_WIRE_MESSAGE, "fullinit", STP_PMI_REPLY_MS,
                     "cmd=fullinit;%s%s%spmirank=%d;threaded=FALSE;", IF_JOB("pmijobid=", session),
                     job, IF_JOB(";", session), rank);
    if (rc != 0) return rc;
    if (stp_wire_number(text, SEMICOLON, "rank", &session->rank) ||
        stp_wire_number(text, SEMICOLON, "size", &session->size))
        return stp_pmi_malformed(session, "fullinit", "rank or size is missing or is not a number");
    session->value_max = STP_PMI_VALUE_MAX;
    return 0;
}

static int pmi2_put(struct stp_pmi_session *session, const char *key, const char *value)
{
    return stp_pmi_ask(session, STP_WIRE_MESSAGE, "kvs-put", STP_PMI_REPLY_MS,
                       "cmd=kvs-put;key=%s;value=%s;", key, value);
}

/*
 * Copies the content of the reply's field "value" to the buffer. Returns -ENOENT without logging if
 * the reply does not contain found=TRUE.
 */
static int pmi2_found(struct stp_pmi_session *session, const char *command, char *value,
                      size_t capacity)
{
    const char *text = session->wire.text;
    char found[16];

    if (stp_wire_field(text, SEMICOLON, "found", found, sizeof(found)))
        return stp_pmi_malformed(session, command, "the field 'found' is missing or too long");
    if (strcmp(found, "TRUE") != 0) return -ENOENT;
    if (stp_wire_field(text, SEMICOLON, "value", value, capacity))
        return stp_pmi_malformed(session, command, "the value is missing or too long");
    return 0;
}

/* Copies the value of key. Ignores the argument rank, because all ranks share the keys. */
static int pmi2_get(struct stp_pmi_session *session, int rank, const char *key, char *value,
                    size_t capacity)
{
    /* Wait without a timeout, because the reply may come only after the fence of other ranks. */
    int rc = stp_pmi_ask(session, STP_WIRE_MESSAGE, "kvs-get", STP_WIRE_FOREVER,
                         "cmd=kvs-get;%s%s%ssrcid=-1;key=%s;", IF_JOB("jobid=", session),
                         session->job, IF_JOB(";", session), key);

    (void)rank;
    return rc != 0 ? rc : pmi2_found(session, "kvs-get", value, capacity);
}

/*
 * Makes the fence a barrier, also with hydra. Hydra replies to a fence at once, without waiting for
 * other processes. But hydra delays the reply to a get of an absent key. Hydra replies only after
 * all processes have sent as many fences as the process that sent the get. Therefore this function
 * also sends a get of a key that no process puts. When the reply to this get arrives, all processes
 * have sent this fence, and no later get is delayed.
 * The barrier also prevents a deadlock. Hydra checks the delayed gets only when its count of fences
 * is a multiple of the number of processes. Without a barrier, a process could send its next fence
 * too early, and hydra might then never reply to the delayed gets of other processes.
 * With other launchers, the get costs only one short request. Hydra of MPICH 4.2 and later never
 * replies to it if the job has several hosts.
 */
static int pmi2_fence(struct stp_pmi_session *session)
{
    char value[STP_PMI_VALUE_MAX + 1];
    int rc =
        stp_pmi_ask(session, STP_WIRE_MESSAGE, "kvs-fence", STP_WIRE_FOREVER, "cmd=kvs-fence;");

    if (rc == 0) rc = pmi2_get(session, 0, NOBODYS_KEY, value, sizeof(value));
    if (rc == 0)
        return stp_pmi_malformed(session, "kvs-get",
                                 "it contains a value for a key that no process has put");
    return rc == -ENOENT ? 0 : rc;
}

static int pmi2_mapping(struct stp_pmi_session *session, char *text, size_t capacity)
{
    int rc = stp_pmi_ask(session, STP_WIRE_MESSAGE, "info-getjobattr", STP_PMI_REPLY_MS,
                         "cmd=info-getjobattr;key=PMI_process_mapping;");

    return rc != 0 ? rc : pmi2_found(session, "info-getjobattr", text, capacity);
}

static void pmi2_finalize(struct stp_pmi_session *session)
{
    (void)stp_wire_send(&session->wire, STP_WIRE_MESSAGE, "cmd=finalize;");
    /* Wait for the reply, because the launcher fails if it cannot deliver the reply. */
    (void)stp_wire_recv_message(&session->wire, STP_PMI_FINALIZE_MS);
}

/* Copies text to plain, but replaces characters that have a meaning in the protocol by '_'. */
static void pmi2_plain_text(const char *text, char *plain, size_t capacity)
{
    size_t i;

    for (i = 0; i + 1 < capacity && text[i]; i++) {
        unsigned char c = (unsigned char)text[i];

        plain[i] = c < ' ' || c > '~' || strchr(";=|", c) ? '_' : (char)c;
    }
    plain[i] = '\0';
}

/*
 * Asks the launcher to end the job. The abort message of PMI-2 contains a text but no exit status.
 * Slurm reads only messages, and ends the job step after this message. Hydra does not know this
 * message, and would end with error messages and the status 255. Therefore hydra gets the abort
 * line of PMI-1, which contains the exit status. This is possible because hydra detects the framing
 * of each request.
 * With Slurm, the field job is not empty, because Slurm sets PMI_JOBID. With hydra, it is empty.
 */
static void pmi2_abort(struct stp_pmi_session *session, int status, const char *message)
{
    char plain[256];

    if (session->job[0] == '\0') {
        (void)stp_wire_send(&session->wire, STP_WIRE_LINE, "cmd=abort exitcode=%d", status);
        return;
    }
    pmi2_plain_text(message ? message : "", plain, sizeof(plain));
    (void)stp_wire_send(&session->wire, STP_WIRE_MESSAGE, "cmd=abort;isworld=TRUE;msg=%s;", plain);
}

const struct stp_pmi_client stp_pmi2_client = {
    .name = "pmi2",
    .open = pmi2_open,
    .put = pmi2_put,
    .fence = pmi2_fence,
    .get = pmi2_get,
    .mapping = pmi2_mapping,
    .finalize = pmi2_finalize,
    .abort = pmi2_abort,
};
