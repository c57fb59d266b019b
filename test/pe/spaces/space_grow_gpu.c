/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU spaces that grow (attr.max_size): what was in them stays, new memory and what lies across a
 * border is reached from and to all memory, on the node by descriptors of the pieces; the end is
 * NULL. "staged": where processes may not take descriptors of each other; "refused": PE 0's device
 * has no more pieces; "none": it has no memory by handles; "members": some have no device;
 * "default": the default heap.
 */
#include "pe_copies.h"
#include "pe_kinds.h"
#include "pe_leaks.h"

#include <fcntl.h>

enum { SIZE = 2 * PE_MIB, MAX = 150 * PE_MIB, EXTENT = 64 * PE_MIB, N = 5000 };

static shmemx_space_info_t info_of(shmem_space_t space)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    return info;
}

static bool make(size_t size, size_t max, shmem_space_t *space, shmem_team_t *team)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_GPU, size);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.max_size = max;
    return shmemx_space_create_attr(&config, &attr, space, team) == 0;
}

static void check_path(shmem_space_t space)
{
    const char *told = getenv("PE_PATH");
    shmemx_space_path_t path = shmemx_space_path(space, pe_right());
    const char *is = shmemx_space_path_name(path);

    if (pe_n == 1 || told == NULL) return;
    PE_CHECK(strcmp(is, told) == 0, "the path is %s, not %s", is, told);
}

/* Words at to and from, each of which may lie across a border: private, host and device memory. */
static void check_border(char *border, long *heap, const char *what)
{
    long *there = (long *)(void *)border - N / 2, own[N];

    for (long i = 0; i < N; i++)
        own[i] = 100000L * pe_me + i;
    shmem_barrier_all();
    shmem_long_put(there, own, N, pe_right());
    shmem_barrier_all();
    PE_GPU_EXPECT(there, 100000L * pe_left(), N, what);
    memset(own, 0, sizeof(own));
    shmem_long_get(own, there, N, pe_right());
    PE_EXPECT(own, 100000L * pe_me, N, what);
    shmem_barrier_all();
    memset(heap, 0, N * sizeof(long));
    shmem_barrier_all();
    shmem_long_put_nbi(heap, there, N, pe_right());
    shmem_barrier_all();
    PE_EXPECT(heap, 100000L * ((pe_left() + pe_n - 1) % pe_n), N, what);
    shmem_barrier_all();
    if (pe_me == 0) { /* across it on both sides */
        shmem_long_get(there + 1, there + 1, N - 100, pe_right());
        PE_GPU_EXPECT(there + 1, 100000L * pe_me + 1, N - 100, what);
        shmem_long_put(there + 5, there + 5, N - 100, pe_right());
        shmem_long_get(own, there + 5, N - 100, pe_right());
        PE_EXPECT(own, 100000L * pe_me + 5, N - 105, what);
        for (long i = 0; i < N; i++)
            own[i] = 100000L * pe_me + i;
    }
    shmem_barrier_all();
    shmem_long_put(there - 7, heap, N, pe_right());
    shmem_barrier_all();
    shmem_long_iput(there + N / 2 - 50, own, 3, 2, 30, pe_right());
    shmem_barrier_all();
    for (long i = 0; i < 30; i++)
        PE_CHECK_EQ(shmem_long_g(there + N / 2 - 50 + 3 * i, pe_me), 100000L * pe_left() + 2 * i);
    shmem_barrier_all();
    shmem_long_p(there + N / 2, 0, pe_me);
    shmem_barrier_all();
    shmem_long_atomic_add(there + N / 2, pe_me + 1, 0);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_g(there + N / 2, 0), pe_n * (pe_n + 1) / 2);
    shmem_barrier_all();
}

/* Descriptors that a program started by this PE would have, too. */
static int n_inherited(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);

        n += flags >= 0 && (flags & FD_CLOEXEC) == 0;
    }
    return n;
}

