/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of TYPE that use all of its bits, so that a wrong width, sign or datatype shows: random
 * bits for integers, a fraction of a big random number of either sign for the others.
 */

static inline TYPE T(value)(unsigned seed, size_t i)
{
    uint64_t bits = typed_mix(seed * UINT64_C(0x9e3779b97f4a7c15) + i);

    if ((TYPE)0.5 != (TYPE)0) return (TYPE)((long double)(int64_t)bits / 3);
    return (TYPE)bits;
}

static inline void T(fill)(TYPE *a, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++) a[i] = T(value)(seed, i);
}

/* All n elements are equal; names the first that is not. */
static inline bool T(same)(const TYPE *got, const TYPE *want, size_t n, const char *what, int row)
{
    for (size_t i = 0; i < n; i++)
        if (!PE_CHECK(got[i] == want[i], "%s %s, row %d: element %zu of %zu is wrong",
                      TYPED_TEXT(NAME), what, row, i, n))
            return false;
    return true;
}
