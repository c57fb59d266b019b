/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes this process a PE. The process contacts the launcher and reserves the window of symmetric
 * memory. It creates or opens the memory file that the PEs of its node share. In a job on one node,
 * the leader of the node publishes one key through the launcher. In a job of several nodes, each
 * leader publishes two keys. The second key contains the settings and fabric addresses of the
 * node's PEs (exchange.c). If there are several hosts, the first PE of each host also publishes the
 * networks of its host. Design: docs/design/launch.md.
 */
#include "boot_internal.h"

#include "pmi/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define AREA_MAGIC 0x7374657070653032u
/*
 * Seconds that a PE waits for another PE to report a mismatch. If the job still runs after this
 * time, the PE reports the mismatch itself.
 */
#define SILENCE_S 5

/*
 * First data that the leader of a node (the first PE of the node) publishes. Other PEs of the node
 * use the data to find the memory file of the node. PEs also compare some values in the data with
 * their own values before they exchange other data. In all versions of Steppe, the data begins with
 * the fields magic and version.
 */
struct boot_node_info {
    uint64_t magic;
    char version[STP_BOOT_VERSION_MAX];
    uint32_t pe_info_bytes; /* size of struct stp_pe_info, which differs between builds */
    uint32_t node;          /* value of SHMEM_NODE, which decides which PEs are leaders */
    char host[STP_HOST_MAX];
    /* Two random numbers. All PEs of the job use the two numbers that PE 0 publishes. */
    uint64_t job_key, job_token;
    uint64_t nonce;
    uint64_t pids; /* number of the PID namespace in which pid is valid, or 0 if unknown */
    pid_t pid;
    int fd;
    struct stp_window_layout layout;
};

#ifndef STP_BOOT_VERSION /* a test can define another version */
#define STP_BOOT_VERSION STP_VERSION
#endif

struct stp_boot stp_boot;

int stp_node_of(int pe)
{
    return stp_env.node ? stp_pmi_node_of(pe) : pe;
}

int stp_host_of(int pe)
{
    return stp_pmi_node_of(pe);
}

int stp_local_of(int pe)
{
    unsigned local = (unsigned)(pe - stp_boot.first_pe);

    if (!stp_boot.contiguous) return stp_ascending_find(stp_boot.local_pes, stp_boot.n_local, pe);
    return local < (unsigned)stp_boot.n_local ? (int)local : -1;
}

int stp_boot_node(void)
{
    return stp_boot.node;
}

int stp_boot_n_local(void)
{
    return stp_boot.n_local;
}

