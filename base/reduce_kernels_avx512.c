/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels for x86 processors with AVX-512. Each vector instruction processes 64 bytes. */
#ifdef __x86_64__
#define STP_KERNELS stp_kernels_avx512
#define STP_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "base/reduce_kernels.tmpl.h"
#endif
