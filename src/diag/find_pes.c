/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the PEs of this host and the memory files of their nodes, without sending anything to a PE.
 * Each PE holds the memory file of its node open, and oshrun opens this file through /proc. PEs
 * that are still in shmem_init do not show waits in this memory yet. oshrun finds such a PE by its
 * witness file, another memory file that each PE holds open. The launcher's environment variables
 * give the PE number of a process. Design: docs/design/hang.md.
 */
#include "find_pes.h"

#include "oshrun_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PES (1 << 20)
#define TEXT_MAX 65536 /* maximum number of bytes that are read of a process's environment */

void *scan_grow(void *list, size_t n, size_t item_bytes)
{
    void *grown = (n & (n - 1)) == 0 ? realloc(list, (n == 0 ? 1 : 2 * n) * item_bytes) : list;

    if (grown == NULL) launch_fail("out of memory");
    return grown;
}

/* ---- processes ------------------------------------------------------------------------ */

size_t scan_text(pid_t pid, const char *name, char *text, size_t len)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return stp_file_read(path, text, len);
}

size_t scan_user(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    return stp_file_number(path, "Uid:");
}

pid_t scan_parent(pid_t pid)
{
    char text[512];
    const char *paren;
    int parent = 0;

    scan_text(pid, "stat", text, sizeof(text));
    paren = strrchr(text, ')');
    if (paren == NULL || sscanf(paren + 1, " %*c %d", &parent) != 1) return 0;
    return parent;
}

/*
 * Searches the environment `text` for the variables in the list `names`, in the order of the list.
 * Returns the number in the first variable found, or -1.
 */
static int number_in(const char *text, size_t len, const char *const *names)
{
    for (; *names != NULL; names++) {
        size_t n = strlen(*names);

        for (const char *entry = text; entry < text + len; entry += strlen(entry) + 1)
            if (strncmp(entry, *names, n) == 0 && entry[n] == '=' &&
                isdigit((unsigned char)entry[n + 1]))
                return (int)strtol(entry + n + 1, NULL, 10);
    }
    return -1;
}

static void read_variables(const struct proc_scan *scan, struct process *process)
{
    static const char *const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", NULL};
    static const char *const sizes[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", NULL};
    static char text[TEXT_MAX];
    size_t len = scan_text(process->pid, "environ", text, sizeof(text));

    process->pe = number_in(text, len, ranks);
    process->n_pes = number_in(text, len, sizes);
    if (process->n_pes > MAX_PES)
        process->n_pes = -1; /* a forged number would take long to count */
    for (const char *entry = text; entry < text + len; entry += strlen(entry) + 1)
        if (strncmp(entry, LAUNCH_VARIABLE "=", strlen(LAUNCH_VARIABLE "=")) == 0 &&
            strcmp(entry + strlen(LAUNCH_VARIABLE "="), scan->job_name) == 0)
            process->is_selected = true;
}

struct process *scan_find_process(const struct proc_scan *scan, pid_t pid)
{
    for (size_t i = 0; i < scan->n_processes; i++)
        if (scan->processes[i].pid == pid) return &scan->processes[i];
    return NULL;
}

/* ---- open files ------------------------------------------------------------------------ */

static bool is_memfd(const char *target, const char *name)
{
    size_t len = strlen(name);

    return strncmp(target, "/memfd:", 7) == 0 && strncmp(target + 7, name, len) == 0 &&
           target[7 + len] == ' ';
}

static bool scan_files(struct proc_scan *scan, struct process *process)
{
    char path[64], target[64];
    struct dirent *entry;
    DIR *folder;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)process->pid);
    folder = opendir(path);
    if (folder == NULL) return false; /* for example a process of another user */
    while ((entry = readdir(folder)) != NULL) {
        ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

        if (len <= 0) continue;
        target[len] = '\0';
        if (is_memfd(target, STP_ALIVE_FD_NAME)) process->has_witness = true;
        if (!is_memfd(target, STP_NODE_FILE)) continue;
        fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0) continue;
        if (!scan_node_file(scan, process, fd)) process->unknown_layout = true;
        close(fd);
    }
    closedir(folder);
    return true;
}

/* ---- the scan ------------------------------------------------------------------------- */

static void find_proxies(struct proc_scan *scan)
{
    for (size_t i = 0; i < scan->n_processes; i++) {
        struct process *process = &scan->processes[i], *ancestor = process;

        while (ancestor != NULL && ancestor->pe >= 0) {
            process->proxy = ancestor->parent;
            ancestor = scan_find_process(scan, ancestor->parent);
        }
    }
}

void scan_processes(struct proc_scan *scan)
{
    struct dirent *entry;
    DIR *folder = opendir("/proc");

    if (folder == NULL) launch_fail("cannot read /proc: %s", strerror(errno));
    while ((entry = readdir(folder)) != NULL) {
        struct process process = {.pid = (pid_t)strtol(entry->d_name, NULL, 10), .node = -1};

        if (process.pid <= 0 ||
            (scan->user != SCAN_ALL_USERS && scan_user(process.pid) != scan->user) ||
            !scan_files(scan, &process))
            continue;
        process.parent = scan_parent(process.pid);
        read_variables(scan, &process);
        scan->processes = scan_grow(scan->processes, scan->n_processes, sizeof(process));
        scan->processes[scan->n_processes++] = process;
    }
    closedir(folder);
    find_proxies(scan);
}
