/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements pmi.h. Chooses the client for the launcher, agrees with the launcher on a version of
 * PMI, and ends the job on request. A process has only one session, which lasts from the first init
 * until the process ends. Design: docs/design/launch.md.
 */
#include "pmi/pmi.h"

#include "pmi/client.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_MS 200   /* an abort waits at most this time until its output has been read */
#define LINGER_MS 2000 /* an abort waits at most this time for the launcher to kill this process */

static struct {
    bool tried;
    int rc; /* result of the only attempt to open the session */
    pid_t pid;
    bool aborts; /* true if an abort will end this process; finalize is then not sent */
    const struct stp_pmi_client *client; /* client of the open session, or NULL */
    struct stp_pmi_info info;
    struct stp_pmi_map map;
    struct stp_pmi_session session;
} pmi;

/* ---- messages ------------------------------------------------------------ */

int stp_pmi_complain(const struct stp_pmi_session *session, const char *request, int rc)
{
    if (rc == -EPROTO)
        return stp_pmi_malformed(session, request,
                                 "it is too long, or does not have the format of PMI");
    if (rc == -ETIMEDOUT)
        stp_error("pmi: the launcher has not replied within %d s (%s): does another library use "
                  "PMI_FD at the same time?",
                  STP_PMI_REPLY_MS / 1000, request);
    else if (rc == -EMSGSIZE)
        stp_error("pmi: a request to the launcher (%s) is longer than %d bytes", request,
                  STP_WIRE_SEND_MAX - 1);
    else
        stp_error("pmi: the launcher closed the connection (%s): the launcher has died or is "
                  "ending the job, or an MPI library in this process was finalized earlier; Slurm "
                  "serves only one library per process",
                  request);
    return rc;
}

int stp_pmi_malformed(const struct stp_pmi_session *session, const char *request, const char *fault)
{
    char shown[81];
    size_t i;

    for (i = 0; i < sizeof(shown) - 1 && session->wire.text[i]; i++) {
        char c = session->wire.text[i];

        shown[i] = c < ' ' || c > '~' ? '?' : c;
    }
    shown[i] = '\0';
    stp_error("pmi: bad reply from the launcher (%s): %s; the reply is \"%s\"", request, fault,
              shown);
    return -EPROTO;
}

int stp_pmi_ask(struct stp_pmi_session *session, enum stp_wire_framing framing, const char *command,
                int timeout_ms, const char *fmt, ...)
{
    bool is_line = framing == STP_WIRE_LINE;
    char separator = is_line ? ' ' : ';', expected[64], reply_cmd[64];
    int rc, result = 0;
    va_list args;

    va_start(args, fmt);
    rc = stp_wire_vsend(&session->wire, framing, fmt, args);
    va_end(args);
    if (rc == 0)
        rc = is_line ? stp_wire_recv_line(&session->wire, timeout_ms)
                     : stp_wire_recv_message(&session->wire, timeout_ms);
    if (rc != 0) return stp_pmi_complain(session, command, rc);
    snprintf(expected, sizeof(expected), "%s%s", command, is_line ? "" : "-response");
    if (stp_wire_field(session->wire.text, separator, "cmd", reply_cmd, sizeof(reply_cmd)) ||
        strcmp(reply_cmd, expected) != 0)
        return stp_pmi_malformed(session, command, "it does not belong to this request");
    rc = stp_wire_number(session->wire.text, separator, "rc", &result);
    if (rc == -ENOENT && is_line) rc = 0; /* in PMI-1 a reply without rc means success */
    if (rc == 0 && result == 0) return 0;
    /*
     * Treat each failure of a get as an absent key. The error number does not show whether the key
     * is absent, because launchers use different numbers.
     */
    if (strcmp(reply_cmd, "get_result") == 0 ||
        (rc == 0 && strcmp(reply_cmd, "kvs-get-response") == 0))
        return -ENOENT;
    return stp_pmi_malformed(session, command,
                             "its return code (rc) is missing or is not 0, so the request failed");
}

int stp_pmi_env_int(const char *name, int lowest, int *number)
{
    const char *text = getenv(name);
    int value;

    if (!text) return -ENOENT;
    if (stp_wire_parse_int(text, &value) || value < lowest) return -EPROTO;
    *number = value;
    return 0;
}

