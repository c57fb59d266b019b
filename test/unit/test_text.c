/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how sizes are printed, how numbers are read from small files, and the hash function. CTest
 * runs the program as unit.text.
 */
#include "base/base.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

TEST(sizes_for_people)
{
    char text[STP_SIZE_TEXT];

    ck_assert_str_eq(stp_size_text(0, text), "0 bytes");
    ck_assert_str_eq(stp_size_text(1023, text), "1023 bytes");
    ck_assert_str_eq(stp_size_text(KIB, text), "1 KiB");
    ck_assert_str_eq(stp_size_text(GIB + GIB / 2, text), "1.5 GiB");
    ck_assert_str_eq(stp_size_text(1000 * MIB, text), "1000 MiB");
    ck_assert_str_eq(stp_size_text(SIZE_MAX - 1, text), "16 EiB");
    ck_assert_str_eq(stp_size_text(SIZE_MAX, text), "unlimited");
}

TEST(sizes_exactly)
{
    char text[STP_SIZE_TEXT];

    ck_assert_str_eq(stp_size_exact(0, text), "0 bytes");
    ck_assert_str_eq(stp_size_exact(KIB + 1, text), "1025 bytes");
    ck_assert_str_eq(stp_size_exact(GIB + GIB / 2, text), "1536 MiB");
    ck_assert_str_eq(stp_size_exact(GIB * 1024 * 1024, text), "1024 TiB");
    ck_assert_str_eq(stp_size_exact(SIZE_MAX, text), "18446744073709551615 bytes");
}

static size_t number_in(const char *lines, const char *key)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    char path[64];
    size_t got;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, lines, strlen(lines)), (ssize_t)strlen(lines));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    got = stp_file_number(path, key);
    close(fd);
    return got;
}

TEST(numbers_of_files)
{
    ck_assert_uint_eq(number_in("4096\n", ""), 4096);
    ck_assert_uint_eq(number_in("MemFree: 7 kB\nMemTotal:   42 kB\n", "MemTotal:"), 42);
    ck_assert_uint_eq(number_in("MemTotalX: 1\n", "MemTotal:"), SIZE_MAX);
    ck_assert_uint_eq(number_in("max\n", ""), SIZE_MAX);
    ck_assert_uint_eq(number_in("", ""), SIZE_MAX);
    ck_assert_uint_eq(stp_file_number("/nowhere/at/all", ""), SIZE_MAX);
}

/* Published values of FNV-1a. */
TEST(hashes)
{
    uint64_t foo = stp_hash(STP_HASH_EMPTY, "foo", 3);

    ck_assert_uint_eq(stp_hash(STP_HASH_EMPTY, "", 0), 0xcbf29ce484222325u);
    ck_assert_uint_eq(stp_hash(STP_HASH_EMPTY, "a", 1), 0xaf63dc4c8601ec8cu);
    ck_assert_uint_eq(stp_hash(foo, "bar", 3), 0x85944171f73967e8u);
}
