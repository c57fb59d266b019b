/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests named spaces of fabric-attached memory: spaces that are kept, shared, refused or undone,
 * and spaces that killed jobs left. The test also covers spaces of several PEs, which forked
 * processes play, in directories and in pools. CTest runs the program as unit.fam_named.
 */
#include "fam_test.h"

FAM_TESTS

/* ---- with a name ------------------------------------------------------------------------ */

TEST(names)
{
    char longest[FAM_NAME + 1] = "";
    const char *bad[] = {"", ".", "..", ".log", "a/b", "/etc/x", "a b", "\xc3\xa4", longest};
    struct stp_space_params params = fam_params(NULL, MIB, false);
    const char *dir = fam_use_directory();
    struct stp_space space;

    memset(longest, 'x', FAM_NAME);
    for (size_t i = 0; i < STP_COUNT(bad); i++) {
        struct stp_part_export share;
        params.name = bad[i];
        capture_begin(&said);
        ck_assert_int_eq(stp_kind_fam.admit(&params), -EINVAL);
        ck_assert_int_eq(fam_create_only(&space, &params, &share), -EINVAL);
        capture_end(&said);
        ck_said("is not a valid name of a space");
    }
    ck_assert_int_eq(fam_count_entries(dir), 0);
    longest[FAM_NAME - 1] = '\0';
    params.name = longest;
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    stp_kind_fam.destroy(&space);
    params.name = "A-z_0.9";
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert_int_eq(fam_count_entries(dir), 1);
    stp_kind_fam.destroy(&space);
    ck_assert_int_eq(fam_count_entries(dir), 0);
}

TEST(kept_and_found_again)
{
    struct stp_space_params params = fam_params("log", 3 * MIB, true);
    const char *dir = fam_use_directory();
    struct stp_space space;

    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert(fam_is_zero(space.base, space.nbytes));
    strcpy(space.base + 2 * MIB, "still here");
    stp_kind_fam.destroy(&space);
    ck_assert_int_eq(fam_count_entries(dir), 1);

    params.keep = false;
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert_str_eq(space.base + 2 * MIB, "still here");
    stp_kind_fam.destroy(&space);
    ck_assert_int_eq(fam_count_entries(dir), 0);

    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert(fam_is_zero(space.base, space.nbytes));
    stp_kind_fam.destroy(&space);
}

TEST(another_shape_is_refused)
{
    struct stp_space_params params = fam_params("log", 64 * MIB, true);
    const char *dir = fam_use_directory();
    struct stp_space space, other;
    char line[300];

    params.n_pes = 2;
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    params.n_pes = 4;
    capture_begin(&said);
    ck_assert_int_eq(fam_create_live(&other, &params), -EINVAL);
    params.n_pes = 2;
    params.nbytes = 32 * MIB;
    ck_assert_int_eq(fam_create_live(&other, &params), -EINVAL);
    capture_end(&said);
    snprintf(line, sizeof(line),
             "fam: the space 'log' in %s has 2 parts of 64 MiB, but this job requests 4 parts of "
             "64 MiB: set SHMEMX_SPACE_RESHAPE in attr->flags to create more parts\n",
             dir);
    ck_said(line);
    ck_said("has 2 parts of 64 MiB, but this job requests 2 parts of 32 MiB\n");
    stp_kind_fam.destroy(&space);
}

/* Two generations beside each other would be longer than a superblock can tell of. */
TEST(too_many_parts_for_both_generations)
{
    struct stp_space_params params = fam_params("wide", 2 * MIB, true);
    struct stp_space space;

    (void)fam_use_directory();
    params.n_pes = (int)(FAM_UNITS / 2) - 2;
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    stp_kind_fam.destroy(&space);
    params.n_pes += 4;
    params.reshape = true;
    CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), -EFBIG));
    ck_said("because the file would exceed the maximum size, 16 TiB");
    params.n_pes -= 4;
    params.keep = false;
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    stp_kind_fam.destroy(&space);
}

