/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the window of a node and the view of its parts: the address of a part, the part to which an
 * address belongs, and that two copies of an object never have addresses with equal low bits. It
 * also tests that closed memory traps. CTest runs the program as unit.window; one process plays all
 * PEs.
 */
#include "spaces/space_registry.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define PARTS 128
#define LIKE ((uintptr_t)256 << 20) /* addresses are alike when they differ by a multiple */

static struct stp_window_layout layout;
static int fd = -1;

static void setup(void)
{
    if (stp_window_choose(PARTS, (size_t)1 << 20, (size_t)1 << 30, &layout) != 0) abort();
    fd = stp_window_create_file(&layout);
    if (fd < 0 || stp_window_reserve(&layout, fd, 1) != 0) abort();
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's own handler ends a process otherwise */
}

static void teardown(void)
{
    stp_window_close();
    close(fd);
}

static uintptr_t low(const void *addr)
{
    return (uintptr_t)addr % LIKE;
}

TEST_CASE(parts, setup, teardown)

TEST(parts_are_not_alike)
{
    bool alike = false;

    for (int a = 0; a < PARTS; a++)
        for (int b = 0; b < a; b++)
            alike = alike || low(stp_window_part(a)) == low(stp_window_part(b));
    for (int a = 0; a < PARTS - 1; a++) /* the last one comes round again */
        alike = alike || low(stp_window_part(a)) == low(stp_window_at(0));
    ck_assert(!alike);
}

TEST(parts_keep_large_pages)
{
    for (int a = 0; a < PARTS; a++)
        ck_assert_uint_eq((uintptr_t)stp_window_part(a) % STP_RANGE_ALIGN, 0);
    ck_assert_uint_eq((uintptr_t)stp_window_at(0) % STP_WINDOW_ALIGN, 0);
}

TEST(an_address_is_found_in_its_part)
{
    size_t offset, last = stp_window_reserved_bytes() - 1;
    int local;

    for (int a = 0; a < PARTS; a++) {
        ck_assert(stp_window_locate(stp_window_part(a), &offset, &local));
        ck_assert(local == a && offset == 0);
        ck_assert(stp_window_locate(stp_window_part(a) + last, &offset, &local));
        ck_assert(local == a && offset == last);
    }
    ck_assert(stp_window_locate(stp_window_at(last), &offset, &local));
    ck_assert(local == -1 && offset == last);
    ck_assert(!stp_window_locate(stp_window_at(0) - 1, &offset, &local));
    ck_assert(!stp_window_locate(stp_win.view - 1, &offset, &local));
    ck_assert(!stp_window_locate(stp_win.view + stp_window_view_bytes(&layout), &offset, &local));
    ck_assert(!stp_window_locate(&local, &offset, &local));
}

/* One PE after the other in one process: the file keeps what they write. */
TEST(a_part_is_the_memory_of_its_window)
{
    size_t at = STP_RANGE_ALIGN, nbytes = STP_RANGE_ALIGN;

    ck_assert_int_eq(stp_window_commit(at, nbytes, nbytes), 0);
    *stp_window_at(at + 5) = 1;
    ck_assert_int_eq(stp_window_open_peer(1), 0);
    ck_assert_int_eq(stp_window_part(1)[at + 5], 1);
    stp_window_close();

    ck_assert_int_eq(stp_window_reserve(&layout, fd, 2), 0);
    ck_assert_int_eq(stp_window_commit(at, nbytes, nbytes), 0);
    ck_assert_int_eq(stp_window_add_peer_range(at, 1), 0);
    ck_assert_int_eq(stp_window_open_peer(1), 0);
    ck_assert_int_eq(stp_window_part(1)[at + 5], 1);
    stp_window_part(1)[at + 6] = 2;
    *stp_window_at(at + 6) = 3;
    ck_assert_int_eq(stp_window_open_peer(2), 0);
    ck_assert_int_eq(stp_window_part(2)[at + 6], 3);
    stp_window_close();

    ck_assert_int_eq(stp_window_reserve(&layout, fd, 1), 0);
    ck_assert_int_eq(stp_window_commit(at, nbytes, nbytes), 0);
    ck_assert_int_eq(*stp_window_at(at + 6), 2);
    stp_window_release(at, nbytes);
    ck_assert_int_eq(stp_window_commit(at, nbytes, nbytes), 0);
    ck_assert_int_eq(*stp_window_at(at + 6), 0); /* given back, its neighbours are not */
    ck_assert_int_eq(stp_window_add_peer_range(at, 2), 0);
    ck_assert_int_eq(stp_window_open_peer(2), 0);
    ck_assert_int_eq(stp_window_part(2)[at + 6], 3);
}

