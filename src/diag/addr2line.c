/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the source lines of the stack frames of PEs that have crashed. A crashing PE prints the
 * addresses of its frames itself. The PE also writes the addresses, through /proc, to a memory file
 * that oshrun holds open. After the launcher has ended, oshrun passes the addresses to addr2line.
 * Design: docs/design/launch.md.
 */
#include "oshrun_internal.h"

#include "base/oshrun_inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_MAX ((size_t)1 << 20)
#define FRAMES_MAX 64 /* maximum number of frames read per PE; PEs write at most 32 */
#define GROUPS_MAX 8  /* maximum number of groups of PEs that are printed */
#define LIMIT_NS UINT64_C(10000000000) /* time limit for all calls of addr2line */
#define LINE_BYTES 1024

struct frame {
    const char *file;
    unsigned long addr;
    const char *routine; /* public routine that the frame has called, or "-" */
    /*
     * Function and source line of the address, or NULL if unknown. If the function is inlined, the
     * text also has the function that contains it.
     */
    char *text;
};

/* Group of PEs that have crashed with equal frames. */
struct group {
    struct frame frames[FRAMES_MAX];
    int n;
    int pe; /* lowest PE number in the group */
    struct group *next;
    struct stp_pe_list pes;
};

static int frames_fd = -1;

void launch_crash_frames_open(void)
{
    uint64_t random = 0;
    char name[40], value[96];

    /*
     * Give the file a random name. On another host, the same path can lead to another file. A PE
     * therefore compares the name in the path with the name of the file that it has opened.
     */
    if (getrandom(&random, sizeof(random), 0) != sizeof(random)) return;
    snprintf(name, sizeof(name), "steppe-frames-%016llx", (unsigned long long)random);
    frames_fd = memfd_create(name, MFD_CLOEXEC);
    if (frames_fd < 0) return;
    snprintf(value, sizeof(value), "/proc/%d/fd/%d:%s", (int)getpid(), frames_fd, name);
    setenv(STP_FRAMES_VARIABLE, value, 1);
    launch_ends_open(name, false);
}

/* ---- data written by PEs -------------------------------------------------------------- */

static struct group *group_of(struct group **groups, int pe)
{
    struct group *group;

    while (*groups != NULL && (*groups)->pe != pe && (*groups)->pe < pe)
        groups = &(*groups)->next;
    if (*groups != NULL && (*groups)->pe == pe) return *groups;
    group = calloc(1, sizeof(*group));
    if (group == NULL) return NULL;
    group->pe = pe;
    group->pes.first = -1;
    group->next = *groups;
    *groups = group;
    return group;
}

/*
 * Parses the text that PEs have written. Returns a list with one group for each PE, sorted by PE
 * number. The frames in the groups point into the text.
 */
static struct group *read_groups(char *text)
{
    struct group *groups = NULL;
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        char *end;
        int pe = (int)strtol(line, &end, 10);
        unsigned long addr = strtoul(end, &end, 16);
        char *routine = end + (*end == ' '), *file = strchr(routine, ' ');
        struct group *group;

        if (file == NULL || file[1] != '/' || pe < 0) continue;
        *file++ = '\0';
        group = group_of(&groups, pe);
        if (group == NULL || group->n == FRAMES_MAX) continue;
        group->frames[group->n++] = (struct frame){.file = file, .addr = addr, .routine = routine};
    }
    return groups;
}

static bool is_same_place(const struct group *a, const struct group *b)
{
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->frames[i].addr != b->frames[i].addr ||
            strcmp(a->frames[i].file, b->frames[i].file) != 0)
            return false;
    return true;
}

/* Merges groups whose frames are equal, and fills in the list of PEs of each remaining group. */
static void join_groups(struct group *groups)
{
    for (struct group *group = groups; group != NULL; group = group->next) {
        struct group **next = &group->next;

        stp_pe_list_append(&group->pes, group->pe);
        while (*next != NULL) {
            struct group *candidate = *next;

            if (!is_same_place(group, candidate)) {
                next = &candidate->next;
                continue;
            }
            stp_pe_list_append(&group->pes, candidate->pe);
            *next = candidate->next;
            free(candidate);
        }
        stp_pe_list_end(&group->pes);
    }
}

/* ---- addr2line ------------------------------------------------------------------------ */

static uint64_t frames_end_ns;
static int frames_signals;

/*
 * Waits for input from fd. Returns false if the time limit has passed or if a signal asks oshrun to
 * end.
 */
static bool wait_for(int fd)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = frames_signals, .events = POLLIN}};
    int timeout_ms;

    do { /* SIGCHLD of an earlier addr2line also ends poll() */
        timeout_ms = launch_ms_until(frames_end_ns);
        if (timeout_ms == 0 || poll(fds, 2, timeout_ms) <= 0) return false;
        if (launch_got_end_signal(fds[1].revents)) return false;
    } while (!(fds[0].revents & (POLLIN | POLLHUP)));
    return true;
}

_Noreturn static void become_addr2line(const struct group *group, const char *file, int out_fd)
{
    char *argv[FRAMES_MAX + 5] = {"addr2line", "-Cfpi", "-e", (char *)file};
    int n = 4, null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i < group->n; i++) {
        char *text;

        if (strcmp(group->frames[i].file, file) != 0) continue;
        if (asprintf(&text, "%#lx", group->frames[i].addr) < 0) _exit(1);
        argv[n++] = text;
    }
    argv[n] = NULL;
    dup2(null, STDIN_FILENO);
    dup2(out_fd, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    unsetenv("DEBUGINFOD_URLS"); /* prevents addr2line from searching servers in the network */
    launch_restore_signals();
    execvp(argv[0], argv);
    _exit(127);
}

