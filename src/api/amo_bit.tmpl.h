/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the bitwise atomics (and, or, xor) on one TYPE. Spec 9.7. */

#define OP and
#define AMO STP_AMO_AND
#include "api/amo_op.tmpl.h"
#undef AMO
#undef OP

#define OP or
#define AMO STP_AMO_OR
#include "api/amo_op.tmpl.h"
#undef AMO
#undef OP

#define OP xor
#define AMO STP_AMO_XOR
#include "api/amo_op.tmpl.h"
#undef AMO
#undef OP
