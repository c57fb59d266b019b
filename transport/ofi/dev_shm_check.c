/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks two conditions under which the shm provider works. All PEs must see the same /dev/shm, and
 * /dev/shm should have enough free space for the provider's files. If the space runs out, SIGBUS
 * ends a PE that touches a new page of such a file. A third condition is that all PEs are in one
 * PID namespace, because the provider uses process numbers to name endpoints and to copy data.
 * provider_select.c has already checked this condition. Design: docs/design/security.md.
 */
#include "ofi_internal.h"

#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_cm.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DIRECTORY STP_OFI_SHM_DIRECTORY
/*
 * Minimum number of free MiB in /dev/shm. If less is free, libfabric 1.17 may hide the shm provider
 * without reporting an error.
 */
#define FREE_MIB_MIN 32u

static int check_directory(void)
{
    for (int pe = 0; pe < stp_ofi.core->n_pes; pe++) {
        if (stp_ofi_dev_shm_id_of_pe(pe) == stp_ofi_dev_shm_id()) continue;
        stp_ofi.core->log(STP_LOG_ERROR,
                          "fabric: pe %d has another " DIRECTORY " than this pe, but provider "
                          "shm needs the same directory for all PEs: share it between the PEs "
                          "(containers: --ipc=host), or set SHMEM_OFI_PROVIDER=tcp",
                          pe);
        return -EXDEV;
    }
    return 0;
}

/*
 * Opens this PE's file in /dev/shm. The provider derives the file name from the address of the
 * endpoint. Returns the descriptor, or -1.
 */
static int open_own(void)
{
    char addr[STP_FABRIC_ADDR_MAX + 1] = "", path[sizeof(addr) + sizeof(DIRECTORY)];
    size_t len = STP_FABRIC_ADDR_MAX;
    const char *name;

    if (fi_getname(&stp_ofi.main.ep->fid, addr, &len) != 0) return -1;
    name = strstr(addr, "://");
    snprintf(path, sizeof(path), "%s/%s", DIRECTORY, name != NULL ? name + 3 : addr);
    return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/*
 * Warns if the files of all PEs may grow beyond the free space in /dev/shm. Does not allocate the
 * space now, because jobs that use only a part of the space would then be refused. The file of a PE
 * has 16 MiB. A PE uses 4 MiB of its file at the start, and a total of 6 MiB after traffic of all
 * kinds.
 */
static void check_room(void)
{
    struct statvfs room;
    struct stat file;
    int fd = open_own();

    if (fd < 0) return; /* another version of libfabric may name the file differently */
    if (fstat(fd, &file) == 0 && fstatvfs(fd, &room) == 0 && room.f_blocks != 0) {
        size_t free_bytes = (size_t)room.f_bavail * room.f_frsize, size = (size_t)file.st_size;
        size_t allocated = (size_t)file.st_blocks * 512;

        if (allocated < size && free_bytes / (size_t)stp_ofi.core->n_pes < size - allocated)
            stp_ofi.core->log(STP_LOG_WARN,
                              "fabric: " DIRECTORY " has %zu MiB free, but provider shm may use "
                              "%zu MiB for each of %d PEs, and SIGBUS ends a PE when the directory "
                              "is full: make room in it (df " DIRECTORY
                              "; containers: --shm-size), or set SHMEM_OFI_PROVIDER=tcp",
                              free_bytes >> 20, size >> 20, stp_ofi.core->n_pes);
    }
    close(fd);
}

int stp_ofi_shm_check_same_dev_shm(void)
{
    int rc = check_directory();

    if (rc == 0 && stp_ofi.core->pe == 0) check_room();
    return rc;
}

void stp_ofi_shm_explain_failure(const struct stp_core *core)
{
    struct statvfs room;
    size_t free_mib;

    if (statvfs(DIRECTORY, &room) != 0) {
        core->log(STP_LOG_ERROR, "fabric: provider shm cannot use " DIRECTORY ": %s",
                  strerror(errno));
        return;
    }
    free_mib = (size_t)room.f_bavail * room.f_frsize >> 20;
    if (room.f_blocks != 0 && free_mib < FREE_MIB_MIN)
        core->log(STP_LOG_ERROR,
                  "fabric: " DIRECTORY " has %zu MiB free, but provider shm needs 16 MiB for "
                  "each PE: make room in it (df " DIRECTORY "; containers: --shm-size), or set "
                  "SHMEM_OFI_PROVIDER=tcp",
                  free_mib);
}
