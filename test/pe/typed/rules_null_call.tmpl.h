/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside a function: the check NULL_CALL of this TYPE, with NULL and with places of ours. */
TYPED_JOIN(typed_, NAME, NULL_CALL)(NULL_FIRST(TYPE, NULL, NULL));
TYPED_JOIN(typed_, NAME, NULL_CALL)(NULL_FIRST(TYPE, null_dest, null_source));
