/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the C binding rule by rule where a program that compiles and runs can show it (OpenSHMEM
 * 1.6, sections 5 and 6; rules R111, R140, R141, R166, R188, R213, R251-R257, R263, R265, R267,
 * R271 and R272 of docs/reference/conformance.md): types of functions, constants, selection by
 * generics, conversions, and names that must not exist. Code that must not compile is in
 * test/check_bindings.sh, names are in test/check_names.py.
 */
#include <mpp/shmem.h>
#include <mpp/shmemx.h>
#include <pshmem.h>
#include <shmemx.h>

#include "pe_table.h"

#include <complex.h>
#include <dlfcn.h>

/* The function has exactly this type: function pointers of other types do not match. */
#define IS(function, ...)                                                                          \
    _Static_assert(_Generic(&(function), __VA_ARGS__ : 1, default : 0), #function)

/* Counts are size_t, strides ptrdiff_t, PE numbers int. */
static void check_counts(void)
{
    IS(shmem_long_put, void (*)(long *, const long *, size_t, int));
    IS(shmem_long_iput, void (*)(long *, const long *, ptrdiff_t, ptrdiff_t, size_t, int));
    IS(shmem_iget128, void (*)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, int));
    IS(shmem_ctx_int_ibput,
       void (*)(shmem_ctx_t, int *, const int *, ptrdiff_t, ptrdiff_t, size_t, size_t, int));
    IS(shmem_ibget64, void (*)(void *, const void *, ptrdiff_t, ptrdiff_t, size_t, size_t, int));
    IS(shmem_alltoallsmem,
       int (*)(shmem_team_t, void *, const void *, ptrdiff_t, ptrdiff_t, size_t));
    IS(shmem_pe_quiet, void (*)(const int *, size_t));
    IS(shmem_ctx_pe_quiet, void (*)(shmem_ctx_t, const int *, size_t));
}

