/* SPDX-License-Identifier: BSD-3-Clause */
/* Bitwise reductions of one TYPE over active sets. Spec 9.10.9. */

#define OP and
#define CODE STP_AND
#include "api/active_op.tmpl.h"
#undef CODE
#undef OP

#define OP or
#define CODE STP_OR
#include "api/active_op.tmpl.h"
#undef CODE
#undef OP

#define OP xor
#define CODE STP_XOR
#include "api/active_op.tmpl.h"
#undef CODE
#undef OP