TEST(two_users_share_and_the_last_removes)
{
    struct stp_space_params params = fam_params("both", MIB, false);
    const char *dir = fam_use_directory();
    struct stp_space one, two;

    ck_assert_int_eq(fam_create_live(&one, &params), 0);
    one.base[5] = 5;
    ck_assert_int_eq(fam_create_live(&two, &params), 0);
    ck_assert_int_eq(two.base[5], 5);
    two.base[6] = 6;
    ck_assert_int_eq(one.base[6], 6);
    stp_kind_fam.destroy(&one);
    ck_assert_int_eq(fam_count_entries(dir), 1);
    ck_assert_int_eq(two.base[5], 5);
    stp_kind_fam.destroy(&two);
    ck_assert_int_eq(fam_count_entries(dir), 0);
}

/* destroy before the space came to life: what was made goes, what was found stays. */
TEST(undone_creation)
{
    struct stp_space_params params = fam_params("undo", MIB, true);
    const char *dir = fam_use_directory();
    struct stp_part_export share;
    struct stp_space space;

    ck_assert_int_eq(fam_create_only(&space, &params, &share), 0);
    stp_kind_fam.destroy(&space);
    ck_assert_int_eq(fam_count_entries(dir), 0);

    ck_assert_int_eq(fam_create_only(&space, &params, &share), 0);
    ck_assert_int_eq(stp_kind_fam.attach(&space, 0, &share), 0); /* another PE fails after that */
    stp_kind_fam.destroy(&space);
    ck_assert_int_eq(fam_count_entries(dir), 0);

    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    space.base[9] = 9;
    stp_kind_fam.destroy(&space);
    for (int keep = 0; keep < 2; keep++) {
        params.keep = keep != 0;
        ck_assert_int_eq(fam_create_only(&space, &params, &share), 0);
        ck_assert_int_eq(stp_kind_fam.attach(&space, 0, &share), 0);
        stp_kind_fam.destroy(&space);
    }
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert_int_eq(space.base[9], 9);
    stp_kind_fam.destroy(&space);
}

static void make_kept(void)
{
    struct stp_space_params params = fam_params("kill", MIB, true);
    static struct stp_space space;

    MUST(fam_create_live(&space, &params) == 0);
    strcpy(space.base, "written before the end");
}

static void make_passing(void)
{
    struct stp_space_params params = fam_params("kill", MIB, false);
    static struct stp_space space;

    MUST(fam_create_live(&space, &params) == 0);
    space.base[0] = 1;
}

static void make_unsettled(void)
{
    struct stp_space_params params = fam_params("kill", MIB, true);
    static struct stp_space space;
    struct stp_part_export share;

    MUST(fam_create_only(&space, &params, &share) == 0);
    space.base[0] = 1;
}

TEST(killed_job_keeps_what_is_to_stay)
{
    struct stp_space_params params = fam_params("kill", MIB, true);
    struct stp_space space;

    fam_use_directory();
    fam_run_killed(make_kept);
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert_str_eq(space.base, "written before the end");
    stp_kind_fam.destroy(&space);
}

/* The next one to use the name finds nothing of it, and may have another shape, larger or not. */
TEST(killed_job_gives_back_the_rest)
{
    static void (*const bodies[])(void) = {make_passing, make_unsettled};
    const size_t sizes[] = {MIB, 9 * MIB, MIB};
    const char *dir = fam_use_directory();

    for (size_t body = 0; body < STP_COUNT(bodies); body++) {
        for (size_t i = 0; i < STP_COUNT(sizes); i++) {
            struct stp_space_params params = fam_params("kill", sizes[i], false);
            struct stp_space space;
            fam_run_killed(bodies[body]);
            ck_assert_int_eq(fam_count_entries(dir), 1);
            ck_assert_int_eq(fam_create_live(&space, &params), 0);
            ck_assert(fam_is_zero(space.base, space.nbytes));
            stp_kind_fam.destroy(&space);
            ck_assert_int_eq(fam_count_entries(dir), 0);
        }
    }
}

