/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines the bitwise reductions (and, or, xor) of one TYPE by including OP_TEMPLATE. Spec 9.10.9.
 */

#define OP and
#define CODE STP_AND
#include OP_TEMPLATE
#undef CODE
#undef OP

#define OP or
#define CODE STP_OR
#include OP_TEMPLATE
#undef CODE
#undef OP

#define OP xor
#define CODE STP_XOR
#include OP_TEMPLATE
#undef CODE
#undef OP
