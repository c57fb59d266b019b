/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control groups around this process allow it to use. Memory of the window is charged to
 * them when it is touched, and past the limit the kernel kills instead of refusing.
 * Design: docs/design/memory.md.
 */
#include "spaces/spaces.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How version 1 says that there is no limit; pages may be larger than 4 KiB. */
#define NO_LIMIT ((size_t)LLONG_MAX / 65536 * 65536)

/*
 * The least limit of the group and those around it; path is cut on the way up. In a container the
 * path may be the host's: then only the root is found, which is the container's.
 */
static size_t cgroup_least(char *path, const char *root, const char *file)
{
    size_t least = SIZE_MAX;

    for (;;) {
        char *name, *slash;
        size_t limit;

        if (asprintf(&name, "%s%s/%s", root, path, file) < 0) return least;
        limit = stp_file_number(name, ""); /* "max" is no number */
        free(name);
        if (limit < NO_LIMIT && limit < least) least = limit;
        slash = strrchr(path, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

size_t stp_cgroup_memory(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    size_t least = SIZE_MAX, room = 0;
    char *line = NULL; /* not on the stack: threads that make spaces have small ones */

    if (file == NULL) return SIZE_MAX;
    while (getline(&line, &room, file) > 0) {
        char *group = strchr(line, ':') != NULL ? strchr(strchr(line, ':') + 1, ':') : NULL;
        bool v2 = strncmp(line, "0::", 3) == 0;
        size_t limit;

        if (group == NULL || (!v2 && strstr(line, ":memory:") == NULL)) continue;
        line[strcspn(line, "\n")] = '\0';
        limit = v2 ? cgroup_least(group + 1, "/sys/fs/cgroup", "memory.max")
                   : cgroup_least(group + 1, "/sys/fs/cgroup/memory", "memory.limit_in_bytes");
        if (limit < least) least = limit;
    }
    free(line);
    fclose(file);
    return least;
}