/* A child has the file open as we had it, with our locks: they must not stay ours by it. */
TEST(forked_child_is_no_user)
{
    struct stp_space_params params = fam_params("forked", MIB, true);
    const char *dir = fam_use_directory();
    struct stp_space space;
    int status;
    pid_t pid;

    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    pid = fork();
    if (pid == 0) {
        meet(2);
        _exit(0);
    }
    stp_kind_fam.destroy(&space);
    params.keep = false;
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    stp_kind_fam.destroy(&space);
    ck_assert_int_eq(fam_count_entries(dir), 0);
    meet(2);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

/* Does process pid have path open? */
static bool has_open(pid_t pid, const char *path)
{
    char dir[64], link[96], target[300];

    snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
    for (int fd = 0; fd < 64; fd++) {
        ssize_t len;
        snprintf(link, sizeof(link), "%s/%d", dir, fd);
        len = readlink(link, target, sizeof(target) - 1);
        if (len < 0) continue;
        target[len] = '\0';
        if (strcmp(target, path) == 0) return true;
    }
    return false;
}

/* One opens the file, and before it has the lock the last user removes it. */
TEST(removed_while_it_is_opened)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    struct stp_space_params params = fam_params("gone", MIB, false);
    const char *dir = fam_use_directory();
    struct stp_space space;
    char path[256];
    int fd, status;
    pid_t pid;

    snprintf(path, sizeof(path), "%s/gone.fam", dir);
    fam_make_file(path, 0);
    pid = fork();
    if (pid == 0) {
        meet(2);
        window_up(0);
        MUST(fam_create_live(&space, &params) == 0);
        meet(2);
        meet(2);
        stp_kind_fam.destroy(&space);
        _exit(0);
    }
    fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
    meet(2);
    while (!has_open(pid, path))
        ck_assert_int_eq(waitpid(pid, &status, WNOHANG), 0);
    ck_assert_int_eq(unlink(path), 0);
    close(fd);
    meet(2);
    ck_assert_int_eq(fam_count_entries(dir), 1);
    meet(2);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(fam_count_entries(dir), 0);
}

/* One that was made just now is another PE's, which has not come to write it. */
TEST(empty_file)
{
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    struct stp_space_params params = fam_params("empty", MIB, false);
    const char *dir = fam_use_directory();
    struct stp_space space;
    char path[256];

    snprintf(path, sizeof(path), "%s/empty.fam", dir);
    for (int is_old = 0; is_old < 2; is_old++) {
        fam_make_file(path, 0);
        if (is_old) ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
        params.open = STP_OPEN_FOUND;
        CAPTURE(ck_assert_int_ne(fam_create_live(&space, &params), 0));
        ck_said("empty.fam is empty and contains no space");
        params.open = STP_OPEN_EITHER;
        CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), 0));
        ck_assert_int_eq(
            strstr(said.text, "was empty, so any earlier content of the file is lost") != NULL,
            is_old);
        stp_kind_fam.destroy(&space);
    }
}

TEST(file_that_is_none_of_ours)
{
    struct stp_space_params params = fam_params("bad", MIB, false);
    const char *dir = fam_use_directory();
    char path[256], target[256];
    struct stp_space space;

    snprintf(path, sizeof(path), "%s/bad.fam", dir);
    snprintf(target, sizeof(target), "%s/target", dir);
    fam_make_file(target, 0);
    capture_begin(&said);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(fam_create_live(&space, &params), -EISDIR);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(fam_create_live(&space, &params), -ELOOP);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(fam_create_live(&space, &params), -EINVAL);
    ck_assert_int_eq(unlink(path), 0);
    fam_make_file(path, 1000);
    ck_assert_int_eq(fam_create_live(&space, &params), -ENOSPC);
    fam_make_file(path, 8 * MIB);
    fam_poke(path, 3000, "mine", 4);
    ck_assert_int_eq(fam_create_live(&space, &params), -EINVAL);
    capture_end(&said);
    ck_said("is not a regular file");
    ck_said("bad.fam is too small: it has 1000 bytes and needs 4 MiB");
    ck_said("bad.fam is not empty and contains no FAM pool");
    ck_assert_int_eq(fam_count_entries(dir), 2); /* nothing of others is removed */
}