void stp_boot_publish_job_ended(int status)
{
    int expected = 0;

    stp_boot_tell_oshrun(STP_STAGE_ABORT);
    if (stp_boot.area == NULL) return;
    /*
     * Pairs with the load in stp_boot_ended() and with the same operation in other PEs. Only the
     * first PE of the node that executes this operation stores its status.
     */
    __atomic_compare_exchange_n(&stp_boot.area->end_status, &expected, (status & 0xff) + 1, false,
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

bool stp_boot_ended(int *status)
{
    /* Pairs with the compare-and-swap in stp_boot_publish_job_ended(). */
    int end_status =
        stp_boot.area != NULL ? __atomic_load_n(&stp_boot.area->end_status, __ATOMIC_SEQ_CST) : 0;

    if (end_status != 0) *status = end_status - 1;
    return end_status != 0;
}

int stp_local_pe(int local)
{
    return stp_boot.local_pes[local];
}

/* Finds the PEs of this node, and counts the PEs of this host. */
static void boot_find_local(void)
{
    int n = 0, host = stp_host_of(stp_rt.pe), *shrunk;

    stp_rt.host_pes = 0;
    stp_boot.node = stp_node_of(stp_rt.pe);
    stp_boot.local_pes = malloc((size_t)stp_rt.n_pes * sizeof(*stp_boot.local_pes));
    if (stp_boot.local_pes == NULL)
        stp_fatal("shmem_init", "out of memory: cannot allocate the list of this node's PEs");
    for (int pe = 0; pe < stp_rt.n_pes; pe++) {
        if (pe == stp_rt.pe) stp_boot.host_rank = stp_rt.host_pes;
        stp_rt.host_pes += stp_host_of(pe) == host;
        if (stp_node_of(pe) != stp_boot.node) continue;
        if (pe == stp_rt.pe) stp_boot.local = n;
        stp_boot.local_pes[n++] = pe;
    }
    stp_boot.n_local = n;
    shrunk = realloc(stp_boot.local_pes, (size_t)n * sizeof(*stp_boot.local_pes));
    if (shrunk != NULL) stp_boot.local_pes = shrunk;
    stp_boot.first_pe = stp_boot.local_pes[0];
    stp_boot.contiguous = stp_boot.local_pes[n - 1] - stp_boot.first_pe == n - 1;
}

static void boot_key_name(char *name, size_t len, const char *label, int pe)
{
    snprintf(name, len, "stp%d.%s.%d", stp_rt.epoch, label, pe);
}

void stp_boot_publish(const char *label, int pe, const void *data, size_t nbytes)
{
    char key[48];

    boot_key_name(key, sizeof(key), label, pe);
    if (stp_pmi_put(key, data, nbytes) != 0)
        stp_fatal("shmem_init",
                  "cannot publish the start-up data of PE %d through the launcher (key %s); the "
                  "error before this line gives the reason",
                  pe, key);
    stp_debug("start: published %s, %zu bytes", key, nbytes);
}

size_t stp_boot_kvs_get(const char *label, int pe, void *data, size_t capacity)
{
    char key[48];
    size_t nbytes = 0;
    int rc;

    boot_key_name(key, sizeof(key), label, pe);
    rc = stp_pmi_get(pe, key, data, capacity, &nbytes);
    if (rc != 0)
        stp_fatal("shmem_init",
                  "cannot read the start-up data of PE %d from the launcher (key %s): "
                  "%s; if that PE failed earlier, its output says why",
                  pe, key, strerror(-rc));
    stp_debug("start: read %s, %zu bytes", key, nbytes);
    return nbytes;
}

void stp_boot_fence(void)
{
    int rc;

    stp_init_stragglers_begin();
    rc = stp_pmi_fence();
    stp_init_stragglers_end();
    if (rc != 0)
        stp_fatal("shmem_init",
                  "the launcher failed to synchronize the PEs (PMI fence); another PE "
                  "or the launcher may have failed earlier");
    stp_debug("start: all PEs have reached the launcher's fence");
}

static uint64_t boot_random(void)
{
    uint64_t value;

    if (getrandom(&value, sizeof(value), 0) != sizeof(value))
        stp_fatal("shmem_init", "the system does not return random numbers: getrandom: %s",
                  strerror(errno));
    return value;
}

_Noreturn void stp_boot_abort_mismatch(bool print_now, const char *fmt, ...)
{
    struct timespec silence = {.tv_sec = SILENCE_S};
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    stp_fabric_remove_files(true); /* the launcher may kill this PE while it sleeps */
    if (!print_now) nanosleep(&silence, NULL);
    stp_fatal("shmem_init", "%s", text);
}

/* ---- the node -------------------------------------------------------------- */

/* The wait state pages follow all other data of the node's area except the trailer. */
size_t stp_boot_wait_pages_offset(void)
{
    size_t pe_infos = (size_t)stp_boot.n_local * sizeof(struct stp_pe_info);

    return (sizeof(struct stp_node_shm_header) + pe_infos + stp_boot_hosts_bytes() +
            stp_boot_world_bytes() + STP_CACHE_LINE - 1) /
           STP_CACHE_LINE * STP_CACHE_LINE;
}

static size_t boot_area_bytes(void)
{
    size_t pages = (size_t)stp_boot.n_local * sizeof(struct stp_wait_state_page);
    size_t nbytes = stp_boot_wait_pages_offset() + pages + sizeof(struct stp_node_file_trailer);

    return (nbytes + 0xffff) & ~(size_t)0xffff;
}

struct stp_wait_state_page *stp_boot_wait_state_page(int local)
{
    return (struct stp_wait_state_page *)((char *)stp_boot.area + stp_boot_wait_pages_offset()) +
           local;
}

uint64_t *stp_boot_hang_reported(void)
{
    return &stp_boot.area->hang_reported;
}

void stp_boot_write_trailer_for_oshrun(void)
{
    struct stp_node_file_trailer *trailer =
        (void *)((char *)stp_boot.area + stp_boot.layout.area_bytes);
    size_t hosts_offset = (size_t)(stp_boot_host(0) - (char *)stp_boot.area);

    trailer[-1] =
        (struct stp_node_file_trailer){.magic = STP_TRAILER_MAGIC,
                                       .job = stp_boot.area->job_key,
                                       .area_bytes = stp_boot.layout.area_bytes,
                                       .processes_at = offsetof(struct stp_node_shm_header, pes),
                                       .process_bytes = sizeof(struct stp_pe_info),
                                       .pages_at = stp_boot_wait_pages_offset(),
                                       .hosts_at = stp_rt.n_nodes > 1 ? hosts_offset : 0,
                                       .n_pes = stp_rt.n_pes,
                                       .n_local = stp_boot.n_local,
                                       .n_nodes = stp_rt.n_nodes,
                                       .node = stp_boot.node};
    snprintf(trailer[-1].program, sizeof(trailer->program), "%s", program_invocation_short_name);
}

static void boot_use_area(int fd)
{
    stp_boot.area = stp_window_map_node_area(&stp_boot.layout, fd);
    if (stp_boot.area == NULL)
        stp_fatal("shmem_init", "cannot map the memory that the PEs of this node share; "
                                "the error before this line gives the reason");
}

/*
 * Returns the number of PEs on the node that has the most PEs. Each leader computes the size of the
 * windows from this number, because the windows must have the same size on all nodes. A PE maps the
 * windows of all PEs of its node, and all these windows must fit into the address space of the PE.
 */
static int boot_max_local(void)
{
    int *n_local = calloc((size_t)stp_rt.n_nodes, sizeof(*n_local));
    int max_local = 0;

    if (n_local == NULL)
        stp_fatal("shmem_init",
                  "out of memory: cannot count the PEs of each node (number of nodes: %d)",
                  stp_rt.n_nodes);
    for (int pe = 0; pe < stp_rt.n_pes; pe++) {
        int n = ++n_local[stp_node_of(pe)];
        if (n > max_local) max_local = n;
    }
    free(n_local);
    return max_local;
}

/* Returns the number of this process's PID namespace, or 0 if the system does not report it. */
static uint64_t boot_pid_namespace(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static int boot_lead_node(struct boot_node_info *node_info)
{
    int fd;

    stp_boot.max_local = boot_max_local();
    if (stp_window_choose(stp_boot.max_local, stp_env.symmetric.max, stp_env.window_size,
                          &stp_boot.layout) != 0)
        stp_fatal("shmem_init",
                  "cannot reserve addresses for symmetric memory; the error before this line "
                  "gives the sizes");
    stp_boot.layout.n_local = stp_boot.n_local;
    stp_boot.layout.area_bytes = boot_area_bytes();
    fd = stp_window_create_file(&stp_boot.layout);
    if (fd < 0)
        stp_fatal("shmem_init",
                  "cannot create the memory file that the PEs of this node share; the "
                  "error before this line gives the reason");
    boot_use_area(fd);
    *node_info = (struct boot_node_info){.magic = AREA_MAGIC,
                                         .version = STP_BOOT_VERSION,
                                         .pe_info_bytes = sizeof(struct stp_pe_info),
                                         .node = stp_env.node,
                                         .job_key = boot_random(),
                                         .job_token = boot_random(),
                                         .nonce = boot_random(),
                                         .pids = boot_pid_namespace(),
                                         .pid = getpid(),
                                         .fd = fd,
                                         .layout = stp_boot.layout};
    snprintf(node_info->host, sizeof(node_info->host), "%s", stp_hostname());
    stp_boot.area->magic = AREA_MAGIC;
    stp_boot.area->nonce = node_info->nonce;
    stp_boot.area->n_local = stp_boot.n_local;
    stp_boot.area->missing_drivers = stp_kinds_without_driver();
    stp_boot_write_trailer_for_oshrun(); /* the trailer is written again when job_key is known */
    return fd;
}

/*
 * Opens the memory file of this node's leader and returns its descriptor. Ends the job if the file
 * cannot be opened. Also ends the job if the random number in the file (nonce) differs from the
 * number that the leader published. In this case the path leads to a file of this host, but the
 * leader runs on another host.
 */
static int boot_join_node(const struct boot_node_info *node_info)
{
    char path[64];
    int fd;

    stp_boot.layout = node_info->layout;
    if (stp_boot.foreign_pids)
        stp_fatal("shmem_init",
                  "PE %d runs on this node, but in another PID namespace, so this PE cannot open "
                  "its memory; run all PEs of a host in one PID namespace (containers: "
                  "--pid=host, or one container for all PEs), or set SHMEM_NODE=off to use the "
                  "fabric instead of shared memory",
                  stp_boot.first_pe);
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)node_info->pid, node_info->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE))
        stp_fatal("shmem_init", "cannot open the memory of PE %d: %s", stp_boot.first_pe,
                  stp_errno_text(errno));
    if (fd < 0)
        stp_fatal("shmem_init",
                  "cannot open the memory of PE %d, which the launcher reports on this node: %s: "
                  "%s; oshinfo --doctor prints the remedies, and SHMEM_NODE=off uses the fabric "
                  "instead",
                  stp_boot.first_pe, path, strerror(errno));
    boot_use_area(fd);
    if (stp_boot.area->magic != AREA_MAGIC || stp_boot.area->nonce != node_info->nonce)
        stp_fatal("shmem_init",
                  "%s is not the memory of PE %d, which the launcher reports on this node; if "
                  "that PE runs on another host, set SHMEM_NODE=off to use the fabric instead of "
                  "shared memory",
                  path, stp_boot.first_pe);
    return fd;
}

