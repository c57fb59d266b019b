/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the waits and states of the PEs of running jobs. Reads the waits from the memory that the
 * PEs of a node share. Design: docs/design/hang.md.
 */
#include "oshrun_internal.h"
#include "find_pes.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    pid_t selected_pid; /* process whose jobs are printed, or 0 for all jobs */
    struct proc_scan scan;
    FILE *out;
    int n_printed;
} status;

/* ---- output and process states -------------------------------------------------------- */

/*
 * Prints one line. Prints bytes other than printable ASCII as \xNN, because the memory of a job may
 * contain escape sequences for the terminal, or newlines that would look like further lines.
 */
static void __attribute__((format(printf, 1, 2))) print_line(const char *fmt, ...)
{
    char line[4096];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    for (const char *pos = line; *pos != '\0'; pos++)
        fprintf(status.out, *pos >= ' ' && *pos <= '~' ? "%c" : "\\x%02x", (unsigned char)*pos);
    fputc('\n', status.out);
}

/* Returns the state letter of a process. The state is 'R' if any thread of the process runs. */
static char process_state(pid_t pid)
{
    char state = stp_process_state(pid), path[64];
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    folder = state == 'S' || state == 'D' ? opendir(path) : NULL;
    while (folder != NULL && state != 'R' && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, entry->d_name);
        if (stp_stat_state(path) == 'R') state = 'R';
    }
    if (folder != NULL) closedir(folder);
    return state;
}

static int by_pe(const void *a, const void *b)
{
    const struct stp_wait_row *x = a, *y = b;

    return (x->pe > y->pe) - (x->pe < y->pe);
}

/*
 * Adds the PEs of a node to the table. Returns the number of PEs of the node whose process exists.
 * If *lowest_pid is 0 or greater than the lowest ID of these processes, sets *lowest_pid to this
 * ID.
 */
static int add_node(const struct node *node, struct stp_hang_table *table, pid_t *lowest_pid)
{
    const struct stp_wait_state_page *pages = (const void *)(node->area + node->trailer.pages_at);
    static const struct stp_wait_state_page no_waits; /* page of a PE that has ended */
    int n_running = 0;

    for (int local = 0; local < node->trailer.n_local; local++) {
        struct stp_process process_info = scan_find_pe(node, local);
        struct process *process = scan_find_process(&status.scan, process_info.pid);

        if (process_info.pid <= 0) continue; /* the PE has not stored its process ID yet */
        /* A PE holds the memory file open and has one local index. */
        if (process != NULL && (process->node != node - status.scan.nodes || process->in_table))
            process = NULL;
        if (process != NULL) {
            process->in_table = true;
            n_running++;
            if (*lowest_pid == 0 || process_info.pid < *lowest_pid) *lowest_pid = process_info.pid;
        }
        table->rows = realloc(table->rows, (table->n + STP_WAIT_STATES) * sizeof(*table->rows));
        if (table->rows == NULL) launch_fail("out of memory");
        stp_hang_table_add(table, process_info.pe,
                           process != NULL ? process_state(process_info.pid) : '\0',
                           process != NULL ? &pages[local] : &no_waits);
    }
    return n_running;
}

/*
 * Returns whether a process belongs to a selected job. Returns true for every process if all jobs
 * are selected. Otherwise the process must have the name of the selected job in its environment, or
 * must descend from the selected process. Under Slurm, the PEs do not descend from this process.
 */
static bool is_selected(pid_t pid)
{
    struct process *process = scan_find_process(&status.scan, pid);

    if (status.selected_pid == 0 || (process != NULL && process->is_selected)) return true;
    while (pid > 1 && pid != status.selected_pid)
        pid = scan_parent(pid);
    return pid == status.selected_pid;
}

/* ---- PEs of other hosts --------------------------------------------------------------- */

static const char *host_of(const struct node *node, int k)
{
    return node->area + node->trailer.hosts_at + (size_t)k * STP_HOST_MAX;
}

/*
 * Returns true if node k is on another host and no node with a lower number is on the same host.
 * Returns false if the host name of node k is unknown.
 */
static bool is_new_host(const struct node *node, int k)
{
    const char *name = host_of(node, k);

    if (name[0] == '\0' || strncmp(name, host_of(node, node->trailer.node), STP_HOST_MAX) == 0)
        return false;
    for (int i = 0; i < k; i++)
        if (strncmp(name, host_of(node, i), STP_HOST_MAX) == 0) return false;
    return true;
}

/* Prints one line for the PEs on other hosts. Their memory is not accessible on this host. */
static void print_other_hosts(const struct node *node, int n_remote)
{
    char names[1024] = "";
    size_t len = 0;

    for (int k = 0; node->trailer.hosts_at != 0 && k < node->trailer.n_nodes; k++) {
        if (!is_new_host(node, k)) continue;
        if (len + STP_HOST_MAX + 8 > sizeof(names)) {
            snprintf(names + len, sizeof(names) - len, ", ...");
            break;
        }
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.*s", len > 0 ? ", " : "",
                                STP_HOST_MAX, host_of(node, k));
    }
    print_line("  %d PE%s on other hosts%s%s (run oshrun --status there)", n_remote,
               n_remote == 1 ? " is" : "s are", len > 0 ? ": " : "", names);
}

/* ---- jobs ----------------------------------------------------------------------------- */

/*
 * Prints one job from the data of its nodes on this host. The job may have several nodes on this
 * host, but only with SHMEM_NODE=off.
 */
