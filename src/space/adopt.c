/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the program has becomes a space: shmemx_buffer_register(). Design:
 * docs/design/spaces.md.
 */
#include "space.h"

#include "pshmem.h"
#include "rma/rma.h"

#include <string.h>

static int adopt_register(shmem_team_t team, const shmemx_buffer_attr_t *attr, shmem_space_t *space,
                          const char *fn)
{
    struct stp_adopt adopt = {.fd = attr->fd, .at = attr->offset};
    struct stp_space *made = NULL;

    stp_check_live(fn);
    stp_check_given(space, fn, "space");
    *space = SHMEM_SPACE_INVALID;
    if (stp_team_is_invalid(team)) return 1;
    if ((attr->flags & ~SHMEMX_ADOPT_HEAP) != 0)
        stp_fatal(fn, "flags %#x are unknown: SHMEMX_ADOPT_HEAP (%d) is the only one",
                  (unsigned)attr->flags, SHMEMX_ADOPT_HEAP);
    if (attr->fd < -1) stp_fatal(fn, "fd is %d: -1, or a descriptor", attr->fd);
    adopt.heap = (attr->flags & SHMEMX_ADOPT_HEAP) != 0;
    if (stp_space_adopt(team, attr->addr, attr->nbytes, &adopt, &made, fn) != 0) return 1;
    *space = stp_space_handle(made);
    return 0;
}

int pshmemx_buffer_register(shmem_team_t team, void *addr, size_t nbytes, int flags,
                            shmem_space_t *space)
{
    shmemx_buffer_attr_t attr = SHMEMX_BUFFER_ATTR_INITIALIZER;

    attr.addr = addr;
    attr.nbytes = nbytes;
    attr.flags = flags;
    return adopt_register(team, &attr, space, __func__);
}
STP_PROFILED(shmemx_buffer_register);

int pshmemx_buffer_register_attr(shmem_team_t team, const shmemx_buffer_attr_t *attr,
                                 shmem_space_t *space)
{
    shmemx_buffer_attr_t full = SHMEMX_BUFFER_ATTR_INITIALIZER;

    stp_check_given(attr, __func__, "attr");
    stp_struct_check(attr->struct_size, offsetof(shmemx_buffer_attr_t, fd), sizeof(full),
                     "attr->struct_size", __func__);
    if (attr->struct_size > sizeof(full))
        stp_fatal(__func__, "attr->struct_size is %zu, and this library knows %zu bytes of it",
                  attr->struct_size, sizeof(full));
    memcpy(&full, attr, attr->struct_size); /* a program of an older header has fewer fields */
    return adopt_register(team, &full, space, __func__);
}
STP_PROFILED(shmemx_buffer_register_attr);
