/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduction kernels for the instructions that every processor of this architecture has. */
#define STP_KERNELS stp_kernels_base
#define STP_TARGET
#include "base/reduce_kernels.tmpl.h"
