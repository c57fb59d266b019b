/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels of one element type; included by dtype.c once per type with
 *   TYPE        the element type
 *   CALC        the type to compute sums and products in: unsigned for integers, so they wrap
 *   NAME(op)    the name of a kernel
 *   HAS_ORDER   1 when the type has min and max
 *   HAS_BITS    1 when the type has and, or, xor
 * and undefined again at the end. STP_INDEPENDENT says that no iteration needs another's
 * result, which holds for equal arrays as well as for disjoint ones; restrict would not.
 */

static void NAME(sum)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = (TYPE)((CALC)a[i] + (CALC)b[i]);
}

static void NAME(prod)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = (TYPE)((CALC)a[i] * (CALC)b[i]);
}

#if HAS_ORDER
static void NAME(max)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = b[i] > a[i] ? b[i] : a[i];
}

static void NAME(min)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = b[i] < a[i] ? b[i] : a[i];
}
#endif

#if HAS_BITS
static void NAME(and)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = (TYPE)(a[i] & b[i]);
}

static void NAME(or)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = (TYPE)(a[i] | b[i]);
}

static void NAME(xor)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = (TYPE)(a[i] ^ b[i]);
}
#endif

#undef TYPE
#undef CALC
#undef NAME
#undef HAS_ORDER
#undef HAS_BITS
