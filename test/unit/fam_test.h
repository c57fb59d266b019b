/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of fabric-attached memory: a directory of their own, spaces through the ops of
 * the kind, and forked processes that play the PEs of a node or of another job.
 */
#ifndef STP_TEST_FAM_H
#define STP_TEST_FAM_H

#include "spaces/fam/fam.h"
#include "spaces/spaces.h"
#include "capture.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define FAM_PES 4 /* parts of the window */

extern const struct stp_kind stp_kind_fam;

/* Nothing moves our globals: forks would share them, the library's own too as it is linked here. */
struct stp_segment stp_segment = {.fd = -1};

/* What forked processes share: a barrier, and the shares of PEs. */
struct meeting {
    atomic_int arrived, generation, count;
    struct stp_share shares[FAM_PES];
};

static char fam_root[64]; /* everything of this run; removed at the end */
static struct stp_window_layout fam_layout;
static int fam_window_fd;
static struct meeting *meeting;

/* In children Check cannot be told. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: process %d: %s\n", __FILE__, __LINE__, getpid(), #condition);  \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

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

/* ---- windows and spaces ------------------------------------------------------------ */

/* Be the PE with local index local of a node of FAM_PES. */
static inline void fam_window_up(int local)
{
    if (stp_win.view != NULL) stp_window_close();
    MUST(stp_window_open(&fam_layout, fam_window_fd, local) == 0);
}

static inline void fam_setup(void)
{
    MUST(stp_window_choose(FAM_PES, 64 * MIB, (size_t)1 << 30, &fam_layout) == 0);
    fam_layout.area_bytes = 0;
    fam_window_fd = stp_window_create_file(&fam_layout);
    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(fam_window_fd >= 0 && meeting != MAP_FAILED);
    fam_window_up(0);
}

static inline void fam_teardown(void)
{
    stp_window_close();
    close(fam_window_fd);
    munmap(meeting, sizeof(*meeting));
}

/* Parameters of a PE; the defaults are a job of one. */
static inline struct stp_space_params fam_params(const char *name, size_t nbytes, bool keep)
{
    return (struct stp_space_params){
        .nbytes = nbytes, .device = -1, .name = name, .keep = keep, .pe = 0, .n_pes = 1};
}

static inline int fam_create_only(struct stp_space *space, const struct stp_space_params *params,
                                  struct stp_share *share)
{
    *space =
        (struct stp_space){.kind = &stp_kind_fam, .nbytes = params->nbytes, .offset = SIZE_MAX};
    *share = (struct stp_share){.pe = params->pe};
    return stp_kind_fam.create(space, params, share);
}

/* As a job of one does: admitted, made, attached, measured. */
static inline int fam_create_live(struct stp_space *space, const struct stp_space_params *params)
{
    struct stp_share share;
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

/* All n of them, or whoever waits gives up: nobody hangs when another one fails. */
static inline void meet(int n)
{
    int generation = atomic_load(&meeting->generation);
    uint64_t end = stp_now_ns() + 30000000000u;

    if (atomic_fetch_add(&meeting->arrived, 1) == n - 1) {
        atomic_store(&meeting->arrived, 0);
        atomic_store(&meeting->generation, generation + 1);
        return;
    }
    while (atomic_load(&meeting->generation) == generation) {
        MUST(stp_now_ns() < end);
        stp_wait_yield();
    }
}

/* Run body as PE 0..n-1 at its place of the node; 0 when all of them end well. */
static inline int fam_run_pes(int n, void (*body)(int pe, int n))
{
    pid_t pids[FAM_PES];
    int failed = 0;

    for (int pe = 0; pe < n; pe++) {
        pids[pe] = fork();
        if (pids[pe] != 0) continue;
        fam_window_up(pe);
        body(pe, n);
        _exit(0);
    }
    for (int pe = 0; pe < n; pe++) {
        int status;
        failed += waitpid(pids[pe], &status, 0) != pids[pe] || status != 0;
    }
    return failed;
}

/* Another job of one PE, which runs body and is then killed. */
static inline void fam_run_killed(void (*body)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        fam_window_up(0);
        body();
        raise(SIGKILL);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* The case of all tests of a program. */
#define FAM_TESTS                                                                                  \
    TEST_CASE(fam, fam_setup, fam_teardown)                                                        \
    TEST_ONCE(fam_root_make, fam_root_remove)

#define ck_assert_said(capture, words)                                                             \
    ck_assert_msg(strstr((capture).text, words) != NULL, "expected \"%s\" in: %s", words,          \
                  (capture).text)

#endif /* STP_TEST_FAM_H */
