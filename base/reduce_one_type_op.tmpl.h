/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels of one element type for one operator. reduce_all_ops_of_type.tmpl.h includes
 * this file after it has defined
 *   TYPE            the element type
 *   NAME(op)        the name of the kernel with one result; NAME_TWO(op): with two results
 *   KERNEL          the storage class and attributes of a kernel
 *   OP              the operator
 *   RESULT(x, y)    the result of the operator, of type TYPE
 * This file undefines OP and RESULT. STP_INDEPENDENT states that no iteration needs the result of
 * another iteration. This holds for equal arrays and for disjoint arrays; restrict would exclude
 * equal arrays.
 */

/* Computes inout[i] = inout[i] op in[i]. */
KERNEL void NAME(OP)(void *inout, const void *in, size_t nelems)
{
    TYPE *a = inout;
    const TYPE *b = in;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = RESULT(a[i], b[i]);
}

/* Computes to[i] = also[i] = x[i] op y[i] in one pass over all four arrays. */
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
