/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks strided and block-strided put and get (OpenSHMEM 1.6, section 9.6; rules R109-R111 of
 * docs/reference/conformance.md) for several pairs of strides and all element sizes, and that the
 * gaps keep their values.
 */
#include "pe_data.h"

#include <stddef.h>

enum { SPAN = 4000, BYTES = SPAN * 16 };

static unsigned char *dest, *source; /* symmetric, BYTES each */

/* dest looks as after an interleaved copy of blocks of `block` elements of `size` bytes. */
static void check_against(const unsigned char *got, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                          size_t nblocks, size_t size, int from, const char *what)
{
    static unsigned char want[BYTES], sent[BYTES];

    memset(want, 0xee, BYTES);
    pe_fill(sent, BYTES, (unsigned)from);
    for (size_t b = 0; b < nblocks; b++)
        memcpy(want + b * (size_t)dst * size, sent + b * (size_t)sst * size, block * size);
    PE_CHECK_EACH(
        size_t, i, BYTES, got[i] == want[i],
        "%s dst %td sst %td block %zu n %zu element size %zu: byte %zu is 0x%02x, expected 0x%02x",
        what, dst, sst, block, nblocks, size, i, got[i], want[i]);
}

/* The routines of each size of elements: of 8 bits, 16, 32, 64 and 128. */
static const struct {
    void (*iput)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int);
    void (*iget)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int);
    void (*ibput)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int);
    void (*ibget)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int);
} sized[] = {
#define SIZED(bits)                                                                                \
    {                                                                                              \
        shmem_iput##bits, shmem_iget##bits, shmem_ibput##bits, shmem_ibget##bits                   \
    }
    SIZED(8), SIZED(16), SIZED(32), SIZED(64), SIZED(128)};

static void fresh(void)
{
    memset(dest, 0xee, BYTES);
    pe_fill(source, BYTES, (unsigned)pe_me);
    shmem_sync_all();
}

/* R109: strides in elements, dst before sst. */
static void check_elements(size_t size, ptrdiff_t dst, ptrdiff_t sst, size_t n)
{
    fresh();
    sized[__builtin_ctzl(size)].iput(dest, source, dst, sst, n, pe_right());
    shmem_barrier_all();
    check_against(dest, dst, sst, 1, n, size, pe_left(), "iput");
    fresh();
    sized[__builtin_ctzl(size)].iget(dest, source, dst, sst, n, pe_right());
    check_against(dest, dst, sst, 1, n, size, pe_right(), "iget");
    shmem_sync_all();
}

/* R110: strides between the starts of blocks; bsize == stride is contiguous, bsize 1 is iput. */
static void check_blocks(size_t size, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t n)
{
    fresh();
    sized[__builtin_ctzl(size)].ibput(dest, source, dst, sst, bsize, n, pe_right());
    shmem_barrier_all();
    check_against(dest, dst, sst, bsize, n, size, pe_left(), "ibput");
    fresh();
    sized[__builtin_ctzl(size)].ibget(dest, source, dst, sst, bsize, n, pe_right());
    check_against(dest, dst, sst, bsize, n, size, pe_right(), "ibget");
    shmem_sync_all();
}

static void check_typed(void)
{
    static long double far_values[40], near_values[40];
    short *cells = (short *)dest;

    fresh();
    for (int i = 0; i < 40; i++) {
        near_values[i] = i + 100.0L * pe_me;
        far_values[i] = -1;
    }
    shmem_sync_all();
    shmem_longdouble_iput(far_values, near_values, 3, 2, 10, pe_right());
    shmem_short_iput(cells, (const short[]){1, 2, 3, 4, 5, 6}, 2, 5, 2, pe_right());
    shmem_barrier_all();
    for (int i = 0; i < 40; i++)
        PE_CHECK(far_values[i] == (i % 3 == 0 && i < 30 ? 2 * i / 3 + 100.0L * pe_left() : -1),
                 "longdouble_iput: element %d of dest is wrong", i);
    PE_CHECK(cells[0] == 1 && cells[2] == 6 && cells[1] == (short)0xeeee,
             "short_iput: an element of dest is wrong or a gap was written");
    shmem_sync_all();
    shmem_longdouble_ibget(near_values, far_values, 4, 3, 2, 5, pe_me); /* from itself */
    for (int b = 0; b < 5; b++)
        PE_CHECK(near_values[4 * b] == far_values[3 * b] &&
                     near_values[4 * b + 1] == far_values[3 * b + 1],
                 "longdouble_ibget: block %d of dest is wrong", b);
    shmem_sync_all();
}

int main(void)
{
    static const ptrdiff_t strides[][2] = {{1, 1}, {2, 1}, {1, 3}, {5, 5}, {7, 2}};

    pe_test_begin();
    dest = pe_malloc(BYTES);
    source = pe_malloc(BYTES);
    for (size_t size = 1; size <= 16; size *= 2)
        for (int i = 0; i < 5; i++)
            check_elements(size, strides[i][0], strides[i][1], i == 0 ? 300 : 40);
    check_elements(8, 3, 2, 1);
    check_elements(8, 3, 2, 0);                    /* R45 */
    shmem_iput64(NULL, NULL, 1, 1, 0, pe_right()); /* R44 */
    for (size_t size = 1; size <= 16; size *= 2) {
        check_blocks(size, 4, 6, 3, 30);
        check_blocks(size, 8, 8, 8, 20);
        check_blocks(size, 5, 3, 1, 30);
    }
    check_blocks(4, 300, 200, 150, 12);
    check_blocks(4, 3, 3, 2, 0);
    check_typed();
    return pe_test_end();
}
