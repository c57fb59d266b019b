/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads NUMA nodes, CPUs and distances from sysfs. Also describes the devices of host memory, which
 * are the NUMA nodes with memory. This file does not use hwloc, because hwloc takes longer to start
 * and does not report free memory.
 */
#include "spaces/space_registry.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Buffer size for files in sysfs, which can contain one number for each CPU. */
#define SYSFS_LINE 4096

const char *stp_sysfs = "/sys";

/* ---- reading sysfs ---------------------------------------------------------------------- */

const char *stp_sysfs_read_or_empty(char *line, size_t len, const char *path)
{
    char full_path[256];

    snprintf(full_path, sizeof(full_path), "%s/%s", stp_sysfs, path);
    stp_file_read(full_path, line, len);
    return line;
}

/*
 * Returns the contents of a file in a buffer from malloc(), or NULL if malloc() fails. The buffer
 * is not on the stack, because the stack of the calling thread can be small.
 */
static char *sysfs_long_line(const char *path)
{
    char *line = malloc(SYSFS_LINE);

    if (line != NULL) stp_sysfs_read_or_empty(line, SYSFS_LINE, path);
    return line;
}

void stp_numbers_add(struct stp_numbers *set, int i)
{
    set->words[(size_t)i / STP_WORD_BITS] |= 1ul << (size_t)i % STP_WORD_BITS;
}

/* Adds the numbers of a list, for example "0-3,8,10-11", to the set. */
static void numbers_parse(struct stp_numbers *set, const char *text)
{
    char *end;

    for (;;) {
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (end == text) return;
        if (*end == '-') last = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < STP_NUMBERS; i++)
            stp_numbers_add(set, (int)i);
        if (*end != ',') return;
        text = end + 1;
    }
}

void stp_sysfs_list(struct stp_numbers *set, const char *path)
{
    char *line = sysfs_long_line(path);

    memset(set, 0, sizeof(*set));
    if (line != NULL) numbers_parse(set, line);
    free(line);
}

bool stp_numbers_have(const struct stp_numbers *set, int i)
{
    return i >= 0 && i < STP_NUMBERS &&
           (set->words[(size_t)i / STP_WORD_BITS] >> (size_t)i % STP_WORD_BITS & 1) != 0;
}

bool stp_numbers_meet(const struct stp_numbers *a, const struct stp_numbers *b)
{
    for (size_t i = 0; i < STP_COUNT(a->words); i++)
        if ((a->words[i] & b->words[i]) != 0) return true;
    return false;
}

void stp_numbers_own_cpus(struct stp_numbers *set)
{
    cpu_set_t cpus[STP_NUMBERS / CPU_SETSIZE];

    memset(set, 0, sizeof(*set));
    if (sched_getaffinity(0, sizeof(cpus), cpus) != 0) return;
    for (int i = 0; i < STP_NUMBERS; i++)
        if (CPU_ISSET_S((size_t)i, sizeof(cpus), cpus)) stp_numbers_add(set, i);
}

/* ---- distances -------------------------------------------------------------------------- */

/* Returns whether at least one CPU of the NUMA node is in the set cpus. */
static bool node_has_cpu(int node, const struct stp_numbers *cpus)
{
    struct stp_numbers node_cpus;
    char path[96];

    snprintf(path, sizeof(path), "devices/system/node/node%d/cpulist", node);
    stp_sysfs_list(&node_cpus, path);
    return stp_numbers_meet(&node_cpus, cpus);
}

/*
 * Returns the distance between node and another NUMA node, or -1 if the distance is unknown. If
 * cpus is NULL, the other node is other_node. If cpus is not NULL, the other node is the nearest
 * node that has a CPU in the set cpus. The function reads the file "distance" of node. The i-th
 * number in this file is the distance to the i-th online node.
 */
static int node_distance(int node, int other_node, const struct stp_numbers *cpus)
{
    struct stp_numbers online;
    char path[96], *line, *pos, *end;
    int nearest = -1;

    if (node < 0) return -1;
    snprintf(path, sizeof(path), "devices/system/node/node%d/distance", node);
    pos = line = sysfs_long_line(path);
    if (line == NULL) return -1;
    stp_sysfs_list(&online, "devices/system/node/online");
    for (int i = 0; i < STP_NUMBERS; i++) {
        int distance;
        if (!stp_numbers_have(&online, i)) continue;
        distance = (int)strtol(pos, &end, 10);
        if (end == pos) break;
        pos = end;
        if (nearest >= 0 && distance >= nearest) continue;
        if (cpus != NULL ? node_has_cpu(i, cpus) : i == other_node) nearest = distance;
    }
    free(line);
    return nearest;
}

