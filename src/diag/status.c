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
    pid_t of; /* process whose jobs are printed, or 0 for all jobs */
    struct proc_scan found;
    FILE *out;
    int n_told;
} status;

/* ---- notices -------------------------------------------------------------------------- */

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vfprintf(status.out, fmt, args);
    va_end(args);
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
 * If *first is 0 or greater than the lowest ID of these processes, sets *first to this ID.
 */
static int add_node(const struct node *node, struct stp_hang_table *table, pid_t *first)
{
    const struct stp_wait_state_page *pages = (const void *)(node->area + node->mark.pages_at);
    int n_running = 0;

    for (int local = 0; local < node->mark.n_local; local++) {
        struct stp_process of = *scan_find_pe(node, local);
        struct process *process = scan_find_process(&status.found, of.pid);

        if (of.pid <= 0) continue; /* the PE has not stored its process ID yet */
        if (process != NULL) {
            process->shown = true;
            n_running++;
            if (*first == 0 || of.pid < *first) *first = of.pid;
        }
        table->rows = realloc(table->rows, (table->n + STP_WAIT_STATES) * sizeof(*table->rows));
        if (table->rows == NULL) launch_fail("out of memory");
        stp_hang_table_add(table, of.pe, process != NULL ? process_state(of.pid) : '\0',
                           &pages[local]);
    }
    return n_running;
}

/*
 * Returns whether a process belongs to a selected job. Returns true for every process if all jobs
 * are selected. Otherwise the process must have the name of the selected job in its environment, or
 * must descend from the selected process. Under Slurm, the PEs do not descend from this process.
 */
static bool belongs(pid_t pid)
{
    struct process *process = scan_find_process(&status.found, pid);

    if (status.of == 0 || (process != NULL && process->ours)) return true;
    while (pid > 1 && pid != status.of)
        pid = scan_parent(pid);
    return pid == status.of;
}

/* ---- PEs of other hosts --------------------------------------------------------------- */

static const char *host_of(const struct node *node, int k)
{
    return node->area + node->mark.hosts_at + (size_t)k * STP_HOST_MAX;
}

/*
 * Returns true if node k is on another host and no node with a lower number is on the same host.
 * Returns false if the host name of node k is unknown.
 */
static bool is_new_host(const struct node *node, int k)
{
    const char *name = host_of(node, k);

    if (name[0] == '\0' || strncmp(name, host_of(node, node->mark.node), STP_HOST_MAX) == 0)
        return false;
    for (int i = 0; i < k; i++)
        if (strncmp(name, host_of(node, i), STP_HOST_MAX) == 0) return false;
    return true;
}

/* Prints one line for the PEs on other hosts. Their memory is not accessible on this host. */
static void say_elsewhere(const struct node *node, int n_elsewhere)
{
    char names[1024] = "";
    size_t len = 0;

    for (int k = 0; node->mark.hosts_at != 0 && k < node->mark.n_nodes; k++) {
        if (!is_new_host(node, k)) continue;
        if (len + STP_HOST_MAX + 8 > sizeof(names)) {
            snprintf(names + len, sizeof(names) - len, ", ...");
            break;
        }
        len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%.*s", len > 0 ? ", " : "",
                                STP_HOST_MAX, host_of(node, k));
    }
    say("  %d PE%s on other hosts%s%s (run oshrun --status there)", n_elsewhere,
        n_elsewhere == 1 ? " is" : "s are", len > 0 ? ": " : "", names);
}

/* ---- jobs ----------------------------------------------------------------------------- */

/*
 * Prints one job from the data of its nodes on this host. The job may have several nodes on this
 * host, but only with SHMEM_NODE=off.
 */
