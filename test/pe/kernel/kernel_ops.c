/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the operations of shmemx_device.h in C. Threads of the host take the place of the blocks
 * of a grid and do with the next PE what kernels would do. The threads do not call the library.
 * Runs no code on a GPU.
 *
 * usage: kernel_ops [ring]
 *   ring: operations go through three rings of two slots instead of loads and stores
 */
#include "pe_threads.h"

#include <shmemx.h>
#include <shmemx_device.h>

enum { BLOCKS = 4, N = 1000, ROUNDS = 8 };

/* What a block of each PE has of each. */
struct part {
    long data[N], landing[N], own[N], words[8];
    uint64_t signal, added;
    double real;
    float single;
    unsigned int bits;
};

static shmemx_device_handle_t handle;
static struct part *parts; /* BLOCKS of them */
static uint64_t *total, *team_word;
static int right, left;

static long value_of(int pe, int block, int round, int i)
{
    return ((long)pe * BLOCKS + block) * 1000000 + (long)round * N + i;
}

/* ---- what one block does ------------------------------------------------------------------ */

static void check_landing(const long *data, int pe, int block, int round, int first, int n)
{
    for (int i = first; i < first + n; i++)
        if (!PE_CHECK_EQ(data[i], value_of(pe, block, round, i))) break;
}

/* Data, then a signal: never early. What came is answered, so that nobody overwrites it. */
static void block_signals(struct part *mine, int block, int round)
{
    uint64_t want = (uint64_t)round + 1;

    for (int i = 0; i < N; i++)
        mine->data[i] = value_of(pe_me, block, round, i);
    if (round % 2 == 0)
        shmemx_dev_putmem_signal_block(&handle, mine->landing, mine->data, sizeof(mine->data),
                                       &mine->signal, 1, SHMEMX_DEV_SIGNAL_ADD, right);
    else
        shmemx_dev_putmem_signal_nbi(&handle, mine->landing, mine->data, sizeof(mine->data),
                                     &mine->signal, want, SHMEMX_DEV_SIGNAL_SET, right);
    PE_CHECK(shmemx_dev_signal_wait_until(&handle, &mine->signal, SHMEMX_DEV_CMP_GE, want) >= want,
             "dev_signal_wait_until returned a value below the one that was waited for");
    check_landing(mine->landing, left, block, round, 0, N);
    shmemx_dev_long_p(&handle, &mine->words[0], round + 1, left);
    shmemx_dev_long_wait_until(&handle, &mine->words[0], SHMEMX_DEV_CMP_EQ, round + 1);
    shmemx_dev_quiet(&handle);
}

/* To this PE itself, which may be the only one. */
static void block_reads(struct part *mine, int block, int round)
{
    static __thread long got[N];

    shmemx_dev_long_put(&handle, mine->own, mine->data, N, pe_me);
    shmemx_dev_fence(&handle);
    PE_CHECK_EQ(shmemx_dev_long_g(&handle, &mine->own[7], pe_me), value_of(pe_me, block, round, 7));
    shmemx_dev_long_get_warp(&handle, got, mine->own, N, pe_me);
    check_landing(got, pe_me, block, round, 0, N);
    memset(got, 0, sizeof(got));
    shmemx_dev_getmem_nbi(&handle, got + 1, mine->data + 1, (N - 1) * sizeof(long), pe_me);
    shmemx_dev_quiet(&handle);
    check_landing(got, pe_me, block, round, 1, N - 1);
}

/* Words that all blocks of all PEs change at PE 0, and words of this block at the neighbour. */
static void block_atomics(struct part *mine)
{
    shmemx_dev_uint64_atomic_add(&handle, total, 3, 0);
    (void)shmemx_dev_uint64_atomic_fetch_inc(&handle, total, 0);
    shmemx_dev_uint64_atomic_inc(&handle, &mine->added, right);
    (void)shmemx_dev_uint_atomic_fetch_xor(&handle, &mine->bits, 5, right);
    shmemx_dev_uint_atomic_xor(&handle, &mine->bits, 5, right);
}

