/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of PMI: a launcher that forks one client and serves its socket. The launcher
 * speaks PMI-1 or PMI-2, and follows or breaks the protocol as the test wants.
 */
#ifndef STP_TEST_PMI_LAUNCHER_H
#define STP_TEST_PMI_LAUNCHER_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "capture.h"
#include "pmi/client.h"
#include "pmi/pmi.h"
#include "unit.h"

#define MAX_ENTRIES 1024
#define CLIENT_OK 42 /* so that an exit status of 0 by mistake is none */

/* ---- the launcher -------------------------------------------------------- */

/* What the launcher does otherwise than well. */
struct twist {
    const char *on;    /* request that begins so, without "cmd=" */
    const char *reply; /* raw bytes in place of the answer */
    size_t reply_len;  /* 0: strlen */
    bool hang_up;      /* close after them */
};

struct launcher {
    int rank;
    int size;
    int only_version; /* names this one in its greeting, whatever was proposed; 0: any */
    bool refuse;      /* refuses to greet in version 2 */
    int value_max;    /* PMI-1 limits, with the terminating zero */
    int key_max;
    bool slurm;          /* as Slurm's plugin: strict, terse, one init, hangs up on finalize */
    const char *mapping; /* NULL: none */
    const char *length;  /* format of the length in front of messages */
    struct twist twist;

    /* What happened. */
    int fd;
    int version;
    int n_init, n_finalize, n_fence, n_puts;
    int exit_code; /* of an abort, -1: none */
    bool stayed;   /* the client that aborted waited for its end */
    char abort_text[512];
    size_t longest_value;
    bool bad_request;
    size_t n_entries; /* of entries[] */
};

/* The key-value space of the launcher of the moment. */
static struct {
    char key[64];
    char value[1100];
} entries[MAX_ENTRIES];

static const struct launcher good = {
    .rank = 0,
    .size = 1,
    .value_max = 1024,
    .key_max = 64,
    .mapping = "(vector,(0,1,1))",
    .length = "%6d",
    .exit_code = -1,
};

static inline void launcher_store(struct launcher *launcher, const char *key, const char *value)
{
    size_t i = launcher->n_entries++;

    ck_assert_uint_lt(i, MAX_ENTRIES);
    ck_assert_uint_lt(strlen(key), sizeof(entries[i].key));
    ck_assert_uint_lt(strlen(value), sizeof(entries[i].value));
    strcpy(entries[i].key, key);
    strcpy(entries[i].value, value);
}

static const char *launcher_find(const struct launcher *launcher, const char *key)
{
    for (size_t i = 0; i < launcher->n_entries; i++)
        if (strcmp(entries[i].key, key) == 0) return entries[i].value;
    return NULL;
}

static inline bool read_exactly(int fd, char *bytes, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t n = read(fd, bytes, nbytes);

        if (n <= 0) return false;
        bytes += n;
        nbytes -= (size_t)n;
    }
    return true;
}

/* The next request without its frame; lines are known by beginning with "cmd=". */
static inline bool launcher_read(struct launcher *launcher, char *request, size_t capacity,
                                 bool *line)
{
    size_t len = 6;

    if (!read_exactly(launcher->fd, request, len)) return false;
    *line = memcmp(request, "cmd=", 4) == 0;
    if (!*line) {
        request[6] = '\0';
        len = (size_t)atoi(request);
        ck_assert_uint_lt(len, capacity);
        request[len] = '\0';
        return read_exactly(launcher->fd, request, len);
    }
    while (request[len - 1] != '\n') {
        ck_assert_uint_lt(len, capacity);
        if (!read_exactly(launcher->fd, request + len++, 1)) return false;
    }
    request[len - 1] = '\0';
    return true;
}

static inline void launcher_send(const struct launcher *launcher, const char *text)
{
    char head[32] = "";

    if (launcher->version == 2) snprintf(head, sizeof(head), launcher->length, (int)strlen(text));
    (void)!write(launcher->fd, head, strlen(head));
    (void)!write(launcher->fd, text, strlen(text));
}