/* ---- the choice of a client ---------------------------------------------- */

static int single_open(struct stp_pmi_session *session)
{
    session->rank = 0;
    session->size = 1;
    session->value_max = STP_PMI_VALUE_MAX;
    return 0;
}

/* Client without a launcher. It has no put() or fence(), because there are no other processes. */
static const struct stp_pmi_client single_client = {.name = "single", .open = single_open};

/* Unsupported launchers, which do not set PMI_FD, and environment variables that they set. */
static const struct {
    const char *rank; /* name of the variable that contains the rank of the process */
    const char *size; /* name of the variable with the number of processes, or NULL */
    const char *name;
    const char *advice;
} foreign_launchers[] = {
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun", "use srun --mpi=pmi2"},
    {"SLURM_PROCID", "SLURM_NTASKS", "Slurm", "use oshrun or srun --mpi=pmi2"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun",
     "install libpmix.so.2 or use oshrun"},
    {"PMIX_RANK", NULL, "a PMIx launcher", "install libpmix.so.2 or use oshrun"},
    {"PALS_RANKID", "PMI_SIZE", "PALS", "use oshrun"},
    {"ALPS_APP_PE", NULL, "aprun", "use oshrun"},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "jsrun", "use oshrun"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "mpirun_rsh", "use oshrun"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "flux", "use flux run without -o pmi=off"},
    {"PMI_ID", "PMI_SIZE", "mpiexec -pmi-port", "omit -pmi-port"},
    {"PMI_RANK", "PMI_SIZE", "a PMI launcher", "use oshrun"},
};

/*
 * Returns true if srun has started this process. Slurm also sets its variables in a batch script
 * and in the shell that salloc starts as an "interactive" step. In these steps, the variables
 * describe the whole allocation, but a program that is started without srun is a single process.
 * These steps have the highest step numbers. For example, SLURM_BATCH_SCRIPT is -5, read as an
 * unsigned number.
 */
static bool pmi_in_slurm_step(void)
{
    const char *text = getenv("SLURM_STEP_ID");
    unsigned long step;
    char *end;

    if (text == NULL) text = getenv("SLURM_STEPID"); /* old name of the variable */
    if (text == NULL) return false;
    step = strtoul(text, &end, 10);
    return end != text && *end == '\0' && step < 0xfffffff0UL;
}

/*
 * Finds out whether this process is one of several that an unsupported launcher has started. If so,
 * sets *rank and returns the index of the launcher in foreign_launchers. Otherwise returns -1.
 */
static int pmi_find_foreign(int *rank)
{
    for (size_t i = 0; i < STP_COUNT(foreign_launchers); i++) {
        const char *size_name = foreign_launchers[i].size;
        int size = 0;

        if (strncmp(foreign_launchers[i].rank, "SLURM_", 6) == 0 && !pmi_in_slurm_step()) continue;
        if (stp_pmi_env_int(foreign_launchers[i].rank, 0, rank)) continue;
        if (size_name) (void)stp_pmi_env_int(size_name, 0, &size);
        if (*rank > 0 || size > 1) return (int)i;
    }
    return -1;
}

/*
 * Duplicates the launcher's socket for the session. Returns 0, or -errno after logging the reason.
 * text: value of PMI_FD.
 */
static int pmi_connect(struct stp_pmi_session *session, const char *text)
{
    int fd;
    int rc;

    if (stp_wire_parse_int(text, &fd) || fd < 0) {
        stp_error("pmi: PMI_FD=%s is not a file descriptor: start the program with oshrun, or "
                  "unset PMI_FD",
                  text);
        return -EPROTO;
    }
    rc = stp_wire_open(&session->wire, fd);
    if (rc == -EMFILE || rc == -ENFILE) {
        stp_error("pmi: cannot duplicate the descriptor PMI_FD=%d: %s", fd, stp_errno_text(-rc));
        return rc;
    }
    if (rc != 0) {
        stp_error("pmi: PMI_FD=%d is not an open socket (%s): MPI_Finalize or a wrapper script "
                  "closed it, or the variable is left over from an outer job; start the program "
                  "with oshrun, or unset PMI_FD",
                  fd, strerror(-rc));
        return rc == -EBADF || rc == -ENOTSOCK ? -EPROTO : rc;
    }
    return 0;
}

