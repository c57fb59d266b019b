/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template for the reduction kernels of one element type and one operator. The file
 * reduce_all_ops_of_type.tmpl.h includes this template once for each operator. Before each
 * inclusion, it defines
 *   TYPE            the element type
 *   NAME(op)        the name of the kernel that writes its results to one array
 *   NAME_TWO(op)    the name of the kernel that writes its results to two arrays
 *   KERNEL          the storage class and the attributes of a kernel
 *   OP              the operator
 *   RESULT(x, y)    the result of the operator for the operands x and y, of type TYPE
 * This file undefines OP and RESULT.
 *
 * STP_INDEPENDENT declares that no iteration of a loop needs the result of another
 * iteration. This is true, because two arrays of a kernel are either identical or disjoint. The
 * keyword restrict is not used, because it forbids identical arrays.
 */

/* Computes inoutvec[i] = inoutvec[i] op invec[i] for nelems elements. */
KERNEL void NAME(OP)(void *inoutvec, const void *invec, size_t nelems)
{
    TYPE *a = inoutvec;
    const TYPE *b = invec;

    STP_INDEPENDENT
    for (size_t i = 0; i < nelems; i++)
        a[i] = RESULT(a[i], b[i]);
}

/* Computes x[i] op y[i] and writes it to dest1[i] and dest2[i], in one pass over the arrays. */
KERNEL void NAME_TWO(OP)(void *dest1, void *dest2, const void *x, const void *y, size_t nelems)
{
    TYPE *c = dest1, *d = dest2;
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