static inline void launcher_greet(struct launcher *launcher, const char *request)
{
    char text[128];
    int proposed = 0;
    bool refuse;

    launcher->n_init++;
    ck_assert_int_eq(sscanf(request, "cmd=init pmi_version=%d", &proposed), 1);
    refuse = launcher->refuse && proposed == 2;
    launcher->version = launcher->only_version ? launcher->only_version : proposed;
    snprintf(text, sizeof(text), "cmd=response_to_init rc=%d pmi_version=%d pmi_subversion=0\n",
             refuse ? -1 : 0, launcher->version);
    (void)!write(launcher->fd, text, strlen(text));
}

static inline void launcher_put(struct launcher *launcher, const char *request)
{
    char separator = launcher->version == 1 ? ' ' : ';';
    char key[128];
    char value[2048];

    launcher->n_puts++;
    if (stp_wire_field(request, separator, "key", key, sizeof(key)) ||
        stp_wire_field(request, separator, "value", value, sizeof(value)) || strlen(key) > 63 ||
        strspn(value, "0123456789abcdef") != strlen(value) || launcher_find(launcher, key)) {
        launcher->bad_request = true;
        return;
    }
    if (strlen(value) > launcher->longest_value) launcher->longest_value = strlen(value);
    launcher_store(launcher, key, value);
}

/* The value of the key that request asks for, NULL when there is none. */
static const char *launcher_get(const struct launcher *launcher, const char *request)
{
    char key[128] = "";

    (void)stp_wire_field(request, launcher->version == 1 ? ' ' : ';', "key", key, sizeof(key));
    if (strcmp(key, "PMI_process_mapping") == 0) return launcher->mapping;
    return launcher_find(launcher, key);
}

static inline void launcher_serve1(struct launcher *launcher, const char *command,
                                   const char *request)
{
    char text[4096] = "";

    if (strcmp(command, "get_maxes") == 0) {
        snprintf(text, sizeof(text), "cmd=maxes kvsname_max=256 keylen_max=%d vallen_max=%d\n",
                 launcher->key_max, launcher->value_max);
    } else if (strcmp(command, "get_my_kvsname") == 0) {
        strcpy(text, "cmd=my_kvsname kvsname=kvs_1_0\n");
    } else if (strcmp(command, "put") == 0) {
        launcher_put(launcher, request);
        strcpy(text, "cmd=put_result rc=0\n");
    } else if (strcmp(command, "get") == 0) {
        const char *value = launcher_get(launcher, request);

        snprintf(text, sizeof(text), "cmd=get_result rc=%d msg=%s value=%s\n", value ? 0 : -1,
                 value ? "success" : "not_found", value ? value : "unknown");
    } else if (strcmp(command, "barrier_in") == 0) {
        launcher->n_fence++;
        strcpy(text, "cmd=barrier_out\n");
    } else if (strcmp(command, "finalize") == 0) {
        launcher->n_finalize++;
        strcpy(text, "cmd=finalize_ack\n");
    } else {
        launcher->bad_request = true;
    }
    launcher_send(launcher, text);
}

static inline void launcher_serve2(struct launcher *launcher, const char *command,
                                   const char *request)
{
    char text[4096] = "";
    bool job = strcmp(command, "info-getjobattr") == 0;

    if (strcmp(command, "fullinit") == 0) {
        snprintf(text, sizeof(text), "cmd=fullinit-response;rc=0;rank=%d;size=%d;appnum=0;",
                 launcher->rank, launcher->size);
    } else if (strcmp(command, "kvs-put") == 0) {
        launcher_put(launcher, request);
        strcpy(text, "cmd=kvs-put-response;rc=0;");
    } else if (strcmp(command, "kvs-get") == 0 || job) {
        const char *value = launcher_get(launcher, request);

        snprintf(text, sizeof(text), "cmd=%s-response;found=%s;%s%s%src=0;", command,
                 value ? "TRUE" : "FALSE", value ? "value=" : "", value ? value : "",
                 value ? ";" : "");
    } else if (strcmp(command, "kvs-fence") == 0) {
        launcher->n_fence++;
        strcpy(text, "cmd=kvs-fence-response;rc=0;");
    } else if (strcmp(command, "finalize") == 0) {
        launcher->n_finalize++;
        strcpy(text, "cmd=finalize-response;rc=0;");
    } else {
        launcher->bad_request = true;
    }
    launcher_send(launcher, text);
}