/*
 * Proposes a version of PMI to the launcher. Sets *agreed to the version in the reply. If the reply
 * contains no version, sets *agreed to the proposed version. Sets *refused to true if the reply
 * refuses the proposal. Returns 0, or -errno after logging the reason.
 */
static int pmi_propose(struct stp_pmi_session *session, int version, int *agreed, bool *refused)
{
    const char *text = session->wire.text;
    char command[32];
    int result = 0;
    int rc;

    rc = stp_wire_send(&session->wire, STP_WIRE_LINE, "cmd=init pmi_version=%d pmi_subversion=%d",
                       version, version == 1 ? 1 : 0);
    if (rc == 0) rc = stp_wire_recv_line(&session->wire, STP_PMI_REPLY_MS);
    if (rc != 0) return stp_pmi_complain(session, "init", rc);
    if (stp_wire_field(text, ' ', "cmd", command, sizeof(command)) ||
        strcmp(command, "response_to_init") != 0)
        return stp_pmi_malformed(session, "init", "it does not belong to this request");
    rc = stp_wire_number(text, ' ', "rc", &result);
    if (rc != 0 && rc != -ENOENT) return stp_pmi_malformed(session, "init", "rc is not a number");
    *refused = result != 0;
    *agreed = version;
    rc = stp_wire_number(text, ' ', "pmi_version", agreed);
    if (rc != 0 && rc != -ENOENT)
        return stp_pmi_malformed(session, "init", "pmi_version is not a number");
    return 0;
}

/*
 * Returns the version of PMI that the library proposes first. Slurm is recognized by PMI_JOBID, and
 * its plugin is made for PMI-2. All other launchers get PMI-1, which has several advantages. A
 * barrier waits for all processes, an abort keeps the exit status, and a get needs no other node.
 * If other PEs send requests during an abort, hydra's front end survives only with PMI-1.
 */
static int pmi_first_version(void)
{
    if (stp_env.pmi == STP_PMI_1) return 1;
    if (stp_env.pmi == STP_PMI_2) return 2;
    return getenv("PMI_JOBID") ? 2 : 1;
}

/*
 * Agrees with the launcher on a version of PMI, and sets *client to the client for this version. If
 * the reply names another version than the proposed one, the library uses that version. It does not
 * send a second init in this case, because Slurm accepts only one init. If the launcher refuses the
 * proposal and names no other version, the library proposes its other version. Returns 0, or -errno
 * after logging the reason.
 */
static int pmi_greet(struct stp_pmi_session *session, const struct stp_pmi_client **client)
{
    int version = pmi_first_version();
    int agreed;
    bool refused;
    int rc = pmi_propose(session, version, &agreed, &refused);

    if (rc == 0 && refused && agreed == version) {
        rc = pmi_propose(session, 3 - version, &agreed, &refused);
        if (refused) agreed = 0;
    }
    if (rc != 0) return rc;
    if (agreed != 1 && agreed != 2)
        return stp_pmi_malformed(session, "init",
                                 "it accepts neither PMI-1 nor PMI-2, and this library supports "
                                 "no other version");
    *client = agreed == 1 ? &stp_pmi1_client : &stp_pmi2_client;
    return 0;
}

/*
 * Returns true if the launcher that started this process uses PMIx. If a job runs inside another
 * job, the process has the variables of two launchers. The library must then use the inner
 * launcher.
 * Hydra and Slurm pass on the PMIx variables of an outer job. Therefore, if PMI_FD is the socket of
 * a launcher, this launcher is the inner one. PMIx launchers close the descriptors of an outer job.
 * Therefore, if PMI_FD is not such a socket, this variable is left over from the outer job.
 */
static bool pmi_uses_pmix(const char *fd)
{
    int number;

    if (stp_env.pmi != STP_PMI_AUTO || !getenv("PMIX_NAMESPACE") || !getenv("PMIX_RANK"))
        return false;
    if (fd && stp_wire_parse_int(fd, &number) == 0 && stp_wire_is_pair(number)) return false;
    return stp_pmix_load() == 0;
}

