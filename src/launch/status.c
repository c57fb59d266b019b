/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the PEs of a running job do, by what they show to their node: each has the node's memory
 * file open, which /proc leads to. Nothing is sent to a PE. Those that are still in shmem_init show
 * nothing, but have their witness open; the launcher's variables tell which PE a process is.
 * Design: docs/design/hang.md.
 */
#include "launch.h"

#include "base/notes.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MOST 65536 /* of an environment that is looked at */

/* A process of this host that may be one of PEs'. */
struct process {
    pid_t pid, parent, proxy; /* proxy: the innermost that is no PE, above it */
    int pe, n_pes;            /* as its launcher has told it, -1: it has not */
    bool witness;             /* has begun shmem_init */
    bool shown;               /* in the table of a node */
    bool foreign;             /* its node's file is one of another version */
    bool ours;                /* started by the oshrun that was asked for */
};

/* The memory of one node of a job. */
struct node {
    dev_t device;
    ino_t inode;
    const char *area;
    struct stp_node_mark mark;
};

static struct {
    pid_t of; /* 0: all jobs */
    char of_job[64];
    struct process *processes;
    size_t n_processes;
    struct node *nodes;
    size_t n_nodes;
    FILE *out;
    int n_told;
} status;

static void *grown(void *list, size_t n, size_t each)
{
    void *more = (n & (n - 1)) == 0 ? realloc(list, (n == 0 ? 1 : 2 * n) * each) : list;

    if (more == NULL) launch_fail("no memory");
    return more;
}

/* ---- processes ------------------------------------------------------------------------ */

static size_t read_text(pid_t pid, const char *name, char *text, size_t len)
{
    char path[64];
    size_t got = 0;
    ssize_t n = 1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n > 0 && got < len - 1) {
        n = read(fd, text + got, len - 1 - got);
        if (n > 0) got += (size_t)n;
    }
    if (fd >= 0) close(fd);
    text[got] = '\0';
    return got;
}

static pid_t parent_of(pid_t pid)
{
    char text[512];
    const char *behind;
    int parent = 0;

    read_text(pid, "stat", text, sizeof(text));
    behind = strrchr(text, ')');
    if (behind == NULL || sscanf(behind + 1, " %*c %d", &parent) != 1) return 0;
    return parent;
}

/* The value of the first of some variables that an environment has, as a number; -1: none. */
static int number_in(const char *text, size_t len, const char *const *names)
{
    for (; *names != NULL; names++) {
        size_t n = strlen(*names);

        for (const char *at = text; at < text + len; at += strlen(at) + 1)
            if (strncmp(at, *names, n) == 0 && at[n] == '=' && isdigit((unsigned char)at[n + 1]))
                return (int)strtol(at + n + 1, NULL, 10);
    }
    return -1;
}

static void read_variables(struct process *process)
{
    static const char *const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", NULL};
    static const char *const sizes[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", NULL};
    static char text[TEXT_MOST];
    size_t len = read_text(process->pid, "environ", text, sizeof(text));

    process->pe = number_in(text, len, ranks);
    process->n_pes = number_in(text, len, sizes);
    for (const char *at = text; at < text + len; at += strlen(at) + 1)
        if (strncmp(at, LAUNCH_VARIABLE "=", strlen(LAUNCH_VARIABLE "=")) == 0 &&
            strcmp(at + strlen(LAUNCH_VARIABLE "="), status.of_job) == 0)
            process->ours = true;
}

static struct process *process_by(pid_t pid)
{
    for (size_t i = 0; i < status.n_processes; i++)
        if (status.processes[i].pid == pid) return &status.processes[i];
    return NULL;
}

/* ---- nodes ---------------------------------------------------------------------------- */

/* The area of a node's file, if it is one that we can read. */
static bool node_map(struct node *node, int fd, off_t size)
{
    struct stp_node_mark *mark = &node->mark;
    size_t nbytes;

    if (size < (off_t)sizeof(*mark) ||
        pread(fd, mark, sizeof(*mark), size - (off_t)sizeof(*mark)) != sizeof(*mark) ||
        mark->magic != STP_MARK_MAGIC || mark->n_local < 1 || mark->area_bytes > (uint64_t)size ||
        mark->pages_at > mark->area_bytes || mark->processes_at > mark->area_bytes)
        return false;
    nbytes = (size_t)mark->area_bytes;
    if ((nbytes - mark->pages_at) / sizeof(struct stp_wait_page) < (size_t)mark->n_local ||
        (nbytes - mark->processes_at) / mark->process_bytes < (size_t)mark->n_local)
        return false;
    mark->program[sizeof(mark->program) - 1] = '\0';
    node->area = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, fd, size - (off_t)nbytes);
    return node->area != MAP_FAILED;
}

