/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests pools of fabric-attached memory in a file: the format and its damages, the placement of
 * spaces, the remains of killed jobs, and locks that another process holds. CTest runs the program
 * as unit.fam_pool. A DAX device is played by a file.
 */
#include "fam_test.h"

#define UNIT ((ssize_t)FAM_ALIGN)
#define ENTRY(i) (offsetof(struct fam_super, entries) + (i) * sizeof(struct fam_entry))

FAM_TESTS

/* Overwrite a field of the superblock, or of an entry, in the file. */
#define POKE(path, at, type, value)                                                                \
    do {                                                                                           \
        type poked = (value);                                                                      \
        fam_poke(path, at, &poked, sizeof(poked));                                                 \
    } while (0)

/* Make a space of the pool or find it, without a window. Where its part is, or -errno. */
static ssize_t part_make(struct fam_part *part, const char *name, size_t nbytes, unsigned n_parts,
                         bool keep)
{
    struct fam_shape shape = {.name = name, .nbytes = nbytes, .n_parts = n_parts, .keep = keep};
    struct fam_backing place;
    char why[200];
    int rc;

    ck_assert_int_eq(stp_fam_probe_path(stp_env.fam_path, &place, why, sizeof(why)), 0);
    rc = stp_fam_check_fits(&place, &shape);
    if (rc == 0) rc = stp_fam_part_open(part, &place, &shape, 0, nbytes);
    if (rc != 0) return rc;
    stp_fam_part_mark_made(part);
    return (ssize_t)part->offset;
}

static void expect_refused(const char *words, int errnum)
{
    int fds = fam_count_entries("/proc/self/fd");
    struct fam_part part;

    CAPTURE(ck_assert_int_eq(part_make(&part, NULL, MIB, 1, false), -errnum));
    ck_said(words);
    ck_assert_int_eq(fam_count_entries("/proc/self/fd"), fds);
}

/* A kept space of two parts of 3 MiB is there, in entry 0. */
static void make_kept(void)
{
    struct fam_part part;

    ck_assert_int_eq(part_make(&part, "kept", 3 * MIB, 2, true), 2 * UNIT);
    stp_fam_part_close(&part, true);
}

/* ---- format --------------------------------------------------------------------- */

TEST(too_small)
{
    fam_use_file(0);
    expect_refused("is too small: it has 0 bytes and needs 4 MiB", ENOSPC);
    fam_make_file(stp_env.fam_path, 4 * MIB - 1);
    expect_refused("is too small: it has 4194303 bytes and needs 4 MiB", ENOSPC);
}

TEST(shorter_than_it_says)
{
    const char *path = fam_use_file(32 * MIB);

    make_kept();
    ck_assert_int_eq(truncate(path, 30 * MIB), 0);
    expect_refused("is too small: it has 30 MiB and needs 32 MiB", ENOSPC);
    ck_assert_int_eq(truncate(path, 32 * MIB), 0);
    make_kept();
}

TEST(grown)
{
    const char *path = fam_use_file(12 * MIB);
    struct fam_part part;

    make_kept();
    expect_refused("is 0 bytes, but the space needs 1 x 1 MiB", ENOSPC);
    ck_assert_int_eq(truncate(path, 14 * MIB), 0);
    ck_assert_int_eq(part_make(&part, NULL, MIB, 1, false), 6 * UNIT);
    stp_fam_part_close(&part, true);
    ck_assert_int_eq(truncate(path, 12 * MIB), 0);
    expect_refused("it has 12 MiB and needs 14 MiB", ENOSPC);
}

TEST(none_of_ours)
{
    const char *path = fam_use_file(32 * MIB);
    const size_t at[] = {0, 4096, 2 * MIB - 1};
    char byte = 'x';

    for (size_t i = 0; i < STP_COUNT(at); i++) {
        fam_make_file(path, 0);
        fam_make_file(path, 32 * MIB);
        fam_poke(path, at[i], &byte, 1);
        expect_refused("is not empty and contains no FAM pool", EINVAL);
    }
}

