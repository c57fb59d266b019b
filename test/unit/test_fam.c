/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests fabric-attached memory: the values that SHMEM_FAM_PATH may have, and spaces of one PE in a
 * directory. CTest runs the program as unit.fam. Named spaces and several PEs are tested in
 * test_fam_named.c, pools in test_fam_pool.c.
 */
#include "fam_test.h"

#include <sys/resource.h>

#define N_CYCLES 200

FAM_TESTS

static char why[256];

static int look(const char *path)
{
    struct fam_backing place;

    return stp_fam_probe_path(path, &place, why, sizeof(why));
}

static bool why_says(const char *words)
{
    return strstr(why, words) != NULL;
}

/* ---- SHMEM_FAM_PATH ------------------------------------------------------------- */

TEST(sizes_for_people)
{
    char text[STP_SIZE_TEXT];

    ck_assert_str_eq(stp_size_exact(0, text), "0 bytes");
    ck_assert_str_eq(stp_size_exact(1000, text), "1000 bytes");
    ck_assert_str_eq(stp_size_exact(64 * MIB, text), "64 MiB");
    ck_assert_str_eq(stp_size_exact(64 * MIB + 4096, text), "65540 KiB");
    ck_assert_str_eq(stp_fam_about(64 * MIB + 1, text), "64 MiB");
    ck_assert_str_eq(stp_fam_about((size_t)126 << 30, text), "126 GiB");
    ck_assert_str_eq(stp_fam_about(((size_t)12 << 30) + 12345, text), "12 GiB");
}

TEST(path_unset_or_missing)
{
    stp_env.fam_path = NULL;
    ck_assert_int_eq(stp_kind_fam.probe(NULL, why, sizeof(why)), -ENODEV);
    ck_assert_str_eq(why, "SHMEM_FAM_PATH is not set");
    ck_assert(!stp_kind_fam.describe(0, why, sizeof(why)));
    ck_assert_int_eq(look(fam_path("nothing")), -ENODEV);
    ck_assert(why_says("nothing: No such file or directory"));
}

TEST(path_of_wrong_type)
{
    const char *fifo = fam_path("fifo");

    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    ck_assert_int_eq(look(fifo), -ENODEV);
    ck_assert(why_says("is not a directory, file or DAX device"));
    ck_assert_int_eq(look("/dev/null"), -ENODEV);
    ck_assert(why_says("/dev/null is a character device (1:3) that is not a DAX device"));
}

TEST(path_is_told)
{
    char line[256];

    fam_use_directory();
    ck_assert_int_eq(stp_kind_fam.probe(NULL, why, sizeof(why)), 0);
    snprintf(line, sizeof(line), "directory %s", stp_env.fam_path);
    ck_assert_msg(why_says(line) && why_says(" free"),
                  "the text lacks the directory or the free bytes: %s", why);
    fam_use_file(4 * MIB);
    ck_assert(stp_kind_fam.describe(0, why, sizeof(why)));
    snprintf(line, sizeof(line), "file %s, 4 MiB", stp_env.fam_path);
    ck_assert_str_eq(why, line);
    ck_assert(!stp_kind_fam.describe(1, why, sizeof(why)));
}

/* Whoever runs the tests as root sees nothing forbidden. */
TEST(path_without_permission)
{
    const char *dir = fam_path("closed"), *file = fam_path("read-only");
    uid_t me = geteuid();

    ck_assert_int_eq(mkdir(dir, 0500), 0);
    fam_make_file(file, 8 * MIB);
    ck_assert_int_eq(chmod(file, 0444), 0);
    if (me == 0) ck_assert_int_eq(seteuid(65534), 0);
    ck_assert_int_eq(look(dir), -ENODEV);
    ck_assert(why_says("cannot create files in") && why_says("Permission denied"));
    ck_assert_int_eq(look(file), -ENODEV);
    ck_assert(why_says("cannot be opened for reading and writing: Permission denied"));
    ck_assert_int_eq(seteuid(me), 0);
}

