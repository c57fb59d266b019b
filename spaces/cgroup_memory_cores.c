/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the memory limit and the CPU limit of the control groups (cgroups) of this process. The
 * kernel charges a page of symmetric memory to the group when the page is first touched. If the
 * group exceeds its memory limit, the kernel kills a process of the group. The CPU limit is a quota
 * of CPU time per period. When the quota is used up, no thread of the group runs until the next
 * period. Design: docs/design/memory.md, base.md.
 */
#include "spaces/space_registry.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Smallest value that means "no limit" in cgroup version 1. Without a limit, the kernel reports
 * LLONG_MAX, rounded down to a multiple of its page size. The largest page size is 64 KiB.
 */
#define NO_LIMIT ((size_t)LLONG_MAX / 65536 * 65536)

/* A function that returns the limit of the group in directory dir. SIZE_MAX means no limit. */
typedef size_t cgroup_read_fn(const char *dir);

static size_t cgroup_number(const char *dir, const char *file)
{
    size_t number = SIZE_MAX;
    char *name;

    if (asprintf(&name, "%s/%s", dir, file) < 0) return SIZE_MAX;
    number = stp_file_number(name, ""); /* SIZE_MAX if the file contains "max" */
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

/*
 * Returns the CPU limit in whole cores, at least 1, or SIZE_MAX if there is no limit. Rounds down,
 * because a thread that spins needs a whole core.
 */
static size_t cgroup_whole(size_t quota, size_t period)
{
    if (quota == SIZE_MAX || period == SIZE_MAX || period == 0) return SIZE_MAX;
    return quota / period > 0 ? quota / period : 1;
}

/*
 * Reads the CPU limit of cgroup version 2 from cpu.max. The file has the quota and the period in
 * microseconds. For example, "200000 100000" means two cores.
 */
static size_t cgroup_cpu_max(const char *dir)
{
    unsigned long long quota, period;
    char text[64], *name;

    if (asprintf(&name, "%s/cpu.max", dir) < 0) return SIZE_MAX;
    stp_file_read(name, text, sizeof(text));
    free(name);
    return sscanf(text, "%llu %llu", &quota, &period) == 2 ? cgroup_whole(quota, period) : SIZE_MAX;
}

/*
 * Reads the CPU limit of cgroup version 1. Without a limit, the quota in the file is -1, for which
 * cgroup_number() returns SIZE_MAX.
 */
static size_t cgroup_cpu_v1(const char *dir)
{
    return cgroup_whole(cgroup_number(dir, "cpu.cfs_quota_us"),
                        cgroup_number(dir, "cpu.cfs_period_us"));
}

/*
 * Returns the lowest limit of the group at path and of its ancestors. Each step removes the last
 * component of path. In a container, path can be a path of the host, which does not exist in the
 * container. The limit then comes from the last step, which reads the root directory. This
 * directory is the container's group.
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

/*
 * Returns the lowest limit of all groups of this process. Reads the groups of cgroup version 2 and
 * of version 1.
 */
static size_t cgroup_limit(const char *controller, cgroup_read_fn *read, cgroup_read_fn *read_v1)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    size_t least = SIZE_MAX, room = 0;
    /*
     * The line is on the heap (from getline()), because the stack of the calling thread can be
     * small.
     */
    char *line = NULL;
    char root[64];

    if (file == NULL) return SIZE_MAX;
    snprintf(root, sizeof(root), "/sys/fs/cgroup/%s", controller);
    while (getline(&line, &room, file) > 0) {
        char *names = strchr(line, ':') != NULL ? strchr(line, ':') + 1 : NULL;
        char *group = names != NULL ? strchr(names, ':') : NULL;
        bool v2 = strncmp(line, "0::", 3) == 0;
        size_t limit;

        if (group == NULL) continue;
        /* A line of version 1 names its controllers, for example "4:cpu,cpuacct:/path". */
        *group++ = '\0';
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