TEST(killed_while_it_was_made)
{
    const char *path = fam_use_file(32 * MIB);

    POKE(path, offsetof(struct fam_super, version), uint32_t, FAM_VERSION);
    POKE(path, offsetof(struct fam_super, nbytes), uint64_t, 32 * MIB);
    make_kept();
}

TEST(other_format)
{
    const char *path = fam_use_file(32 * MIB);

    make_kept();
    POKE(path, offsetof(struct fam_super, version), uint32_t, FAM_VERSION + 1);
    expect_refused("has format 3, but this library supports only format 2", EINVAL);
}

TEST(damaged)
{
    static const struct {
        size_t at;
        uint64_t value;
        const char *words;
    } cases[] = {
        {offsetof(struct fam_super, nbytes), 0, "is damaged"},
        {ENTRY(0) + offsetof(struct fam_entry, offset), 0, "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, offset), 2 * MIB + 1,
         "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, offset), 32 * MIB, "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, offset), -(2 * MIB),
         "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, offset), 26 * MIB, "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, offset), 8 * MIB, "overlaps another space"},
        {ENTRY(0) + offsetof(struct fam_entry, part_bytes), 0, "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, part_bytes), 1ull << 63, "space 0 is not within"},
        {ENTRY(0) + offsetof(struct fam_entry, nbytes), 5 * MIB, "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, n_parts), 0, "space 0 is not within the pool"},
        {ENTRY(0) + offsetof(struct fam_entry, n_parts), UINT32_MAX,
         "space 0 is not within the pool"},
    };
    const char *path = fam_use_file(32 * MIB);

    for (size_t i = 0; i < STP_COUNT(cases); i++) {
        struct fam_part part;
        fam_make_file(path, 0);
        fam_make_file(path, 32 * MIB);
        make_kept();
        ck_assert_int_eq(part_make(&part, "next", MIB, 1, true), 7 * UNIT);
        stp_fam_part_close(&part, true);
        POKE(path, cases[i].at, uint64_t, cases[i].value);
        expect_refused(cases[i].words, EUCLEAN);
    }
}

TEST(damaged_in_other_ways)
{
    const char *path = fam_use_file(32 * MIB);
    char name[FAM_NAME];

    make_kept();
    POKE(path, offsetof(struct fam_super, n_entries), uint32_t, FAM_ENTRIES + 1);
    expect_refused("its header says that it has 8192 spaces in 33554432 bytes", EUCLEAN);
    POKE(path, offsetof(struct fam_super, n_entries), uint32_t, 1);
    memset(name, 'x', sizeof(name));
    fam_poke(path, ENTRY(0) + offsetof(struct fam_entry, name), name, sizeof(name));
    expect_refused("space 0 is not within the pool", EUCLEAN);
}

/* ---- placing --------------------------------------------------------------------------- */

TEST(first_fit)
{
    struct fam_part parts[4], wide, late;

    fam_use_file(14 * MIB);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(part_make(&parts[i], NULL, MIB, 1, false), (1 + i) * UNIT);
    stp_fam_part_close(&parts[1], true);
    ck_assert_int_eq(part_make(&wide, NULL, 4 * MIB, 1, false), 5 * UNIT);
    ck_assert_int_eq(part_make(&late, NULL, MIB, 1, false), 2 * UNIT);
    expect_refused(" is 0 bytes, but the space needs", ENOSPC);
    stp_fam_part_close(&parts[0], true);
    stp_fam_part_close(&parts[3], true);
    ck_assert_int_eq(part_make(&parts[0], NULL, MIB, 2, false), -ENOSPC);
    stp_fam_part_close(&late, true);
    ck_assert_int_eq(part_make(&parts[0], NULL, MIB, 2, false), UNIT);
    stp_fam_part_close(&parts[0], true);
    stp_fam_part_close(&parts[2], true);
    stp_fam_part_close(&wide, true);
    ck_assert_int_eq(part_make(&wide, NULL, 12 * MIB, 1, false), UNIT);
    stp_fam_part_close(&wide, true);
}

