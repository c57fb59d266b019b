/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that only window.c and window_choose.c share. Design: docs/design/memory.md.
 */
#ifndef STP_WINDOW_PRIVATE_H
#define STP_WINDOW_PRIVATE_H

#include "spaces/space_registry.h"

#include <sys/types.h>

/*
 * These functions reserve inaccessible address space for file fd from position at, or anonymous
 * with fd -1: at base (0: any address), bytes_past_align after a multiple of STP_WINDOW_ALIGN, or
 * at the hint, else at a known base, else at any aligned address. They return NULL on failure.
 */
void *stp_window_reserve_at(uintptr_t base, size_t nbytes, int fd, off_t at);
void *stp_window_reserve_aligned(size_t bytes_past_align, size_t nbytes, int fd, off_t at);
void *stp_window_map_somewhere(uintptr_t hint, size_t nbytes, int fd, off_t at);

/* Returns the distance between two parts, in the node's file and in the view. */
size_t stp_window_stride(const struct stp_window_layout *layout);

/* Returns the space that the view reserves at the end of a part for a peer's data segment. */
size_t stp_window_data_segment_bytes(void);

#endif /* STP_WINDOW_PRIVATE_H */