/*
 * Finds the next frame of the group that lies in this file. The search begins at *index. Sets
 * *index to the index after the frame. Returns NULL if there is no further frame.
 */
static struct frame *next_frame(struct group *group, const char *file, int *index)
{
    for (; *index < group->n; ++*index)
        if (strcmp(group->frames[*index].file, file) == 0) return &group->frames[(*index)++];
    return NULL;
}

/*
 * Reads the output of addr2line and sets the texts of the frames. Each address has one line,
 * followed by "(inlined by)" lines if calls were inlined.
 */
static void read_lines(struct group *group, const char *file, FILE *stream)
{
    struct frame *frame = NULL;
    char line[LINE_BYTES];
    int index = 0;

    while (wait_for(fileno(stream)) && fgets(line, sizeof(line), stream) != NULL) {
        char *joined;

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, " (inlined by) ", 14) != 0) {
            frame = next_frame(group, file, &index);
            /*
             * Without debugging data of a shared library, addr2line prints the name of any function
             * near the address.
             */
            if (frame != NULL && strncmp(line, "??", 2) != 0 &&
                (strstr(line, ":?") == NULL || strstr(file, ".so") == NULL))
                frame->text = strdup(line);
        } else if (frame != NULL && frame->text != NULL &&
                   asprintf(&joined, "%s,%s", frame->text, line) > 0) {
            free(frame->text);
            frame->text = joined;
        }
        if (frame == NULL) return;
    }
}

/* Runs addr2line for one file, and sets the texts of the group's frames in this file. */
static void resolve_file(struct group *group, const char *file)
{
    int fds[2];
    FILE *stream;
    pid_t child;

    if (pipe2(fds, O_CLOEXEC) != 0) return;
    child = fork();
    if (child == 0) become_addr2line(group, file, fds[1]);
    close(fds[1]);
    stream = fdopen(fds[0], "r");
    if (stream != NULL) {
        setvbuf(stream, NULL, _IONBF,
                0); /* no buffer, because poll() does not see buffered input */
        read_lines(group, file, stream);
        fclose(stream);
    }
    if (child < 0) return;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void resolve(struct group *group)
{
    for (int i = 0; i < group->n; i++) {
        bool resolved = false;

        for (int k = 0; k < i; k++)
            resolved = resolved || strcmp(group->frames[k].file, group->frames[i].file) == 0;
        if (!resolved) resolve_file(group, group->frames[i].file);
    }
}

/* ---- messages ------------------------------------------------------------------------- */

static void print_group(const struct group *group)
{
    bool resolved = false;

    for (int i = 0; i < group->n; i++)
        resolved = resolved || group->frames[i].text != NULL;
    if (!resolved) return;
    fprintf(stderr, "oshrun: stack frames of PE %s with their source lines:\n", group->pes.text);
    for (int i = 0; i < group->n; i++) {
        const struct frame *frame = &group->frames[i];

        const char *calls = frame->routine[0] != '-' ? ", calls " : "";
        const char *routine = frame->routine[0] != '-' ? frame->routine : "";

        if (frame->text != NULL &&
            (strstr(frame->text, ":?") == NULL || strstr(frame->text, " at ") == NULL))
            fprintf(stderr, "oshrun:   #%d %s%s%s\n", i, frame->text, calls, routine);
        else if (frame->text != NULL) /* known function, but unknown source line */
            fprintf(stderr, "oshrun:   #%d %.*s, %s%s%s\n", i,
                    (int)(strstr(frame->text, " at ") - frame->text), frame->text, frame->file,
                    calls, routine);
        else
            fprintf(stderr, "oshrun:   #%d %s %#lx%s%s\n", i, frame->file, frame->addr, calls,
                    routine);
    }
}

bool launch_print_failed_hosts(bool wait)
{
    char text[8192] = "", *save = NULL;
    bool found = false;

    for (int i = 0; wait && i < 100 && flock(frames_fd, LOCK_EX | LOCK_NB) != 0; i++)
        usleep(10000);
    if (frames_fd < 0 || pread(frames_fd, text, sizeof(text) - 1, 0) <= 0) return false;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, STP_HOST_LINE, strlen(STP_HOST_LINE)) != 0) continue;
        fprintf(stderr, "%s\n", line);
        found = true;
    }
    return found;
}

void launch_crash_frames_addr2line(int signals)
{
    static char text[READ_MAX + 1];
    ssize_t nbytes = frames_fd >= 0 ? pread(frames_fd, text, READ_MAX, 0) : 0;
    struct group *groups;
    int n = 0;

    if (nbytes <= 0) return;
    if (!stp_in_path("addr2line")) {
        fprintf(stderr,
                "oshrun: install addr2line (package binutils) to get the source lines of these "
                "stack frames\n");
        return;
    }
    frames_end_ns = stp_now_ns() + LIMIT_NS;
    frames_signals = signals;
    groups = read_groups(text);
    join_groups(groups);
    for (struct group *group = groups; group != NULL && n < GROUPS_MAX; group = group->next, n++) {
        resolve(group);
        print_group(group);
    }
}