static inline bool slurm_has(const char *request, const char *name, const char *wanted)
{
    char value[2048];

    if (stp_wire_field(request, ';', name, value, sizeof(value))) return false;
    return !wanted || strcmp(value, wanted) == 0;
}

/* What Slurm's plugin would log as an error. Its fields all end in a semicolon. */
static inline bool slurm_accepts(const char *command, const char *request)
{
    static const struct {
        const char *command;
        const char *fields[3];
    } known[] = {
        {"fullinit", {"pmijobid", "pmirank", "threaded"}},
        {"kvs-put", {"key", "value", NULL}},
        {"kvs-get", {"key", NULL, NULL}},
        {"kvs-fence", {NULL, NULL, NULL}},
        {"info-getjobattr", {"key", NULL, NULL}},
        {"finalize", {NULL, NULL, NULL}},
    };
    size_t len = strlen(request);

    for (size_t i = 0; i < STP_COUNT(known); i++) {
        bool complete = len > 0 && request[len - 1] == ';';

        if (strcmp(command, known[i].command) != 0) continue;
        for (int j = 0; j < 3 && known[i].fields[j]; j++)
            complete = complete && slurm_has(request, known[i].fields[j], NULL);
        return complete;
    }
    return false;
}

/* Answers in the words of Slurm's plugin. Returns false when it closes the connection. */
static inline bool launcher_serve_slurm(struct launcher *launcher, const char *command,
                                        const char *request, bool line)
{
    char text[4096] = "";
    bool job = strcmp(command, "info-getjobattr") == 0;

    if (!line && !slurm_accepts(command, request)) launcher->bad_request = true;
    if (line || strcmp(command, "finalize") == 0) { /* a second init is taken for the end */
        launcher->n_finalize += !line;
        strcpy(text, "cmd=finalize-response;rc=0;");
    } else if (strcmp(command, "fullinit") == 0) {
        snprintf(text, sizeof(text),
                 "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=%d;size=%d;"
                 "appnum=-1;debugged=FALSE;pmiverbose=FALSE;spawner-jobid=76.3;",
                 launcher->rank, launcher->size);
    } else if (strcmp(command, "kvs-put") == 0) {
        launcher_put(launcher, request);
        strcpy(text, "cmd=kvs-put-response;rc=0;");
    } else if (job || strcmp(command, "kvs-get") == 0) {
        const char *value = launcher_get(launcher, request);

        snprintf(text, sizeof(text), "cmd=%s-response;rc=0;found=%s;%s%s%s", command,
                 value ? "TRUE" : "FALSE", value ? "value=" : "", value ? value : "",
                 value ? ";" : "");
    } else if (strcmp(command, "kvs-fence") == 0) {
        launcher->n_fence++;
        strcpy(text, "cmd=kvs-fence-response;rc=0;");
    }
    launcher_send(launcher, text);
    return !line && strcmp(command, "finalize") != 0;
}

/* Returns false when the twist hangs up. */
static inline bool launcher_twist(const struct launcher *launcher)
{
    const struct twist *twist = &launcher->twist;
    size_t len = twist->reply_len ? twist->reply_len : strlen(twist->reply);

    (void)!write(launcher->fd, twist->reply, len);
    return !twist->hang_up;
}

static inline void launcher_abort(struct launcher *launcher, const char *request, bool line)
{
    launcher->exit_code = 0;
    if (launcher->slurm && (line || !slurm_has(request, "isworld", "TRUE")))
        launcher->bad_request = true;
    if (line)
        (void)stp_wire_number(request, ' ', "exitcode", &launcher->exit_code);
    else
        (void)stp_wire_field(request, ';', "msg", launcher->abort_text,
                             sizeof(launcher->abort_text));
}

/* A launcher that cleans up after an abort must find somebody to clean up. */
static inline bool launcher_is_awaited(const struct launcher *launcher)
{
    struct pollfd wait = {.fd = launcher->fd, .events = POLLIN};

    return poll(&wait, 1, 100) == 0; /* else the client has hung up */
}

