/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations that the files of the data segment share: the mappings of this process and the fork
 * handlers. Design: docs/design/memory.md.
 */
#ifndef STP_DATA_SEGMENT_PRIVATE_H
#define STP_DATA_SEGMENT_PRIVATE_H

#include "spaces/space_registry.h"

/* ---- mappings of this process (proc_maps.c) ------------------------------------ */

struct stp_mapping {
    uintptr_t start, end;
    int prot;     /* PROT_... */
    bool shared;  /* MAP_SHARED */
    uint64_t at;  /* offset of start in the file */
    uint64_t dev; /* device of the file; 0 without a file, as ino */
    uint64_t ino;
};

/*
 * Calls each() for every mapping of this process, in ascending order, until each() returns false.
 * each() must not change mappings. Returns false if the kernel does not report the mappings.
 */
bool stp_proc_maps_foreach(bool (*each)(const struct stp_mapping *mapping, void *arg), void *arg);

/* ---- fork (data_segment_fork.c) ------------------------------------------------ */

/* Gives children their own copy of the segment from now on. Returns false without memory. */
bool stp_data_segment_copy_on_fork(void);

#endif /* STP_DATA_SEGMENT_PRIVATE_H */