/*
 * Returns the PMIx client, because SHMEM_PMI=pmix requires it. If PMIx cannot be used, writes the
 * cause to reason and returns NULL.
 */
static const struct stp_pmi_client *pmi_demand_pmix(char *reason, size_t capacity)
{
    if (!getenv("PMIX_NAMESPACE"))
        snprintf(reason, capacity,
                 "SHMEM_PMI=pmix, but PMIX_NAMESPACE is not set: start the program with a PMIx "
                 "launcher (prterun, Open MPI's mpirun, srun --mpi=pmix), or unset SHMEM_PMI");
    else if (stp_pmix_load() != 0)
        snprintf(reason, capacity,
                 "SHMEM_PMI=pmix, but there is no usable libpmix.so.2 (%s): install it, or name "
                 "its directory in LD_LIBRARY_PATH",
                 stp_pmix_missing());
    else
        return &stp_pmix_client;
    return NULL;
}

/*
 * Chooses the client by the environment variables, and writes the reason for the choice to the
 * buffer reason. If the launcher is not supported, writes the error to this buffer and returns
 * NULL. If PMI_FD is set, the greeting can later change the choice between PMI-1 and PMI-2.
 */
static const struct stp_pmi_client *pmi_choose(char *reason, size_t capacity)
{
    const char *fd = getenv("PMI_FD"), *nspace = getenv("PMIX_NAMESPACE");
    int rank;
    int foreign;

    snprintf(reason, capacity, "SHMEM_PMI=single");
    if (stp_env.pmi == STP_PMI_SINGLE) return &single_client;
    snprintf(reason, capacity, "PMIX_NAMESPACE=%s", nspace ? nspace : "");
    if (pmi_uses_pmix(fd)) return &stp_pmix_client;
    if (stp_env.pmi == STP_PMI_X) return pmi_demand_pmix(reason, capacity);
    snprintf(reason, capacity, "PMI_FD=%s", fd ? fd : "");
    if (fd) return pmi_first_version() == 1 ? &stp_pmi1_client : &stp_pmi2_client;
    snprintf(reason, capacity, "no launcher: neither PMI_FD nor a usable PMIX_NAMESPACE is set");
    foreign = pmi_find_foreign(&rank);
    if (foreign < 0) return &single_client;
    snprintf(reason, capacity,
             "%s started this process as one of several (%s=%d), but did not set PMI_FD, which "
             "PEs need to find each other: %s; or set SHMEM_PMI=single to run each process as a "
             "job of one PE",
             foreign_launchers[foreign].name, foreign_launchers[foreign].rank, rank,
             foreign_launchers[foreign].advice);
    return NULL;
}

/*
 * Chooses the client and connects to a PMI launcher. Returns 0, or -errno after logging the reason.
 */
static int pmi_reach(struct stp_pmi_session *session, const struct stp_pmi_client **client)
{
    char reason[STP_PMI_REASON_MAX];
    int rc;

    *client = pmi_choose(reason, sizeof(reason));
    if (*client == &single_client || *client == &stp_pmix_client) return 0;
    if (*client == NULL) {
        stp_error("pmi: %s", reason);
        return -EPROTO;
    }
    rc = pmi_connect(session, getenv("PMI_FD"));
    return rc != 0 ? rc : pmi_greet(session, client);
}

void stp_pmi_describe_client(struct stp_pmi_details *details)
{
    const struct stp_pmi_client *client = pmi_choose(details->reason, sizeof(details->reason));

    if (pmi.client) client = pmi.client;
    details->client = client ? client->name : "none";
    details->key_max = pmi.session.reported_key_max;
    details->value_max = pmi.session.reported_value_max;
    details->fragment = pmi.session.value_max;
    snprintf(details->libpmix, sizeof(details->libpmix), "%s",
             stp_pmix_load() == 0 ? "" : stp_pmix_missing());
}

/* ---- nodes --------------------------------------------------------------- */

/*
 * Makes the map if the launcher provides no usable mapping vector. Uses the launcher's host names,
 * if there are any. If there are none, and the launcher reports that all ranks are local, puts all
 * ranks on one node. In all other cases, the ranks exchange their host names.
 */