/* Another user put a file there, or can change it: nothing is written to it. */
TEST(file_of_another_user)
{
    struct stp_space_params params = fam_params("other", MIB, true);
    const char *dir = fam_use_directory();
    struct stp_named named;
    struct stp_space space;
    char path[256], link_path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/other.fam", dir);
    snprintf(link_path, sizeof(link_path), "%s/link", dir);
    fam_make_file(path, 0);
    for (params.open = STP_OPEN_EITHER; params.open <= STP_OPEN_FOUND; params.open++) {
        for (mode_t mode = 0620; mode >= 0602; mode -= 016) {
            ck_assert_int_eq(chmod(path, mode), 0);
            CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), -EINVAL));
            ck_said("other.fam can be written by other users (owner ");
            ck_said(mode == 0620 ? ", mode 620): remove" : ", mode 602): remove");
        }
        ck_assert_int_eq(chmod(path, 0644), 0);
        ck_assert_int_eq(link(path, link_path), 0);
        CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), -EINVAL));
        ck_said("other.fam has another hard link (owner ");
        ck_assert_int_eq(unlink(link_path), 0);
        if (geteuid() != 0) continue;
        ck_assert_int_eq(chown(path, 65534, 65534), 0);
        CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), -EINVAL));
        ck_said("other.fam belongs to another user (owner 65534, mode 644): remove the file");
        CAPTURE(ck_assert_int_eq(stp_kind_fam.store->stat("other", &named), -EINVAL));
        ck_said("other.fam belongs to another user");
        ck_assert_int_eq(chown(path, 0, 0), 0);
    }
    ck_assert_int_eq(symlink("target", link_path), 0);
    ck_assert_int_eq(rename(link_path, path), 0);
    params.open = STP_OPEN_EITHER;
    CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), -ELOOP));
    ck_said("other.fam: the file is a symbolic link");
    ck_assert_int_eq(fam_count_entries(dir), 1);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    stp_kind_fam.destroy(&space);
}

TEST(pool_of_another_user)
{
    struct stp_space_params params = fam_params("other", MIB, false);
    const char *path = fam_use_file(16 * MIB);
    struct stp_space space;

    ck_assert_int_eq(chmod(path, 0666), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 65534, 65534), 0);
        CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), -EINVAL));
        ck_said("-pool belongs to another user (owner 65534, mode 666): remove the file");
        ck_assert_int_eq(chown(path, 0, 0), 0);
    }
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    stp_kind_fam.destroy(&space);
}

TEST(shortened_file)
{
    struct stp_space_params params = fam_params("short", 4 * MIB, true);
    const char *dir = fam_use_directory();
    struct stp_space space;
    char path[256];

    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    stp_kind_fam.destroy(&space);
    snprintf(path, sizeof(path), "%s/short.fam", dir);
    ck_assert_int_eq(truncate(path, 4 * MIB), 0);
    CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params), -ENOSPC));
    ck_said("short.fam is too small: it has 4 MiB and needs 8 MiB");
}

/* ---- several PEs --------------------------------------------------------------------------- */

static const char *pes_name; /* of the space that the bodies below make */
static bool pes_keep;

/* Everybody writes into its right neighbour's part and reads its own. */
static void pes_exchange(int pe, int n)
{
    struct stp_space_params params = fam_params(pes_name, 3 * MIB, pes_keep);
    struct stp_space space;
    int right = (pe + 1) % n;

    params.pe = pe;
    params.n_pes = n;
    MUST(stp_kind_fam.admit(&params) == 0);
    MUST(fam_create_only(&space, &params, &meeting->shares[pe]) == 0);
    meet(n);
    for (int i = 0; i < n; i++)
        MUST(stp_kind_fam.attach(&space, i, &meeting->shares[i]) == 0);
    space.caps = 1;
    MUST(fam_is_zero(space.base, space.nbytes));
    meet(n);
    memset(stp_kind_reach(&space, right), 'a' + pe, space.nbytes);
    meet(n);
    MUST(space.base[0] == 'a' + (pe + n - 1) % n);
    MUST(space.base[space.nbytes - 1] == space.base[0]);
    meet(n);
    stp_kind_fam.destroy(&space);
}

/* The next job of the same shape: everybody finds its own part again. */
static void pes_remember(int pe, int n)
{
    struct stp_space_params params = fam_params(pes_name, 3 * MIB, false);
    struct stp_space space;

    params.pe = pe;
    params.n_pes = n;
    MUST(fam_create_live(&space, &params) == 0);
    MUST(space.base[17] == 'a' + (pe + n - 1) % n);
    meet(n);
    stp_kind_fam.destroy(&space);
}