static void print_job(const struct node *node)
{
    struct stp_hang_table table = {.states = true, .print_line = print_line};
    int n_running = 0, n_on_host = 0;
    char on_host[48] = "";
    pid_t lowest_pid = 0;

    for (size_t i = 0; i < status.scan.n_nodes; i++) {
        if (status.scan.nodes[i].trailer.job != node->trailer.job) continue;
        n_running += add_node(&status.scan.nodes[i], &table, &lowest_pid);
        n_on_host += status.scan.nodes[i].trailer.n_local;
    }
    if (n_running > 0 && is_selected(lowest_pid)) {
        if (n_on_host < node->trailer.n_pes)
            snprintf(on_host, sizeof(on_host), ", %d of them on this host", n_on_host);
        if (status.n_printed++ > 0) print_line("%s", "");
        print_line("%s, process %d: %d PE%s%s", node->trailer.program, (int)lowest_pid,
                   node->trailer.n_pes, node->trailer.n_pes == 1 ? "" : "s", on_host);
        qsort(table.rows, table.n, sizeof(*table.rows), by_pe);
        stp_hang_table_print(&table);
        if (n_on_host < node->trailer.n_pes)
            print_other_hosts(node, node->trailer.n_pes - n_on_host);
    }
    free(table.rows);
}

static bool is_first_node(size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (status.scan.nodes[i].trailer.job == status.scan.nodes[k].trailer.job) return false;
    return true;
}

/*
 * Returns whether PE pe has begun init. `proxy` is the process of the launcher that has started the
 * PE. Several processes can have the number of the PE, if a wrapper (such as a shell script) runs
 * the program. Sets *pid to the highest ID of these processes, or to 0 if there is none.
 */
static bool has_begun_init(pid_t proxy, int pe, pid_t *pid)
{
    bool has_begun = false;

    *pid = 0;
    for (size_t i = 0; i < status.scan.n_processes; i++) {
        const struct process *process = &status.scan.processes[i];

        if (process->proxy != proxy || process->pe != pe) continue;
        has_begun = has_begun || process->has_witness;
        if (process->pid > *pid) *pid = process->pid;
    }
    return has_begun;
}

static bool is_foreign(pid_t proxy)
{
    for (size_t i = 0; i < status.scan.n_processes; i++)
        if (status.scan.processes[i].proxy == proxy && status.scan.processes[i].unknown_layout)
            return true;
    return false;
}

static void print_init(pid_t proxy, int n_pes)
{
    struct stp_pe_list in_init = {.first = -1}, absent = {.first = -1};
    char host[STP_HOST_MAX] = "", missing[1024] = "";
    size_t len = 0;
    int n_unlisted = 0;

    for (int pe = 0; pe < n_pes; pe++) {
        pid_t pid;

        if (has_begun_init(proxy, pe, &pid)) {
            stp_pe_list_append(&in_init, pe);
        } else if (pid == 0) {
            stp_pe_list_append(&absent, pe);
        } else if (len < sizeof(missing) - 48) {
            len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%d (process %d)",
                                    len > 0 ? ", " : "", pe, (int)pid);
        } else {
            n_unlisted++;
        }
    }
    stp_pe_list_end(&in_init);
    stp_pe_list_end(&absent);
    gethostname(host, sizeof(host) - 1);
    if (status.n_printed++ > 0) print_line("%s", "");
    print_line("%d PE%s, started by process %d on host %s", n_pes, n_pes == 1 ? "" : "s",
               (int)proxy, host);
    if (is_foreign(proxy)) {
        print_line(
            "  this oshrun cannot read the state of these PEs, because they run another version "
            "of Steppe; use the oshrun of that version");
        return;
    }
    print_line("  PE %s: waiting in shmem_init", in_init.text);
    if (len > 0) print_line("    missing in shmem_init: PE %s", missing);
    if (n_unlisted > 0) print_line("    %d more missing in shmem_init", n_unlisted);
    if (absent.text[0] != '\0') print_line("    on other hosts, or ended: PE %s", absent.text);
}

/* Prints the jobs that have a PE in shmem_init. Skips jobs that are already printed as a table. */
static void print_jobs_in_init(void)
{
    for (size_t i = 0; i < status.scan.n_processes; i++) {
        const struct process *process = &status.scan.processes[i];
        bool printed = false;

        if (!process->has_witness || process->pe < 0 || process->n_pes < 1) continue;
        for (size_t k = 0; k < status.scan.n_processes; k++)
            printed = printed || (status.scan.processes[k].proxy == process->proxy &&
                                  (status.scan.processes[k].in_table ||
                                   (k < i && status.scan.processes[k].has_witness)));
        if (!printed && is_selected(process->pid)) print_init(process->proxy, process->n_pes);
    }
}

int launch_print_jobs(pid_t pid, bool all_users, FILE *out)
{
    status.selected_pid = pid;
    status.out = out;
    status.scan.user = all_users ? SCAN_ALL_USERS : pid != 0 ? scan_user(pid) : getuid();
    launch_job_name(pid, status.scan.job_name, sizeof(status.scan.job_name));
    scan_processes(&status.scan);
    for (size_t i = 0; i < status.scan.n_nodes; i++)
        if (is_first_node(i)) print_job(&status.scan.nodes[i]);
    print_jobs_in_init();
    fflush(out);
    return status.n_printed;
}
