/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routines shmemx_..._init() set public structures to their defaults. They are for languages
 * that cannot use the initializers of C. Design: docs/reference/abi.md.
 */
#include "core/argument_errors.h"
#include "core/job_state.h"
#include "core/versioned_struct.h"
#include "pshmem.h"

/*
 * Copies the defaults to the program's structure (dest), which has nbytes bytes. Returns 0, or 1
 * after logging.
 */
static int struct_init(void *dest, const void *defaults, size_t defaults_bytes, size_t min_bytes,
                       size_t nbytes, const char *argument, const char *fn)
{
    if (dest == NULL) return stp_reject(fn, argument, "a null pointer");
    if (nbytes < min_bytes || nbytes > STP_STRUCT_MAX) {
        stp_error("%s: struct_size is %zu: pass the size of the structure (%zu in this version)",
                  stp_public_name(fn), nbytes, defaults_bytes);
        return 1;
    }
    stp_struct_copy_versioned(dest, nbytes, defaults, defaults_bytes);
    return 0;
}

#define STRUCT_INIT(NAME, TYPE, PARAMETER, INITIALIZER, MIN_BYTES)                                 \
    int p##NAME(TYPE *PARAMETER, size_t struct_size)                                               \
    {                                                                                              \
        TYPE full = INITIALIZER;                                                                   \
                                                                                                   \
        full.struct_size = struct_size;                                                            \
        return struct_init(PARAMETER, &full, sizeof(full), MIN_BYTES, struct_size, #PARAMETER,     \
                           __func__);                                                              \
    }                                                                                              \
    STP_PROFILED(NAME)

STRUCT_INIT(shmemx_space_attr_init, shmemx_space_attr_t, attr, SHMEMX_SPACE_ATTR_INITIALIZER,
            STP_SPACE_ATTR_MIN);
STRUCT_INIT(shmemx_space_info_init, shmemx_space_info_t, info, SHMEMX_SPACE_INFO_INITIALIZER,
            STP_SPACE_INFO_MIN);
STRUCT_INIT(shmemx_device_info_init, shmemx_device_info_t, info, SHMEMX_DEVICE_INFO_INITIALIZER,
            sizeof(size_t));
STRUCT_INIT(shmemx_device_options_init, shmemx_device_options_t, options,
            SHMEMX_DEVICE_OPTIONS_INITIALIZER, STP_DEVICE_OPTIONS_MIN);
