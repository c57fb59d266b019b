/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests every operator on every element type against a reference that computes one element at a
 * time in wider arithmetic. The values reveal a wrong sign, width or operator. All levels of vector
 * instructions that this processor has must give the same bits. The test also checks the map from C
 * types to element types. CTest runs the program as unit.dtype, without PEs.
 */
#include "base/base.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SIZE 16     /* bytes of the largest element */
#define MAX_NELEMS 3000 /* all pairs of values of one type */

/* What the test itself knows about the types. */
static const struct {
    size_t size;
    enum { SIGNED, UNSIGNED, REAL, COMPLEX } class;
} facts[STP_N_DTYPES] = {
    [STP_I8] = {1, SIGNED},
    [STP_U8] = {1, UNSIGNED},
    [STP_I16] = {2, SIGNED},
    [STP_U16] = {2, UNSIGNED},
    [STP_I32] = {4, SIGNED},
    [STP_U32] = {4, UNSIGNED},
    [STP_I64] = {8, SIGNED},
    [STP_U64] = {8, UNSIGNED},
    [STP_F32] = {4, REAL},
    [STP_F64] = {8, REAL},
    [STP_FLD] = {sizeof(long double), REAL},
    [STP_C32] = {8, COMPLEX},
    [STP_C64] = {16, COMPLEX},
};

static bool expect_valid(enum stp_op op, enum stp_dtype dtype)
{
    if (op == STP_SUM || op == STP_PROD) return true;
    if (op == STP_MAX || op == STP_MIN) return facts[dtype].class != COMPLEX;
    return facts[dtype].class == SIGNED || facts[dtype].class == UNSIGNED;
}

/* ---- integers, in 128 bits -------------------------------------------------- */

static __int128 int_load(enum stp_dtype dtype, const void *at)
{
    size_t bits = 8 * facts[dtype].size;
    uint64_t raw = 0;

    memcpy(&raw, at, facts[dtype].size); /* the machines we run on are little endian */
    if (facts[dtype].class == SIGNED && raw >> (bits - 1) & 1)
        return (__int128)raw - ((__int128)1 << bits);
    return raw;
}

static void int_reference(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in)
{
    __int128 a = int_load(dtype, inout);
    __int128 b = int_load(dtype, in);
    unsigned __int128 result = 0;
    uint64_t raw;

    switch (op) {
    case STP_AND:
        result = (unsigned __int128)(a & b);
        break;
    case STP_OR:
        result = (unsigned __int128)(a | b);
        break;
    case STP_XOR:
        result = (unsigned __int128)(a ^ b);
        break;
    case STP_MAX:
        result = (unsigned __int128)(a > b ? a : b);
        break;
    case STP_MIN:
        result = (unsigned __int128)(a < b ? a : b);
        break;
    case STP_SUM:
        result = (unsigned __int128)a + (unsigned __int128)b;
        break;
    case STP_PROD:
        result = (unsigned __int128)a * (unsigned __int128)b;
        break;
    case STP_N_OPS:
        ck_abort();
    }
    raw = (uint64_t)result;
    memcpy(inout, &raw, facts[dtype].size);
}

/* ---- floating numbers, values exact in every type ------------------------------ */

static long double real_load(enum stp_dtype dtype, const void *at)
{
    float f32;
    double f64;
    long double fld;

    if (dtype == STP_F32 || dtype == STP_C32) {
        memcpy(&f32, at, sizeof(f32));
        return f32;
    }
    if (dtype == STP_F64 || dtype == STP_C64) {
        memcpy(&f64, at, sizeof(f64));
        return f64;
    }
    memcpy(&fld, at, sizeof(fld));
    return fld;
}

static void real_store(enum stp_dtype dtype, void *at, long double value)
{
    float f32 = (float)value;
    double f64 = (double)value;

    if (dtype == STP_F32 || dtype == STP_C32)
        memcpy(at, &f32, sizeof(f32));
    else if (dtype == STP_F64 || dtype == STP_C64)
        memcpy(at, &f64, sizeof(f64));
    else
        memcpy(at, &value, 10); /* the rest of an x87 long double is padding */
}

static void real_reference(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in)
{
    long double a = real_load(dtype, inout);
    long double b = real_load(dtype, in);

    if (op == STP_SUM) a += b;
    if (op == STP_PROD) a *= b;
    if (op == STP_MAX && b > a) a = b;
    if (op == STP_MIN && b < a) a = b;
    real_store(dtype, inout, a);
}

