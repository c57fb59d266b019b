/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of TYPE that show a wrong width, sign or datatype: the corners of its range, and random
 * bits (for floating-point types a third of a large random number of either sign).
 */

enum { T(n_corners) = 6 };

static inline TYPE T(corner)(int k)
{
    const uint64_t high = (uint64_t)1 << (sizeof(TYPE) * 8 - 1) % 64;
    const long double big = _Generic((TYPE)0, float: FLT_MAX, double: DBL_MAX, default: LDBL_MAX);
    const long double least = _Generic((TYPE)0, float: FLT_MIN * FLT_EPSILON,
                                       double: DBL_MIN * DBL_EPSILON,
                                       default: LDBL_MIN * LDBL_EPSILON);
    const bool whole = (TYPE)0.5 == (TYPE)0;

    switch (k % T(n_corners)) {
    case 0: return (TYPE)0;
    case 1: return (TYPE)1;
    case 2: return (TYPE)-1;
    case 3: return whole ? (TYPE)high : (TYPE)-big;
    case 4: return whole ? (TYPE)(high - 1) : (TYPE)big;
    default: return whole ? (TYPE)(high | 1) : (TYPE)least;
    }
}

static inline TYPE T(random)(unsigned seed, size_t i)
{
    uint64_t bits = typed_mix(seed * UINT64_C(0x9e3779b97f4a7c15) + i);

    if ((TYPE)0.5 != (TYPE)0) return (TYPE)((long double)(int64_t)bits / 3);
    return (TYPE)bits;
}

/* Of 12 values in a row, from anywhere on, half are all the corners. */
static inline TYPE T(value)(unsigned seed, size_t i)
{
    size_t k = (size_t)(typed_mix(seed) % 1000 + i) % (2 * T(n_corners));

    return k < T(n_corners) && seed != TYPED_GUARD ? T(corner)((int)k) : T(random)(seed, i);
}

static inline void T(fill)(TYPE *a, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) a[i] = T(value)(seed, i);
}

/* All n elements are equal; names the first that is not. Padding is no part of a value. */
static inline bool T(same)(const TYPE *got, const TYPE *want, size_t n, const char *what, int row)
{
    for (size_t i = 0; i < n; i++)
        if (!PE_CHECK(got[i] == want[i], "%s: %s, row or case %d: element %zu of %zu is wrong",
                      TYPED_TEXT(NAME), what, row, i, n))
            return false;
    return true;
}
