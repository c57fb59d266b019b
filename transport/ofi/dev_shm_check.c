/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Removes the files of the shm provider when all PEs have mapped them, so that no file remains if a
 * PE is killed. Also checks two conditions under which this provider works. All PEs must see the
 * same /dev/shm, and /dev/shm should have enough free space for the provider's files. If the space
 * runs out, SIGBUS ends a PE that touches a new page of such a file. A third condition is that all
 * PEs are in one PID namespace, because the provider uses process numbers to name endpoints and to
 * copy data. provider_select.c has already checked this condition. Design:
 * docs/design/security.md.
 */
#include "ofi_internal.h"

#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DIRECTORY STP_OFI_SHM_DIRECTORY
#define PATH_BYTES (sizeof(DIRECTORY) + STP_FABRIC_ADDR_MAX + 1)
#define FILE_MIB 16u /* size of the file of one endpoint of libfabric 1.17 */

static bool all_mapped; /* whether this PE has mapped the files of all PEs */

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
 * Writes the path of the endpoint's file to `path`. The provider derives the name of the file from
 * the address of the endpoint, which begins with the process ID. Returns false in a forked child.
 */
static bool file_path(const struct stp_ofi_endpoint *endpoint, char path[PATH_BYTES])
{
    char addr[STP_FABRIC_ADDR_MAX + 1] = "";
    size_t len = STP_FABRIC_ADDR_MAX;
    const char *name;

    if (fi_getname(&endpoint->ep->fid, addr, &len) != 0) return false;
    name = strstr(addr, "://");
    name = name != NULL ? name + 3 : addr;
    snprintf(path, PATH_BYTES, "%s/%s", DIRECTORY, name);
    return atoi(name) == getpid();
}

/*
 * Returns the number of mapped files of provider shm. libfabric 1.17 to 1.22 map the file of a peer
 * when its address is inserted, and later versions at the first operation.
 */
static int n_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512], *path;
    int n = 0, process;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        if ((path = strstr(line, DIRECTORY "/")) != NULL &&
            sscanf(path, DIRECTORY "/%d:", &process) == 1)
            n++;
    if (maps != NULL) fclose(maps);
    return n;
}

int stp_ofi_shm_try_file(void)
{
    int fd = open(DIRECTORY, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int rc = fd < 0 || ftruncate(fd, (off_t)FILE_MIB << 20) != 0 ? -errno : 0;

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) return 0; /* there is no O_TMPFILE */
    if (fd >= 0) close(fd);
    return rc;
}

/*
 * A peer opens the file of an additional endpoint when this endpoint first contacts the peer. Such
 * a file is therefore removed only at the end of the job.
 */
void stp_ofi_shm_remove_files(bool ending)
{
    /* Pairs with the release store in endpoint_take_locked(). */
    unsigned n = ending ? __atomic_load_n(&stp_ofi.n_endpoints, __ATOMIC_ACQUIRE) : 0;
    char path[PATH_BYTES];

    if ((ending || all_mapped) && file_path(&stp_ofi.main, path)) unlink(path);
    for (unsigned i = 0; i < n; i++)
        if (file_path(stp_ofi.endpoints[i], path)) unlink(path);
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
    char path[PATH_BYTES] = "";
    int fd = file_path(&stp_ofi.main, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;

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

int stp_ofi_shm_check_files(void)
{
    int rc = check_directory();

    if (rc == 0 && stp_ofi.core->pe == 0) check_room();
    all_mapped = rc == 0 && n_mapped() >= stp_ofi.core->n_pes;
    return rc;
}

void stp_ofi_shm_explain_failure(const struct stp_core *core)
{
    struct statvfs room;
    size_t free_mib, n_files;

    if (statvfs(DIRECTORY, &room) != 0) {
        core->log(STP_LOG_ERROR, "fabric: provider shm cannot use " DIRECTORY ": %s",
                  strerror(errno));
        return;
    }
    /* If there is no room for one file for each core, libfabric hides the provider. */
    n_files = (size_t)sysconf(_SC_NPROCESSORS_ONLN) + (size_t)core->n_pes;
    free_mib = (size_t)room.f_bavail * room.f_frsize >> 20;
    if (room.f_blocks != 0 && free_mib < n_files * FILE_MIB)
        core->log(
            STP_LOG_ERROR,
            "fabric: " DIRECTORY " has %zu MiB free, but provider shm needs %u MiB for "
            "each PE and, at the start, for each core (%zu MiB): make room in it (df " DIRECTORY
            "; containers: --shm-size), or set SHMEM_OFI_PROVIDER=tcp",
            free_mib, FILE_MIB, n_files * FILE_MIB);
}
