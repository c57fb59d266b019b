/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded library that simulates a power failure for <name>.fam files, because kill -9 loses no
 * stored page. msync() copies the flushed range, page by page in random order, to a file of the
 * same name in the directory FAMSHADOW, which then has flushed data only.
 *
 *   FAMSHADOW_KILL=n     kills the process before, in the middle of, or after its nth flush
 *   FAMSHADOW_KILL_US=n  kills the process after n microseconds
 *   FAMSHADOW_DROP       flushes of less than a superblock do nothing
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define SUPERBLOCK ((size_t)2 << 20)

static unsigned shadow_seed;
static long shadow_kill;

static long shadow_number(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtol(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void shadow_start(void)
{
    long us = shadow_number("FAMSHADOW_KILL_US");
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {us / 1000000, us % 1000000 * 1000}};
    timer_t timer;

    shadow_seed = (unsigned)getpid();
    shadow_kill = shadow_number("FAMSHADOW_KILL");
    if (us == 0) return;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &when, NULL) != 0)
        abort();
}

/* The pages of [from, end), which the file has from at on; the first n of a random order. */
static void shadow_copy(const char *path, const char *from, size_t nbytes, off_t at, size_t n)
{
    char shadow[4096];
    size_t pages = nbytes / PAGE, order[SUPERBLOCK / PAGE * 16];
    int fd;

    if (pages > sizeof(order) / sizeof(*order)) abort();
    snprintf(shadow, sizeof(shadow), "%s%s", getenv("FAMSHADOW"), strrchr(path, '/'));
    fd = open(shadow, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) abort();
    for (size_t i = 0; i < pages; i++) {
        size_t j = (size_t)rand_r(&shadow_seed) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < pages && i < n; i++)
        if (pwrite(fd, from + order[i] * PAGE, PAGE, at + (off_t)(order[i] * PAGE)) != PAGE)
            abort();
    close(fd);
}

/* Every mapping of a .fam that the range lies over. part: 2 for half of the pages, 1 for all. */
static void shadow_flush(uintptr_t from, uintptr_t end, size_t part)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4600];

    if (maps == NULL) abort();
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long first, last, at;
        char *path = strchr(line, '/'), *suffix = strstr(line, ".fam\n");
        if (path == NULL || suffix == NULL) continue;
        *strchr(suffix, '\n') = '\0';
        if (sscanf(line, "%lx-%lx %*s %lx", &first, &last, &at) != 3) abort();
        if (last <= from || first >= end) continue;
        at += from > first ? from - first : 0;
        first = from > first ? from : first;
        last = end < last ? end : last;
        shadow_copy(path, (const char *)first, last - first, (off_t)at,
                    (last - first) / PAGE / part);
    }
    fclose(maps);
}

__attribute__((visibility("default"))) int msync(void *addr, size_t nbytes, int flags)
{
    uintptr_t from = (uintptr_t)addr, end = (from + nbytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    int stage = shadow_kill > 0 && --shadow_kill == 0 ? rand_r(&shadow_seed) % 3 : 3;

    (void)flags;
    if (getenv("FAMSHADOW") == NULL) abort();
    if (from % PAGE != 0) {
        errno = EINVAL;
        return -1;
    }
    if (stage == 0) raise(SIGKILL);
    if (nbytes >= SUPERBLOCK || getenv("FAMSHADOW_DROP") == NULL)
        shadow_flush(from, end, stage == 1 ? 2 : 1);
    if (stage < 3) raise(SIGKILL);
    return 0;
}
