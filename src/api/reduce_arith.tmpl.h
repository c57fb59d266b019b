/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the reductions sum and prod of one TYPE by including OP_TEMPLATE. Spec 9.10.9. */

#define OP sum
#define CODE STP_SUM
#include OP_TEMPLATE
#undef CODE
#undef OP

#define OP prod
#define CODE STP_PROD
#include OP_TEMPLATE
#undef CODE
#undef OP
