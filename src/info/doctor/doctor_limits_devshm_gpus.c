/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks this host: the limits of the process (locked memory, descriptors, threads), /dev/shm and
 * GPUs. Where possible, a check performs the operation that could fail in a job.
 */
#include "doctor.h"

#include "core/job_state.h"
#include "pshmem.h"

#include <errno.h>
#include <glob.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool may_lock_memory(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

    return syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_IPC_LOCK & 1) != 0;
}

static size_t count_files(const char *pattern)
{
    glob_t found = {0};
    size_t n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;

    globfree(&found);
    return n;
}

/* ---- locked memory -------------------------------------------------------- */

static void host_memlock(struct stp_doctor *doctor)
{
    size_t hard, soft = stp_limit(RLIMIT_MEMLOCK, &hard), needed = stp_env.symmetric.size;
    size_t adapters = count_files("/sys/class/infiniband/*") + count_files("/sys/class/cxi/*");
    bool exempt = may_lock_memory(), enough = soft >= needed || exempt;
    char limit_text[STP_SIZE_TEXT], heap_text[STP_SIZE_TEXT];
    enum stp_check_severity severity = enough                                ? STP_CHECK_OK
                                       : doctor->offers.pins_used            ? STP_CHECK_PROBLEM
                                       : doctor->offers.pins || adapters > 0 ? STP_CHECK_WARNING
                                                                             : STP_CHECK_NOTE;

    stp_doctor_add_check(
        doctor, severity, "locked memory",
        "providers for RDMA adapters (verbs, efa, cxi, opx) pin the memory that they register, "
        "including the symmetric heap; tcp, net and shm pin nothing",
        enough ? NULL
               : "run ulimit -l unlimited in the shell that starts the job; for logins, put \"* - "
                 "memlock unlimited\" in /etc/security/limits.conf; for services of systemd (sshd, "
                 "slurmd), put LimitMEMLOCK=infinity in the unit",
        "ulimit -l: %s%s; size of a symmetric heap: %s; RDMA adapters on this host: %zu; %s",
        stp_size_text(soft, limit_text),
        exempt && soft != SIZE_MAX ? ", from which this process is exempt (CAP_IPC_LOCK)" : "",
        stp_size_text(needed, heap_text), adapters,
        doctor->offers.provider[0] == '\0' ? "no provider is used"
        : doctor->offers.pins_used         ? "the provider in use pins memory"
                                           : "the provider in use pins no memory");
}

/*
 * Number of peers, in addition to those of this job, for which the limit on descriptors should have
 * room. If the limit has no room for them, the check reports a warning.
 */
#define FEW_PEERS 64

/* ---- descriptors ----------------------------------------------------------- */

/* Returns the number of peers with which this PE communicates through the fabric. */
static size_t fabric_peers(const struct stp_doctor *doctor)
{
    return (size_t)(stp_env.node ? doctor->n_pes - doctor->n_local : doctor->n_pes - 1);
}

