/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in a function: runs the test that RUN names for this TYPE.
 */
TYPED_JOIN(typed_, NAME, RUN)(ctx);
