/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside a function: the test of this SIZE. */
TYPED_JOIN(sized, SIZE, _rma)(ctx);
