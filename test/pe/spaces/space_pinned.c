/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks host memory that devices reach: spaces with SHMEMX_SPACE_PINNED, and the default heap.
 * Streams write words of this PE and of its node's PEs through shmemx_space_device_ptr(), and the
 * driver has one registration of each part and of each piece by which it grows.
 *
 * usage: space_pinned [works | later] [hbm]
 *   works: pinning succeeds; later: the driver refuses the piece of a growth; without an argument:
 *   the driver, or a PE, refuses all. hbm: spaces of that kind (test/topology/here.xml)
 */
#include "pe_gpu.h"

static shmem_device_type_t host_kind = SHMEM_DEVICE_CPU;

static int (*write_word)(void *stream, unsigned long long address, uint64_t value, unsigned flags);
static long (*live)(const char *what); /* of the stand-in alone */

static bool find_calls(void)
{
    void *library, *counter;

    if (!pe_gpu_load()) return false;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&write_word = pe_gpu_symbol(library, "cuStreamWriteValue64_v2");
    counter = dlsym(library, "fakecuda_live");
    *(void **)&live = counter;
    return true;
}

static long registered(void)
{
    return live != NULL ? live("registered") : 0;
}

static int create(size_t size, shmem_device_type_t kind, shmem_space_t *space, shmem_team_t *team)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(kind, size);

    attr.flags = SHMEMX_SPACE_PINNED;
    *space = SHMEM_SPACE_DEFAULT;
    return shmemx_space_create_attr(&config, &attr, space, team);
}

/* Each PE's stream writes a word of every PE that its device reaches: all of this node. */
static void check_words(shmem_space_t space, uint64_t *words)
{
    int n_reached = 0;

    for (int pe = 0; pe < pe_n; pe++) {
        void *there = shmemx_space_device_ptr(space, &words[pe_me], pe);

        PE_CHECK(
            (there != NULL) == (shmem_ptr(words, pe) != NULL),
            "pe %d: the device pointer is %p, expected a pointer if and only if shmem_ptr gives "
            "one",
            pe, there);
        if (there == NULL) continue;
        n_reached++;
        PE_CHECK_EQ(write_word(NULL, (unsigned long long)(uintptr_t)there,
                               (uint64_t)(100 * pe + pe_me + 1), 0),
                    0);
    }
    PE_CHECK(n_reached > 0, "shmemx_space_device_ptr gave no pointer, not even for this PE");
    PE_CHECK_EQ(pe_cuda.finish(), 0);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        if (shmem_ptr(words, pe) != NULL) PE_CHECK_EQ(words[pe], 100 * pe_me + pe + 1);
    shmem_barrier_all();
}

static void check_space(void)
{
    long before = registered();
    shmem_space_t space, plain;
    shmem_team_t team, plain_team;
    char *base, *far;
    uint64_t *words;

    PE_REQUIRE(create(32 * PE_MIB, host_kind, &space, &team) == 0,
               "creating a pinned space failed");
    PE_CHECK(registered() > before, "creating a pinned space added no registration in the driver");
    /* of each part, and of the buffers that the library copies by */
    PE_CHECK(
        registered() - before <= pe_n + 1,
        "the driver has %ld more registrations, expected at most one for each part and piece and "
        "one more",
        registered() - before);
    base = shmem_space_malloc(space, 64);
    PE_REQUIRE(base != NULL, "shmem_space_malloc of 64 bytes returned NULL");
    PE_CHECK(shmemx_space_device_ptr(space, base, pe_me) != NULL,
             "shmemx_space_device_ptr of the first block is NULL");
    PE_CHECK(shmemx_space_device_ptr(space, base + 9 * PE_MIB, pe_me) != NULL,
             "shmemx_space_device_ptr of the middle of the space is NULL");
    PE_CHECK(shmemx_space_device_ptr(space, base - 4096, pe_me) == NULL,
             "shmemx_space_device_ptr of an address before the space is not NULL");
    PE_CHECK(shmemx_space_device_ptr(space, base + 32 * PE_MIB, pe_me) == NULL,
             "shmemx_space_device_ptr of an address after the space is not NULL");
    far = shmem_space_calloc(space, 1, 9 * PE_MIB + 8192);
    words = (uint64_t *)(void *)(far + 9 * PE_MIB);
    check_words(space, words);
    check_words(space, (uint64_t *)(void *)far);
    far = shmemx_space_realloc(space, far, 12 * PE_MIB);
    PE_REQUIRE(far != NULL, "shmemx_space_realloc to 12 MiB returned NULL");
    check_words(space, (uint64_t *)(void *)(far + 12 * PE_MIB - 4096));
    shmem_space_free(space, far);

    plain = pe_space_create(PE_MIB, &plain_team);
    base = shmem_space_malloc(plain, 64);
    PE_CHECK(shmemx_space_device_ptr(plain, base, pe_me) == NULL,
             "shmemx_space_device_ptr in a space that is not pinned is not NULL");
    pe_space_end(plain, plain_team);
    pe_space_end(space, team);
    PE_CHECK_EQ(registered(), before);
}