static void sysfs_write(const char *dir, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    ck_assert(file != NULL && fputs(text, file) >= 0);
    fclose(file);
}

TEST(dax_device_in_sysfs)
{
    char sys[160], dir[200], link[256];
    size_t nbytes = 77;

    snprintf(sys, sizeof(sys), "%s", fam_path("sys"));
    snprintf(dir, sizeof(dir), "%s/252:7", sys);
    snprintf(link, sizeof(link), "%s/subsystem", dir);
    ck_assert(mkdir(sys, 0755) == 0 && mkdir(dir, 0755) == 0);
    sysfs_write(dir, "size", "135291469824\n");
    ck_assert_int_eq(stp_fam_device_size(sys, 252, 7, &nbytes, why, sizeof(why)), -ENODEV);
    ck_assert_int_eq(symlink("../../../../../../bus/mtd", link), 0);
    ck_assert_int_eq(stp_fam_device_size(sys, 252, 7, &nbytes, why, sizeof(why)), -ENODEV);
    ck_assert(why_says("that is not a DAX device"));
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink("../../../../../../bus/dax", link), 0);
    ck_assert_uint_eq(nbytes, 77);
    ck_assert_int_eq(stp_fam_device_size(sys, 252, 7, &nbytes, why, sizeof(why)), 0);
    ck_assert_uint_eq(nbytes, 135291469824u);
    sysfs_write(dir, "align", "2097152\n");
    ck_assert_int_eq(stp_fam_device_size(sys, 252, 7, &nbytes, why, sizeof(why)), 0);
    sysfs_write(dir, "align", "1073741824\n");
    ck_assert_int_eq(stp_fam_device_size(sys, 252, 7, &nbytes, why, sizeof(why)), -ENODEV);
    ck_assert(why_says("pages of 1 GiB: at most 2 MiB"));
    ck_assert_int_eq(stp_fam_device_size(sys, 252, 8, &nbytes, why, sizeof(why)), -ENODEV);
}

/* ---- without a name ------------------------------------------------------------------ */

TEST(nameless_in_directory)
{
    const char *dir = fam_use_directory();
    struct stp_space_params params = fam_params(NULL, 3 * MIB + 4096, false);
    struct stp_space space, other;
    size_t offset;
    int local;

    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert_int_eq(fam_create_live(&other, &params), 0);
    ck_assert(!stp_window_locate(space.base, &offset, &local));
    ck_assert_uint_eq((uintptr_t)space.base % STP_RANGE_ALIGN, 0); /* as DAX devices want it */
    ck_assert(fam_is_zero(space.base, space.nbytes));
    memset(space.base, 7, space.nbytes);
    ck_assert(fam_is_zero(other.base, other.nbytes));
    ck_assert_ptr_eq(stp_kind_reach(&space, 0), space.base);
    ck_assert_ptr_null(stp_kind_reach(&space, 3)); /* not attached */
    ck_assert_int_eq(fam_count_entries(dir), 0);
    stp_kind_fam.destroy(&space);
    stp_kind_fam.destroy(&other);
    ck_assert_uint_eq(stp_win.top, 0);
}

TEST(descriptors_stay_with_the_process)
{
    struct stp_space_params nameless = fam_params(NULL, 2 * MIB, false);
    struct stp_space_params named = fam_params("a", 2 * MIB, false);
    struct stp_space one, two;
    int flags[2], before, after;

    fam_use_directory();
    before = fam_count_entries("/proc/self/fd");
    ck_assert_int_eq(fam_create_live(&one, &nameless), 0);
    ck_assert_int_eq(fam_create_live(&two, &named), 0);
    after = fam_count_entries("/proc/self/fd");
    ck_assert_int_eq(after - before, 2);
    flags[0] = fcntl(((struct fam_part *)one.kind_data)->fd, F_GETFD);
    flags[1] = fcntl(((struct fam_part *)two.kind_data)->fd, F_GETFD);
    ck_assert(flags[0] & FD_CLOEXEC && flags[1] & FD_CLOEXEC);
    stp_kind_fam.destroy(&one);
    stp_kind_fam.destroy(&two);
    ck_assert_int_eq(fam_count_entries("/proc/self/fd"), before);
}

