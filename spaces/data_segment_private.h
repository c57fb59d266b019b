/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the data segment share: pieces of it, as they are mapped, and the fork
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
    uint64_t dev; /* and which file: 0 and 0 for none */
    uint64_t ino;
};

/*
 * Call each for every mapping of this process, ascending, until it returns false. It must not
 * change what is mapped. Returns false when the kernel does not tell.
 */
bool stp_proc_maps_foreach(bool (*each)(const struct stp_mapping *mapping, void *arg), void *arg);

/* ---- fork (data_segment_fork.c) ------------------------------------------------ */

/* From now on children get a copy of the segment of their own. False: no memory for that. */
bool stp_data_segment_copy_on_fork(void);

#endif /* STP_DATA_SEGMENT_PRIVATE_H */
