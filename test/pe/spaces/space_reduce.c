/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks reductions and scans of GPU memory, of all types and operators, and sums on a stream,
 * against the same operation on host memory: equal bits, in place and not, misaligned too. The
 * fake driver counts kernel launches, from which the test sees who computes. Between nodes,
 * floating-point results are compared only if both reductions use one order of the terms.
 *
 * usage: space_reduce [all | none | others]
 *   the PEs whose devices reduce: all, none, or all except PE 1
 */
#include "pe_gpu.h"

#include <complex.h>
#include <math.h>

enum { MOST = 4100, ELEMENT = 32, N_COUNTS = 5 };

static const size_t counts[N_COUNTS] = {1, 3, 7, 100, MOST - 1};

enum form { INTEGER, REAL, REAL_OF_HOST, COMPLEX_OF_HOST };

static long (*calls)(const char *symbol); /* NULL: the driver does not count */
static bool by_device;                    /* this PE's device reduces */
static bool by_fabric;                    /* each PE is a node of its own */
static shmem_team_t team;
static char *device_dest, *device_source; /* of the space */
static char *host_dest, *host_source;     /* of the default heap */
static char *values, *result;             /* private */
static uint64_t seed;

/* ---- the routines --------------------------------------------------------------------------- */

typedef int (*reduce_fn)(void *dest, const void *source, size_t n);

#define REDUCE(NAME, TYPE, OP)                                                                     \
    static int NAME##_##OP(void *dest, const void *source, size_t n)                               \
    {                                                                                              \
        return shmem_##NAME##_##OP##_reduce(team, (TYPE *)dest, (const TYPE *)source, n);          \
    }
#define SCAN(NAME, TYPE, OP)                                                                       \
    static int NAME##_##OP(void *dest, const void *source, size_t n)                               \
    {                                                                                              \
        return shmem_##NAME##_sum_##OP(team, (TYPE *)dest, (const TYPE *)source, n);               \
    }
#define STREAM(NAME, TYPE)                                                                         \
    static int NAME##_stream(void *dest, const void *source, size_t n)                             \
    {                                                                                              \
        int rc = shmemx_##NAME##_sum_reduce_on_stream(team, (TYPE *)dest, (const TYPE *)source, n, \
                                                      NULL);                                       \
                                                                                                   \
        return rc != 0 ? rc : pe_cuda.finish();                                                    \
    }
#define ARITHMETIC(NAME, TYPE)                                                                     \
    REDUCE(NAME, TYPE, sum)                                                                        \
    REDUCE(NAME, TYPE, prod)                                                                       \
    SCAN(NAME, TYPE, inscan) SCAN(NAME, TYPE, exscan) STREAM(NAME, TYPE)
#define ORDERED(NAME, TYPE) ARITHMETIC(NAME, TYPE) REDUCE(NAME, TYPE, max) REDUCE(NAME, TYPE, min)
#define BITS(NAME, TYPE)                                                                           \
    ORDERED(NAME, TYPE)                                                                            \
    REDUCE(NAME, TYPE, and) REDUCE(NAME, TYPE, or) REDUCE(NAME, TYPE, xor)

#define INTEGERS(X)                                                                                \
    X(int8, int8_t)                                                                                \
    X(int16, int16_t)                                                                              \
    X(int32, int32_t)                                                                              \
    X(int64, int64_t)                                                                              \
    X(uint8, uint8_t)                                                                              \
    X(uint16, uint16_t)                                                                            \
    X(uint32, uint32_t)                                                                            \
    X(uint64, uint64_t)                                                                            \
    X(size, size_t)                                                                                \
    X(uint, unsigned)

#define SIGNED(X)                                                                                  \
    X(char, char)                                                                                  \
    X(schar, signed char)                                                                          \
    X(short, short)                                                                                \
    X(int, int)                                                                                    \
    X(long, long)                                                                                  \
    X(longlong, long long)                                                                         \
    X(ptrdiff, ptrdiff_t)

INTEGERS(BITS)
SIGNED(ORDERED)
ORDERED(float, float)
ORDERED(double, double)
ORDERED(longdouble, long double)
ARITHMETIC(complexf, float complex)
ARITHMETIC(complexd, double complex)

