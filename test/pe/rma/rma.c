/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks blocking put, get, p and g (OpenSHMEM 1.6, section 9.6; rules R40, R103-R107 and R112 of
 * docs/reference/conformance.md): sizes around many boundaries, odd addresses, all kinds of local
 * memory, and every pair of PEs, a PE with itself included.
 */
#include "pe_data.h"

enum { GUARD = 64, MAX = 4 * 1024 * 1024, SMALL = 256 };

static const size_t sizes[] = {1,    2,    7,    8,     9,     15,    16,    63,
                               64,   65,   127,  128,   255,   4095,  4096,  4097,
                               8191, 8192, 8193, 16384, 65535, 65536, 65537, 262145};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static char *dest, *source; /* symmetric, MAX + guards each */

/* Put nbytes to the right at these offsets; what came from the left is whole, its guards too. */
static void ring_put(size_t nbytes, size_t to, size_t from, unsigned seed)
{
    memset(dest, 0xee, GUARD + to + nbytes + GUARD);
    pe_fill(source + from, nbytes, seed + (unsigned)pe_me);
    shmem_sync_all();
    shmem_putmem(dest + GUARD + to, source + from, nbytes, pe_right());
    memset(source + from, 0x55, nbytes); /* R103: ours again */
    shmem_barrier_all();
    PE_CHECK_BYTES(dest + GUARD + to, nbytes, seed + (unsigned)pe_left(), "putmem");
    PE_CHECK_SAME(dest, GUARD + to, 0xee, "guard bytes before dest of a put");
    PE_CHECK_SAME(dest + GUARD + to + nbytes, GUARD, 0xee, "guard bytes after dest of a put");
}

static void ring_get(size_t nbytes, size_t to, size_t from, unsigned seed)
{
    memset(dest, 0xee, GUARD + to + nbytes + GUARD);
    pe_fill(source + from, nbytes, seed + (unsigned)pe_me);
    shmem_sync_all();
    shmem_getmem(dest + GUARD + to, source + from, nbytes, pe_right());
    PE_CHECK_BYTES(dest + GUARD + to, nbytes, seed + (unsigned)pe_right(), "getmem"); /* R104 */
    PE_CHECK_SAME(dest, GUARD + to, 0xee, "guard bytes before dest of a get");
    PE_CHECK_SAME(dest + GUARD + to + nbytes, GUARD, 0xee, "guard bytes after dest of a get");
    shmem_sync_all();
}

/* R40: the mem forms take any address. */
static void check_sizes(void)
{
    static const size_t offsets[][2] = {{0, 0}, {7, 5}, {1, 0}, {0, 3}};
    unsigned seed = 0;

    for (int i = 0; i < N_SIZES; i++)
        for (int k = 0; k < (pe_rounds(8) == 8 ? 4 : 2); k++, seed += 16) {
            ring_put(sizes[i], offsets[k][0], offsets[k][1], seed);
            ring_get(sizes[i], offsets[k][0], offsets[k][1], seed + 128);
        }
    ring_put(1024 * 1024 + 1, 0, 0, 5);
    ring_get(1024 * 1024 + 1, 3, 0, 6);
    ring_put(MAX, 0, 0, 7);
    ring_get(MAX, 0, 0, 8);
}

