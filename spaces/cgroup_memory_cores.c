/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control groups around this process allow it to use. Memory of the window is charged to
 * them when it is touched, and past the limit the kernel kills instead of refusing; time on cores
 * is charged, too, and past the limit nobody runs until the next period.
 * Design: docs/design/memory.md, base.md.
 */
#include "spaces/space_registry.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How version 1 says that there is no limit; pages may be larger than 4 KiB. */
#define NO_LIMIT ((size_t)LLONG_MAX / 65536 * 65536)

/* The limit that a group's directory tells; SIZE_MAX: none. */
typedef size_t cgroup_read_fn(const char *dir);

static size_t cgroup_number(const char *dir, const char *file)
{
    size_t number = SIZE_MAX;
    char *name;

    if (asprintf(&name, "%s/%s", dir, file) < 0) return SIZE_MAX;
    number = stp_file_number(name, ""); /* "max" is no number */
    free(name);
    return number;
}

static size_t cgroup_memory_max(const char *dir)
{
    return cgroup_number(dir, "memory.max");
}

static size_t cgroup_memory_v1(const char *dir)
{
    size_t limit = cgroup_number(dir, "memory.limit_in_bytes");

    return limit < NO_LIMIT ? limit : SIZE_MAX;
}

/* Whole cores: what is left of another one is no core to spin on. */
static size_t cgroup_whole(size_t quota, size_t period)
{
    if (quota == SIZE_MAX || period == SIZE_MAX || period == 0) return SIZE_MAX;
    return quota / period > 0 ? quota / period : 1;
}

/* "200000 100000": of each so many microseconds, those that the group may run in all. */
static size_t cgroup_cpu_max(const char *dir)
{
    unsigned long long quota, period;
    size_t cores = SIZE_MAX;
    FILE *file;
    char *name;

    if (asprintf(&name, "%s/cpu.max", dir) < 0) return SIZE_MAX;
    file = fopen(name, "re");
    free(name);
    if (file == NULL) return SIZE_MAX;
    if (fscanf(file, "%llu %llu", &quota, &period) == 2) cores = cgroup_whole(quota, period);
    fclose(file);
    return cores;
}

/* A quota of -1, which is no number, means none. */
static size_t cgroup_cpu_v1(const char *dir)
{
    return cgroup_whole(cgroup_number(dir, "cpu.cfs_quota_us"),
                        cgroup_number(dir, "cpu.cfs_period_us"));
}

/*
 * The least limit of the group and those around it; path is cut on the way up. In a container the
 * path may be the host's: then only the root is found, which is the container's.
 */
static size_t cgroup_least(char *path, const char *root, cgroup_read_fn *read)
{
    size_t least = SIZE_MAX;

    for (;;) {
        char *dir, *slash;
        size_t limit;

        if (asprintf(&dir, "%s%s", root, path) < 0) return least;
        limit = read(dir);
        free(dir);
        if (limit < least) least = limit;
        slash = strrchr(path, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

/* The least limit around this process, of version 2 or of a controller of version 1. */
static size_t cgroup_limit(const char *controller, cgroup_read_fn *read, cgroup_read_fn *read_v1)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    size_t least = SIZE_MAX, room = 0;
    char *line = NULL; /* not on the stack: threads that make spaces have small ones */
    char root[64];

    if (file == NULL) return SIZE_MAX;
    snprintf(root, sizeof(root), "/sys/fs/cgroup/%s", controller);
    while (getline(&line, &room, file) > 0) {
        char *names = strchr(line, ':') != NULL ? strchr(line, ':') + 1 : NULL;
        char *group = names != NULL ? strchr(names, ':') : NULL;
        bool v2 = strncmp(line, "0::", 3) == 0;
        size_t limit;

        if (group == NULL) continue;
        *group++ = '\0'; /* "4:cpu,cpuacct:/path": of version 1 with the names of controllers */
        if (!v2 && !stp_words_have(names, controller)) continue;
        group[strcspn(group, "\n")] = '\0';
        limit =
            v2 ? cgroup_least(group, "/sys/fs/cgroup", read) : cgroup_least(group, root, read_v1);
        if (limit < least) least = limit;
    }
    free(line);
    fclose(file);
    return least;
}

size_t stp_cgroup_memory(void)
{
    return cgroup_limit("memory", cgroup_memory_max, cgroup_memory_v1);
}

size_t stp_cgroup_cores(void)
{
    return cgroup_limit("cpu", cgroup_cpu_max, cgroup_cpu_v1);
}