TEST(names_side_by_side)
{
    struct fam_part a, b, again;

    fam_use_file(32 * MIB);
    ck_assert_int_eq(part_make(&a, "a", 2 * MIB, 2, true), 2 * UNIT);
    ck_assert_int_eq(part_make(&b, "b", 2 * MIB, 3, false), 5 * UNIT);
    ck_assert_int_eq(part_make(&again, "a", 2 * MIB, 2, false), 2 * UNIT);
    ck_assert(a.created && b.created && !again.created);
    stp_fam_part_close(&again, true);
    ck_assert_int_eq(part_make(&again, "b", 2 * MIB, 4, false), -EINVAL);
    stp_fam_part_close(&b, true);
    ck_assert_int_eq(part_make(&b, "b", 2 * MIB, 2, false), 5 * UNIT);
    stp_fam_part_close(&a, true);
    stp_fam_part_close(&b, true);
}

TEST(pool_is_full_of_names)
{
    const char *path = fam_use_file((size_t)40 << 30); /* a hole: takes no memory */
    struct fam_entry entry = {.valid = 1,
                              .flags = FAM_KEEP | FAM_SETTLED,
                              .name = "x",
                              .head_bytes = FAM_ALIGN,
                              .part_bytes = FAM_ALIGN,
                              .nbytes = MIB,
                              .n_parts = 1};

    make_kept();
    POKE(path, offsetof(struct fam_super, n_entries), uint32_t, FAM_ENTRIES);
    for (size_t i = 1; i < FAM_ENTRIES; i++) {
        entry.offset = (4 + 2 * i) * FAM_ALIGN;
        fam_poke(path, ENTRY(i), &entry, sizeof(entry));
    }
    expect_refused("already has 8191 spaces, which is the maximum", ENOSPC);
}

/* ---- contents and lives ------------------------------------------------------------------ */

/* Through the ops: what a space leaves behind is not in the next one. */
TEST(memory_is_cleared)
{
    struct stp_space_params params = fam_params(NULL, 4 * MIB, false);
    struct stp_space space;

    fam_use_file(10 * MIB);
    for (int i = 0; i < 4; i++) {
        params.name = i % 2 == 0 ? NULL : "clear";
        ck_assert_int_eq(fam_create_live(&space, &params), 0);
        ck_assert(fam_is_zero(space.base, space.nbytes));
        memset(space.base, 0xee, space.nbytes);
        stp_kind_fam.destroy(&space);
    }
}

/* A part that its maker did not live to clear is cleared by whoever comes next. */
TEST(half_made_part)
{
    const char *path = fam_use_file(10 * MIB);
    struct stp_space_params params = fam_params("half", 4 * MIB, true);
    struct stp_space space;

    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    stp_kind_fam.destroy(&space);
    fam_poke(path, 5 * MIB, "rubbish", 8);
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert_str_eq(space.base + MIB, "rubbish");
    stp_kind_fam.destroy(&space);
    POKE(path, offsetof(struct fam_super, ready), uint8_t, 0);
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert(fam_is_zero(space.base, space.nbytes));
    stp_kind_fam.destroy(&space);
}