static void check_use(long *heap)
{
    int inherited = n_inherited();
    shmem_space_t space;
    shmem_team_t team;
    long *keep, *block, *more, *cleared;
    char *base;

    PE_REQUIRE(make(SIZE, MAX, &space, &team), "no space that grows");
    base = info_of(space).base;
    PE_CHECK_EQ(info_of(space).nbytes, SIZE);
    PE_CHECK_EQ(info_of(space).max_size, MAX);
    keep = shmem_space_malloc(space, N * sizeof(long));
    pe_gpu_fill(keep, 7000000L * pe_me, N);
    block = shmem_space_malloc(space, 4 * PE_MIB);
    PE_REQUIRE(block != NULL, "it does not grow");
    PE_CHECK_EQ(info_of(space).nbytes, SIZE + EXTENT);
    PE_CHECK_EQ(n_inherited(), inherited);
    check_path(space);
    check_border(base + SIZE, heap, "the first border");
    more = shmem_space_malloc(space, EXTENT);
    PE_REQUIRE(more != NULL, "it does not grow twice");
    PE_CHECK_EQ(info_of(space).nbytes, 2 * (SIZE + EXTENT));
    check_border(base + SIZE + EXTENT, heap, "the second border");
    check_border(base + SIZE, heap, "the first border, once more");
    check_path(space);
    PE_CHECK(shmem_space_malloc(space, MAX) == NULL, "more than there may be");
    cleared = shmem_space_calloc(space, MAX - info_of(space).used, 1);
    PE_REQUIRE(cleared != NULL, "the last piece is not given");
    PE_CHECK_EQ(info_of(space).nbytes, MAX);
    PE_CHECK_EQ(shmem_long_g((long *)(void *)(base + MAX) - 1, pe_right()), 0);
    check_border(base + MAX - N * (long)sizeof(long), heap, "the end");
    PE_GPU_EXPECT(keep, 7000000L * pe_me, N, "what was there");
    shmem_barrier_all();
    shmem_space_free(space, more);
    shmem_space_free(space, cleared);
    shmem_space_free(space, block);
    shmem_space_free(space, keep);
    pe_space_end(space, team);
}

/* Not one byte more than max_size is handed out, though pieces are larger. */
static void check_odd_end(void)
{
    shmem_space_t space;
    shmem_team_t team;
    char *block;

    PE_REQUIRE(make(SIZE, SIZE + 4097, &space, &team), "no space that grows");
    PE_CHECK_EQ(info_of(space).max_size, SIZE + 8192);
    block = shmem_space_malloc(space, SIZE + 8192);
    PE_REQUIRE(block != NULL, "all of it is not given");
    shmem_char_p(block + SIZE + 8191, (char)(1 + pe_me), pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_char_g(block + SIZE + 8191, pe_me), (char)(1 + pe_left()));
    PE_CHECK(shmem_space_malloc(space, 64) == NULL, "more than all of it");
    pe_space_end(space, team);
    PE_REQUIRE(make(PE_MIB, PE_MIB + PE_MIB / 2, &space, &team), "no space smaller than a piece");
    PE_CHECK_EQ(info_of(space).nbytes, PE_MIB + PE_MIB / 2);
    PE_CHECK(shmem_space_malloc(space, SIZE) == NULL, "more than a piece");
    pe_space_end(space, team);
}

/* PE 0 has no memory for it: NULL on all, and all is as it was. */
static void check_refused(long *heap)
{
    shmemx_space_info_t before, after;
    shmem_space_t space;
    shmem_team_t team;
    char *block;

    PE_REQUIRE(make(SIZE, MAX, &space, &team), "no space that grows");
    block = shmem_space_malloc(space, SIZE / 2);
    before = info_of(space);
    PE_CHECK(shmem_space_malloc(space, 2 * SIZE) == NULL, "it grows where PE 0 cannot");
    after = info_of(space);
    PE_CHECK_EQ(after.nbytes, before.nbytes);
    PE_CHECK_EQ(after.largest, before.largest);
    PE_CHECK_EQ(after.n_blocks, 1);
    PE_REQUIRE(shmem_space_malloc(space, 2 * SIZE) == block + SIZE / 2, "it does not grow then");
    check_border(block + SIZE, heap, "after a refusal");
    pe_space_end(space, team);
}