static void complex_reference(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in)
{
    size_t half = facts[dtype].size / 2;
    long double a_re = real_load(dtype, inout), a_im = real_load(dtype, (char *)inout + half);
    long double b_re = real_load(dtype, in), b_im = real_load(dtype, (const char *)in + half);

    if (op == STP_SUM) {
        real_store(dtype, inout, a_re + b_re);
        real_store(dtype, (char *)inout + half, a_im + b_im);
    } else {
        real_store(dtype, inout, a_re * b_re - a_im * b_im);
        real_store(dtype, (char *)inout + half, a_re * b_im + a_im * b_re);
    }
}

static void reference(enum stp_op op, enum stp_dtype dtype, void *inout, const void *in)
{
    if (facts[dtype].class == COMPLEX)
        complex_reference(op, dtype, inout, in);
    else if (facts[dtype].class == REAL)
        real_reference(op, dtype, inout, in);
    else
        int_reference(op, dtype, inout, in);
}

/* ---- values ------------------------------------------------------------------ */

/* Integers by their bits: cut to the width they give extremes and both signs in each type. */
/* clang-format off */
static const uint64_t int_values[] = {
    0, 1, 2, 3, 0x7f, 0x80, 0xff, 100, 200, 0x55, 0x7fff, 0x8000, 0xffff, 0xaaaa, 1234,
    0x7fffffff, 0x80000000, 0xffffffff, 0x12345678, 0x7fffffffffffffff, 0x8000000000000000,
    0xffffffffffffffff, 0xfffffffffffffffe, 0xdeadbeefcafef00d, 0x123456789abcdef0,
};
/* clang-format on */

/* All products of two are exact, sums of products too among the first N_COMPLEX. */
static const long double real_values[] = {0,   1,    -1,   2,     -3,   0.5L, -0.25L,   100,
                                          200, -200, 4095, -4096, 1.5L, 1024, 0x1p-20L, -0x1p20L};
#define N_COMPLEX 14

static size_t n_values(enum stp_dtype dtype)
{
    if (facts[dtype].class == SIGNED || facts[dtype].class == UNSIGNED)
        return STP_COUNT(int_values);
    return facts[dtype].class == COMPLEX ? N_COMPLEX : STP_COUNT(real_values);
}

static void value_store(enum stp_dtype dtype, void *at, size_t index)
{
    memset(at, 0, facts[dtype].size);
    if (facts[dtype].class == SIGNED || facts[dtype].class == UNSIGNED) {
        memcpy(at, &int_values[index], facts[dtype].size);
    } else {
        real_store(dtype, at, real_values[index]);
        if (facts[dtype].class == COMPLEX)
            real_store(dtype, (char *)at + facts[dtype].size / 2,
                       real_values[(index + 5) % N_COMPLEX]);
    }
}

/* Arrays of all pairs of values, so that element i of one meets element i of the other. */
static size_t fill_pairs(enum stp_dtype dtype, char *inout, char *in)
{
    size_t size = facts[dtype].size;
    size_t n = n_values(dtype);

    for (size_t i = 0; i < n * n; i++) {
        value_store(dtype, inout + i * size, i / n);
        value_store(dtype, in + i * size, i % n);
    }
    return n * n;
}

/* ---- tests ------------------------------------------------------------------- */

static char inout[MAX_NELEMS * MAX_SIZE] STP_ALIGNED_LINE;
static char in[MAX_NELEMS * MAX_SIZE] STP_ALIGNED_LINE;
static char want[MAX_NELEMS * MAX_SIZE] STP_ALIGNED_LINE;

static void check_at(const char *got, enum stp_op op, enum stp_dtype dtype, size_t nelems,
                     size_t first)
{
    size_t size = facts[dtype].size;

    for (size_t i = first; i < first + nelems; i++) {
        if (memcmp(got + i * size, want + i * size, dtype == STP_FLD ? 10 : size) != 0)
            ck_abort_msg("op %d on type %d: element %zu differs from the reference", op, dtype, i);
    }
}

static void check_bytes(enum stp_op op, enum stp_dtype dtype, size_t nelems, size_t first)
{
    check_at(inout, op, dtype, nelems, first);
}

/* With source inout the array is its own source, which an in-place collective may pass. */
static void check_op(enum stp_op op, enum stp_dtype dtype, const char *source)
{
    size_t size = facts[dtype].size;
    size_t nelems = fill_pairs(dtype, inout, in);

    memcpy(want, inout, nelems * size);
    for (size_t i = 0; i < nelems; i++)
        reference(op, dtype, want + i * size, source + i * size);
    stp_op_reduce(op, dtype, inout, source, nelems);
    check_bytes(op, dtype, nelems, 0);
}

