/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the launcher and the node. Joins the job without starting the library. Tests whether the
 * PEs of a host can open each other's memory.
 */
#include "doctor.h"

#include "boot/boot_internal.h"
#include "core/job_state.h"
#include "pmi/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOB_PEERS_MAX 64 /* maximum number of PEs of this host whose memory is opened */

/* Data that other PEs of the host need to find and open the memory of a PE. */
struct job_peer {
    pid_t pid;
    int fd;
    uint64_t word; /* value that other PEs must read from the memory */
};

static const char launcher_reason[] =
    "PEs learn their numbers, their hosts and each other's addresses "
    "from the launcher";

/* ---- launcher ---------------------------------------------------------------- */

static void check_launcher(struct stp_doctor *doctor)
{
    struct stp_pmi_details details;
    char limits[128] = "it reports no limits";
    static const char *const names[] = {"mpiexec.hydra", "mpiexec", "srun", "mpirun", "prterun"};
    bool found = doctor->has_job || stp_env.pmi == STP_PMI_SINGLE || stp_env.launcher != NULL;

    for (size_t i = 0; i < STP_COUNT(names); i++)
        found = found || stp_in_path(names[i]);
    if (!found) {
        stp_doctor_add_check(
            doctor, STP_CHECK_PROBLEM, "launcher", launcher_reason,
            "install mpiexec.hydra, which comes with MPICH, or name a launcher in SHMEM_LAUNCHER",
            "no folder in PATH has mpiexec.hydra, mpiexec, srun, mpirun or prterun");
        return;
    }
    stp_pmi_describe_client(&details);
    if (details.key_max > 0)
        snprintf(limits, sizeof(limits), "its keys may have %d characters and its values %d",
                 details.key_max, details.value_max);
    stp_doctor_add_check(
        doctor, STP_CHECK_OK, "launcher", launcher_reason, NULL,
        "%s (%s): %d PE%s on %d host%s; %s; Steppe splits the start-up data of PEs into "
        "fragments of at most %zu characters",
        details.client, details.reason, doctor->n_pes, doctor->n_pes > 1 ? "s" : "",
        doctor->n_hosts, doctor->n_hosts > 1 ? "s" : "", limits, details.fragment);
}

static void check_no_launcher(struct stp_doctor *doctor, const struct stp_pmi_details *details)
{
    if (strcmp(details->client, "none") == 0)
        stp_doctor_add_check(
            doctor, STP_CHECK_PROBLEM, "launcher", launcher_reason,
            "start the program with oshrun or with srun --mpi=pmi2, or set SHMEM_PMI=single to "
            "run each process as a job of one PE",
            "no usable launcher: %s", details->reason);
    else
        stp_doctor_add_check(
            doctor, STP_CHECK_PROBLEM, "launcher", launcher_reason,
            "start the program with oshrun; unset PMI_FD if another job has left it in the "
            "environment",
            "%s (%s): this process cannot join the job of this launcher; the message on standard "
            "error gives the reason",
            details->client, details->reason);
}

/* ---- unknown variables ------------------------------------------------------- */

static void check_environment(struct stp_doctor *doctor)
{
    char name[64], found[512] = "";
    const char *suggestion;
    size_t len = 0;

    for (size_t position = 0;
         (suggestion = stp_env_unknown(&position, name, sizeof(name))) != NULL;)
        if (len < sizeof(found))
            len += (size_t)snprintf(found + len, sizeof(found) - len, "%s%s%s%s%s",
                                    len > 0 ? "; " : "", name,
                                    suggestion[0] != '\0' ? " (did you mean " : "", suggestion,
                                    suggestion[0] != '\0' ? "?)" : "");
    stp_doctor_add_check(
        doctor, len > 0 ? STP_CHECK_WARNING : STP_CHECK_OK, "variables",
        "a variable with a wrong name has no effect",
        len > 0 ? "correct or unset these variables; oshinfo environment lists all that exist"
                : NULL,
        "%s", len > 0 ? found : "no variable that begins with SHMEM_ or SMA_ has an unknown name");
}

static void count_local(struct stp_doctor *doctor)
{
    int *counts = calloc((size_t)doctor->n_hosts, sizeof(*counts));
    int my_host = stp_pmi_node_of(doctor->pe);

    doctor->leads = true;
    for (int pe = 0; counts != NULL && pe < doctor->n_pes; pe++) {
        int host = stp_pmi_node_of(pe), n = ++counts[host];

        if (host == my_host && pe < doctor->pe) doctor->leads = false;
        if (n > doctor->most_local) doctor->most_local = n;
    }
    doctor->n_local = counts != NULL ? counts[my_host] : 1;
    if (counts == NULL) doctor->most_local = 1;
    free(counts);
}