static void tell_job(const struct node *node)
{
    struct stp_hang_table table = {.states = true, .say = say};
    int n_running = 0, n_here = 0;
    char here[48] = "";
    pid_t first = 0;

    for (size_t i = 0; i < status.found.n_nodes; i++) {
        if (status.found.nodes[i].mark.job != node->mark.job) continue;
        n_running += add_node(&status.found.nodes[i], &table, &first);
        n_here += status.found.nodes[i].mark.n_local;
    }
    if (n_running > 0 && belongs(first)) {
        if (n_here < node->mark.n_pes)
            snprintf(here, sizeof(here), ", %d of them on this host", n_here);
        say("%s%s, process %d: %d PE%s%s", status.n_told++ > 0 ? "\n" : "", node->mark.program,
            (int)first, node->mark.n_pes, node->mark.n_pes == 1 ? "" : "s", here);
        qsort(table.rows, table.n, sizeof(*table.rows), by_pe);
        stp_hang_table_print(&table);
        if (n_here < node->mark.n_pes) say_elsewhere(node, node->mark.n_pes - n_here);
    }
    free(table.rows);
}

static bool is_first_node(size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (status.found.nodes[i].mark.job == status.found.nodes[k].mark.job) return false;
    return true;
}

/*
 * Returns whether PE pe has begun init. `proxy` is the process of the launcher that has started the
 * PE. Several processes can have the number of the PE, if a wrapper (such as a shell script) runs
 * the program. Sets *pid to the highest ID of these processes, or to 0 if there is none.
 */
static bool has_come(pid_t proxy, int pe, pid_t *pid)
{
    bool come = false;

    *pid = 0;
    for (size_t i = 0; i < status.found.n_processes; i++) {
        const struct process *process = &status.found.processes[i];

        if (process->proxy != proxy || process->pe != pe) continue;
        come = come || process->witness;
        if (process->pid > *pid) *pid = process->pid;
    }
    return come;
}

static bool is_foreign(pid_t proxy)
{
    for (size_t i = 0; i < status.found.n_processes; i++)
        if (status.found.processes[i].proxy == proxy && status.found.processes[i].foreign)
            return true;
    return false;
}

static void tell_init(pid_t proxy, int n_pes)
{
    struct stp_pe_list come = {.first = -1};
    char late[1024] = "";
    size_t len = 0;

    for (int pe = 0; pe < n_pes; pe++) {
        pid_t pid;

        if (has_come(proxy, pe, &pid)) {
            stp_pe_list_append(&come, pe);
        } else if (pid != 0 && len < sizeof(late) - 48) {
            len += (size_t)snprintf(late + len, sizeof(late) - len, "%s%d (process %d)",
                                    len > 0 ? ", " : "", pe, (int)pid);
        }
    }
    stp_pe_list_end(&come);
    say("%s%d PE%s, started by process %d", status.n_told++ > 0 ? "\n" : "", n_pes,
        n_pes == 1 ? "" : "s", (int)proxy);
    if (is_foreign(proxy)) {
        say("  this oshrun cannot read the state of these PEs, because they run another version "
            "of Steppe; use the oshrun of that version");
        return;
    }
    say("  PE %s: waiting in shmem_init", come.text);
    if (len > 0) say("    missing there: PE %s", late);
}

/* Prints the jobs that have a PE in shmem_init. Skips jobs that are already printed as a table. */
static void tell_inits(void)
{
    for (size_t i = 0; i < status.found.n_processes; i++) {
        const struct process *process = &status.found.processes[i];
        bool printed = false;

        if (!process->witness || process->pe < 0 || process->n_pes < 1) continue;
        for (size_t k = 0; k < status.found.n_processes; k++)
            printed =
                printed ||
                (status.found.processes[k].proxy == process->proxy &&
                 (status.found.processes[k].shown || (k < i && status.found.processes[k].witness)));
        if (!printed && belongs(process->pid)) tell_init(process->proxy, process->n_pes);
    }
}

int launch_print_jobs(pid_t of, FILE *out)
{
    status.of = of;
    status.out = out;
    launch_job_name(of, status.found.of_job, sizeof(status.found.of_job));
    scan_processes(&status.found);
    for (size_t i = 0; i < status.found.n_nodes; i++)
        if (is_first_node(i)) tell_job(&status.found.nodes[i]);
    tell_inits();
    fflush(out);
    return status.n_told;
}
