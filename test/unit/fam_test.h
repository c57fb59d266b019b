/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of fabric-attached memory: a directory for each program, spaces through the
 * operations of the kind, and forked processes that play the PEs of a node or of another job.
 */
#ifndef STP_TEST_FAM_H
#define STP_TEST_FAM_H

#include "spaces/fam/fam.h"
#include "capture.h"
#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct stp_kind stp_kind_fam;

static char fam_root[64]; /* everything of this run; removed at the end */

/* ---- files ------------------------------------------------------------------- */

static inline void fam_root_make(void)
{
    snprintf(fam_root, sizeof(fam_root), "/tmp/steppe-test-fam-XXXXXX");
    if (mkdtemp(fam_root) == NULL || chmod(fam_root, 0755) != 0) abort();
}

static inline int fam_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void fam_root_remove(void)
{
    nftw(fam_root, fam_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A path in the root that no other test uses; static, good until the fourth next call. */
static inline const char *fam_path(const char *name)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%d-%s", fam_root, (int)getpid(), name);
    return path;
}

/* A directory of the test's own, which SHMEM_FAM_PATH names from now on. */
static inline const char *fam_use_directory(void)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s", fam_path("dir"));
    ck_assert_int_eq(mkdir(path, 0755), 0);
    stp_env.fam_path = path;
    return path;
}

static inline void fam_make_file(const char *path, size_t nbytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)nbytes), 0);
    close(fd);
}

/* The same with a file for a pool. */
static inline const char *fam_use_file(size_t nbytes)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s", fam_path("pool"));
    fam_make_file(path, nbytes);
    stp_env.fam_path = path;
    return path;
}

static inline void fam_poke(const char *path, size_t at, const void *bytes, size_t nbytes)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((size_t)pwrite(fd, bytes, nbytes, (off_t)at), nbytes);
    close(fd);
}

/* Entries of a directory that are not its own. */
static inline int fam_count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int n = -2;

    if (dir == NULL) return -1;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

/* ---- spaces -------------------------------------------------------------------------- */

/* Parameters of a PE; the defaults are a job of one. */
static inline struct stp_space_params fam_params(const char *name, size_t nbytes, bool keep)
{
    return (struct stp_space_params){
        .nbytes = nbytes, .device = -1, .name = name, .keep = keep, .pe = 0, .n_pes = 1};
}

static inline int fam_create_only(struct stp_space *space, const struct stp_space_params *params,
                                  struct stp_part_export *share)
{
    *space =
        (struct stp_space){.kind = &stp_kind_fam, .nbytes = params->nbytes, .offset = SIZE_MAX};
    *share = (struct stp_part_export){.pe = params->pe};
    return stp_kind_fam.create(space, params, share);
}

/* As a job of one does: admitted, made, attached, measured. */
static inline int fam_create_live(struct stp_space *space, const struct stp_space_params *params)
{
    struct stp_part_export share;
    int rc = stp_kind_fam.admit(params);

    if (rc == 0) rc = fam_create_only(space, params, &share);
    if (rc != 0) return rc;
    rc = stp_kind_fam.attach(space, stp_window_local(), &share);
    space->caps = 1;
    return rc;
}

static inline bool fam_is_zero(const char *from, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        if (from[i] != 0) return false;
    return true;
}

/* ---- other processes --------------------------------------------------------------- */

/* Another job of one PE, which runs body and is then killed. */
static inline void fam_run_killed(void (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        window_up(0);
        body();
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* The case of all tests of a program. */
#define FAM_TESTS                                                                                  \
    TEST_CASE(fam, node_up, node_down)                                                             \
    TEST_ONCE(fam_root_make, fam_root_remove)

#endif /* STP_TEST_FAM_H */
