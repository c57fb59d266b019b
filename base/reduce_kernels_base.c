/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels that use only instructions which all processors of the architecture have. */
#define STP_KERNELS stp_kernels_base
#define STP_TARGET
#include "base/reduce_kernels.tmpl.h"