/*
 * Ends the job if this PE and PE pe have different versions or builds of Steppe, or different
 * values of SHMEM_NODE. node_info contains the nbytes bytes that PE pe published.
 */
static void boot_compare_node_info(int pe, const struct boot_node_info *node_info, size_t nbytes)
{
    bool print_now = stp_boot.host_rank == 0;
    const char *hostname = stp_hostname();

    if (nbytes < offsetof(struct boot_node_info, pe_info_bytes) || node_info->magic != AREA_MAGIC)
        stp_boot_abort_mismatch(print_now,
                                "PE %d has another version of Steppe than PE %d: %s (host %s) "
                                "and an unknown version; use the same version on all hosts",
                                stp_rt.pe, pe, STP_BOOT_VERSION, hostname);
    if (strncmp(node_info->version, STP_BOOT_VERSION, sizeof(node_info->version)) != 0)
        stp_boot_abort_mismatch(print_now,
                                "PE %d has another version of Steppe than PE %d: %s (host %s) "
                                "and %.*s (host %.*s); use the same version on all hosts",
                                stp_rt.pe, pe, STP_BOOT_VERSION, hostname,
                                (int)sizeof(node_info->version), node_info->version,
                                (int)sizeof(node_info->host), node_info->host);
    if (nbytes != sizeof(*node_info) || node_info->pe_info_bytes != sizeof(struct stp_pe_info))
        stp_boot_abort_mismatch(print_now,
                                "PE %d has another build of Steppe %s than PE %d: install the "
                                "same build on all hosts and in all containers",
                                stp_rt.pe, STP_BOOT_VERSION, pe);
    if (node_info->node != stp_env.node)
        stp_boot_abort_mismatch(
            print_now,
            "PE %d has another SHMEM_NODE than PE %d: %s (host %s) and %s (host %.*s); set "
            "the same value for all PEs",
            stp_rt.pe, pe, stp_env.node ? "on" : "off", hostname, node_info->node ? "on" : "off",
            (int)sizeof(node_info->host), node_info->host);
}

