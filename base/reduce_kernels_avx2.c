/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels for x86 processors with AVX2. Each vector instruction processes 32 bytes. */
#ifdef __x86_64__
#define STP_KERNELS stp_kernels_avx2
#define STP_TARGET __attribute__((target("avx2")))
#include "base/reduce_kernels.tmpl.h"
#endif
