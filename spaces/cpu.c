/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host DRAM: a range of the window, committed on touch.
 */
#include "spaces/spaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct stp_kind stp_kind_cpu;

/* A number at the start of a file, or after key in it; SIZE_MAX when there is none. */
static size_t cpu_read_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    unsigned long long value = 0;
    char line[256];
    size_t got = SIZE_MAX;

    if (file == NULL) return SIZE_MAX;
    while (got == SIZE_MAX && fgets(line, sizeof line, file) != NULL) {
        size_t skip = strlen(key);
        if (strncmp(line, key, skip) == 0 && sscanf(line + skip, "%llu", &value) == 1) got = value;
    }
    fclose(file);
    return got;
}

/* The memory limit of this process's cgroup (v2, then v1), SIZE_MAX when it has none. */
static size_t cpu_cgroup_limit(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[512], path[640];
    size_t limit = SIZE_MAX;

    if (file == NULL) return SIZE_MAX;
    while (fgets(line, sizeof line, file) != NULL) {
        char *group = strchr(line, ':') != NULL ? strchr(strchr(line, ':') + 1, ':') : NULL;
        bool v2 = strncmp(line, "0::", 3) == 0;
        size_t got;

        if (group == NULL || (!v2 && strstr(line, ":memory:") == NULL)) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof path,
                 v2 ? "/sys/fs/cgroup%s/memory.max"
                    : "/sys/fs/cgroup/memory%s/memory.limit_in_bytes",
                 group + 1);
        got = cpu_read_number(path, "");
        if (got < limit) limit = got;
    }
    fclose(file);
    return limit;
}

static int cpu_probe(char *why, size_t len)
{
    snprintf(why, len, "host memory");
    return 0;
}

/* The kernel hands out shared memory until it runs dry, so we refuse what cannot be. */
static int cpu_admit(size_t nbytes)
{
    size_t total = cpu_read_number("/proc/meminfo", "MemTotal:");
    size_t group = cpu_cgroup_limit();

    if (total < SIZE_MAX / 1024) total *= 1024;
    if (nbytes > total) {
        stp_error("a cpu space of %zu bytes a PE exceeds this host's memory of %zu bytes", nbytes,
                  total);
        return -ENOMEM;
    }
    if (nbytes > group) {
        stp_error("a cpu space of %zu bytes a PE exceeds the cgroup limit of %zu bytes", nbytes,
                  group);
        return -ENOMEM;
    }
    return 0;
}

static int cpu_create(struct stp_space *space, bool (*member)(int local, void *arg), void *arg)
{
    int rc = stp_window_commit(space->offset, space->nbytes, member, arg);

    if (rc == 0) space->base = stp_window_at(space->offset);
    return rc;
}

static void cpu_destroy(struct stp_space *space)
{
    stp_window_release(space->offset, space->nbytes);
}

static void cpu_zero(struct stp_space *space, size_t offset, size_t nbytes)
{
    memset(space->base + offset, 0, nbytes);
}

const struct stp_kind stp_kind_cpu = {
    .name = "cpu",
    .device_type = 0, /* SHMEM_DEVICE_CPU */
    .probe = cpu_probe,
    .admit = cpu_admit,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .zero = cpu_zero,
    .direct = true,
};