/* Answer until the client is gone, or ends itself on our word. */
static inline void launcher_serve(struct launcher *launcher)
{
    char request[8192];
    char command[64];
    bool line;

    while (launcher_read(launcher, request, sizeof(request), &line)) {
        const char *on = launcher->twist.on;

        ck_assert_int_eq(sscanf(request, "cmd=%63[^ ;]", command), 1);
        if (on && strncmp(request + 4, on, strlen(on)) == 0) {
            if (!launcher_twist(launcher)) break;
        } else if (strcmp(command, "init") == 0 && (!launcher->slurm || launcher->n_init == 0)) {
            launcher_greet(launcher, request);
        } else if (strcmp(command, "abort") == 0) {
            launcher_abort(launcher, request, line);
            launcher->stayed = launcher_is_awaited(launcher);
            break;
        } else if (launcher->slurm) {
            if (!launcher_serve_slurm(launcher, command, request, line)) break;
        } else if (launcher->version == 1) {
            launcher_serve1(launcher, command, request);
        } else {
            launcher_serve2(launcher, command, request);
        }
    }
    close(launcher->fd);
}

static inline void set_number(const char *name, int number)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", number);
    setenv(name, text, 1);
}

/* Runs client() with a launcher behind PMI_FD, and catches its output. Returns its exit status. */
static inline int launch(struct launcher *launcher, void (*client)(void))
{
    int pair[2];
    int status;
    pid_t pid;

    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    capture_begin(&said);
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        signal(SIGPIPE, SIG_DFL); /* ours to avoid */
        set_number("PMI_FD", pair[1]);
        set_number("PMI_RANK", launcher->rank);
        set_number("PMI_SIZE", launcher->size);
        signal(SIGALRM, SIG_DFL);
        alarm(20);
        if (stp_env_load()) _exit(1);
        client();
        exit(CLIENT_OK);
    }
    close(pair[1]);
    launcher->fd = pair[0];
    launcher_serve(launcher);
    waitpid(pid, &status, 0);
    capture_end(&said);
    ck_assert(!launcher->bad_request);
    ck_assert_msg(WIFEXITED(status), "the client must exit, but signal %d ended it",
                  WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* Loop index: 0 is PMI-1, 1 is PMI-2. */
static inline struct launcher launcher_of(int version_less_one)
{
    setenv("SHMEM_PMI", version_less_one == 0 ? "1" : "2", 1);
    return good;
}

/* Tests run under launchers too: theirs must not be seen. */
__attribute__((constructor)) static void clear_environment(void)
{
    static const char *const names[] = {
        "PMI_FD",
        "PMI_RANK",
        "PMI_SIZE",
        "PMI_ID",
        "PMI_PORT",
        "PMI_JOBID",
        "SHMEM_PMI",
        "MPI_LOCALNRANKS",
        "SLURM_PROCID",
        "SLURM_NTASKS",
        "SLURM_STEP_NUM_TASKS",
        "SLURM_STEP_ID",
        "SLURM_STEPID",
        "PMIX_RANK",
        "PMIX_NAMESPACE",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "PALS_RANKID",
        "ALPS_APP_PE",
        "JSM_NAMESPACE_RANK",
        "MV2_COMM_WORLD_RANK",
        "FLUX_TASK_RANK",
    };

    for (size_t i = 0; i < STP_COUNT(names); i++)
        unsetenv(names[i]);
}

/* ---- clients: the exit status tells the line that failed ------------------ */

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) _exit(100 + __LINE__ % 100);                                             \
    } while (0)

static struct stp_pmi_info info;

static inline void client_open(void)
{
    NEED(stp_pmi_open(&info) == 0);
}

static inline void client_open_fails(void)
{
    int rc = stp_pmi_open(&info);

    NEED(rc == -EPROTO || rc == -EIO);
    NEED(stp_pmi_open(&info) == rc); /* the answer does not change, nothing is sent again */
}

#endif /* STP_TEST_PMI_LAUNCHER_H */
