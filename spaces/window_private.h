/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What window.c and window_choose.c share, and nobody else. Design: docs/design/memory.md.
 */
#ifndef STP_WINDOW_PRIVATE_H
#define STP_WINDOW_PRIVATE_H

#include "spaces/space_registry.h"

#include <sys/types.h>

/*
 * Address space that nothing may touch, of file fd from position at, -1: of none. At base, 0: where
 * the system likes; so many bytes past a multiple of STP_WINDOW_ALIGN; or at the hint, at one of
 * the known bases, or anywhere. NULL when it is not to be had.
 */
void *stp_window_reserve_at(uintptr_t base, size_t nbytes, int fd, off_t at);
void *stp_window_reserve_aligned(size_t bytes_past_align, size_t nbytes, int fd, off_t at);
void *stp_window_map_somewhere(uintptr_t hint, size_t nbytes, int fd, off_t at);

/* From part to part in the node's file and in the view. */
size_t stp_window_stride(const struct stp_window_layout *layout);

/* What the view keeps for the data segment of a peer, at the top of its part. */
size_t stp_window_data_segment_bytes(void);

#endif /* STP_WINDOW_PRIVATE_H */