/* False: it is no file that we know. */
static bool node_add(int folder, const char *name)
{
    struct node node;
    struct stat info;
    bool known;
    int fd;

    if (fstatat(folder, name, &info, 0) != 0) return true;
    for (size_t i = 0; i < status.n_nodes; i++)
        if (status.nodes[i].inode == info.st_ino && status.nodes[i].device == info.st_dev)
            return true;
    fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return true;
    node = (struct node){.device = info.st_dev, .inode = info.st_ino};
    known = node_map(&node, fd, info.st_size);
    if (known) {
        status.nodes = grown(status.nodes, status.n_nodes, sizeof(node));
        status.nodes[status.n_nodes++] = node;
    }
    close(fd);
    return known;
}

static bool is_memfd(const char *target, const char *name)
{
    size_t len = strlen(name);

    return strncmp(target, "/memfd:", 7) == 0 && strncmp(target + 7, name, len) == 0 &&
           target[7 + len] == ' ';
}

static bool look_at_files(struct process *process)
{
    char path[64], target[64];
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)process->pid);
    folder = opendir(path);
    if (folder == NULL) return false; /* somebody else's */
    while ((entry = readdir(folder)) != NULL) {
        ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

        if (len <= 0) continue;
        target[len] = '\0';
        if (is_memfd(target, STP_WITNESS_NAME)) process->witness = true;
        if (is_memfd(target, STP_NODE_FILE) && !node_add(dirfd(folder), entry->d_name))
            process->foreign = true;
    }
    closedir(folder);
    return true;
}

static const struct stp_process *node_process(const struct node *node, int local)
{
    return (const void *)(node->area + node->mark.processes_at +
                          (size_t)local * node->mark.process_bytes);
}

/* ---- what is there -------------------------------------------------------------------- */

static void look_at_processes(void)
{
    struct dirent *entry;
    DIR *folder = opendir("/proc");

    if (folder == NULL) launch_fail("/proc: %s", strerror(errno));
    while ((entry = readdir(folder)) != NULL) {
        struct process process = {.pid = (pid_t)strtol(entry->d_name, NULL, 10)};

        if (process.pid <= 0 || !look_at_files(&process)) continue;
        process.parent = parent_of(process.pid);
        read_variables(&process);
        status.processes = grown(status.processes, status.n_processes, sizeof(process));
        status.processes[status.n_processes++] = process;
    }
    closedir(folder);
}

/* Was it started by who was asked for? The parents of tasks of Slurm are not srun's children. */
static bool belongs(pid_t pid)
{
    struct process *process = process_by(pid);

    if (status.of == 0 || (process != NULL && process->ours)) return true;
    while (pid > 1 && pid != status.of)
        pid = parent_of(pid);
    return pid == status.of;
}

static void find_proxies(void)
{
    for (size_t i = 0; i < status.n_processes; i++) {
        struct process *process = &status.processes[i], *above = process;

        while (above != NULL && above->pe >= 0) {
            process->proxy = above->parent;
            above = process_by(above->parent);
        }
    }
}

/* ---- telling -------------------------------------------------------------------------- */

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vfprintf(status.out, fmt, args);
    va_end(args);
    fputc('\n', status.out);
}

/* Of all threads of a process: 'R' if one runs. */
static char process_state(pid_t pid)
{
    char state = stp_process_state(pid), path[64], text[512];
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = state == 'S' || state == 'D' ? opendir(path) : NULL;
    while (folder != NULL && state != 'R' && (entry = readdir(folder)) != NULL) {
        const char *behind;

        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "task/%.16s/stat", entry->d_name);
        read_text(pid, path, text, sizeof(text));
        behind = strrchr(text, ')');
        if (behind != NULL && behind[1] == ' ' && behind[2] == 'R') state = 'R';
    }
    if (folder != NULL) closedir(folder);
    return state;
}

static int by_pe(const void *a, const void *b)
{
    const struct stp_row *x = a, *y = b;

    return (x->pe > y->pe) - (x->pe < y->pe);
}