/* Only this block of this PE changes these. */
static void block_atomics_alone(struct part *mine)
{
    PE_CHECK_EQ(shmemx_dev_long_atomic_swap(&handle, &mine->words[1], 40, right), 0);
    PE_CHECK_EQ(shmemx_dev_long_atomic_compare_swap(&handle, &mine->words[1], 39, 1, right), 40);
    PE_CHECK_EQ(shmemx_dev_long_atomic_compare_swap(&handle, &mine->words[1], 40, 2, right), 40);
    PE_CHECK_EQ(shmemx_dev_long_atomic_fetch_add(&handle, &mine->words[1], -5, right), 2);
    PE_CHECK_EQ(shmemx_dev_long_atomic_fetch(&handle, &mine->words[1], right), -3);
    shmemx_dev_long_atomic_set(&handle, &mine->words[1], 0, right);
    shmemx_dev_double_atomic_set(&handle, &mine->real, 0.25, right);
    shmemx_dev_fence(&handle);
    PE_CHECK(shmemx_dev_double_atomic_swap(&handle, &mine->real, -1.5, right) == 0.25,
             "dev_double_atomic_swap did not return the value that this block had set");
    shmemx_dev_float_atomic_set(&handle, &mine->single, 2.5f, right);
    shmemx_dev_fence(&handle);
    PE_CHECK(shmemx_dev_float_atomic_fetch(&handle, &mine->single, right) == 2.5f,
             "dev_float_atomic_fetch did not return the value that this block had set");
    shmemx_dev_uint_atomic_or(&handle, &mine->bits, 0xf0, right);
    shmemx_dev_fence(&handle);
    PE_CHECK_EQ(shmemx_dev_uint_atomic_fetch_and(&handle, &mine->bits, ~0xf0u, right) & 0xf0, 0xf0);
    shmemx_dev_quiet(&handle);
}