/* No device has any: refused on all. */
static void check_none(void)
{
    shmem_space_t space;
    shmem_team_t team;

    PE_CHECK(!make(SIZE, MAX, &space, &team), "a space that grows on nothing");
    PE_REQUIRE(make(SIZE, 0, &space, &team), "no space that keeps its size");
    PE_CHECK(shmem_space_malloc(space, 2 * SIZE) == NULL, "it grows");
    pe_space_end(space, team);
}

/* Of those that have a device. */
static void check_members(void)
{
    struct pe_space s = {.kind = &pe_kinds[PE_GPU], .rank = -1};
    long *block;

    PE_REQUIRE(make(SIZE, MAX, &s.space, &s.team), "no space that grows");
    if (s.space != SHMEM_SPACE_INVALID) {
        s.rank = shmem_team_my_pe(s.team);
        s.n = shmem_team_n_pes(s.team);
        block = pe_kind_malloc(&s, 2 * SIZE / sizeof(long));
        PE_CHECK_EQ(info_of(s.space).nbytes, SIZE + EXTENT);
        pe_kind_ring(&s, block + SIZE / sizeof(long) - N / 2, N, 9000000);
        shmem_space_free(s.space, block);
    }
    pe_kind_destroy(&s);
    shmem_barrier_all();
}

/* With SHMEM_DEFAULT_SPACE=gpu. */
static void check_default(void)
{
    long values[N], *block, *more;

    PE_CHECK_EQ(info_of(SHMEM_SPACE_DEFAULT).nbytes, SIZE);
    PE_CHECK_EQ(info_of(SHMEM_SPACE_DEFAULT).max_size, MAX);
    block = shmem_malloc(SIZE);
    more = shmem_malloc(EXTENT);
    PE_REQUIRE(block != NULL && more != NULL, "the default heap does not grow");
    for (long i = 0; i < N; i++)
        values[i] = 1000000L * pe_me + i;
    shmem_long_put(more, values, N, pe_right());
    shmem_barrier_all();
    PE_GPU_EXPECT(more, 1000000L * pe_left(), N, "the default heap");
    shmem_barrier_all();
    shmem_free(more);
    shmem_free(block);
}

static void check_leaks(void)
{
    static const struct pe_slack slack = {8, 256, 64, PE_ARENAS, 4096};
    struct pe_holdings before = {0}, after;
    shmem_space_t space;
    shmem_team_t team;

    for (int i = 0; i < 8; i++) {
        long *block;

        PE_REQUIRE(make(SIZE, MAX, &space, &team), "no space that grows");
        block = shmem_space_malloc(space, 3 * SIZE);
        PE_REQUIRE(block != NULL, "it does not grow");
        shmem_long_p(block + 3 * SIZE / sizeof(long) - 1, i, pe_right());
        shmem_barrier_all();
        PE_CHECK_EQ(shmem_long_g(block + 3 * SIZE / sizeof(long) - 1, pe_me), i);
        pe_space_end(space, team);
        if (i == 3) before = pe_holdings();
    }
    after = pe_holdings();
    pe_check_holdings(&before, &after, &slack, "8 rounds");
}

static void check_all(const char *mode)
{
    long *heap = pe_heap_seen(N);

    if (strcmp(mode, "staged") == 0) pe_refuse_copies();
    if (strcmp(mode, "refused") == 0) {
        check_refused(heap);
    } else {
        check_use(heap);
        check_odd_end();
        check_leaks();
    }
    shmem_free(heap);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    pe_test_begin();
    if (strcmp(mode, "members") == 0)
        check_members();
    else if (strcmp(mode, "default") == 0)
        check_default();
    else if (!pe_gpu_load() || !pe_kind_exists(PE_GPU))
        pe_test_skip("no GPU");
    else if (strcmp(mode, "none") == 0)
        check_none();
    else
        check_all(mode);
    return pe_test_end();
}