/* Add the PEs of a node. Returns how many of them run; what they are is told by one of them. */
static int add_node(const struct node *node, struct stp_table *table, pid_t *first)
{
    const struct stp_wait_page *pages = (const void *)(node->area + node->mark.pages_at);
    int n_running = 0;

    for (int local = 0; local < node->mark.n_local; local++) {
        struct stp_process of = *node_process(node, local);
        struct process *process = process_by(of.pid);

        if (of.pid <= 0) continue; /* in shmem_init */
        if (process != NULL) {
            process->shown = true;
            n_running++;
            if (*first == 0 || of.pid < *first) *first = of.pid;
        }
        table->rows = realloc(table->rows, (table->n + STP_WAIT_NOTES) * sizeof(*table->rows));
        if (table->rows == NULL) launch_fail("no memory");
        stp_table_add(table, of.pe, process != NULL ? process_state(of.pid) : '\0', &pages[local]);
    }
    return n_running;
}

/* All nodes of this host that the job has, which are one unless SHMEM_NODE=off. */
static void tell_job(const struct node *node)
{
    struct stp_table table = {.states = true, .say = say};
    int n_running = 0, n_here = 0;
    char here[48] = "";
    pid_t first = 0;

    for (size_t i = 0; i < status.n_nodes; i++) {
        if (status.nodes[i].mark.job != node->mark.job) continue;
        n_running += add_node(&status.nodes[i], &table, &first);
        n_here += status.nodes[i].mark.n_local;
    }
    if (n_running > 0 && belongs(first)) {
        if (n_here < node->mark.n_pes)
            snprintf(here, sizeof(here), ", %d of them on this host", n_here);
        say("%s%s, process %d: %d PE%s%s", status.n_told++ > 0 ? "\n" : "", node->mark.program,
            (int)first, node->mark.n_pes, node->mark.n_pes == 1 ? "" : "s", here);
        qsort(table.rows, table.n, sizeof(*table.rows), by_pe);
        stp_table_say(&table);
    }
    free(table.rows);
}

static bool is_first_node(size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (status.nodes[i].mark.job == status.nodes[k].mark.job) return false;
    return true;
}

/* Of those that one proxy has started: has PE pe come? And a process that is it, or its wrapper. */
static bool has_come(pid_t proxy, int pe, pid_t *pid)
{
    bool come = false;

    *pid = 0;
    for (size_t i = 0; i < status.n_processes; i++) {
        const struct process *process = &status.processes[i];

        if (process->proxy != proxy || process->pe != pe) continue;
        come = come || process->witness;
        if (process->pid > *pid) *pid = process->pid;
    }
    return come;
}

static bool is_foreign(pid_t proxy)
{
    for (size_t i = 0; i < status.n_processes; i++)
        if (status.processes[i].proxy == proxy && status.processes[i].foreign) return true;
    return false;
}

static void tell_init(pid_t proxy, int n_pes)
{
    struct stp_list come = {.first = -1};
    char late[1024] = "";
    size_t len = 0;

    for (int pe = 0; pe < n_pes; pe++) {
        pid_t pid;

        if (has_come(proxy, pe, &pid)) {
            stp_list_add(&come, pe);
        } else if (pid != 0 && len < sizeof(late) - 48) {
            len += (size_t)snprintf(late + len, sizeof(late) - len, "%s%d (process %d)",
                                    len > 0 ? ", " : "", pe, (int)pid);
        }
    }
    stp_list_close(&come);
    say("%s%d PE%s, process %d", status.n_told++ > 0 ? "\n" : "", n_pes, n_pes == 1 ? "" : "s",
        (int)proxy);
    if (is_foreign(proxy)) {
        say("  of a version of Steppe that this oshrun cannot read");
        return;
    }
    say("  in shmem_init: %s", come.text);
    if (len > 0) say("    have not come: %s", late);
}

/* Jobs of which some PE is in shmem_init, and none in a table. */
static void tell_inits(void)
{
    for (size_t i = 0; i < status.n_processes; i++) {
        const struct process *process = &status.processes[i];
        bool told = false;

        if (!process->witness || process->pe < 0 || process->n_pes < 1) continue;
        for (size_t k = 0; k < status.n_processes; k++)
            told = told || (status.processes[k].proxy == process->proxy &&
                            (status.processes[k].shown || (k < i && status.processes[k].witness)));
        if (!told && belongs(process->pid)) tell_init(process->proxy, process->n_pes);
    }
}

int launch_status(pid_t of, FILE *out)
{
    status.of = of;
    status.out = out;
    launch_job_name(of, status.of_job, sizeof(status.of_job));
    look_at_processes();
    find_proxies();
    for (size_t i = 0; i < status.n_nodes; i++)
        if (is_first_node(i)) tell_job(&status.nodes[i]);
    tell_inits();
    fflush(out);
    return status.n_told;
}