static void host_descriptors(struct stp_doctor *doctor)
{
    static const char reason[] =
        "an endpoint of the fabric needs file descriptors; with tcp, every "
        "peer with which a PE communicates needs more";
    size_t hard, soft = stp_limit(RLIMIT_NOFILE, &hard), peers, needed, max_peers;
    int n_open = stp_count_fds();
    char todo[160], limit_text[STP_SIZE_TEXT];
    enum stp_check_severity severity = STP_CHECK_OK;
    bool too_few;

    snprintf(limit_text, sizeof(limit_text), "%zu", soft);
    if (n_open < 0 || doctor->offers.fds_open < 0) {
        snprintf(todo, sizeof(todo), "run ulimit -n %zu before the job (the hard limit is %zu)",
                 hard < 65536 ? hard : (size_t)65536, hard);
        stp_doctor_add_check(doctor, doctor->offers.no_fds ? STP_CHECK_PROBLEM : STP_CHECK_NOTE,
                             "descriptors", reason, doctor->offers.no_fds ? todo : NULL,
                             "ulimit -n: %s; the number of descriptors that a job needs could "
                             "not be measured: %s",
                             limit_text,
                             n_open < 0 ? "/proc/self/fd cannot be read"
                                        : "no provider was opened for the "
                                          "measurement");
        return;
    }
    peers = fabric_peers(doctor);
    needed = (size_t)(n_open + doctor->offers.fds_open) + peers * (size_t)doctor->offers.fds_peer;
    too_few = needed > soft || doctor->offers.no_fds;
    if (!too_few && doctor->offers.fds_peer > 0 &&
        soft - needed < FEW_PEERS * (size_t)doctor->offers.fds_peer)
        severity = STP_CHECK_WARNING;
    if (too_few) severity = STP_CHECK_PROBLEM;
    snprintf(todo, sizeof(todo),
             "run ulimit -n %zu before the job (the hard limit is %zu; root raises it with "
             "nofile in /etc/security/limits.conf)",
             needed > 4096 ? 2 * needed : (size_t)4096, hard);
    max_peers = doctor->offers.fds_peer > 0 && soft > needed
                    ? peers + (soft - needed) / (size_t)doctor->offers.fds_peer
                    : peers;
    snprintf(limit_text, sizeof(limit_text), doctor->offers.fds_peer > 0 ? "%zu" : "any number of",
             max_peers);
    stp_doctor_add_check(
        doctor, severity, "descriptors", reason, severity == STP_CHECK_OK ? NULL : todo,
        "ulimit -n: %zu; descriptors that are open now: %d; an endpoint of %s needs %d and each "
        "peer %d; this job needs %zu in total; with this limit, the number of peers of a PE can be "
        "%s%s",
        soft, n_open, doctor->offers.provider, doctor->offers.fds_open, doctor->offers.fds_peer,
        needed, limit_text,
        doctor->offers.no_fds ? "; another provider could not be opened because descriptors "
                                "ran out"
                              : "");
}

/* ---- threads ---------------------------------------------------------------- */

static void *no_work(void *arg)
{
    return arg;
}

/*
 * Starts three threads, because the library starts up to three: progress, proxy and watch. Returns
 * 0 or errno.
 */
static int try_threads(void)
{
    pthread_t threads[3];
    int n = 0, rc = 0;

    while (n < 3 && (rc = pthread_create(&threads[n], NULL, no_work, NULL)) == 0)
        n++;
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return rc;
}

static void host_threads(struct stp_doctor *doctor)
{
    size_t hard, soft = stp_limit(RLIMIT_NPROC, &hard);
    size_t group = stp_file_number("/sys/fs/cgroup/pids.max", "");
    char user[STP_SIZE_TEXT], pids[STP_SIZE_TEXT];
    int rc = try_threads();

    snprintf(user, sizeof(user), soft == SIZE_MAX ? "unlimited" : "%zu", soft);
    snprintf(pids, sizeof(pids), group == SIZE_MAX ? "none found" : "%zu", group);
    stp_doctor_add_check(
        doctor, rc == 0 ? STP_CHECK_OK : STP_CHECK_PROBLEM, "threads",
        "the library starts up to three threads in each PE: for fabric progress, as proxy for "
        "device memory, and to watch the launcher",
        rc == 0 ? NULL
                : "raise the limit on processes and threads: run ulimit -u unlimited before the "
                  "job; in a container, raise its pids limit (docker run --pids-limit=-1)",
        "three threads could be started: %s; ulimit -u: %s; pids limit of the control group: %s",
        rc == 0 ? "yes" : strerror(rc), user, pids);
}

/* ---- /dev/shm and GPUs ------------------------------------------------------- */