/* Short arrays, starting anywhere: nothing before or behind them may change. */
static void check_op_in_between(enum stp_op op, enum stp_dtype dtype)
{
    size_t size = facts[dtype].size;

    for (size_t nelems = 0; nelems < 70; nelems += nelems < 20 ? 1 : 7) {
        size_t first = nelems % 5;
        size_t all = fill_pairs(dtype, inout, in);

        memcpy(want, inout, all * size);
        for (size_t i = first; i < first + nelems; i++)
            reference(op, dtype, want + i * size, in + i * size);
        stp_op_reduce(op, dtype, inout + first * size, in + first * size, nelems);
        check_bytes(op, dtype, nelems, first);
        ck_assert_mem_eq(inout, want, first * size);
        ck_assert_mem_eq(inout + (first + nelems) * size, want + (first + nelems) * size,
                         (all - first - nelems) * size);
    }
}

/* Two results at once: apart from the operands, in their place, and both the same. */
static void check_combine(enum stp_op op, enum stp_dtype dtype)
{
    static char x[sizeof(inout)] STP_ALIGNED_LINE, y[sizeof(in)] STP_ALIGNED_LINE;
    static char also[sizeof(in)] STP_ALIGNED_LINE;
    size_t size = facts[dtype].size;
    size_t nelems = fill_pairs(dtype, x, y) - 1; /* and nothing behind them */
    struct {
        char *to, *also;
    } ways[] = {{inout, also}, {inout, inout}, {x, y}};

    memcpy(want, x, (nelems + 1) * size);
    for (size_t i = 0; i < nelems; i++)
        reference(op, dtype, want + i * size, y + i * size);
    for (size_t k = 0; k < STP_COUNT(ways); k++) {
        fill_pairs(dtype, x, y);
        memcpy(inout, x, (nelems + 1) * size);
        stp_op_combine(op, dtype, ways[k].to, ways[k].also, x, y, nelems);
        check_at(ways[k].also, op, dtype, nelems, 0);
        check_at(ways[k].to, op, dtype, nelems + 1, 0);
    }
}

/* Once for each level of vector instructions that this processor has. */
TEST_LOOP(every_op_on_every_type, STP_ISA_AUTO, (int)stp_isa_best() + 1)
{
    int n_valid = 0;

    ck_assert(stp_isa_choose(_i));
    for (int dtype = 0; dtype < STP_N_DTYPES; dtype++) {
        for (int op = 0; op < STP_N_OPS; op++) {
            ck_assert_msg(stp_op_valid(op, dtype) == expect_valid(op, dtype),
                          "op %d on type %d: stp_op_valid() gives the wrong answer", op, dtype);
            if (!expect_valid(op, dtype)) continue;
            check_op(op, dtype, in);
            check_op(op, dtype, inout);
            check_op_in_between(op, dtype);
            check_combine(op, dtype);
            n_valid++;
        }
    }
    ck_assert_int_eq(n_valid, 8 * 7 + 3 * 4 + 2 * 2);
}

/* Anything but NaN, whose bits nobody promises. */
static void fill_random(enum stp_dtype dtype, char *at, size_t nelems)
{
    size_t size = facts[dtype].size;
    size_t parts = facts[dtype].class == COMPLEX ? 2 : 1;

    for (size_t i = 0; i < nelems * parts; i++) {
        uint64_t bits = (uint64_t)lrand48() << 33 ^ (uint64_t)lrand48();
        if (facts[dtype].class == REAL || facts[dtype].class == COMPLEX)
            real_store(dtype, at + i * (size / parts),
                       (long double)(drand48() - 0.5) * (1 + (long double)(bits % 1000)));
        else
            memcpy(at + i * size, &bits, size);
    }
}

/* Rounding, too: no level may contract a product and a sum into one. */
TEST(all_levels_give_the_same_bits)
{
    static char x[sizeof(in)], y[sizeof(in)];
    size_t nelems = MAX_NELEMS - 3;

    for (int dtype = 0; dtype < STP_N_DTYPES; dtype++) {
        size_t nbytes = nelems * facts[dtype].size;

        fill_random(dtype, x, nelems);
        fill_random(dtype, y, nelems);
        for (int op = 0; op < STP_N_OPS; op++) {
            if (!expect_valid(op, dtype)) continue;
            for (enum stp_isa isa = STP_ISA_BASE; isa <= stp_isa_best(); isa++) {
                ck_assert(stp_isa_choose(isa));
                memset(inout, 0, sizeof(inout));
                memcpy(inout, x, nbytes);
                stp_op_reduce(op, dtype, inout, y, nelems);
                if (isa == STP_ISA_BASE) memcpy(want, inout, nbytes);
                check_bytes(op, dtype, nelems, 0);
                stp_op_combine(op, dtype, inout, in, x, y, nelems);
                check_bytes(op, dtype, nelems, 0);
                memcpy(inout, in, nbytes);
                check_bytes(op, dtype, nelems, 0);
            }
        }
    }
}

