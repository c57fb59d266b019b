/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that only window.c and window_choose.c use. Design: docs/design/memory.md.
 */
#ifndef STP_WINDOW_PRIVATE_H
#define STP_WINDOW_PRIVATE_H

#include "spaces/space_registry.h"

#include <sys/types.h>

/*
 * Maps nbytes bytes of the file fd, beginning at file_offset. If fd is -1, maps anonymous
 * memory. The mapping has no access rights (PROT_NONE). If base is 0, the kernel chooses the
 * address. Otherwise the address is base. Returns NULL on failure.
 */
void *stp_window_reserve_at(uintptr_t base, size_t nbytes, int fd, off_t file_offset);
/*
 * Does the same as stp_window_reserve_at(), but chooses the address. The address is
 * bytes_past_align bytes after a multiple of STP_WINDOW_ALIGN.
 */
void *stp_window_reserve_aligned(size_t bytes_past_align, size_t nbytes, int fd, off_t file_offset);
/*
 * Does the same as stp_window_reserve_at(), but tries several addresses. Tries the address hint
 * first, then fixed addresses for windows, and finally any aligned address.
 */
void *stp_window_map_somewhere(uintptr_t hint, size_t nbytes, int fd, off_t file_offset);

/* Returns the distance between two adjacent parts, in the node's file and in the view. */
size_t stp_window_stride(const struct stp_window_layout *layout);

/* Returns the number of bytes that the view reserves at the end of each part for a data segment. */
size_t stp_window_data_segment_bytes(void);

#endif /* STP_WINDOW_PRIVATE_H */
