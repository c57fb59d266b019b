/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports the first fields of the window structure. Programs with inlined small operations read
 * these fields. The library exports only a pointer to the structure. The structure itself stays a
 * hidden symbol, so the library needs no load from the GOT to access it. Design:
 * docs/design/api.md.
 */
#include "rma/rma.h"

#include "shmemx_inline.h"

#define SAME(field, offset)                                                                        \
    _Static_assert(offsetof(struct stp_window, field) == (offset) &&                               \
                       offsetof(struct shmemx_view_v1, field) == (offset) &&                       \
                       sizeof(((struct stp_window *)0)->field) ==                                  \
                           sizeof(((struct shmemx_view_v1 *)0)->field),                            \
                   "compiled programs use this layout: a change needs a new version of the view")

SAME(base, 0);
SAME(top, 8);
SAME(amo_top, 16);
SAME(view, 24);
SAME(stride, 32);
SAME(first_pe, 40);
SAME(n_local, 44);
SAME(n_plain, 48);
SAME(ordered, 52);

const struct shmemx_view_v1 *const shmemx_view_v1 = (const void *)&stp_win;