static void *block_main(void *arg)
{
    int block = (int)(intptr_t)arg;
    struct part *mine = &parts[block];

    for (int round = 0; round < ROUNDS; round++) {
        block_signals(mine, block, round);
        block_reads(mine, block, round);
        block_atomics(mine);
    }
    block_atomics_alone(mine);
    return NULL;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static char *bytes; /* symmetric, room for one of each type */

#define CHECK_TYPE(NAME, TYPE)                                                                     \
    do {                                                                                           \
        TYPE *word = (TYPE *)(void *)bytes, sent[3] = {(TYPE)1, (TYPE)2, (TYPE)3}, got[3];         \
                                                                                                   \
        shmemx_dev_barrier(&handle);                                                               \
        shmemx_dev_##NAME##_p(&handle, word, (TYPE)7, right);                                      \
        shmemx_dev_##NAME##_put_nbi(&handle, word + 1, sent, 3, right);                            \
        shmemx_dev_quiet(&handle);                                                                 \
        shmemx_dev_##NAME##_get(&handle, got, word + 1, 3, right);                                 \
        PE_CHECK(got[0] == sent[0] && got[1] == sent[1] && got[2] == sent[2],                      \
                 #NAME " put_nbi, quiet and get: wrong data");                                     \
        PE_CHECK(shmemx_dev_##NAME##_g(&handle, word, right) == (TYPE)7,                           \
                 #NAME " p, quiet and g: wrong value");                                            \
    } while (0)

static void check_types(void)
{
    CHECK_TYPE(float, float);
    CHECK_TYPE(double, double);
    CHECK_TYPE(char, char);
    CHECK_TYPE(schar, signed char);
    CHECK_TYPE(short, short);
    CHECK_TYPE(int, int);
    CHECK_TYPE(long, long);
    CHECK_TYPE(longlong, long long);
    CHECK_TYPE(uchar, unsigned char);
    CHECK_TYPE(ushort, unsigned short);
    CHECK_TYPE(uint, unsigned int);
    CHECK_TYPE(ulong, unsigned long);
    CHECK_TYPE(ulonglong, unsigned long long);
    CHECK_TYPE(int8, int8_t);
    CHECK_TYPE(int16, int16_t);
    CHECK_TYPE(int32, int32_t);
    CHECK_TYPE(int64, int64_t);
    CHECK_TYPE(uint8, uint8_t);
    CHECK_TYPE(uint16, uint16_t);
    CHECK_TYPE(uint32, uint32_t);
    CHECK_TYPE(uint64, uint64_t);
    CHECK_TYPE(size, size_t);
    CHECK_TYPE(ptrdiff, ptrdiff_t);
}

static void check_comparisons(void)
{
    static const int right_of[] = {0, SHMEMX_DEV_CMP_NE, SHMEMX_DEV_CMP_LT, SHMEMX_DEV_CMP_LE};
    int *word = (int *)(void *)bytes;

    shmemx_dev_barrier_block(&handle);
    *word = -1;
    for (int cmp = SHMEMX_DEV_CMP_EQ; cmp <= SHMEMX_DEV_CMP_GE; cmp++) {
        bool less = false;

        for (size_t i = 1; i < sizeof(right_of) / sizeof(right_of[0]); i++)
            less |= cmp == right_of[i];
        PE_CHECK_EQ(shmemx_dev_int_test(&handle, word, cmp, 0), less);
        PE_CHECK_EQ(shmemx_dev_int_test(&handle, word, cmp, -1), cmp == SHMEMX_DEV_CMP_EQ ||
                                                                     cmp == SHMEMX_DEV_CMP_LE ||
                                                                     cmp == SHMEMX_DEV_CMP_GE);
    }
    PE_CHECK(shmemx_dev_uint_test(&handle, (unsigned int *)word, SHMEMX_DEV_CMP_GT, 5),
             "dev_uint_test compared an unsigned word as a signed one");
}

/* A barrier orders what was stored before it. */
static void check_barrier(void)
{
    for (uint64_t round = 1; round <= 50; round++) {
        shmemx_dev_uint64_p(&handle, team_word, round, right);
        shmemx_dev_barrier(&handle);
        PE_CHECK_EQ(*(volatile uint64_t *)team_word, round);
        shmemx_dev_barrier_warp(&handle);
    }
}

/* The odd PEs among themselves: numbers are those of their team. */
static void check_team(const shmemx_device_options_t *options)
{
    shmemx_device_handle_t odd;
    shmem_team_t team;

    if (pe_n < 3) return;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, pe_n / 2, NULL, 0, &team);
    if (team != SHMEM_TEAM_INVALID) {
        PE_REQUIRE(shmemx_device_handle_create(team, options, &odd) == 0,
                   "handle_create for the team of odd PEs failed");
        PE_CHECK_EQ(shmemx_dev_my_pe(&odd), shmem_team_my_pe(team));
        PE_CHECK_EQ(shmemx_dev_n_pes(&odd), pe_n / 2);
        shmemx_dev_uint64_p(&odd, total, (uint64_t)pe_me, shmemx_dev_n_pes(&odd) - 1);
        shmemx_dev_barrier(&odd);
        PE_CHECK_EQ(shmemx_device_handle_destroy(&odd), 0);
        if (shmem_team_my_pe(team) == pe_n / 2 - 1)
            PE_CHECK(*total % 2 == 1,
                     "the word on the last odd PE is %lu, expected the odd number of a PE",
                     (unsigned long)*total);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

/* A space made for it is reached, and cannot go while the handle lives. */
static void check_space(const shmemx_device_options_t *options)
{
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU, .size = 1 << 20};
    shmemx_device_handle_t other;
    shmem_space_t space;
    shmem_team_t team;
    long *block;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0,
               "shmem_space_create of 1 MiB failed");
    block = shmem_space_malloc(space, 64);
    PE_REQUIRE(shmemx_device_handle_create(team, options, &other) == 0,
               "handle_create for the team of a space failed");
    shmemx_dev_long_p(&other, block, 1234 + pe_me, right);
    shmemx_dev_barrier(&other);
    PE_CHECK_EQ(*block, 1234 + left);
    if (right != pe_me)
        PE_CHECK_EQ(shmemx_dev_ptr(&other, block, right) != NULL,
                    !options->by_ring && shmem_ptr(block, right) != NULL);
    shmem_team_destroy(team);
    PE_CHECK(shmem_space_destroy(space) != 0,
             "shmem_space_destroy returned 0 while a handle uses the space, expected an error");
    PE_CHECK_EQ(shmemx_device_handle_destroy(&other), 0);
    PE_CHECK(shmemx_device_handle_destroy(&other) != 0,
             "the second handle_destroy of the same handle returned 0, expected an error");
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* The copy of a device, lane by lane: every byte once, and none beside, wherever both sides lie. */
static void check_copy_share(void)
{
    static const uint32_t lanes[] = {1, 2, 32, 96};
    enum { MOST = 16 * 96 * 5 + 21, PAD = 64 };
    static unsigned char from[MOST + PAD] __attribute__((aligned(16)));
    static unsigned char to[MOST + PAD] __attribute__((aligned(16)));

    for (int i = 0; i < MOST + PAD; i++)
        from[i] = (unsigned char)(1 + i % 251);
    for (uint32_t round = 0; round < 16 * 16 * 4; round++) {
        uint32_t at = round % 16, source = round / 16 % 16, n = lanes[round / 256];
        uint64_t nbytes = round % 3 == 0 ? MOST : round * 7 % (8 * n);
        int wrong = 0;

        memset(to, 0, sizeof(to));
        for (uint32_t lane = n; lane-- > 0;)
            stp_dev_copy_share(to + 16 + at, from + source, nbytes, lane, n);
        for (uint64_t i = 0; i < sizeof(to); i++)
            wrong += to[i] != (i - 16 - at < nbytes ? from[source + i - 16 - at] : 0);
        if (!PE_CHECK(
                wrong == 0,
                "stp_dev_copy_share: %d bytes are wrong in a copy of %lu bytes from offset %u to "
                "offset %u by %u lanes",
                wrong, (unsigned long)nbytes, source, at, n))
            break;
    }
}

int main(int argc, char **argv)
{
    shmemx_device_options_t options = SHMEMX_DEVICE_OPTIONS_INITIALIZER;

    pe_test_begin();
    right = pe_right();
    left = pe_left();
    if (argc > 1 && strcmp(argv[1], "ring") == 0) {
        options.by_ring = 1;
        options.n_rings = 3;
        options.n_slots = 2;
    }
    parts = pe_calloc(BLOCKS, sizeof(*parts));
    total = pe_calloc(2, sizeof(*total));
    bytes = pe_calloc(64, 1);
    team_word = total + 1;
    PE_REQUIRE(shmemx_device_handle_create(SHMEM_TEAM_WORLD, &options, &handle) == 0,
               "shmemx_device_handle_create for the world failed");
    check_types();
    check_comparisons();
    check_copy_share();
    pe_run_threads(BLOCKS, block_main);
    shmemx_dev_barrier(&handle);
    for (int i = 0; i < BLOCKS; i++) {
        PE_CHECK_EQ(parts[i].added, ROUNDS);
        PE_CHECK_EQ(parts[i].bits, 0);
        PE_CHECK(
            parts[i].real == -1.5 && parts[i].single == 2.5f,
            "a double or float word that kernels set has a wrong value, expected -1.5 and 2.5");
    }
    if (pe_me == 0) PE_CHECK_EQ(*total, 4u * BLOCKS * ROUNDS * (unsigned)pe_n);
    check_barrier();
    check_team(&options);
    check_space(&options);
    PE_CHECK_EQ(shmemx_device_handle_destroy(&handle), 0);
    return pe_test_end();
}
