/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose memory an address is: which part of the data segment it lies in. Design: docs/design/memory.md.
 */
#include "spaces/spaces.h"

#include <stdio.h>

const struct stp_segment_part *stp_segment_part_slow(const void *addr)
{
    for (unsigned i = 0; i < stp_segment.n_parts; i++) {
        const struct stp_segment_part *part = &stp_segment.parts[i];

        if ((size_t)((const char *)addr - part->base) < part->nbytes) return part;
    }
    return NULL;
}

const char *stp_segment_format(char *text, size_t len)
{
    size_t used = 0;

    snprintf(text, len, "none found");
    for (unsigned i = 0; i < stp_segment.n_parts && used < len; i++) {
        const struct stp_segment_part *part = &stp_segment.parts[i];

        used += (size_t)snprintf(text + used, len - used, "%s%p..%p", i > 0 ? ", " : "",
                                 (void *)part->base, (void *)(part->base + part->nbytes));
    }
    return text;
}