/* Finds the interfaces that reach the other hosts. Uses the same code as the start of a job. */
static void judge_networks(struct stp_doctor *doctor)
{
    if (doctor->leads) stp_network_publish_host(doctor->pe);
    if (stp_pmi_fence() == 0 && doctor->leads)
        doctor->n_networks = stp_network_judge_published(doctor->pe, doctor->n_pes, doctor->n_hosts,
                                                         doctor->networks);
}

static void join_live(struct stp_doctor *doctor)
{
    doctor->pe = stp_rt.pe;
    doctor->n_pes = stp_rt.n_pes;
    doctor->n_hosts = stp_boot.n_hosts;
    doctor->n_local = doctor->most_local = stp_rt.host_pes;
    doctor->has_job = true;
}

/* Connects to the launcher. If this fails, adds a check with the reason and returns false. */
static bool join_launcher(struct stp_doctor *doctor)
{
    struct stp_pmi_details details;
    struct stp_pmi_info info;

    stp_pmi_describe_client(&details);
    if (strcmp(details.client, "none") == 0 || stp_pmi_open(&info) != 0) {
        check_no_launcher(doctor, &details);
        return false;
    }
    doctor->has_job = strcmp(info.client, "single") != 0;
    doctor->pe = info.rank;
    doctor->n_pes = info.size;
    doctor->n_hosts = info.n_nodes;
    count_local(doctor);
    if (doctor->n_hosts > 1) judge_networks(doctor);
    return true;
}

void stp_doctor_join_job(struct stp_doctor *doctor)
{
    bool joined = true;

    doctor->n_pes = doctor->n_hosts = doctor->n_local = doctor->most_local = 1;
    doctor->leads = true;
    if (doctor->in_job)
        join_live(doctor);
    else
        joined = join_launcher(doctor);
    if (joined) check_launcher(doctor);
    check_environment(doctor);
}

/* ---- the PEs of a host -------------------------------------------------------- */

/* Creates a memory file that other PEs can open in the same way as in init. Returns 0 or errno. */
static int create_memory(struct job_peer *peer)
{
    int fd = memfd_create("steppe-doctor", MFD_CLOEXEC), rc;

    *peer = (struct job_peer){.pid = getpid(), .fd = fd, .word = (uint64_t)getpid() << 20 ^ 0x53a7};
    if (fd < 0) return errno;
    rc = stp_file_resize(fd, sizeof(peer->word));
    if (rc != 0) return -rc;
    if (pwrite(fd, &peer->word, sizeof(peer->word), 0) == sizeof(peer->word)) return 0;
    return errno;
}

/*
 * Opens the memory of another PE and checks its content, as PEs of one node do in init. Returns 0
 * or errno.
 */
static int open_memory(const struct job_peer *peer)
{
    uint64_t word = 0;
    char path[64];
    int fd, error = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)peer->pid, peer->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return errno;
    if (pread(fd, &word, sizeof(word), 0) != sizeof(word) || word != peer->word) error = ESTALE;
    close(fd);
    return error;
}

/*
 * Results of two operations that another process tries on this process. Each result is 0 or an
 * errno value.
 */
struct job_rights {
    int open; /* result of opening the memory file */
    int copy; /* result of process_vm_readv() */
};

static void try_from_child(struct job_peer *peer, struct job_rights *rights)
{
    uint64_t word = 0;
    struct iovec local = {&word, sizeof(word)}, remote = {&peer->word, sizeof(peer->word)};

    rights->open = open_memory(peer);
    errno = 0;
    rights->copy =
        process_vm_readv(peer->pid, &local, 1, &remote, 1, 0) == sizeof(word) ? 0 : errno;
}

/*
 * Tries both operations of struct job_rights in a child process, which acts like another PE.
 * Returns false if the child could not try them.
 */
static bool try_rights(struct job_peer *peer, struct job_rights *rights)
{
    int ends[2];
    bool received = false;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    child = fork();
    if (child == 0) {
        try_from_child(peer, rights);
        _exit(write(ends[1], rights, sizeof(*rights)) != sizeof(*rights));
    }
    close(ends[1]);
    if (child > 0) {
        received = read(ends[0], rights, sizeof(*rights)) == sizeof(*rights);
        waitpid(child, NULL, 0);
    }
    close(ends[0]);
    return received;
}

/*
 * Tries to open the memory of at most JOB_PEERS_MAX other PEs of this host. Sets *n_tried to the
 * number of PEs that were tried. Returns the number of PEs whose memory could not be opened. Sets
 * *error to the errno of the first failure, or to 0.
 */