/* R106: the local side may be any memory of the process. */
static void check_local_memory(void)
{
    static const char constant[16] = "fifteen letters";
    char stack[SMALL], *private_heap = pe_private(MAX / 4);

    pe_fill(stack, SMALL, (unsigned)(50 + pe_me));
    pe_fill(private_heap, MAX / 4, (unsigned)(60 + pe_me));
    shmem_sync_all();
    shmem_putmem(dest, constant, 16, pe_right());
    shmem_putmem(dest + 16, "literal", 8, pe_right());
    shmem_putmem(dest + 64, stack, SMALL, pe_right());
    shmem_putmem(dest + 64 + SMALL, private_heap, MAX / 4, pe_right());
    memset(private_heap, 0, MAX / 4);
    memset(stack, 0, SMALL);
    shmem_barrier_all();
    PE_CHECK(strcmp(dest, constant) == 0 && strcmp(dest + 16, "literal") == 0,
             "putmem from a constant or a literal: wrong data at dest");
    PE_CHECK_BYTES(dest + 64, SMALL, (unsigned)(50 + pe_left()), "put from the stack");
    PE_CHECK_BYTES(dest + 64 + SMALL, MAX / 4, (unsigned)(60 + pe_left()),
                   "put from malloc memory");
    shmem_getmem(stack, dest + 64, SMALL, pe_right());
    shmem_getmem(private_heap, dest + 64 + SMALL, MAX / 4, pe_right());
    PE_CHECK_BYTES(stack, SMALL, (unsigned)(50 + pe_me), "get into the stack");
    PE_CHECK_BYTES(private_heap, MAX / 4, (unsigned)(60 + pe_me), "get into malloc memory");
    shmem_sync_all();
    free(private_heap);
}

/* R107: every pair, this PE with itself included: SMALL bytes each way in a slot of one's own. */
static void check_all_pairs(void)
{
    char got[SMALL];

    for (int pe = 0; pe < pe_n; pe++) {
        pe_fill(source, SMALL, (unsigned)(pe_me * 16 + pe));
        shmem_putmem(dest + SMALL * pe_me, source, SMALL, pe);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++) {
        PE_CHECK_BYTES(dest + SMALL * pe, SMALL, (unsigned)(pe * 16 + pe_me), "pair put");
        for (int from = 0; from < pe_n; from++) {
            shmem_getmem(got, dest + SMALL * from, SMALL, pe);
            PE_CHECK_BYTES(got, SMALL, (unsigned)(from * 16 + pe), "pair get");
        }
    }
    shmem_sync_all();
}

/* R112: single values of each width, and g after quiet sees them. */
static void check_single(void)
{
    struct values {
        signed char c;
        short s;
        int i;
        long l;
        float f;
        double d;
        long double ld;
    } *cell = (struct values *)dest;
    int right = pe_right();

    shmem_schar_p(&cell->c, (signed char)-pe_me, right);
    shmem_short_p(&cell->s, (short)(-300 - pe_me), right);
    shmem_int_p(&cell->i, -70000 - pe_me, right);
    shmem_long_p(&cell->l, -5000000000 - pe_me, right);
    shmem_float_p(&cell->f, 0.5f + (float)pe_me, right);
    shmem_double_p(&cell->d, 0.25 + pe_me, right);
    shmem_longdouble_p(&cell->ld, 0.125L + pe_me, right);
    shmem_quiet();
    PE_CHECK_EQ(shmem_schar_g(&cell->c, right), -pe_me);
    PE_CHECK_EQ(shmem_long_g(&cell->l, right), -5000000000 - pe_me);
    PE_CHECK(shmem_longdouble_g(&cell->ld, right) == 0.125L + pe_me,
             "longdouble_g after p and quiet returned a wrong value");
    shmem_barrier_all();
    PE_CHECK(cell->c == -pe_left() && cell->s == -300 - pe_left() &&
                 cell->i == -70000 - pe_left() && cell->l == -5000000000 - pe_left() &&
                 cell->f == 0.5f + (float)pe_left() && cell->d == 0.25 + pe_left() &&
                 cell->ld == 0.125L + pe_left(),
             "p of one of the types: the value of the left PE is missing or wrong");
    shmem_sync_all();
}

int main(void)
{
    pe_test_begin();
    dest = pe_malloc(MAX + 4 * GUARD);
    source = pe_malloc(MAX + 4 * GUARD);
    check_sizes();
    check_local_memory();
    check_all_pairs();
    check_single();
    return pe_test_end();
}
