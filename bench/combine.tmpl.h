/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loops of raw reductions for one level of vector instructions: included by combine.c with
 *   LEVEL     what their names begin with
 *   TARGET    what the compiler may use, as an attribute of functions; may be empty
 * and undefined again at the end. One pass over both sides and both results.
 */

#define COMBINE(type, utype, op, expression)                                                       \
    static TARGET void NAME(LEVEL, type, op)(void *to, void *also, const void *a, const void *b,   \
                                             size_t n)                                             \
    {                                                                                              \
        utype *c = to, *d = also;                                                                  \
        const utype *x = a, *y = b;                                                                \
                                                                                                   \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++) {                                                           \
            utype result = expression(x[i], y[i]);                                                 \
            c[i] = result;                                                                         \
            d[i] = result;                                                                         \
        }                                                                                          \
    }

#define NUMBERS(type)                                                                              \
    COMBINE(type, type, sum, SUM)                                                                  \
    COMBINE(type, type, prod, PROD)                                                                \
    COMBINE(type, type, min, MIN)                                                                  \
    COMBINE(type, type, max, MAX)

#define BITS(type, utype)                                                                          \
    COMBINE(type, utype, and, AND)                                                                 \
    COMBINE(type, utype, or, OR)                                                                   \
    COMBINE(type, utype, xor, XOR)

NUMBERS(int)
NUMBERS(long)
NUMBERS(float)
NUMBERS(double)
BITS(int, unsigned)
BITS(long, unsigned long)

#define ROW(type, op)                                                                              \
    {                                                                                              \
#op, #type, NAME(LEVEL, type, op)                                                          \
    }

static const struct combine TABLE(LEVEL)[] = {
    ROW(int, sum),    ROW(int, prod),  ROW(int, min),    ROW(int, max),     ROW(long, sum),
    ROW(long, prod),  ROW(long, min),  ROW(long, max),   ROW(float, sum),   ROW(float, prod),
    ROW(float, min),  ROW(float, max), ROW(double, sum), ROW(double, prod), ROW(double, min),
    ROW(double, max), ROW(int, and),   ROW(int, or),     ROW(int, xor),     ROW(long, and),
    ROW(long, or),    ROW(long, xor),
};

#undef ROW
#undef BITS
#undef NUMBERS
#undef COMBINE
#undef LEVEL
#undef TARGET
