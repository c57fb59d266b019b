/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What machines have: NUMA nodes and devices, as the kernel tells (numa_nodes.c, numa_policy.c).
 */
#ifndef STP_MACHINE_H
#define STP_MACHINE_H

#include "base/base.h"

/* Below it the kernel tells of devices; "/sys" but in tests. */
extern const char *stp_sysfs;

/* The first line of a file below it, or what fits of a longer file; "" when there is none. */
const char *stp_sysfs_read_or_empty(char *line, size_t len, const char *path);

/* CPUs, or NUMA nodes: numbers as the kernel's lists have them. */
#define STP_NUMBERS 8192
#define STP_WORD_BITS (8 * sizeof(unsigned long))
struct stp_numbers {
    unsigned long words[STP_NUMBERS / STP_WORD_BITS]; /* as system calls take them */
};

void stp_sysfs_list(struct stp_numbers *set, const char *path);
void stp_numbers_add(struct stp_numbers *set, int i); /* below STP_NUMBERS */
bool stp_numbers_have(const struct stp_numbers *set, int i);
bool stp_numbers_meet(const struct stp_numbers *a, const struct stp_numbers *b);
void stp_numbers_own_cpus(struct stp_numbers *set); /* that this process may run on */

/*
 * As firmware tells: from a NUMA node to the nearest one with a CPU of the set, and between two;
 * -1: unknown.
 */
#define STP_DISTANCE_LOCAL 10 /* a node's from itself */
int stp_numa_distance(int node, const struct stp_numbers *cpus);
int stp_numa_between(int node, int other);

/* A device, as far as it is known; before it is looked at, it is STP_DEVICE_UNKNOWN. */
#define STP_DEVICE_PAGES 8
struct stp_device {
    char name[96], bus[32];
    char why_not[128];   /* spaces cannot be made there; "": they can */
    size_t nbytes, free; /* SIZE_MAX: unknown */
    int numa, distance;  /* its node, and how far from this PE; -1: unknown */
    int n_pages;
    size_t pages[STP_DEVICE_PAGES]; /* sizes, ascending */
};
#define STP_DEVICE_UNKNOWN                                                                         \
    ((struct stp_device){.nbytes = SIZE_MAX, .free = SIZE_MAX, .numa = -1, .distance = -1})

/* A field of /proc/meminfo, "MemTotal:", in bytes; SIZE_MAX: unknown. */
size_t stp_meminfo(const char *field);

/* Host memory: a device is a NUMA node that has some. As devices of a kind's row. */
int stp_numa_count_devices(int i, struct stp_device *device);

/* What is known of the memory of one node; where it lies, and its page sizes. */
void stp_numa_describe(int node, struct stp_device *device);

#endif /* STP_MACHINE_H */
