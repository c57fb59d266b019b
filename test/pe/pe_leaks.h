/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts what a process holds and could leak: descriptors, mappings, resident and mapped memory,
 * malloc memory, pages of memfds and, with the fake driver, the driver's objects. Compares two
 * such counts. A space that is not released is found by pe_space_numbers().
 */
#ifndef STEPPE_TEST_PE_LEAKS_H
#define STEPPE_TEST_PE_LEAKS_H

#include "pe_kinds.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PE_N_DRIVER = 9,
    PE_ARENAS = 160 * 1024 /* KiB of address space that malloc takes for two new threads */
};

static const char *const pe_driver_things[PE_N_DRIVER] = {
    "alloc", "ipc", "registered", "stream", "ctx", "host", "physical", "mapped", "reservation"};

struct pe_holdings {
    long fds, maps;
    long file_kib; /* of memfds, which the processes of a node share */
    long rss_kib, virtual_kib;
    long heap_kib;            /* of malloc, in use */
    long driver[PE_N_DRIVER]; /* -1: no fake driver */
};

/* Number of descriptors, and memory of the memfds among them, each counted once. */
static inline void pe_count_fds(struct pe_holdings *h)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    ino_t seen[64];
    int n_seen = 0;

    PE_REQUIRE(dir != NULL, "/proc/self/fd cannot be read, so descriptors cannot be counted");
    while ((entry = readdir(dir)) != NULL) {
        char path[300], target[128] = "";
        struct stat st;
        bool again = false;

        if (entry->d_name[0] == '.') continue;
        h->fds++;
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, target, sizeof(target) - 1) < 0 || stat(path, &st) != 0) continue;
        if (strncmp(target, "/memfd:", 7) != 0) continue;
        for (int i = 0; i < n_seen; i++)
            again = again || seen[i] == st.st_ino;
        if (again || n_seen == 64) continue;
        seen[n_seen++] = st.st_ino;
        h->file_kib += (long)st.st_blocks / 2;
    }
    h->fds--; /* the directory's own */
    closedir(dir);
}

static inline void pe_count_maps(struct pe_holdings *h)
{
    FILE *file = fopen("/proc/self/maps", "re");
    int c;

    PE_REQUIRE(file != NULL, "/proc/self/maps cannot be read, so mappings cannot be counted");
    while ((c = fgetc(file)) != EOF)
        h->maps += c == '\n';
    fclose(file);
}

static inline void pe_count_memory(struct pe_holdings *h)
{
    FILE *file = fopen("/proc/self/status", "re");
    struct mallinfo2 used;
    char line[256];

    PE_REQUIRE(file != NULL, "/proc/self/status cannot be read, so memory cannot be counted");
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) h->rss_kib = atol(line + 6);
        if (strncmp(line, "VmSize:", 7) == 0) h->virtual_kib = atol(line + 7);
    }
    fclose(file);
    used = mallinfo2();
    h->heap_kib = (long)((used.uordblks + used.hblkhd) / 1024);
}

static inline void pe_count_driver(struct pe_holdings *h)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    long (*live)(const char *) = NULL;

    if (library != NULL) *(void **)&live = dlsym(library, "fakecuda_live");
    for (int i = 0; i < PE_N_DRIVER; i++)
        h->driver[i] = live != NULL ? live(pe_driver_things[i]) : -1;
    if (library != NULL) dlclose(library);
}

static inline struct pe_holdings pe_holdings(void)
{
    struct pe_holdings h = {0};

    pe_count_fds(&h);
    pe_count_maps(&h);
    pe_count_memory(&h);
    pe_count_driver(&h);
    return h;
}

/*
 * Collective, before the first count: the library opens the memory of peers of the node when it is
 * asked for, and all of it after some asking, which makes mappings.
 */
static inline void pe_open_peers(void)
{
    long *word = shmem_malloc(sizeof(*word));

    for (int i = 0; i < 64 * pe_n; i++)
        (void)shmem_ptr(word, i % pe_n);
    shmem_free(word);
}

/*
 * The same when this end of each connection that a peer has closed is gone too: it goes when the
 * progress thread has seen that, which no call of the peer waits for. As they are after 10 s.
 */
static inline struct pe_holdings pe_holdings_settled(const struct pe_holdings *before)
{
    struct pe_holdings h = pe_holdings();

    for (int i = 0; i < 1000 && h.fds > before->fds; i++) {
        usleep(10000);
        h = pe_holdings();
    }
    return h;
}

/* How much more there may be afterwards without being a leak. */
struct pe_slack {
    long maps;     /* malloc's come and go */
    long heap_kib; /* the fake driver keeps the books of what is gone, to catch its use */
    long file_kib, virtual_kib;
    long rss_kib; /* providers touch the buffers that they have from the start one by one */
};

static inline void pe_check_more(long after, long before, long slack, const char *of,
                                 const char *what)
{
    PE_CHECK(after <= before + slack, "%s: leak: now %ld %s, before %ld", what, after, of, before);
}

static inline void pe_check_holdings(const struct pe_holdings *before,
                                     const struct pe_holdings *after, const struct pe_slack *slack,
                                     const char *what)
{
    pe_check_more(after->fds, before->fds, 0, "descriptors", what);
    pe_check_more(after->maps, before->maps, slack->maps, "mappings", what);
    pe_check_more(after->heap_kib, before->heap_kib, slack->heap_kib, "KiB of malloc", what);
    /* A PE that has waited for a second has told so on a page of its own in the node's file. */
    pe_check_more(after->file_kib, before->file_kib,
                  slack->file_kib + pe_n * sysconf(_SC_PAGESIZE) / 1024, "KiB of memfds", what);
    pe_check_more(after->virtual_kib, before->virtual_kib, slack->virtual_kib, "KiB mapped", what);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* theirs grows, too */
    pe_check_more(after->rss_kib, before->rss_kib, slack->rss_kib, "KiB resident", what);
#endif
    for (int i = 0; i < PE_N_DRIVER; i++)
        pe_check_more(after->driver[i], before->driver[i], 0, pe_driver_things[i], what);
}

/* Numbers of the user's spaces as the table prints them, in a row; "" for none. */
static inline const char *pe_space_numbers(char *text, size_t len)
{
    FILE *file = tmpfile();
    char line[512], name[32];
    unsigned number;
    size_t used = 0;

    text[0] = '\0';
    PE_REQUIRE(file != NULL, "tmpfile() failed: no file for the table of spaces");
    PE_CHECK_EQ(shmemx_space_print(fileno(file)), 0);
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "%u %31s", &number, name) == 2 && strcmp(name, "user") == 0)
            used += (size_t)snprintf(text + used, len - used, "%u ", number);
    fclose(file);
    return text;
}

#endif
