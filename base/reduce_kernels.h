/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of the reduction kernels. A kernel is a function that reduces arrays of one element type
 * with one operator. Each level of vector instructions has its own table. An entry is NULL if the
 * operator is not valid for the type. The results of all levels are bitwise identical.
 * Design: docs/design/base.md.
 */
#ifndef STP_REDUCE_KERNELS_H
#define STP_REDUCE_KERNELS_H

#include "base/base.h"

typedef void stp_reduce_fn(void *inoutvec, const void *invec, size_t nelems);
typedef void stp_combine_fn(void *dest1, void *dest2, const void *x, const void *y, size_t nelems);

struct stp_kernels {
    stp_reduce_fn *reduce[STP_N_DTYPES][STP_N_OPS];
    stp_combine_fn *combine[STP_N_DTYPES][STP_N_OPS];
};

extern const struct stp_kernels stp_kernels_base;
#ifdef __x86_64__
extern const struct stp_kernels stp_kernels_avx2;
extern const struct stp_kernels stp_kernels_avx512;
#endif

#endif /* STP_REDUCE_KERNELS_H */
