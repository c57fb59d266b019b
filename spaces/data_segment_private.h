/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations that the data_segment files share: the list of this process's mappings and the fork
 * handlers. Design: docs/design/memory.md.
 */
#ifndef STP_DATA_SEGMENT_PRIVATE_H
#define STP_DATA_SEGMENT_PRIVATE_H

#include "spaces/space_registry.h"

/* ---- mappings of this process (proc_maps.c) ------------------------------------ */

struct stp_mapping {
    uintptr_t start, end;
    int prot;             /* PROT_ flags */
    bool shared;          /* whether the mapping is MAP_SHARED */
    uint64_t file_offset; /* file offset that is mapped at start */
    uint64_t dev;         /* device number of the file, or 0 if the memory is anonymous */
    uint64_t ino;         /* inode number of the file, or 0 */
};

/*
 * Calls visit() for every mapping of this process, in ascending order of addresses. Stops when
 * visit() returns false. visit() must not map or unmap memory. Returns false if /proc/self/maps
 * cannot be read.
 */
bool stp_proc_maps_foreach(bool (*visit)(const struct stp_mapping *mapping, void *arg), void *arg);

/* ---- fork (data_segment_fork.c) ------------------------------------------------ */

/*
 * Installs fork handlers, so that each child process gets its own copy of the data segment. Returns
 * false if there is no memory.
 */
bool stp_data_segment_copy_on_fork(void);

#endif /* STP_DATA_SEGMENT_PRIVATE_H */