static int try_peers(const struct stp_doctor *doctor, int *n_tried, int *error)
{
    int my_host = stp_pmi_node_of(doctor->pe), n_failed = 0;

    *n_tried = *error = 0;
    for (int pe = 0; pe < doctor->n_pes && *n_tried < JOB_PEERS_MAX; pe++) {
        struct job_peer peer;
        size_t nbytes = 0;
        char key[48];
        int rc;

        if (pe == doctor->pe || stp_pmi_node_of(pe) != my_host) continue;
        snprintf(key, sizeof(key), "doc.peer.%d", pe);
        rc = -stp_pmi_get(pe, key, &peer, sizeof(peer), &nbytes);
        if (rc == 0) rc = nbytes == sizeof(peer) ? open_memory(&peer) : EPROTO;
        ++*n_tried;
        if (rc != 0 && n_failed++ == 0) *error = rc;
    }
    return n_failed;
}

static const char node_reason[] =
    "the PEs of a host share memory by opening each other's /proc/PID/fd; the provider shm, and "
    "shmemx_buffer_register for private memory, copy with process_vm_readv if the system allows it";
static const char node_todo[] =
    "run all PEs of a host as one user, in one PID namespace (containers: --pid=host, or one "
    "container per host), from an executable that this user may read (chmod a+r), without file "
    "capabilities and without prctl(PR_SET_DUMPABLE, 0); or set SHMEM_NODE=off to use the fabric "
    "instead of shared memory";

static void check_node(struct stp_doctor *doctor, const struct job_rights *rights,
                       const char *peers, bool peers_failed)
{
    size_t scope = stp_file_number("/proc/sys/kernel/yama/ptrace_scope", "");
    char yama[32];
    bool failed = rights->open != 0 || peers_failed;

    snprintf(yama, sizeof(yama), scope == SIZE_MAX ? "none" : "%zu", scope);
    stp_doctor_add_check(
        doctor,
        failed && stp_env.node        ? STP_CHECK_PROBLEM
        : failed || rights->copy != 0 ? STP_CHECK_NOTE
                                      : STP_CHECK_OK,
        "node sharing", node_reason,
        failed ? node_todo
        : rights->copy != 0
            ? "without this right both of them copy in a slower way; to grant the right: sysctl "
              "kernel.yama.ptrace_scope=0 (as root); in a container: --cap-add=SYS_PTRACE"
            : NULL,
        "%sanother process can open the memory of this process: %s; another process can read this "
        "memory with process_vm_readv: %s; kernel.yama.ptrace_scope: %s; dumpable: %d; SHMEM_NODE: "
        "%s",
        peers, rights->open == 0 ? "yes" : strerror(rights->open),
        rights->copy == 0 ? "yes" : strerror(rights->copy), yama, prctl(PR_GET_DUMPABLE),
        stp_env.node ? "on" : "off");
}

/*
 * Tests on the first PE of each host whether it can open the memory of the host's other PEs. Writes
 * the result to `text`. Returns false if the memory of a PE could not be opened.
 */
static bool meet_peers(const struct stp_doctor *doctor, const struct job_peer *peer, char *text,
                       size_t len)
{
    int n_tried = 0, n_failed = 0, error = 0;
    char key[48];

    text[0] = '\0';
    if (doctor->n_pes == 1 || doctor->in_job) return true;
    snprintf(key, sizeof(key), "doc.peer.%d", doctor->pe);
    stp_pmi_put(key, peer, sizeof(*peer));
    if (stp_pmi_fence() == 0 && doctor->leads) n_failed = try_peers(doctor, &n_tried, &error);
    stp_pmi_fence(); /* our memory must exist until the first PE of the host has read it */
    snprintf(text, len, "PE %d opened the memory of %d of %d other PEs of its host%s%s; ",
             doctor->pe, n_tried - n_failed, n_tried, n_failed > 0 ? ": " : "",
             n_failed > 0 ? strerror(error) : "");
    return n_failed == 0;
}

void stp_doctor_node_sharing(struct stp_doctor *doctor)
{
    struct job_peer peer;
    struct job_rights rights = {0};
    int error = create_memory(&peer);
    char peers[160];
    bool opened_all = meet_peers(doctor, &peer, peers, sizeof(peers));

    if (peer.fd < 0)
        stp_doctor_add_check(
            doctor, STP_CHECK_PROBLEM, "node sharing", node_reason,
            "allow memfd_create (seccomp profile of the container), or free descriptors "
            "(ulimit -n)",
            "memory cannot be shared: memfd_create: %s", stp_errno_text(error));
    else if (!try_rights(&peer, &rights))
        stp_doctor_add_check(doctor, STP_CHECK_NOTE, "node sharing", node_reason, NULL,
                             "not checked, because no child process could be started: %s",
                             strerror(errno));
    else
        check_node(doctor, &rights, peers, !opened_all);
    if (peer.fd >= 0) close(peer.fd);
}
