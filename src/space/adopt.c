/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx_buffer_register() turns a buffer of the program into a space. Design:
 * docs/design/spaces.md.
 */
#include "space_lifecycle.h"

#include "pshmem.h"

int pshmemx_buffer_register(shmem_team_t team, void *addr, size_t nbytes, int flags, int fd,
                            size_t offset, shmem_space_t *space)
{
    struct stp_adopt adopt = {
        .flags = flags, .fd = fd, .file_offset = offset, .heap = (flags & SHMEMX_ADOPT_HEAP) != 0};
    struct stp_space *new_space;

    stp_check_live(__func__);
    if (space == NULL)
        (void)stp_reject(__func__, "space", "a null pointer");
    else
        *space = SHMEM_SPACE_INVALID;
    stp_kind_begin();
    if (stp_space_adopt(team, addr, nbytes, &adopt, space == NULL, &new_space, __func__) != 0)
        return 1;
    stp_space_allow_use_without_handle(new_space);
    *space = stp_space_handle(new_space);
    return 0;
}
STP_PROFILED(shmemx_buffer_register);