TEST(levels_that_are_not_there)
{
    enum stp_isa best = stp_isa_best();

    ck_assert(best >= STP_ISA_BASE);
    ck_assert(stp_isa_choose(STP_ISA_AUTO) && stp_isa_choose(best));
    for (enum stp_isa isa = best + 1; isa <= STP_ISA_AVX512; isa++)
        ck_assert(!stp_isa_choose(isa));
}

TEST(invalid_numbers)
{
    ck_assert(!stp_op_valid(STP_N_OPS, STP_I32));
    ck_assert(!stp_op_valid(STP_SUM, STP_N_DTYPES));
    ck_assert(!stp_op_valid((enum stp_op) - 1, STP_I32));
    ck_assert(!stp_op_valid(STP_SUM, (enum stp_dtype) - 1));
}

TEST(signs_and_widths)
{
    uint8_t u8 = 100, u8_other = 200;
    int8_t i8 = 100, i8_other = 100;
    int32_t i32 = INT32_MAX, i32_other = 1;
    uint16_t u16 = 65535, u16_other = 65535;
    int64_t i64 = -1, i64_other = 1;

    stp_op_reduce(STP_MAX, STP_U8, &u8, &u8_other, 1);
    ck_assert_uint_eq(u8, 200);
    stp_op_reduce(STP_SUM, STP_I8, &i8, &i8_other, 1);
    ck_assert_int_eq(i8, -56);
    stp_op_reduce(STP_SUM, STP_I32, &i32, &i32_other, 1);
    ck_assert_int_eq(i32, INT32_MIN);
    stp_op_reduce(STP_PROD, STP_U16, &u16, &u16_other, 1);
    ck_assert_uint_eq(u16, 1);
    stp_op_reduce(STP_MAX, STP_I64, &i64, &i64_other, 1);
    ck_assert_int_eq(i64, 1);
}

TEST(float_extremes)
{
    double sum = 1e308, huge = 1e308;
    float low = -0x1p-149f, zero = 0;
    long double wide = 1, tiny = 0x1p-63L;
    volatile long double one = 1, also_tiny = 0x1p-63L; /* summed when the test runs */

    stp_op_reduce(STP_SUM, STP_F64, &sum, &huge, 1);
    ck_assert(__builtin_isinf(sum));
    stp_op_reduce(STP_MIN, STP_F32, &zero, &low, 1);
    ck_assert(zero == -0x1p-149f);
    stp_op_reduce(STP_SUM, STP_FLD, &wide, &tiny, 1);
    ck_assert(wide == one + also_tiny);
}

TEST(sizes)
{
    for (int dtype = 0; dtype < STP_N_DTYPES; dtype++)
        ck_assert_uint_eq(stp_dtype_size(dtype), facts[dtype].size);
}

#define CHECK_TYPE(type, dtype)                                                                    \
    _Static_assert(STP_DTYPE(type) == (dtype), #type);                                             \
    ck_assert_uint_eq(stp_dtype_size(STP_DTYPE(type)), sizeof(type))

TEST(types_of_c)
{
    CHECK_TYPE(float, STP_F32);
    CHECK_TYPE(double, STP_F64);
    CHECK_TYPE(long double, STP_FLD);
    CHECK_TYPE(float _Complex, STP_C32);
    CHECK_TYPE(double _Complex, STP_C64);
    CHECK_TYPE(char, CHAR_MIN < 0 ? STP_I8 : STP_U8);
    CHECK_TYPE(signed char, STP_I8);
    CHECK_TYPE(unsigned char, STP_U8);
    CHECK_TYPE(short, STP_I16);
    CHECK_TYPE(unsigned short, STP_U16);
    CHECK_TYPE(int, STP_I32);
    CHECK_TYPE(unsigned int, STP_U32);
    CHECK_TYPE(long, sizeof(long) == 8 ? STP_I64 : STP_I32);
    CHECK_TYPE(unsigned long, sizeof(long) == 8 ? STP_U64 : STP_U32);
    CHECK_TYPE(long long, STP_I64);
    CHECK_TYPE(unsigned long long, STP_U64);
    CHECK_TYPE(int8_t, STP_I8);
    CHECK_TYPE(uint8_t, STP_U8);
    CHECK_TYPE(int16_t, STP_I16);
    CHECK_TYPE(uint16_t, STP_U16);
    CHECK_TYPE(int32_t, STP_I32);
    CHECK_TYPE(uint32_t, STP_U32);
    CHECK_TYPE(int64_t, STP_I64);
    CHECK_TYPE(uint64_t, STP_U64);
    CHECK_TYPE(size_t, sizeof(size_t) == 8 ? STP_U64 : STP_U32);
    CHECK_TYPE(ptrdiff_t, sizeof(ptrdiff_t) == 8 ? STP_I64 : STP_I32);
}