static int count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    int n = 0;

    for (int c; (c = fgetc(file)) != EOF;)
        n += c == '\n';
    fclose(file);
    return n;
}

TEST(nothing_leaks)
{
    struct stp_space_params params[] = {fam_params(NULL, MIB, false),
                                        fam_params("cycle", MIB, false)};
    int fds = 0, mappings = 0;

    fam_use_directory();
    for (int i = 0; i < N_CYCLES; i++) {
        struct stp_space space;
        ck_assert_int_eq(fam_create_live(&space, &params[i % 2]), 0);
        space.base[i] = 1;
        stp_kind_fam.destroy(&space);
        if (i != 10) continue;
        fds = fam_count_entries("/proc/self/fd");
        mappings = count_mappings();
    }
    ck_assert_int_eq(fam_count_entries("/proc/self/fd"), fds);
    ck_assert_int_le(count_mappings(), mappings + 8); /* allocators take some */
    ck_assert_int_eq(fam_count_entries(stp_env.fam_path), 0);
}

static void make_nameless(void)
{
    struct stp_space_params params = fam_params(NULL, 2 * MIB, false);
    static struct stp_space space;

    MUST(fam_create_live(&space, &params) == 0);
    space.base[0] = 1;
}

TEST(killed_job_leaves_no_file)
{
    const char *dir = fam_use_directory();

    fam_run_killed(make_nameless);
    ck_assert_int_eq(fam_count_entries(dir), 0);
}

TEST(too_large_is_refused)
{
    struct stp_space_params params = fam_params(NULL, (size_t)15 << 40, false);

    fam_use_directory();
    capture_begin(&said);
    ck_assert_int_eq(stp_kind_fam.admit(&params), -ENOSPC);
    params.nbytes = (size_t)17 << 40;
    ck_assert_int_eq(stp_kind_fam.admit(&params), -EFBIG);
    capture_end(&said);
    ck_said("a space of 15 TiB per PE exceeds the free memory");
    ck_said("exceeds the maximum size, 16 TiB");
}

/* The file system says no in the middle of create: everything is undone. */
TEST(no_memory_is_an_error_at_create)
{
    struct stp_space_params params[] = {fam_params(NULL, 16 * MIB, false),
                                        fam_params("full", 16 * MIB, true)};
    struct rlimit limit = {8 * MIB, 8 * MIB};
    const char *dir = fam_use_directory();
    int fds = fam_count_entries("/proc/self/fd");

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (size_t i = 0; i < STP_COUNT(params); i++) {
        struct stp_space space;
        CAPTURE(ck_assert_int_eq(fam_create_live(&space, &params[i]), -EFBIG));
        ck_said("ulimit -f is");
        ck_assert_uint_eq(stp_win.top, 0);
    }
    ck_assert_int_eq(fam_count_entries(dir), 0);
    ck_assert_int_eq(fam_count_entries("/proc/self/fd"), fds);
}

/* Whole lines of a cache, whole pages of a file, and nothing beyond what is mapped. */
TEST(flush)
{
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert(map != MAP_FAILED);
    for (int dax = 0; dax < 2; dax++) {
        ck_assert_int_eq(stp_fam_flush(map, 4096, dax), 0);
        ck_assert_int_eq(stp_fam_flush(map + 63, 2, dax), 0);
        ck_assert_int_eq(stp_fam_flush(map + 4095, 1, dax), 0);
        ck_assert_int_eq(stp_fam_flush(NULL, 0, dax), 0);
    }
    munmap(map, 4096);
    ck_assert_int_eq(stp_fam_flush(map, 1, false), -ENOMEM);
}