int stp_numa_distance(int node, const struct stp_numbers *cpus)
{
    return node_distance(node, -1, cpus);
}

int stp_numa_between(int node, int other_node)
{
    return other_node < 0 ? -1 : node_distance(node, other_node, NULL);
}

/* ---- host memory ------------------------------------------------------------------------ */

static int page_compare(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

/* Sets the page sizes: the base page size, and the page size of each hugetlb pool in the kernel. */
static void node_pages(struct stp_device *device)
{
    char path[256];
    struct dirent *entry;
    DIR *pools;

    device->pages[device->n_pages++] = (size_t)sysconf(_SC_PAGESIZE);
    snprintf(path, sizeof(path), "%s/kernel/mm/hugepages", stp_sysfs);
    pools = opendir(path);
    while (pools != NULL && (entry = readdir(pools)) != NULL) {
        size_t kib;
        if (sscanf(entry->d_name, "hugepages-%zukB", &kib) != 1) continue;
        if (device->n_pages < STP_DEVICE_PAGES) device->pages[device->n_pages++] = kib * 1024;
    }
    if (pools != NULL) closedir(pools);
    qsort(device->pages, (size_t)device->n_pages, sizeof(device->pages[0]), page_compare);
}

/* Finds key in lines such as "Node 0 MemFree: 1234 kB". Returns its value in bytes, or 0. */
static size_t node_bytes(const char *text, const char *key)
{
    const char *pos = strstr(text, key);
    size_t kib = 0;

    return pos != NULL && sscanf(pos + strlen(key), ": %zu", &kib) == 1 ? kib * 1024 : 0;
}

/* Sets the total and the free memory of a NUMA node. The page cache counts as free memory. */
static void node_memory(int node, struct stp_device *device)
{
    char path[96], *text;

    snprintf(path, sizeof(path), "devices/system/node/node%d/meminfo", node);
    text = sysfs_long_line(path);
    if (text == NULL || text[0] == '\0') {
        free(text);
        return;
    }
    device->nbytes = node_bytes(text, " MemTotal");
    device->free = node_bytes(text, " MemFree") + node_bytes(text, " Active(file)") +
                   node_bytes(text, " Inactive(file)");
    free(text);
}

size_t stp_meminfo(const char *field)
{
    size_t kib = stp_file_number("/proc/meminfo", field);

    return kib < SIZE_MAX / 1024 ? kib * 1024 : SIZE_MAX;
}

/* Describes the whole host as one device. Called if the kernel reports no NUMA nodes. */
static void host_memory(struct stp_device *device)
{
    device->nbytes = stp_meminfo("MemTotal:");
    device->free = stp_meminfo("MemAvailable:");
    snprintf(device->name, sizeof(device->name), "host memory");
    device->distance = STP_DISTANCE_LOCAL;
}

/* Returns the i-th NUMA node with memory, or -1. Sets *n to the number of nodes with memory. */
static int node_find(int i, int *n)
{
    struct stp_numbers nodes;
    int found = -1;

    *n = 0;
    stp_sysfs_list(&nodes, "devices/system/node/has_memory");
    for (int node = 0; node < STP_NUMBERS; node++) {
        if (!stp_numbers_have(&nodes, node)) continue;
        if ((*n)++ == i) found = node;
    }
    return found;
}

static int node_own_distance(int node)
{
    struct stp_numbers own_cpus;

    stp_numbers_own_cpus(&own_cpus);
    return stp_numa_distance(node, &own_cpus);
}

void stp_numa_describe(int node, struct stp_device *device)
{
    node_pages(device);
    device->numa = node;
    device->distance = node_own_distance(node);
    node_memory(node, device);
}

int stp_numa_count_devices(int i, struct stp_device *device)
{
    int n, found = node_find(i, &n);

    if (device != NULL && i >= 0 && i < (n > 0 ? n : 1)) {
        if (found < 0) {
            node_pages(device);
            host_memory(device);
        } else {
            stp_numa_describe(found, device);
            snprintf(device->name, sizeof(device->name), "host memory, NUMA node %d", found);
        }
    }
    return n > 0 ? n : 1;
}
