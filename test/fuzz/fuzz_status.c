/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target: the memory file of a node, which oshrun --status reads and any user can forge.
 * Input: struct input, then the bytes of the area. Three processes hold the file open. The table
 * has only printable characters.
 */
#include "fuzz.h"

#include "diag/find_pes.h"
#include "diag/oshrun_internal.h"

#include <sys/mman.h>
#include <unistd.h>

#define N_PROCESSES 3
#define FIRST_PID 0x7ffffff0 /* a process ID that Linux never uses */

static int file = -1;

/* ---- not reached from the reader, or played ------------------------------------------------- */

void launch_fail(const char *fmt, ...)
{
    (void)fmt;
    abort();
}

void launch_job_name(pid_t oshrun, char *text, size_t len)
{
    (void)oshrun;
    snprintf(text, len, "job");
}

size_t scan_user(pid_t pid)
{
    (void)pid;
    return SCAN_ALL_USERS;
}

pid_t scan_parent(pid_t pid)
{
    (void)pid;
    return 0;
}

void *scan_grow(void *list, size_t n, size_t item_bytes)
{
    list = realloc(list, (n + 1) * item_bytes);
    FUZZ_CHECK(list != NULL);
    return list;
}

struct process *scan_find_process(const struct proc_scan *scan, pid_t pid)
{
    for (size_t i = 0; i < scan->n_processes; i++)
        if (scan->processes[i].pid == pid) return &scan->processes[i];
    return NULL;
}

static void forget(struct proc_scan *scan)
{
    for (size_t i = 0; i < scan->n_nodes; i++)
        free(scan->nodes[i].area);
    free(scan->nodes);
    scan->nodes = NULL;
    scan->n_nodes = scan->n_processes = 0;
}

void scan_processes(struct proc_scan *scan)
{
    static struct process processes[N_PROCESSES];

    forget(scan);
    scan->processes = processes;
    scan->n_processes = N_PROCESSES;
    for (int i = 0; i < N_PROCESSES; i++) {
        processes[i] = (struct process){.pid = FIRST_PID + i,
                                        .proxy = 1,
                                        .node = -1,
                                        .pe = i,
                                        .n_pes = 4,
                                        .has_witness = i > 0};
        processes[i].unknown_layout = !scan_node_file(scan, &processes[i], file);
    }
}

/* ---- the target ------------------------------------------------------------------------------ */

struct input {
    struct stp_node_file_trailer trailer;
    struct stp_process processes[N_PROCESSES];
    uint8_t choices; /* 1: the magic number is right; 2: the processes are where the trailer says */
};

static void write_file(struct input *input, const uint8_t *data, size_t nbytes)
{
    off_t size = (off_t)((nbytes + sizeof(input->trailer) + 63) & ~(size_t)63);
    struct stp_node_file_trailer *trailer = &input->trailer;

    if (input->choices & 1) {
        trailer->magic = STP_TRAILER_MAGIC;
        trailer->area_bytes = (uint64_t)size;
        trailer->n_local = 1 + (trailer->n_local & 7);
    }
    FUZZ_CHECK(ftruncate(file, 0) == 0 && ftruncate(file, size) == 0);
    FUZZ_CHECK(pwrite(file, data, nbytes, 0) == (ssize_t)nbytes);
    for (int i = 0; input->choices & 2 && i < N_PROCESSES; i++) {
        uint64_t at = trailer->processes_at + (uint64_t)i * trailer->process_bytes;

        input->processes[i].pid = FIRST_PID + i;
        if (at <= nbytes && sizeof(input->processes[i]) <= nbytes - at)
            FUZZ_CHECK(pwrite(file, &input->processes[i], sizeof(input->processes[i]), (off_t)at) >
                       0);
    }
    FUZZ_CHECK(pwrite(file, trailer, sizeof(*trailer), size - (off_t)sizeof(*trailer)) ==
               sizeof(*trailer));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    struct input input;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (file < 0) file = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && out != NULL);
    fuzz_take(&data, &nbytes, &input, sizeof(input));
    write_file(&input, data, nbytes);
    (void)launch_print_jobs(0, true, out);
    fclose(out);
    FUZZ_CHECK(len > 0);
    for (size_t i = 0; i < len; i++)
        FUZZ_CHECK(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
    free(text);
    return 0;
}
