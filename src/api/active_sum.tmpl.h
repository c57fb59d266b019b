/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic reductions of one TYPE over active sets. Spec 9.10.9. */

#define OP sum
#define CODE STP_SUM
#include "api/active_op.tmpl.h"
#undef CODE
#undef OP

#define OP prod
#define CODE STP_PROD
#include "api/active_op.tmpl.h"
#undef CODE
#undef OP