#define AT STP_RANGE_ALIGN
#define NBYTES STP_RANGE_ALIGN

TEST_SIGNAL(a_part_is_closed_until_it_is_asked_for, SIGSEGV)
{
    ck_assert_int_eq(stp_window_commit(AT, NBYTES, NBYTES), 0);
    ck_assert_int_eq(stp_window_add_peer_range(AT, 2), 0);
    ck_assert_int_eq(stp_window_open_peer(1), 0);
    stp_window_part(2)[AT] = 1;
}

TEST_SIGNAL(a_part_stays_closed_to_others_than_members, SIGSEGV)
{
    ck_assert_int_eq(stp_window_commit(AT, NBYTES, NBYTES), 0);
    ck_assert_int_eq(stp_window_open_peer(2), 0);
    stp_window_part(2)[AT] = 1;
}

TEST_SIGNAL(a_released_range_is_closed, SIGSEGV)
{
    ck_assert_int_eq(stp_window_commit(AT, NBYTES, NBYTES), 0);
    ck_assert_int_eq(stp_window_add_peer_range(AT, 2), 0);
    ck_assert_int_eq(stp_window_open_peer(2), 0);
    stp_window_part(2)[AT] = 1;
    stp_window_release(AT, NBYTES);
    stp_window_part(2)[AT] = 1;
}

TEST(what_is_shown_later_is_open_in_an_open_part)
{
    ck_assert_int_eq(stp_window_open_peer(1), 0);
    ck_assert_int_eq(stp_window_open_peer(2), 0);
    ck_assert_int_eq(stp_window_commit(AT, NBYTES, NBYTES), 0);
    ck_assert_int_eq(stp_window_add_peer_range(AT, 2), 0);
    stp_window_part(1)[AT] = 1;
    stp_window_part(2)[AT] = 1;
}

/* Asked for often enough, all parts are opened, and the inline half hits. */
TEST(who_asks_often_gets_all_parts)
{
    char *mine;

    stp_window_set_peers(0, PARTS);
    ck_assert_int_eq(stp_window_commit(AT, NBYTES, NBYTES), 0);
    for (int a = 0; a < PARTS; a++)
        ck_assert_int_eq(stp_window_add_peer_range(AT, a), 0);
    mine = stp_window_at(AT);
    for (int asked = 0; asked < PARTS; asked++)
        ck_assert_int_eq(stp_window_open_peer(1), 0);
    ck_assert_ptr_eq(stp_ptr_inline(mine, 1, STP_USE_ACCESS), NULL);
    for (int asked = 0; asked < 100 * PARTS; asked++)
        ck_assert_int_eq(stp_window_open_peer(1), 0);
    for (int a = 0; a < PARTS; a++) {
        ck_assert_ptr_eq(stp_ptr_inline(mine, a, STP_USE_ACCESS), stp_window_part(a) + AT);
        ck_assert_ptr_eq(stp_ptr_inline(mine, a, STP_USE_ATOMIC), stp_window_part(a) + AT);
        stp_window_part(a)[AT] = 1;
    }
}