static const struct routine {
    const char *name;
    reduce_fn run;
    size_t size;
    enum form form;
} routines[] = {
#define ROW(NAME, TYPE, OP, FORM) {#NAME "_" #OP, NAME##_##OP, sizeof(TYPE), FORM},
#define ROWS_TWO(NAME, TYPE, FORM)                                                                 \
    ROW(NAME, TYPE, sum, FORM)                                                                     \
    ROW(NAME, TYPE, prod, FORM)                                                                    \
    ROW(NAME, TYPE, inscan, FORM) ROW(NAME, TYPE, exscan, FORM) ROW(NAME, TYPE, stream, FORM)
#define ROWS_FOUR(NAME, TYPE, FORM)                                                                \
    ROWS_TWO(NAME, TYPE, FORM) ROW(NAME, TYPE, max, FORM) ROW(NAME, TYPE, min, FORM)
#define ROWS_SIGNED(NAME, TYPE) ROWS_FOUR(NAME, TYPE, INTEGER)
#define ROWS(NAME, TYPE)                                                                           \
    ROWS_SIGNED(NAME, TYPE)                                                                        \
    ROW(NAME, TYPE, and, INTEGER) ROW(NAME, TYPE, or, INTEGER) ROW(NAME, TYPE, xor, INTEGER)
    /* clang-format off */
    INTEGERS(ROWS)
    SIGNED(ROWS_SIGNED)
    ROWS_FOUR(float, float, REAL)
    ROWS_FOUR(double, double, REAL)
    ROWS_FOUR(longdouble, long double, REAL_OF_HOST)
    ROWS_TWO(complexf, float complex, COMPLEX_OF_HOST)
    ROWS_TWO(complexd, double complex, COMPLEX_OF_HOST)
    /* clang-format on */
};

/* ---- values --------------------------------------------------------------------------------- */

static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Now and then what has rules of its own: zeros of both signs, infinities, NaN, subnormal ones. */
static double draw_real(void)
{
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, -1e-42, 1e300};
    uint64_t bits = draw();

    if (bits % 8 == 0) return odd[(bits >> 8) % (sizeof(odd) / sizeof(odd[0]))];
    return ldexp((double)(int64_t)draw(), -62 + (int)(bits >> 8) % 40);
}

/* Of the real numbers that an element is made of; 0: it is an integer. */
static size_t real_size(const struct routine *routine)
{
    if (routine->form == INTEGER) return 0;
    return routine->form == COMPLEX_OF_HOST ? routine->size / 2 : routine->size;
}

static void put_real(char *at, double value, size_t size)
{
    float small = (float)value;
    long double large = value;

    memcpy(at,
           size == sizeof(small)   ? (void *)&small
           : size == sizeof(value) ? (void *)&value
                                   : (void *)&large,
           size);
}

static long double get_real(const char *at, size_t size)
{
    float small;
    double value;
    long double large;

    if (size == sizeof(small)) return memcpy(&small, at, size), small;
    if (size == sizeof(value)) return memcpy(&value, at, size), value;
    return memcpy(&large, at, size), large;
}

static void draw_values(const struct routine *routine, size_t n)
{
    size_t size = real_size(routine), nbytes = n * routine->size;

    if (size == 0)
        for (size_t at = 0; at < nbytes; at++)
            values[at] = (char)draw();
    else
        for (size_t at = 0; at < nbytes; at += size)
            put_real(values + at, draw_real(), size);
}

/* Which NaN a sum is of two of them is left to the machine; long double has padding. */
static bool is_equal(const struct routine *routine, const char *a, const char *b)
{
    size_t size = real_size(routine);

    if (size == 0) return memcmp(a, b, routine->size) == 0;
    for (size_t at = 0; at < routine->size; at += size) {
        long double x = get_real(a + at, size), y = get_real(b + at, size);

        if (isnan(x) && isnan(y)) continue;
        if (x != y || signbit(x) != signbit(y)) return false;
    }
    return true;
}

/* ---- checks --------------------------------------------------------------------------------- */

static long launches(void)
{
    long n = calls != NULL ? calls("cuLaunchKernel") : 0;

    return n > 0 ? n : 0;
}

static bool is_scan(const struct routine *routine)
{
    return strstr(routine->name, "scan") != NULL;
}

/*
 * Between nodes host memory is reduced in another order, by four and more, and so are scans of
 * small vectors in it, by three.
 */
static bool is_comparable(const struct routine *routine, size_t n)
{
    if (!by_fabric || routine->form == INTEGER) return true;
    return is_scan(routine) ? pe_n < 3 || n * routine->size > 384 : pe_n < 4;
}

/* Scans have shares of whole lines. */
static bool has_share(const struct routine *routine, size_t n)
{
    size_t line = is_scan(routine) ? 64 / routine->size : 1;
    size_t share = is_scan(routine) ? (n / (size_t)pe_n + line) / line * line
                                    : (n + (size_t)pe_n - 1) / (size_t)pe_n;

    return share * (size_t)shmem_team_my_pe(team) < n;
}

