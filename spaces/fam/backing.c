/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file examines the path in the variable SHMEM_FAM_PATH, which must name a directory, a
 * regular file or a DAX device.
 */
#include "fam.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SHOWN "%.72s" /* printf format that shortens a path, so that the message fits its buffer */

const char *stp_fam_about(size_t nbytes, char text[STP_SIZE_TEXT])
{
    size_t unit = 1;

    while (nbytes / unit >= 10240)
        unit *= 1024;
    return stp_size_exact(nbytes - nbytes % unit, text);
}

int stp_fam_temporary(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char path[PATH_MAX];

    if (fd >= 0) return fd;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) return -errno;
    if ((size_t)snprintf(path, sizeof(path), "%s/.steppe-fam-XXXXXX", directory) >= sizeof(path))
        return -ENAMETOOLONG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0) return errno == EEXIST ? -EBUSY : -errno;
    unlink(path);
    return fd;
}

/*
 * Returns whether the file is on a DAX file system. Tries to map the file with MAP_SYNC, because
 * only DAX file systems support this flag.
 */
static bool backing_is_dax(int fd)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *map;

    if (stp_file_resize(fd, page) != 0) return false;
    map = mmap(NULL, page, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (map == MAP_FAILED) return false;
    munmap(map, page);
    return true;
}

static int backing_directory(struct fam_backing *backing, char *message, size_t len)
{
    char text[STP_SIZE_TEXT];
    struct statvfs vfs;
    int fd = stp_fam_temporary(backing->path);

    if (fd < 0)
        return stp_reason(-ENODEV, message, len,
                          "SHMEM_FAM_PATH: cannot create files in " SHOWN ": %s", backing->path,
                          strerror(-fd));
    backing->type = FAM_DIRECTORY;
    backing->dax = backing_is_dax(fd);
    backing->nbytes =
        fstatvfs(fd, &vfs) == 0 ? (size_t)vfs.f_bavail * (size_t)vfs.f_frsize : SIZE_MAX / 2;
    close(fd);
    snprintf(message, len, "directory " SHOWN "%s, %s free", backing->path,
             backing->dax ? " (fsdax)" : "", stp_fam_about(backing->nbytes, text));
    return 0;
}

/*
 * Returns the number in a sysfs file of the device, or SIZE_MAX if the file has no number. The
 * argument name is the name of the file.
 */
static size_t backing_number(const char *sys, unsigned major, unsigned minor, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%u:%u/%s", sys, major, minor, name);
    return stp_file_number(path, "");
}

/*
 * Returns whether the device is a DAX device. A size in sysfs is no proof, because other character
 * devices may have one, too.
 */
static bool backing_is_of_dax(const char *sys, unsigned major, unsigned minor)
{
    char path[PATH_MAX], target[256]; /* target of the link, for example "../../../bus/dax" */
    ssize_t len;

    snprintf(path, sizeof(path), "%s/%u:%u/subsystem", sys, major, minor);
    len = readlink(path, target, sizeof(target) - 1);
    if (len < 0) return false;
    target[len] = '\0';
    return strcmp(strrchr(target, '/') != NULL ? strrchr(target, '/') + 1 : target, "dax") == 0;
}

int stp_fam_device_size(const char *sys, unsigned major, unsigned minor, size_t *nbytes,
                        char *reason, size_t len)
{
    size_t found = backing_number(sys, major, minor, "size");
    size_t align = backing_number(sys, major, minor, "align");
    char text[STP_SIZE_TEXT];

    if (!backing_is_of_dax(sys, major, minor) || found == SIZE_MAX)
        return stp_reason(-ENODEV, reason, len,
                          "a character device (%u:%u) that is not a DAX device", major, minor);
    if (align != SIZE_MAX && align > FAM_ALIGN)
        return stp_reason(-ENODEV, reason, len,
                          "a DAX device with pages of %s: at most 2 MiB is allowed (daxctl "
                          "reconfigure-device --align)",
                          stp_size_exact(align, text));
    *nbytes = found;
    return 0;
}

static int backing_sized(struct fam_backing *backing, const struct stat *st, char *message,
                         size_t len)
{
    char text[STP_SIZE_TEXT], device_reason[96];
    int fd;

    backing->type = S_ISCHR(st->st_mode) ? FAM_DEVICE : FAM_FILE;
    backing->nbytes = (size_t)st->st_size;
    if (backing->type == FAM_DEVICE &&
        stp_fam_device_size(FAM_SYSFS, major(st->st_rdev), minor(st->st_rdev), &backing->nbytes,
                            device_reason, sizeof(device_reason)) != 0)
        return stp_reason(-ENODEV, message, len, "SHMEM_FAM_PATH " SHOWN " is %s", backing->path,
                          device_reason);
    fd = open(backing->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return stp_reason(-ENODEV, message, len,
                          "SHMEM_FAM_PATH " SHOWN " cannot be opened for reading and writing: %s",
                          backing->path, strerror(errno));
    close(fd);
    snprintf(message, len, "%s " SHOWN ", %s", backing->type == FAM_DEVICE ? "dax device" : "file",
             backing->path, stp_fam_about(backing->nbytes, text));
    return 0;
}

int stp_fam_probe_path(const char *path, struct fam_backing *backing, char *message, size_t len)
{
    struct stat st;

    *backing = (struct fam_backing){.path = path};
    if (path == NULL) return stp_reason(-ENODEV, message, len, "SHMEM_FAM_PATH is not set");
    if (stat(path, &st) != 0)
        return stp_reason(-ENODEV, message, len, "SHMEM_FAM_PATH " SHOWN ": %s", path,
                          strerror(errno));
    if (S_ISDIR(st.st_mode)) return backing_directory(backing, message, len);
    if (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode))
        return backing_sized(backing, &st, message, len);
    return stp_reason(-ENODEV, message, len,
                      "SHMEM_FAM_PATH " SHOWN " is not a directory, file or DAX device", path);
}