static int pmi_map_without_vector(void)
{
    int n_local;
    int rc;

    rc = stp_map_from_launcher_hosts(&pmi.map, pmi.client, &pmi.session);
    if (rc != -ENOENT) return rc;
    if (stp_pmi_env_int("MPI_LOCALNRANKS", 1, &n_local) == 0 && n_local == pmi.session.size)
        return stp_map_one(&pmi.map, pmi.session.size);
    return stp_map_exchange(&pmi.map, pmi.client, &pmi.session);
}

/*
 * Makes the map from ranks to nodes. All ranks receive the same mapping vector and therefore make
 * the map in the same way.
 */
static int pmi_make_map(void)
{
    static char text[STP_WIRE_TEXT_MAX];
    int rc;

    if (pmi.session.size == 1) return stp_map_one(&pmi.map, 1);
    rc = pmi.client->mapping(&pmi.session, text, sizeof(text));
    if (rc != 0 && rc != -ENOENT) return rc;
    if (rc == 0 && text[0] != '\0') {
        rc = stp_map_parse(&pmi.map, text, pmi.session.size);
        if (rc != -EPROTO) return rc;
        if (pmi.session.rank == 0)
            stp_warn("pmi: the launcher's process mapping is malformed (%.80s): host names decide "
                     "instead which PEs share a node",
                     text);
    }
    return pmi_map_without_vector();
}

/* ---- life of the session ------------------------------------------------- */

/*
 * Returns whether an initialized MPI library, other than Open MPI, shares the connection. The MPI
 * library then sends finalize. A finalize from Steppe before it would make Hydra of MPICH 4.2 close
 * the connection, and SIGPIPE would end the process.
 */
static bool pmi_is_finalized_by_mpi(void)
{
    int (*initialized)(int *);
    int flag = 0;

    *(void **)&initialized = dlsym(RTLD_DEFAULT, "MPI_Initialized");
    if (pmi.session.wire.fd < 0 || !initialized || initialized(&flag) != 0) return false;
    return flag && !dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
}

/*
 * Sends finalize when this process exits. Hydra reports a process that exits without finalize as a
 * bad termination.
 */
static void pmi_at_exit(void)
{
    if (!pmi.client || pmi.pid != getpid() || pmi.aborts) return;
    if (pmi.client->finalize && !pmi_is_finalized_by_mpi()) pmi.client->finalize(&pmi.session);
    stp_wire_close(&pmi.session.wire);
    pmi.client = NULL;
}

static int pmi_open_once(void)
{
    const struct stp_pmi_client *client;
    int rc;

    pmi.pid = getpid();
    pmi.session.wire.fd = -1;
    rc = pmi_reach(&pmi.session, &client);
    if (rc == 0) rc = client->open(&pmi.session);
    if (rc != 0) goto err_close;
    if (pmi.session.size < 1 || pmi.session.rank < 0 || pmi.session.rank >= pmi.session.size) {
        stp_error("pmi: the launcher reports an impossible rank for this process: rank %d of %d",
                  pmi.session.rank, pmi.session.size);
        rc = -EPROTO;
        goto err_close;
    }
    pmi.client = client;
    rc = pmi_make_map();
    if (rc != 0) return rc;
    /* Another thread may exit meanwhile, so the handler is registered after the last request. */
    if (atexit(pmi_at_exit) != 0)
        stp_warn("pmi: cannot register an exit handler: the launcher may report that this "
                 "process ended badly");
    pmi.info = (struct stp_pmi_info){
        .client = client->name,
        .rank = pmi.session.rank,
        .size = pmi.session.size,
        .n_nodes = pmi.map.n_nodes,
    };
    return 0;

err_close:
    stp_wire_close(&pmi.session.wire);
    return rc;
}

int stp_pmi_open(struct stp_pmi_info *info)
{
    if (!pmi.tried) {
        pmi.tried = true;
        pmi.rc = pmi_open_once();
    }
    if (pmi.rc == 0) *info = pmi.info;
    return pmi.rc;
}

int stp_pmi_node_of(int rank)
{
    return stp_map_node(&pmi.map, rank);
}