/* What a space grows by is pinned as the rest: a registration of each part, and one a growth. */
static void check_growing(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(host_kind, PE_MIB);
    long before = registered();
    shmem_space_t space;
    shmem_team_t team;
    char *first, *block;

    attr.flags = SHMEMX_SPACE_PINNED;
    attr.max_size = 200 * PE_MIB;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a pinned space failed");
    first = shmem_space_malloc(space, PE_MIB / 2);
    block = shmem_space_calloc(space, 1, 9 * PE_MIB);
    PE_REQUIRE(first != NULL && block != NULL,
               "an allocation in the pinned space returned NULL: the space did not grow");
    PE_CHECK(
        registered() - before <= 2 * pe_n + 1,
        "the driver has %ld more registrations, expected at most one for each part and piece and "
        "one more",
        registered() - before);
    check_words(space, (uint64_t *)(void *)(first + PE_MIB)); /* behind its first end */
    check_words(space, (uint64_t *)(void *)(block + 9 * PE_MIB - 4096));
    pe_space_end(space, team);
    PE_CHECK_EQ(registered(), before);
}

/* N longs at from, which are there as base, base + 1, ..., come to the right by each way. */
static void check_copy(long *to, long *from, long *aside, long base, int n, const char *what)
{
    for (int way = 0; way < 4; way++) {
        pe_gpu_fill(from, base + 1000000L * pe_me, (size_t)n);
        pe_gpu_fill(to, 0, (size_t)n);
        shmem_barrier_all();
        if (way == 0) {
            shmem_long_put_nbi(to, from, (size_t)n, pe_right());
        } else if (way == 1) {
            shmemx_long_put_on_stream(to, from, (size_t)n, pe_right(), NULL);
        } else if (way == 2) {
            shmem_long_get(to, from, (size_t)n, pe_left());
        } else {
            shmemx_long_get_on_stream(to, from, (size_t)n, pe_left(), NULL);
        }
        shmemx_quiet_on_stream(NULL);
        PE_CHECK_EQ(pe_cuda.finish(), 0);
        shmem_barrier_all();
        PE_GPU_EXPECT(to, base + 1000000L * pe_left(), (size_t)n, what);
        shmem_barrier_all();
    }
    shmem_long_iput(to + 1, from, 2, 1, (size_t)n / 2, pe_right());
    shmem_barrier_all();
    shmem_long_get(aside, to, (size_t)n, pe_me);
    for (int i = 0; i < n / 2; i += 999)
        PE_CHECK_EQ(aside[1 + 2 * i], base + 1000000L * pe_left() + i);
    shmem_barrier_all();
}

/* A block lies on both sides of a growth, in two registrations. */
static void check_pieces(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, 2 * PE_MIB);
    enum { N = 5 * PE_MIB / sizeof(long) };
    long *first, *block, *there, *aside = malloc(N * sizeof(*aside));
    shmem_space_t space, device;
    shmem_team_t team, device_team;

    if (!pe_gpu_space(8 * PE_MIB, &device, &device_team)) return;
    attr.flags = SHMEMX_SPACE_PINNED;
    attr.max_size = 200 * PE_MIB;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a pinned space failed");
    first = shmem_space_malloc(space, 1000);
    block = shmem_space_malloc(space, N * sizeof(*block));
    there = shmem_space_malloc(device, N * sizeof(*there));
    PE_REQUIRE(first != NULL && block != NULL && there != NULL,
               "shmem_space_malloc of the blocks for copies returned NULL");
    check_copy(there, block, aside, 3000, N, "to the device");
    check_copy(block, there, aside, 70000, N, "from the device");
    shmem_space_free(space, first);
    shmem_space_free(space, block);
    shmem_space_free(device, there);
    pe_space_end(space, team);
    pe_space_end(device, device_team);
    free(aside);
}

static void check_refused(void)
{
    shmem_space_t space;
    shmem_team_t team;

    PE_CHECK(create(PE_MIB, SHMEM_DEVICE_GPU, &space, &team) != 0,
             "creating a pinned GPU space returned 0, expected an error");
    PE_CHECK(create(PE_MIB, SHMEM_DEVICE_FAM, &space, &team) != 0,
             "creating a pinned FAM space returned 0, expected an error");
    PE_CHECK(shmemx_space_device_ptr(SHMEM_SPACE_INVALID, &space, pe_me) == NULL,
             "shmemx_space_device_ptr of SHMEM_SPACE_INVALID is not NULL");
}

