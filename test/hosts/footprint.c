/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what a job costs each process: memory, descriptors and connections, after initialization
 * ("idle"), after each PE has communicated with the next one ("ring") or with all others ("all").
 * PE 0 prints one line. With 16 or more PEs, idle and ring also check that connections are made on
 * first use. The mean private memory must be less than 6 MB, except with a sanitizer.
 *
 * usage: footprint [idle|ring|all]
 */
#include "../pe/pe_test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

static long word[2];

/* A line of /proc/self/smaps_rollup, in kB. */
static long rollup(const char *name)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    size_t len = strlen(name);
    long kb = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            kb = strtol(line + len + 1, NULL, 10);
    if (file != NULL) fclose(file);
    return kb;
}

/* Is inode a connected TCP socket of this network namespace? */
static int is_connection(unsigned long inode, const char *table)
{
    FILE *file = fopen(table, "r");
    char line[512];
    int found = 0;

    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        unsigned state;
        unsigned long its;

        found = sscanf(line, " %*d: %*s %*s %x %*s %*s %*s %*s %*s %lu", &state, &its) == 2 &&
                state == 1 && its == inode;
    }
    if (file != NULL) fclose(file);
    return found;
}

static void count_descriptors(long *n_all, long *n_connections)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    struct stat facts;

    *n_all = *n_connections = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        ++*n_all;
        if (fstat(atoi(entry->d_name), &facts) == 0 && S_ISSOCK(facts.st_mode))
            *n_connections += is_connection(facts.st_ino, "/proc/self/net/tcp") ||
                              is_connection(facts.st_ino, "/proc/self/net/tcp6");
    }
    if (dir != NULL) closedir(dir);
}

static void talk(const char *way)
{
    int last = strcmp(way, "all") == 0 ? pe_n - 1 : strcmp(way, "ring") == 0 ? 1 : 0;

    for (int i = 1; i <= last && i < pe_n; i++) {
        shmem_long_p(&word[0], 1, (pe_me + i) % pe_n);
        shmem_long_atomic_inc(&word[1], (pe_me + i) % pe_n);
    }
    shmem_quiet();
}

enum { PSS, PRIVATE, FDS, CONNECTIONS, N_FACTS };

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "idle";
    static long facts[N_FACTS], sum[N_FACTS], most[N_FACTS];

    pe_test_begin();
    shmem_sync_all();
    talk(way);
    /* no sync: it would talk to more PEs; the facts of a PE are its own, taken before the next */
    facts[PSS] = rollup("Pss");
    facts[PRIVATE] = rollup("Private_Dirty");
    count_descriptors(&facts[FDS], &facts[CONNECTIONS]);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, facts, N_FACTS);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, most, facts, N_FACTS);
    if (pe_me == 0)
        printf("%d PEs, %s: mean (most) of a PE: %ld (%ld) kB proportional, %ld (%ld) kB private, "
               "%ld (%ld) descriptors, %ld (%ld) connections\n",
               pe_n, way, sum[PSS] / pe_n, most[PSS], sum[PRIVATE] / pe_n, most[PRIVATE],
               sum[FDS] / pe_n, most[FDS], sum[CONNECTIONS] / pe_n, most[CONNECTIONS]);
    if (pe_n >= 16 && strcmp(way, "all") != 0)
        PE_CHECK(4 * sum[CONNECTIONS] < 3l * pe_n * (pe_n - 1),
                 "%ld connections in total: PEs connect before the first operation",
                 sum[CONNECTIONS]);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    PE_CHECK(sum[PRIVATE] / pe_n < 6000, "the mean private memory is %ld kB", sum[PRIVATE] / pe_n);
#endif
    return pe_test_end();
}