/*
 * Reads the node info that PE pe published. Ends the job if the version, the build or SHMEM_NODE of
 * this PE differs from that of PE pe.
 */
static void boot_greet(int pe, struct boot_node_info *node_info)
{
    unsigned char bytes[1024] __attribute__((aligned(8))) = {0};
    size_t nbytes = stp_boot_kvs_get("node_info", pe, bytes, sizeof(bytes));

    memcpy(node_info, bytes, sizeof(*node_info));
    boot_compare_node_info(pe, node_info, nbytes);
    stp_boot.foreign_pids = node_info->pids != boot_pid_namespace();
}

void stp_boot_node_barrier(void)
{
    int generation = __atomic_load_n(&stp_boot.area->generation, __ATOMIC_RELAXED);
    struct stp_wait wait = {0};

    /*
     * Pairs with the same addition in other PEs. Each addition releases the writes of its PE. The
     * addition of the last PE acquires the writes of all other PEs.
     */
    if (__atomic_fetch_add(&stp_boot.area->arrived, 1, __ATOMIC_ACQ_REL) == stp_boot.n_local - 1) {
        __atomic_store_n(&stp_boot.area->arrived, 0, __ATOMIC_RELAXED);
        /*
         * Pairs with the acquire load below in the other PEs. After the load, these PEs see all
         * writes that PEs of the node made before the barrier.
         */
        __atomic_store_n(&stp_boot.area->generation, generation + 1, __ATOMIC_RELEASE);
        stp_wake((uint32_t *)&stp_boot.area->generation, INT_MAX);
        return;
    }
    /* Pairs with the release store above, in the PE that arrived last. */
    while (__atomic_load_n(&stp_boot.area->generation, __ATOMIC_ACQUIRE) == generation) {
        if (wait.polls < stp_wait_spin)
            stp_wait_step(&wait);
        else
            stp_wait_sleep((uint32_t *)&stp_boot.area->generation, (uint32_t)generation);
    }
}