static void check_heap(void)
{
    char *block = shmem_calloc(1, 5 * PE_MIB);

    PE_REQUIRE(block != NULL, "shmem_calloc of 5 MiB returned NULL");
    if (getenv("SHMEM_PIN_HEAP") != NULL)
        check_words(SHMEM_SPACE_DEFAULT, (uint64_t *)(void *)(block + 4 * PE_MIB));
    else
        PE_CHECK(shmemx_space_device_ptr(SHMEM_SPACE_DEFAULT, block, pe_me) == NULL,
                 "shmemx_space_device_ptr of the heap, which is not pinned, is not NULL");
    shmem_free(block);
}

/* Kernels of device spaces: the pointer is the one that copies go to. */
static void check_device(void)
{
    shmem_space_t space;
    shmem_team_t team;
    uint64_t *words, word;

    if (!pe_gpu_space(PE_MIB, &space, &team)) return;
    words = shmem_space_calloc(space, (size_t)pe_n, sizeof(*words));
    for (int pe = 0; pe < pe_n; pe++) {
        void *there = shmemx_space_device_ptr(space, &words[pe_me], pe);
        shmemx_space_path_t path = shmemx_space_path(space, pe);

        PE_CHECK(
            (there != NULL) == (path == SHMEMX_PATH_DEVICE),
            "pe %d, path %s: the device pointer is %p, expected a pointer if and only if the path "
            "is device",
            pe, shmemx_space_path_name(path), there);
        if (there != NULL)
            PE_CHECK_EQ(write_word(NULL, (unsigned long long)(uintptr_t)there, 7, 0), 0);
    }
    PE_CHECK_EQ(pe_cuda.finish(), 0);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++) {
        shmem_uint64_get(&word, &words[pe], 1, pe_me);
        PE_CHECK_EQ(word, shmemx_space_path(space, pe) == SHMEMX_PATH_DEVICE ? 7 : 0);
    }
    shmem_space_free(space, words);
    pe_space_end(space, team);
}

/* It is an error of create alone, and nothing is left of it. */
static void check_unable(void)
{
    shmem_space_t space;
    shmem_team_t team;
    char *block = shmem_malloc(4 * PE_MIB);

    PE_CHECK(create(PE_MIB, host_kind, &space, &team) != 0,
             "creating a pinned space returned 0 although it cannot be pinned, expected an error");
    PE_CHECK(space == SHMEM_SPACE_INVALID && team == SHMEM_TEAM_INVALID,
             "a failed create did not set space and team to INVALID");
    PE_CHECK(shmemx_space_device_ptr(SHMEM_SPACE_DEFAULT, block, pe_me) == NULL,
             "shmemx_space_device_ptr of the heap, which cannot be pinned, is not NULL");
    PE_CHECK_EQ(registered(), 0);
    shmem_free(block);
}

/* What it began with is there, and a growth that cannot be pinned is refused on all. */
static void check_later(void)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = pe_kind_config(host_kind, 2 * PE_MIB);
    shmem_space_t space;
    shmem_team_t team;
    char *block, *small;

    attr.flags = SHMEMX_SPACE_PINNED;
    attr.max_size = 200 * PE_MIB;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
               "creating a pinned space failed");
    small = shmem_space_malloc(space, PE_MIB);
    PE_CHECK(shmemx_space_device_ptr(space, small, pe_me) != NULL,
             "shmemx_space_device_ptr of the space's first block is NULL");
    block = shmem_space_malloc(space, 4 * PE_MIB);
    PE_CHECK(block == NULL,
             "an allocation whose growth cannot be pinned returned memory, expected NULL");
    PE_CHECK(shmemx_space_realloc(space, small, 3 * PE_MIB) == NULL,
             "a realloc whose growth cannot be pinned returned memory, expected NULL");
    PE_CHECK(live == NULL || live("registered") == pe_n,
             "the driver does not have exactly the registrations from before the refused growth");
    pe_check_agreed(block == NULL, "NULL");
    shmem_space_free(space, small);
    pe_space_end(space, team);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    void *context = NULL;
    bool gpu;

    pe_test_begin();
    if (argc > 2 && strcmp(argv[2], "hbm") == 0) host_kind = SHMEM_DEVICE_HBM;
    gpu = find_calls();
    if (gpu) {
        PE_CHECK_EQ(pe_cuda.retain(&context, 0), 0);
        PE_CHECK_EQ(pe_cuda.set_current(context), 0);
    }
    if (strcmp(what, "works") == 0 && !gpu) {
        pe_test_skip("this PE has no GPU");
    } else if (strcmp(what, "works") == 0) {
        check_space();
        check_growing();
        check_pieces();
        check_refused();
        check_heap();
        check_device();
    } else if (strcmp(what, "later") == 0) {
        check_later();
    } else {
        check_unable();
    }
    if (gpu) PE_CHECK_EQ(pe_cuda.release(0), 0);
    return pe_test_end();
}