TEST(peers_in_directory)
{
    const char *dir = fam_use_directory();

    pes_name = NULL;
    ck_assert_int_eq(run_pes(NODE_PES, pes_exchange), 0);
    pes_name = "peers";
    ck_assert_int_eq(run_pes(NODE_PES, pes_exchange), 0);
    ck_assert_int_eq(fam_count_entries(dir), 0);
    pes_keep = true;
    ck_assert_int_eq(run_pes(NODE_PES, pes_exchange), 0);
    ck_assert_int_eq(fam_count_entries(dir), 1);
    ck_assert_int_eq(run_pes(NODE_PES, pes_remember), 0);
    ck_assert_int_eq(fam_count_entries(dir), 0);
}

TEST(peers_in_pool)
{
    fam_use_file(64 * MIB);
    pes_name = NULL;
    pes_keep = false;
    ck_assert_int_eq(run_pes(NODE_PES, pes_exchange), 0);
    pes_name = "peers";
    pes_keep = true;
    ck_assert_int_eq(run_pes(NODE_PES, pes_exchange), 0);
    ck_assert_int_eq(run_pes(NODE_PES, pes_remember), 0);
}

/* All make the same space at once, and undo it at once; exactly one made it each time. */
static void pes_race(int pe, int n)
{
    struct stp_space_params params = fam_params("race", MIB, true);

    params.pe = pe;
    params.n_pes = n;
    for (int i = 0; i < 50; i++) {
        struct stp_space space;
        struct stp_part_export share;
        meet(n);
        MUST(fam_create_only(&space, &params, &share) == 0);
        MUST(fam_is_zero(space.base, space.nbytes));
        space.base[0] = 1;
        if (((struct fam_part *)space.kind_data)->created) atomic_fetch_add(&meeting->count, 1);
        meet(n);
        if (i % 2 == 0) MUST(stp_kind_fam.attach(&space, pe, &share) == 0);
        meet(n);
        stp_kind_fam.destroy(&space);
    }
}

/* As above, without waiting for each other: files and entries vanish while others open them. */
static void pes_race_freely(int pe, int n)
{
    struct stp_space_params params = fam_params("race", MIB, false);

    params.pe = pe;
    params.n_pes = n;
    for (int i = 0; i < 100; i++) {
        struct stp_space space;
        MUST(fam_create_live(&space, &params) == 0);
        space.base[i]++;
        stp_kind_fam.destroy(&space);
    }
}

TEST(races)
{
    const char *dir = fam_use_directory();

    ck_assert_int_eq(run_pes(NODE_PES, pes_race), 0);
    ck_assert_int_eq(atomic_load(&meeting->count), 50);
    ck_assert_int_eq(run_pes(NODE_PES, pes_race_freely), 0);
    ck_assert_int_eq(fam_count_entries(dir), 0);
    fam_use_file(32 * MIB);
    ck_assert_int_eq(run_pes(NODE_PES, pes_race), 0);
    ck_assert_int_eq(atomic_load(&meeting->count), 100);
    ck_assert_int_eq(run_pes(NODE_PES, pes_race_freely), 0);
}

TEST(peer_that_is_gone)
{
    struct stp_space_params params = fam_params(NULL, MIB, false);
    struct stp_space space;
    struct stp_part_export share;
    struct fam_share_head {
        int32_t pid, fd;
    } head = {1 << 22, 3}; /* beyond the largest pid there can be */
    int other;

    other = stp_fam_temporary(fam_use_directory());
    ck_assert_int_eq(ftruncate(other, (off_t)params.nbytes), 0);
    ck_assert_int_eq(fam_create_only(&space, &params, &share), 0);
    memcpy(share.bytes, &head, sizeof(head));
    share.pe = 3;
    capture_begin(&said);
    ck_assert_int_eq(stp_kind_fam.attach(&space, 1, &share), -ENOENT);
    head = (struct fam_share_head){getpid(), other};
    memcpy(share.bytes, &head, sizeof(head));
    ck_assert_int_eq(stp_kind_fam.attach(&space, 1, &share), -ESTALE);
    capture_end(&said);
    ck_said("cannot map the memory of the PE with index 1 on this node (descriptor 3");
    stp_kind_fam.destroy(&space);
}