/* ---- key-value space ---------------------------------------------------------- */

static int pmi_check_key(const char *key)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.-";
    size_t len = strlen(key);

    if (len > 0 && len <= STP_PMI_NAME_MAX && strspn(key, allowed) == len) return 0;
    stp_error("pmi: \"%.64s\" is not a valid key: a key has 1 to %d characters of A-Z a-z 0-9 _ . "
              "-",
              key, STP_PMI_NAME_MAX);
    return -EINVAL;
}

static int pmi_check_open(const char *function)
{
    if (pmi.client) return 0;
    stp_error("pmi: %s was called without an open session with the launcher", function);
    return -ENOTCONN;
}

int stp_pmi_put(const char *key, const void *data, size_t nbytes)
{
    int rc = pmi_check_open("put");

    if (rc == 0) rc = pmi_check_key(key);
    return rc != 0 || !pmi.client->put ? rc
                                       : stp_kvs_put(pmi.client, &pmi.session, key, data, nbytes);
}

int stp_pmi_fence(void)
{
    int rc = pmi_check_open("fence");

    return rc != 0 || !pmi.client->fence ? rc : pmi.client->fence(&pmi.session);
}

int stp_pmi_get(int rank, const char *key, void *data, size_t capacity, size_t *nbytes)
{
    int rc = pmi_check_open("get");

    if (rc == 0) rc = pmi_check_key(key);
    if (rc == 0 && !pmi.client->get) rc = -ENOENT;
    return rc != 0 ? rc : stp_kvs_get(pmi.client, &pmi.session, rank, key, data, capacity, nbytes);
}

bool stp_pmi_hung_up(void)
{
    struct pollfd wire = {.fd = pmi.session.wire.fd, .events = POLLRDHUP};

    return pmi.client && wire.fd >= 0 && poll(&wire, 1, 0) > 0;
}

int stp_pmi_socket(void)
{
    return pmi.client && stp_pmi_keeps_status() ? pmi.session.wire.fd : -1;
}

/* ---- abort --------------------------------------------------------------- */

/* If fd is a pipe, waits until the pipe is empty or the deadline has passed. */
static void pmi_drain(int fd, uint64_t deadline)
{
    const struct timespec pause = {.tv_nsec = 50000};
    struct stat st;
    int n_unread;

    if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode)) return;
    while (ioctl(fd, FIONREAD, &n_unread) == 0 && n_unread > 0 && stp_now_ns() < deadline)
        nanosleep(&pause, NULL);
}

/*
 * Waits until the launcher kills this process or closes the connection, at most LINGER_MS. Hydra
 * needs this wait. After an abort, hydra sends a request to its proxy on this node, but the proxy
 * ends when all its processes have ended. If the proxy ends before the request, SIGPIPE kills
 * hydra, and the last output of the job is not printed.
 * With PMIx, a process does not wait here. libpmix has already waited for the launcher, and Open
 * MPI's mpirun itself waits one second for this process to end.
 */
static void pmi_linger(int fd)
{
    struct pollfd wait = {.fd = fd};

    while (poll(&wait, 1, LINGER_MS) < 0 && errno == EINTR)
        continue;
}

void stp_pmi_will_abort(void)
{
    pmi.aborts = true;
}

bool stp_pmi_keeps_status(void)
{
    return pmi.client != &stp_pmi2_client || pmi.session.job[0] == '\0';
}

_Noreturn void stp_pmi_abort(int status, const char *message)
{
    int code = status & 0xff; /* the bits of the status that a shell can see */

    if (status != 0 && code == 0) code = 1;
    if (pmi.client && pmi.pid == getpid()) {
        uint64_t deadline = stp_now_ns() + DRAIN_MS * 1000000ull;

        /* Wait for empty pipes. A launcher that kills this process may drop unread output. */
        pmi_drain(STDERR_FILENO, deadline);
        pmi_drain(STDOUT_FILENO, deadline);
        if (pmi.client->abort) pmi.client->abort(&pmi.session, code, message);
        if (pmi.session.wire.fd >= 0) pmi_linger(pmi.session.wire.fd);
    }
    _exit(code);
}