static void look_at_growth(void)
{
    stp_window_set_peers(0, PARTS);
    ck_assert_int_eq(stp_window_commit(AT, NBYTES, 4 * NBYTES), 0);
    ck_assert_int_eq(stp_window_add_peer_range(AT, 2), 0);
    for (int a = 0; a < PARTS; a++)
        if (a != 2) ck_assert_int_eq(stp_window_open_peer(a), 0);
    ck_assert_uint_ge(stp_window_find(NBYTES, STP_RANGE_ALIGN, 0), AT + 4 * NBYTES);
    ck_assert_uint_eq(stp_window_end(), AT + NBYTES);
    ck_assert_int_eq(stp_window_grow(AT, 3 * NBYTES), 0);
    ck_assert_uint_eq(stp_window_end(), AT + 3 * NBYTES);
    ck_assert_int_eq(stp_window_open_peer(2), 0);
    *stp_window_at(AT + 3 * NBYTES - 1) = 1;
    stp_window_part(2)[AT + 3 * NBYTES - 1] = 2;
    ck_assert_ptr_nonnull(stp_ptr_inline(stp_window_at(AT + 2 * NBYTES), 2, STP_USE_ACCESS));
}

TEST(a_range_grows_into_what_is_kept_for_it)
{
    look_at_growth();
    stp_window_undo_grow(AT, 2 * NBYTES);
    ck_assert_uint_eq(stp_window_end(), AT + 2 * NBYTES);
    ck_assert_int_eq(stp_window_grow(AT, 4 * NBYTES), 0);
    ck_assert_int_eq(*stp_window_at(AT + 3 * NBYTES - 1), 0); /* given back meanwhile */
    stp_window_release(AT, 4 * NBYTES);
    ck_assert_int_eq(stp_window_commit(AT + 2 * NBYTES, NBYTES, NBYTES), 0);
}

TEST_SIGNAL(what_is_kept_for_growth_is_closed, SIGSEGV)
{
    look_at_growth();
    *stp_window_at(AT + 3 * NBYTES) = 1;
}

TEST_SIGNAL(what_has_shrunk_is_closed, SIGSEGV)
{
    look_at_growth();
    stp_window_undo_grow(AT, NBYTES);
    stp_window_part(2)[AT + NBYTES] = 1;
}

/* Without any patience being needed. */
TEST(who_asks_for_all_parts_has_them)
{
    stp_window_set_peers(0, PARTS);
    ck_assert_int_eq(stp_window_commit(AT, NBYTES, NBYTES), 0);
    for (int a = 0; a < PARTS; a++) {
        ck_assert_ptr_eq(stp_ptr_inline(stp_window_at(AT), 1, STP_USE_ACCESS), NULL);
        ck_assert_int_eq(stp_window_open_peer(a), 0);
    }
    ck_assert_ptr_nonnull(stp_ptr_inline(stp_window_at(AT), 1, STP_USE_ACCESS));
}

/* A space of any size that a host may have fits, as far as the view allows it. */
TEST_CASE(sizes, NULL, NULL)

TEST(the_window_is_larger_than_memory)
{
    struct stp_window_layout few, many;

    ck_assert_int_eq(stp_window_choose(8, (size_t)1 << 20, 0, &few), 0);
    ck_assert_uint_eq(few.nbytes, (size_t)1 << 42);
    ck_assert_int_eq(stp_window_choose(128, (size_t)1 << 20, 0, &many), 0);
    ck_assert_uint_eq(many.nbytes, (size_t)1 << 38);
}

/* Not beside a sanitizer, whose own memory is more than that. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(where_that_is_refused_it_is_smaller)
{
    struct rlimit limit;
    struct stp_window_layout tight;

    ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = (size_t)1 << 40;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_int_eq(stp_window_choose(2, (size_t)1 << 20, 0, &tight), 0);
    ck_assert_uint_eq(tight.nbytes, (size_t)64 << 30);
    limit.rlim_cur = (size_t)64 << 30;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_int_eq(stp_window_choose(2, (size_t)1 << 20, 0, &tight), 0);
    ck_assert_uint_eq(tight.nbytes, (size_t)4 << 30);
}
#endif

TEST(the_view_stays_below_its_limit)
{
    struct stp_window_layout many;

    ck_assert_int_eq(stp_window_choose(128, (size_t)1 << 20, (size_t)1 << 40, &many), 0);
    ck_assert_uint_le(many.nbytes, (size_t)1 << 38); /* 128 of them are 2^45 */
    ck_assert_int_eq(stp_window_choose(128, (size_t)1 << 40, 0, &many), -ENOMEM);
}
