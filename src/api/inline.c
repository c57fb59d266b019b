/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs see that inline small operations: the beginning of the window, by a pointer, so
 * that the window itself stays hidden and costs the library no load. Design: docs/design/api.md.
 */
#include "rma/rma.h"

#include "shmemx_inline.h"

#define SAME(field)                                                                                \
    _Static_assert(offsetof(struct stp_window, field) == offsetof(struct shmemx_view_v1, field) && \
                       sizeof(((struct stp_window *)0)->field) ==                                  \
                           sizeof(((struct shmemx_view_v1 *)0)->field),                            \
                   "programs have been compiled with that: a change is another version")

SAME(base);
SAME(top);
SAME(amo_top);
SAME(view);
SAME(stride);
SAME(first_pe);
SAME(n_local);
SAME(n_plain);
SAME(ordered);

const struct shmemx_view_v1 *const shmemx_view_v1 = (const void *)&stp_win;