/*
 * Warns if the symmetric heaps of this host together exceed the memory limit of the control group.
 * Larger heaps are not an error, because a heap takes memory only when its pages are touched.
 * However, if the PEs touch more memory than the limit, the kernel kills a PE without a message.
 */
static void boot_warn_memory(void)
{
    size_t limit, total;

    if (stp_env.default_space != 0 /* no host memory */ || stp_boot.host_rank != 0) return;
    limit = stp_cgroup_memory();
    if (limit == SIZE_MAX) return;
    if (!__builtin_mul_overflow(stp_env.symmetric.size, (size_t)stp_rt.host_pes, &total) &&
        total <= limit)
        return;
    stp_warn("the symmetric heaps on this host (%d x %zu MiB) exceed the memory limit of its "
             "control group, %zu MiB (memory.max): the kernel kills a PE when the group touches "
             "more; lower SHMEM_SYMMETRIC_SIZE or raise the limit",
             stp_rt.host_pes, stp_env.symmetric.size >> 20, limit >> 20);
}

void stp_boot_join_job(void)
{
    int level = stp_env.warn ? STP_LOG_WARN : STP_LOG_ERROR;
    struct stp_pmi_info info;

    stp_log_level = level; /* also limits the messages of the PMI client */
    if (stp_pmi_open(&info) != 0)
        stp_fatal("shmem_init", "cannot join the job of a launcher; the error before "
                                "this line gives the reason, and oshinfo --doctor "
                                "examines the launcher");
    stp_rt.pe = info.rank;
    stp_rt.n_pes = info.size;
    stp_log_identify(info.rank, stp_env.debug ? STP_LOG_DEBUG : level);
    stp_rt.n_nodes = stp_env.node ? info.n_nodes : info.size;
    stp_boot.n_hosts = info.n_nodes;
    boot_find_local();
    boot_warn_memory();
}

void stp_boot_open_window(void)
{
    struct boot_node_info node_info;
    int fd = -1;

    if (stp_boot.local == 0) fd = boot_lead_node(&node_info);
    if (stp_rt.n_pes > 1) {
        if (stp_boot.local == 0)
            stp_boot_publish("node_info", stp_rt.pe, &node_info, sizeof(node_info));
        if (stp_boot.n_hosts > 1 && stp_boot.host_rank == 0) stp_network_publish_host(stp_rt.pe);
        stp_boot_fence();
        if (stp_boot.local != 0) {
            boot_greet(stp_boot.first_pe, &node_info);
            fd = boot_join_node(&node_info);
        } else {
            if (stp_rt.pe != 0) boot_greet(0, &node_info);
            stp_boot.area->job_key = node_info.job_key;
            stp_boot.area->job_token = node_info.job_token;
            if (stp_boot.n_hosts > 1)
                stp_boot.area->n_networks = stp_network_judge_published(
                    stp_rt.pe, stp_rt.n_pes, stp_boot.n_hosts, stp_boot.area->networks);
        }
    }
    if (stp_boot.local == 0) stp_boot_write_trailer_for_oshrun();
    stp_boot_node_barrier();
    if (stp_boot.local != 0)
        stp_kinds_mark_driver_missing(stp_boot.area->missing_drivers, stp_boot.first_pe);
    stp_rt.job_key = stp_boot.area->job_key;
    stp_rt.job_token = stp_boot.area->job_token;
    if (stp_window_reserve(&stp_boot.layout, fd, stp_boot.local) != 0)
        stp_fatal("shmem_init",
                  "cannot map symmetric memory; the error before this line gives the reason");
    /*
     * Close the descriptor. Other PEs do not need it, because they opened the file before the
     * barrier above.
     */
    close(fd);
    if (!stp_rt.check && stp_boot.contiguous)
        stp_window_set_peers(stp_boot.first_pe, stp_boot.n_local);
}

void stp_boot_close_node_area(void)
{
    stp_boot_node_barrier();
    munmap(stp_boot.area, stp_boot.layout.area_bytes);
    free(stp_boot.local_pes);
    memset(&stp_boot, 0, sizeof(stp_boot));
}
