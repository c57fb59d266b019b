/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that describe the NUMA nodes, the CPUs and the devices of this machine. Their data
 * comes from the kernel (numa_nodes.c).
 */
#ifndef STP_MACHINE_H
#define STP_MACHINE_H

#include "base/base.h"

/* Path of the sysfs file system. The path is "/sys" except in tests. */
extern const char *stp_sysfs;

/*
 * Reads the first len - 1 bytes of the file stp_sysfs/path into line, and returns line. The line is
 * empty if the file does not exist.
 */
const char *stp_sysfs_read_or_empty(char *line, size_t len, const char *path);

/* A set of CPU numbers or of NUMA node numbers. The kernel defines the numbers. */
#define STP_NUMBERS 8192
#define STP_WORD_BITS (8 * sizeof(unsigned long))
struct stp_numbers {
    /* Bit mask in the format of the system calls, for example sched_getaffinity() and mbind(). */
    unsigned long words[STP_NUMBERS / STP_WORD_BITS];
};

/* Sets *set to the numbers in the file stp_sysfs/path, which has a list such as "0-3,8". */
void stp_sysfs_list(struct stp_numbers *set, const char *path);
void stp_numbers_add(struct stp_numbers *set, int i); /* i must be below STP_NUMBERS */
bool stp_numbers_have(const struct stp_numbers *set, int i);
/* Returns whether the two sets have a number in common. */
bool stp_numbers_meet(const struct stp_numbers *a, const struct stp_numbers *b);
void stp_numbers_own_cpus(struct stp_numbers *set); /* gets the CPUs on which this thread may run */

#define STP_DISTANCE_LOCAL 10 /* distance between a NUMA node and itself */
/* Returns the distance between a NUMA node and the nearest of the CPUs, or -1 if it is unknown. */
int stp_numa_distance(int node, const struct stp_numbers *cpus);
/* Returns the distance between two NUMA nodes, or -1 if it is unknown. */
int stp_numa_between(int node, int other_node);

/* Properties of a device. STP_DEVICE_UNKNOWN is the initial value. */
#define STP_DEVICE_PAGES 8
struct stp_device {
    char name[96], bus[32];
    char unusable_reason[128]; /* reason why the device cannot hold spaces, or "" if it can */
    size_t nbytes, free;       /* total and free memory in bytes; SIZE_MAX if unknown */
    int numa, distance;        /* NUMA node, and its distance from this PE; -1 if unknown */
    int n_pages;
    size_t pages[STP_DEVICE_PAGES]; /* page sizes in bytes, in ascending order */
};
#define STP_DEVICE_UNKNOWN                                                                         \
    ((struct stp_device){.nbytes = SIZE_MAX, .free = SIZE_MAX, .numa = -1, .distance = -1})

/* Returns a field of /proc/meminfo, for example "MemTotal:", in bytes, or SIZE_MAX on failure. */
size_t stp_meminfo(const char *field);

/*
 * Implements the operation devices() of the kind cpu (struct stp_kind). Each NUMA node with memory
 * counts as one device.
 */
int stp_numa_count_devices(int i, struct stp_device *device);

/* Sets the memory sizes, the distance and the page sizes in *device to those of a NUMA node. */
void stp_numa_describe(int node, struct stp_device *device);

#endif /* STP_MACHINE_H */
