/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in a function: runs the test of this SIZE.
 */
TYPED_JOIN(sized, SIZE, _rma)(ctx);
