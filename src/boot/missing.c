/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PEs that do not come to init while others wait for them at the launcher's fence: how many, and
 * which processes. Who has come holds its witness open, which /proc shows of the other children of
 * the launcher's process here; nothing else is shared yet. Design: docs/design/hang.md.
 */
#include "area.h"

#include "pmi/pmi.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define LIST_MOST 512
#define LIST_ROOM 32 /* of an entry */

static struct {
    uint64_t seen_ns, waited_ns;
    bool told;
} missing;

struct children {
    int n_here;  /* have come, this process among them */
    int n_late;  /* run, and have not */
    pid_t first; /* the lowest of those that have come: it tells */
    char list[LIST_MOST];
    size_t len;
};

/* Has the process the witness open? False also where we may not look. */
static bool has_witness(const char *pid)
{
    char path[64], target[64];
    bool found = false;
    struct dirent *entry;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    folder = opendir(path);
    if (folder == NULL) return false;
    while (!found && (entry = readdir(folder)) != NULL) {
        ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

        if (len <= 0) continue;
        target[len] = '\0';
        found = strncmp(target, "/memfd:" STP_WITNESS_NAME " ",
                        strlen("/memfd:" STP_WITNESS_NAME " ")) == 0;
    }
    closedir(folder);
    return found;
}

/* Is the process a child of ours' parent, and not yet ended? */
static bool is_sibling(const char *pid)
{
    char path[64], text[256] = "", state = 'Z';
    const char *behind;
    int parent = 0, fd;

    snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    if (read(fd, text, sizeof(text) - 1) < 0) text[0] = '\0';
    close(fd);
    behind = strrchr(text, ')');
    return behind != NULL && sscanf(behind + 1, " %c %d", &state, &parent) == 2 && state != 'Z' &&
           parent == (int)getppid();
}

static void children_add(struct children *children, const char *name)
{
    pid_t pid = (pid_t)strtol(name, NULL, 10);

    if (pid == getpid() || has_witness(name)) {
        children->n_here++;
        if (children->first == 0 || pid < children->first) children->first = pid;
        return;
    }
    children->n_late++;
    if (children->len + LIST_ROOM > sizeof(children->list)) return;
    children->len += (size_t)snprintf(children->list + children->len, LIST_ROOM, "%s%d",
                                      children->len > 0 ? ", " : "", (int)pid);
}

static bool children_look(struct children *children)
{
    struct dirent *entry;
    DIR *folder = opendir("/proc");

    *children = (struct children){0};
    if (folder == NULL) return false;
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && is_sibling(entry->d_name))
            children_add(children, entry->d_name);
    closedir(folder);
    return children->n_here > 0;
}

static void missing_tell(void)
{
    struct children children;
    int n_late;
    unsigned seconds = (unsigned)(missing.waited_ns / SECOND_NS);

    /* In a second life of the process the witness is open from the first. */
    if (stp_rt.epoch > 1 || !children_look(&children)) {
        stp_warn("shmem_init has waited for %u s so far (SHMEM_HANG_REPORT): not all PEs have come",
                 seconds);
        return;
    }
    if (children.first != getpid()) return;
    n_late = stp_rt.host_pes - children.n_here;
    if (n_late <= 0)
        stp_warn("shmem_init has waited for %u s so far (SHMEM_HANG_REPORT): all %d PEs of this "
                 "host are here, others have not come",
                 seconds, stp_rt.host_pes);
    else
        stp_warn("shmem_init has waited for %u s so far (SHMEM_HANG_REPORT): %d of the %d PEs of "
                 "this host have not come%s%s",
                 seconds, n_late, stp_rt.host_pes,
                 children.n_late > 0 ? "; processes that may be theirs: " : "", children.list);
}

static void missing_idle(void)
{
    uint64_t now = stp_now_ns(), passed = now - missing.seen_ns;

    missing.waited_ns += passed < SECOND_NS / 2 ? passed : SECOND_NS / 2;
    missing.seen_ns = now;
    if (missing.told || missing.waited_ns < (uint64_t)stp_env.hang_report * SECOND_NS) return;
    missing.told = true;
    missing_tell();
}

void stp_missing_begin(void)
{
    missing.seen_ns = stp_now_ns();
    missing.waited_ns = 0;
    missing.told = false;
    if (stp_env.hang_report > 0) stp_pmi_set_idle(missing_idle);
}

void stp_missing_end(void)
{
    stp_pmi_set_idle(NULL);
}
