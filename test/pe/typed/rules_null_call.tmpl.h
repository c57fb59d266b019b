/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in a function: runs the check NULL_CALL of this TYPE with NULL pointers and with
 * pointers to memory of the test.
 */
TYPED_JOIN(typed_, NAME, NULL_CALL)(NULL_FIRST(TYPE, NULL, NULL));
TYPED_JOIN(typed_, NAME, NULL_CALL)(NULL_FIRST(TYPE, null_dest, null_source));