static void check(const struct routine *routine, size_t n, size_t shift, bool in_place)
{
    size_t nbytes = n * routine->size, wrong = 0;
    char *source = device_source + shift, *dest = in_place ? source : device_dest + shift;
    bool kernel = routine->form == INTEGER || routine->form == REAL;
    long expect = by_device && kernel && shift % routine->size == 0 && has_share(routine, n);
    long before;

    if (!is_comparable(routine, n)) return;
    draw_values(routine, n);
    shmem_putmem(source, values, nbytes, pe_me);
    memcpy(host_source, values, nbytes);
    shmem_barrier_all();
    PE_CHECK_EQ(routine->run(host_dest, host_source, n), 0);
    before = launches();
    PE_CHECK_EQ(routine->run(dest, source, n), 0);
    if (calls != NULL)
        PE_CHECK(launches() - before == expect,
                 "%s of %zu elements: the device launched %ld kernels, expected %ld", routine->name,
                 n, launches() - before, expect);
    shmem_getmem(result, dest, nbytes, pe_me);
    for (size_t i = 0; i < n; i++)
        wrong += !is_equal(routine, result + i * routine->size, host_dest + i * routine->size);
    PE_CHECK(wrong == 0, "%s of %zu elements%s: %zu elements differ from the result on host memory",
             routine->name, n, in_place ? " in place" : "", wrong);
    shmem_barrier_all();
}

/* A part of them where an operation takes long: by the fabric, or by a stream and a thread. */
static bool is_checked(size_t i, int k)
{
    bool slow = by_fabric || strstr(routines[i].name, "stream") != NULL;

    return !slow || (i + (size_t)k) % 3 == 0;
}

static void check_all(void)
{
    for (size_t i = 0; i < sizeof(routines) / sizeof(routines[0]); i++) {
        for (int k = 0; k < N_COUNTS; k++)
            if (is_checked(i, k)) check(&routines[i], counts[k], 0, (i + (size_t)k) % 2 == 0);
        if (is_checked(i, 1)) check(&routines[i], 100, 0, true);
        if (is_checked(i, 2)) check(&routines[i], 10, routines[i].size * 3, false);
    }
}

/* Elements that no device could load. */
static void check_misaligned(void)
{
    const struct routine *routine = routines;

    while (routine->size != sizeof(uint64_t))
        routine++;
    check(routine, 50, sizeof(uint32_t), false);
    check(routine, 50, sizeof(uint64_t), false);
}

/* Sums on streams are in the default one of the device that the space is on. */
static void set_device(shmem_space_t space, void **context, int *device)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    *device = info.device;
    PE_CHECK_EQ(pe_cuda.retain(context, info.device), 0);
    PE_CHECK_EQ(pe_cuda.set_current(*context), 0);
}

int main(int argc, char **argv)
{
    const char *who = argc > 1 ? argv[1] : "all", *path = getenv("SHMEM_NODE");
    shmem_space_t space;
    void *context;
    int device;

    pe_test_begin();
    if (!pe_gpu_space(4 * PE_MIB, &space, &team)) return pe_test_end();
    PE_REQUIRE(pe_gpu_load(), "libcuda.so.1 cannot be loaded or has no device");
    *(void **)&calls = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "fakecuda_calls");
    set_device(space, &context, &device);
    by_device = pe_n > 1 && strcmp(who, "none") != 0 && (strcmp(who, "others") != 0 || pe_me != 1);
    by_fabric = path != NULL && strcmp(path, "off") == 0;
    if (by_fabric) by_device = false;
    seed = 88172645463325252u + (uint64_t)pe_me * 1000003u;
    device_dest = shmem_space_malloc(space, MOST * ELEMENT);
    device_source = shmem_space_malloc(space, MOST * ELEMENT);
    host_dest = shmem_malloc(MOST * ELEMENT);
    host_source = shmem_malloc(MOST * ELEMENT);
    values = malloc(MOST * ELEMENT);
    result = malloc(MOST * ELEMENT);
    check_all();
    check_misaligned();
    free(values);
    free(result);
    shmem_free(host_dest);
    shmem_free(host_source);
    shmem_space_free(space, device_dest);
    shmem_space_free(space, device_source);
    pe_space_end(space, team);
    PE_CHECK_EQ(pe_cuda.release(device), 0);
    return pe_test_end();
}
