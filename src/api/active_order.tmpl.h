/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of one ordered TYPE over active sets. Spec 9.10.9. */

#define OP max
#define CODE STP_MAX
#include "api/active_op.tmpl.h"
#undef CODE
#undef OP

#define OP min
#define CODE STP_MIN
#include "api/active_op.tmpl.h"
#undef CODE
#undef OP
