/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels of one element type, for one operator. reduce_all_ops_of_type.tmpl.h includes
 * this file with
 *   TYPE            the element type
 *   NAME(op)        the name of a kernel; NAME_TWO(op): of one with two results
 *   KERNEL          what its definition begins with
 *   OP              the operator's
 *   RESULT(x, y)    its result, of type TYPE
 * the last two undefined again at the end. STP_INDEPENDENT says that no iteration needs another's
 * result, which holds for equal arrays as well as for disjoint ones; restrict would not.
 */

/* inout = inout op in */
KERNEL void NAME(OP)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = RESULT(a[i], b[i]);
}

/* to = also = x op y, in one pass over all four. */
KERNEL void NAME_TWO(OP)(void *to, void *also, const void *x, const void *y, size_t nelems)
{
    TYPE *c = to, *d = also;
    const TYPE *a = x, *b = y;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++) {
        TYPE result = RESULT(a[i], b[i]);
        c[i] = result;
        d[i] = result;
    }
}

#undef OP
#undef RESULT