static void host_dev_shm(struct stp_doctor *doctor)
{
    static const char reason[] = "the provider shm keeps its queues and copies in /dev/shm; "
                                 "Steppe's own shared memory does not use /dev/shm";
    bool is_used = strcmp(doctor->offers.provider, "shm") == 0;
    struct statvfs fs;
    char free_text[STP_SIZE_TEXT], total_text[STP_SIZE_TEXT];
    bool writable = access("/dev/shm", W_OK | X_OK) == 0;
    int error = errno;

    if (statvfs("/dev/shm", &fs) != 0 || !writable) {
        stp_doctor_add_check(doctor, is_used ? STP_CHECK_WARNING : STP_CHECK_NOTE, "/dev/shm",
                             reason, "mount -t tmpfs -o mode=1777 tmpfs /dev/shm (as root)",
                             "/dev/shm cannot be used: %s", strerror(writable ? errno : error));
        return;
    }
    stp_size_text((size_t)fs.f_bavail * fs.f_frsize, free_text);
    stp_size_text((size_t)fs.f_blocks * fs.f_frsize, total_text);
    stp_doctor_add_check(
        doctor, fs.f_bavail > 0 ? STP_CHECK_OK : STP_CHECK_WARNING, "/dev/shm", reason,
        fs.f_bavail > 0 ? NULL
                        : "delete files in /dev/shm that jobs have left there, or make it "
                          "larger: docker run --shm-size=4g, or mount -o remount,size=4g "
                          "/dev/shm (as root)",
        "%s free of %s; the provider shm is %s", free_text, total_text,
        is_used ? "used" : "not used");
}

/* Lists the files of provider shm that processes of this user left in /dev/shm when they ended. */
static void host_dev_shm_files(struct stp_doctor *doctor)
{
    char names[512] = "";
    glob_t found = {0};
    struct stat st;
    int len = 0;

    if (glob("/dev/shm/[0-9]*:[0-9]*:[0-9]*", 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc && len < 400; i++) {
        const char *path = found.gl_pathv[i], *name = path + strlen("/dev/shm/");

        if (lstat(path, &st) == 0 && st.st_uid == geteuid() && kill(atoi(name), 0) != 0 &&
            errno == ESRCH)
            len += snprintf(names + len, sizeof(names) - (size_t)len, " %.64s", name);
    }
    globfree(&found);
    if (len == 0) return;
    stp_doctor_add_check(
        doctor, STP_CHECK_WARNING, "files in /dev/shm",
        "a job that was killed left these files, and each takes up to 16 MiB of memory",
        "for f in /dev/shm/[0-9]*:[0-9]*:*; do p=${f##*/}; [ -d /proc/${p%%:*} ] || rm -f $f; done",
        "left by processes that have ended:%s%s", names, len < 400 ? "" : " ...");
}

static void host_gpu(struct stp_doctor *doctor)
{
    const struct stp_kind *kind = stp_kind_find(SHMEM_DEVICE_GPU);
    const struct stp_space_params params = {.nbytes = 65536, .device = -1, .n_pes = 1};
    size_t devices = count_files("/dev/nvidia[0-9]*");
    char text[256] = "";
    bool usable;
    bool unusable;

    if (!doctor->in_job) stp_kinds_find_devices(); /* in a live job, init has found the devices */
    usable = kind->probe(&params, text, sizeof(text)) == 0;
    if (!doctor->in_job) stp_kinds_stop();
    unusable = !usable && devices > 0 && stp_env.gpu;
    stp_doctor_add_check(
        doctor, unusable ? STP_CHECK_WARNING : STP_CHECK_OK, "gpu",
        "spaces of GPU memory need the library (libcuda.so.1) and the device files of the "
        "driver; host memory needs neither",
        unusable ? "run nvidia-smi to see whether the driver works; start a container with the "
                   "devices and the libraries of the driver (docker run --gpus all)"
                 : NULL,
        "usable: %s (%s); device files /dev/nvidia*: %zu", usable ? "yes" : "no", text, devices);
}

void stp_doctor_host_limits(struct stp_doctor *doctor)
{
    host_memlock(doctor);
    host_descriptors(doctor);
    host_threads(doctor);
    host_dev_shm(doctor);
    host_dev_shm_files(doctor);
    host_gpu(doctor);
}
