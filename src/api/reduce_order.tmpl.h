/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the reductions max and min of one TYPE by including OP_TEMPLATE. Spec 9.10.9. */

#define OP max
#define CODE STP_MAX
#include OP_TEMPLATE
#undef CODE
#undef OP

#define OP min
#define CODE STP_MIN
#include OP_TEMPLATE
#undef CODE
#undef OP
