/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NUMA nodes, CPUs and devices of this machine, as the kernel reports them (numa_nodes.c).
 */
#ifndef STP_MACHINE_H
#define STP_MACHINE_H

#include "base/base.h"

/* The directory in which the kernel reports devices; "/sys" except in tests. */
extern const char *stp_sysfs;

/* Reads the first len - 1 bytes of a file below stp_sysfs; empty if the file does not exist. */
const char *stp_sysfs_read_or_empty(char *line, size_t len, const char *path);

/* A set of CPUs or NUMA nodes, by the numbers in the kernel's lists. */
#define STP_NUMBERS 8192
#define STP_WORD_BITS (8 * sizeof(unsigned long))
struct stp_numbers {
    unsigned long words[STP_NUMBERS / STP_WORD_BITS]; /* in the format of system calls */
};

void stp_sysfs_list(struct stp_numbers *set, const char *path);
void stp_numbers_add(struct stp_numbers *set, int i); /* i < STP_NUMBERS */
bool stp_numbers_have(const struct stp_numbers *set, int i);
bool stp_numbers_meet(const struct stp_numbers *a, const struct stp_numbers *b);
void stp_numbers_own_cpus(struct stp_numbers *set); /* CPUs on which this process may run */

/*
 * These functions return the firmware's distance from a NUMA node to the nearest node with a CPU of
 * the set, or to another node; -1 if it is unknown.
 */
#define STP_DISTANCE_LOCAL 10 /* distance of a node from itself */
int stp_numa_distance(int node, const struct stp_numbers *cpus);
int stp_numa_between(int node, int other);

/* The known properties of a device. The initial value is STP_DEVICE_UNKNOWN. */
#define STP_DEVICE_PAGES 8
struct stp_device {
    char name[96], bus[32];
    char why_not[128];   /* reason why the device cannot hold spaces, or "" */
    size_t nbytes, free; /* SIZE_MAX if unknown */
    int numa, distance;  /* NUMA node and its distance from this PE, or -1 */
    int n_pages;
    size_t pages[STP_DEVICE_PAGES]; /* page sizes, ascending */
};
#define STP_DEVICE_UNKNOWN                                                                         \
    ((struct stp_device){.nbytes = SIZE_MAX, .free = SIZE_MAX, .numa = -1, .distance = -1})

/* Returns a field of /proc/meminfo ("MemTotal:") in bytes, or SIZE_MAX if it is unknown. */
size_t stp_meminfo(const char *field);

/* Implements devices() of a kind's row: each NUMA node with memory is a device. */
int stp_numa_count_devices(int i, struct stp_device *device);

/* Sets the memory, the distance and the page sizes of a NUMA node. */
void stp_numa_describe(int node, struct stp_device *device);

#endif /* STP_MACHINE_H */