/* A device has no holes: its named spaces are cleared by hand, the others not at all. */
TEST(as_on_a_device)
{
    struct fam_backing place = {
        .type = FAM_DEVICE, .path = fam_use_file(10 * MIB), .nbytes = 10 * MIB};
    struct fam_shape named = {.name = "dev", .nbytes = 2 * MIB, .n_parts = 3};
    struct fam_shape nameless = {.nbytes = 8 * MIB, .n_parts = 1};
    struct fam_part part;
    char *map;
    int fd = open(place.path, O_RDWR | O_CLOEXEC);

    map = mmap(NULL, 10 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    memset(map + 2 * MIB, 'd', 8 * MIB);
    ck_assert_int_eq(stp_fam_part_open(&part, &place, &nameless, 0, 8 * MIB), 0);
    ck_assert_int_eq(map[2 * MIB], 'd');
    stp_fam_part_close(&part, true);
    ck_assert_int_eq(stp_fam_part_open(&part, &place, &named, 0, 2 * MIB), 0);
    ck_assert_int_eq(part.offset, 2 * UNIT);
    ck_assert(fam_is_zero(map + 4 * MIB, 2 * MIB));
    ck_assert_int_eq(map[6 * MIB], 'd'); /* the parts of other PEs are theirs to clear */
    ck_assert_int_eq(map[8 * MIB], 'd');
    stp_fam_part_close(&part, true);
    munmap(map, 10 * MIB);
    close(fd);
}

static void fill_pool(void)
{
    struct stp_space_params params = fam_params(NULL, 2 * MIB, false);
    static struct stp_space spaces[3];
    static const char *const names[] = {NULL, "passing", "kept"};

    for (size_t i = 0; i < STP_COUNT(names); i++) {
        params.name = names[i];
        params.keep = i == 2;
        MUST(fam_create_live(&spaces[i], &params) == 0);
        memset(spaces[i].base, 'k', spaces[i].nbytes);
    }
}

TEST(killed_job_is_reclaimed)
{
    struct stp_space_params params = fam_params(NULL, 4 * MIB, false);
    struct stp_space space, kept;

    fam_use_file(12 * MIB);
    fam_run_killed(fill_pool);
    ck_assert_int_eq(fam_create_live(&space, &params), 0);
    ck_assert(fam_is_zero(space.base, space.nbytes));
    params = fam_params("kept", 2 * MIB, true);
    ck_assert_int_eq(fam_create_live(&kept, &params), 0);
    ck_assert_int_eq(kept.base[MIB], 'k');
    stp_kind_fam.destroy(&space);
    stp_kind_fam.destroy(&kept);
}

/* While the other job lives, its memory is its own. */
TEST(living_job_is_not_reclaimed)
{
    struct fam_part part;
    int status;
    pid_t pid;

    fam_use_file(12 * MIB);
    pid = fork();
    if (pid == 0) {
        window_up(1);
        fill_pool();
        meet(2);
        meet(2);
        _exit(0);
    }
    meet(2);
    expect_refused(" is 0 bytes, but the space needs", ENOSPC);
    meet(2);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(part_make(&part, NULL, MIB, 1, false), UNIT);
    stp_fam_part_close(&part, true);
}

TEST(locked_for_ever)
{
    const char *path = fam_use_file(12 * MIB);
    struct fam_pool one, two;
    /* whoever clears a part has a lock for it beyond those of the superblock */
    struct flock parts = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)FAM_ALIGN, .l_len = 0};
    int fd = open(path, O_RDWR | O_CLOEXEC);

    ck_assert_int_eq(stp_fam_pool_lock_file(&one, fd, path, path, false), 0);
    stp_fam_pool_unlock(&one);
    fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(stp_fam_pool_lock_file(&two, fd, path, path, false), 0);
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &parts), 0);
    one.lock_timeout_ms = 20;
    capture_begin(&said);
    ck_assert_int_eq(stp_fam_pool_lock(&one), -ETIMEDOUT);
    ck_assert_int_eq(stp_fam_prepare(&one, FAM_ALIGN, FAM_ALIGN, true), -ETIMEDOUT);
    capture_end(&said);
    ck_said("another process has kept");
    stp_fam_pool_close(&two);
    ck_assert_int_eq(stp_fam_pool_lock(&one), 0);
    stp_fam_pool_close(&one);
}
