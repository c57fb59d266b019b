/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx_device_count() and shmemx_device_describe() report the devices on which a PE can create
 * spaces. They may also be called before init and after finalize. Each kind of memory defines what
 * its devices are. Design: docs/design/spaces.md.
 */
#include "core/device_info_query.h"
#include "core/versioned_struct.h"
#include "init_finalize_lock.h"
#include "space/space_lifecycle.h"

/*
 * Before init and after finalize, makes the kinds of memory find their devices and returns true. No
 * thread can then run init or finalize until devices_end(). Between init and finalize, returns
 * false, because init has already found the devices.
 */
static bool devices_begin(void)
{
    if (stp_references() > 0) return false;
    stp_init_finalize_lock();
    if (stp_references() > 0) { /* another thread has called init meanwhile */
        stp_init_finalize_unlock();
        return false;
    }
    (void)stp_env_load();
    stp_kinds_find_devices();
    return true;
}

static void devices_end(bool started)
{
    if (!started) return;
    stp_kinds_stop();
    stp_init_finalize_unlock();
}

int pshmemx_device_count(shmem_device_type_t type)
{
    const struct stp_kind *kind = stp_kind_find((int)type);
    bool started;
    int n;

    if (kind == NULL) return -1;
    started = devices_begin();
    n = kind->devices(-1, NULL);
    devices_end(started);
    return n;
}
STP_PROFILED(shmemx_device_count);

int pshmemx_device_describe(shmem_device_type_t type, int i, shmemx_device_info_t *info)
{
    const struct stp_kind *kind = stp_kind_find((int)type);
    size_t nbytes;
    bool started;
    shmemx_device_info_t library_info;
    int rc;

    if (info == NULL) return stp_reject(__func__, "info", "a null pointer");
    nbytes = info->struct_size;
    if (!stp_struct_known(nbytes, sizeof(nbytes), STP_STRUCT_MAX, "info", "DEVICE_INFO", __func__))
        return 1;
    if (kind == NULL) return 1;
    started = devices_begin();
    rc = stp_device_query(kind, i, &library_info);
    devices_end(started);
    if (rc != 0) return rc;
    library_info.struct_size = nbytes;
    stp_struct_copy_versioned(info, nbytes, &library_info, sizeof(library_info));
    return 0;
}
STP_PROFILED(shmemx_device_describe);