/* The three arguments of the C function and the four of the context's, under one name. */
static void check_signal_forms(void)
{
    static uint64_t word;
    void (*add)(uint64_t *, uint64_t, int) = shmem_signal_add;
    void (*set)(uint64_t *, uint64_t, int) = shmem_signal_set;
    uint64_t signal = 3; /* "value" in the text of the standard is this parameter */

    IS(shmem_signal_add, void (*)(uint64_t *, uint64_t, int));
    IS(shmem_ctx_signal_set, void (*)(shmem_ctx_t, uint64_t *, uint64_t, int));
    word = 0;
    shmem_barrier_all();
    shmem_signal_add(&word, signal, pe_right());
    shmem_signal_add(SHMEM_CTX_DEFAULT, &word, signal, pe_right());
    add(&word, signal, pe_right());
    (shmem_signal_add)(&word, signal, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_signal_fetch(&word), 12);
    shmem_barrier_all();
    shmem_signal_set(SHMEM_CTX_DEFAULT, &word, 5, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(word, 5);
    shmem_barrier_all();
    set(&word, UINT64_MAX, pe_right());
    shmem_barrier_all();
    PE_CHECK(word == UINT64_MAX, "signal_set through its address: the word is not UINT64_MAX");
}

/* What returns a code and what does not; parameters as printed, mistakes of the text apart. */
static void check_function_types(void)
{
    IS(shmem_team_sync, int (*)(shmem_team_t));
    IS(shmem_sync_all, void (*)(void));
    IS(shmem_barrier_all, void (*)(void));
    IS(shmem_signal_fetch, uint64_t(*)(const uint64_t *));
    IS(shmem_signal_wait_until, uint64_t(*)(uint64_t *, int, uint64_t));
    IS(shmem_long_atomic_fetch_nbi, void (*)(long *, const long *, int));
    IS(shmem_long_atomic_compare_swap_nbi, void (*)(long *, long *, long, long, int));
    IS(shmem_int_test_all, int (*)(int *, size_t, const int *, int, int));
    IS(shmem_int_test_all_vector, int (*)(int *, size_t, const int *, int, const int *));
    IS(shmem_int_wait_until_some_vector,
       size_t(*)(int *, size_t, size_t *, const int *, int, const int *));
    IS(shmem_wait_until, void (*)(long *, int, long));
    IS(shmem_complexd_sum_reduce,
       int (*)(shmem_team_t, double _Complex *, const double _Complex *, size_t));
    IS(shmem_complexf_prod_reduce,
       int (*)(shmem_team_t, float _Complex *, const float _Complex *, size_t));
    IS(shmem_size_and_reduce, int (*)(shmem_team_t, size_t *, const size_t *, size_t));
}

/* One name, one type: each is an instance of its own even where C has one type for two. */
static void check_distinct(void)
{
    PE_CHECK((void *)shmem_int32_put != (void *)shmem_int_put &&
                 (void *)shmem_size_p != (void *)shmem_ulong_p &&
                 (void *)shmem_int64_atomic_add != (void *)shmem_long_atomic_add,
             "two routines with different names have one address");
    PE_CHECK((void *)pshmem_long_put != NULL && (void *)pshmem_ctx_long_put != NULL,
             "pshmem_long_put or pshmem_ctx_long_put has a null address");
}

/* The first argument decides about a context, the type behind the pointer about the rest. */
static void check_selection(void)
{
    static long array[4], matrix[2][3];
    long *const pointer = array;
    const long *const source = (const long[]){7, 8, 9};
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT, *where = &ctx;
    struct {
        long field[2];
    } *record = (void *)matrix;

    memset(array, 0, sizeof(array));
    memset(matrix, 0, sizeof(matrix));
    shmem_barrier_all();
    shmem_put(array, source, 1, pe_right());
    shmem_put(*where, pointer + 1, source + 1, 1, pe_right());
    shmem_p(&array[2], source[2], pe_right());
    shmem_p(ctx, array + 3, (long){10}, pe_right());
    shmem_put(matrix[1], ((long[]){1, 2, 3}), 3, pe_right());
    shmem_p(record->field, 11, pe_right());
    shmem_barrier_all();
    PE_CHECK(array[0] == 7 && array[1] == 8 && array[2] == 9 && array[3] == 10,
             "generic put or p with arrays and contexts stored wrong values");
    PE_CHECK(matrix[1][0] == 1 && matrix[1][2] == 3 && matrix[0][0] == 11,
             "generic put or p to a matrix or a field of a struct stored wrong values");
    PE_CHECK_EQ(shmem_g((const long *)matrix[1], pe_right()), 1);
    PE_CHECK_EQ(shmem_g(ctx, source == NULL ? source : array, pe_right()), 7);
}

/* Values convert to the type of the object: they select nothing. */
static void check_conversion(void)
{
    static char c;
    static double d;
    static uint64_t u;
    static short s;
    long long wide = 0x1122334455667788;
    int letter = 0x141;

    c = 0;
    d = u = (uint64_t)(s = 0);
    shmem_barrier_all();
    shmem_p(&c, letter, pe_right());
    shmem_p(&d, 3, pe_right());
    shmem_p(&s, wide, pe_right());
    shmem_atomic_set(&u, -1, pe_right());
    shmem_barrier_all();
    PE_CHECK(c == 0x41 && d == 3.0 && s == 0x7788 && u == UINT64_MAX,
             "generic p or atomic_set did not convert a value to the type of the object");
    PE_CHECK_EQ(shmem_test(&u, SHMEM_CMP_GT, 1), 1);
    PE_CHECK_EQ(shmem_atomic_fetch_add(&u, 1.0, pe_me), -1);
}

/* Operators are integer constant expressions, to the preprocessor too; the rest are constants. */
static void check_constants(void)
{
    static shmem_team_t team = SHMEM_TEAM_INVALID;
    static shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    enum { SET = SHMEM_SIGNAL_SET, ADD = SHMEM_SIGNAL_ADD };
    static long psync[SHMEM_SYNC_SIZE] = {SHMEM_SYNC_VALUE};

#if SHMEM_CMP_EQ == SHMEM_CMP_NE || SHMEM_SIGNAL_SET == SHMEM_SIGNAL_ADD
#error "operators are not distinct"
#endif
    for (int cmp = 0; cmp < 100; cmp++)
        switch (cmp) {
        case SHMEM_CMP_EQ:
        case SHMEM_CMP_NE:
        case SHMEM_CMP_GT:
        case SHMEM_CMP_GE:
        case SHMEM_CMP_LT:
        case SHMEM_CMP_LE:
            psync[0]++;
        }
    PE_CHECK_EQ(psync[0] - SHMEM_SYNC_VALUE, 6);
    PE_CHECK(team == SHMEM_TEAM_INVALID && ctx == SHMEM_CTX_INVALID && SET != ADD,
             "an invalid handle in a static initializer, or equal signal operators");
    _Static_assert(_SHMEM_CMP_GE == SHMEM_CMP_GE && _SHMEM_SYNC_VALUE == SHMEM_SYNC_VALUE, "");
    _Static_assert(_SHMEM_MAX_NAME_LEN == SHMEM_MAX_NAME_LEN, "");
    _Static_assert(sizeof(SHMEM_VENDOR_STRING) <= SHMEM_MAX_NAME_LEN, "");
    _Static_assert(SHMEM_SYNC_SIZE >= SHMEM_ALLTOALLS_SYNC_SIZE, "");
}

/* What the text names or used to have, and the library has not. */
static void check_absent(void)
{
    static const char *const names[] = {"shmem_clear_cache_inv",
                                        "shmem_set_cache_inv",
                                        "shmem_clear_cache_line_inv",
                                        "shmem_set_cache_line_inv",
                                        "shmem_udcflush",
                                        "shmem_udcflush_line",
                                        "shmem_team_broadcast",
                                        "shmem_team_alltoall",
                                        "shmem_team_barrier",
                                        "shmem_iputmem",
                                        "shmem_long_iput_nbi",
                                        "shmem_long_p_nbi",
                                        "shmem_long_g_nbi",
                                        "shmem_long_atomic_add_nbi",
                                        "shmem_long_atomic_and",
                                        "shmem_longlong_atomic_or",
                                        "shmem_float_atomic_add",
                                        "shmem_broadcastmem64"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        PE_CHECK(dlsym(RTLD_DEFAULT, names[i]) == NULL,
                 "the library has a function %s, expected none", names[i]);
    PE_CHECK(dlsym(RTLD_DEFAULT, "shmem_barrier_all") != NULL,
             "dlsym does not find shmem_barrier_all, so absent names are not checked");
}

/* Steppe's own, good for the preprocessor. */
#if STEPPE_VERSION / 10000 != STEPPE_MAJOR_VERSION ||                                              \
    STEPPE_VERSION / 100 % 100 != STEPPE_MINOR_VERSION ||                                          \
    STEPPE_VERSION % 100 != STEPPE_PATCH_VERSION
#error the version and its parts differ
#endif

static void check_version(void)
{
    char parts[64];
    int major = 0, minor = 0;

    _Static_assert(SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION == 6, "not of OpenSHMEM 1.6");
    shmem_info_get_version(&major, &minor);
    PE_CHECK(major == 1 && minor == 6, "shmem_info_get_version returned %d.%d, expected 1.6", major,
             minor);
    PE_CHECK(strncmp(SHMEM_VENDOR_STRING, "Steppe ", 7) == 0 &&
                 strcmp(shmemx_version(), &SHMEM_VENDOR_STRING[7]) == 0,
             "SHMEM_VENDOR_STRING is %s, expected \"Steppe \" and shmemx_version()",
             SHMEM_VENDOR_STRING);
    snprintf(parts, sizeof(parts), "%d.%d.%d", STEPPE_MAJOR_VERSION, STEPPE_MINOR_VERSION,
             STEPPE_PATCH_VERSION);
    PE_CHECK(
        strcmp(shmemx_version(), parts) == 0,
        "the version of the header is %s, shmemx_version() of the library is %s, expected equal "
        "versions",
        parts, shmemx_version());
}

static const struct pe_rule rules[] = {
    {"R111 counts and strides", check_counts},
    {"R140 R141 signal_add and signal_set with and without context", check_signal_forms},
    {"R166 R188 R213 R263 R267 types of functions", check_function_types},
    {"R254 a function for each name", check_distinct},
    {"R253 selection by the type behind the pointer", check_selection},
    {"R255 values convert", check_conversion},
    {"R256 R257 constants", check_constants},
    {"R265 R271 what there is not", check_absent},
    {"R272 the version", check_version},
};

int main(void)
{
    pe_test_begin();
    PE_RULES_RUN(rules);
    return pe_test_end();
}
