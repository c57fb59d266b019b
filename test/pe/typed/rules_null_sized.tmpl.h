/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in a function: calls the RMA routines for elements of SIZE bits with a count of zero.
 */
#define S(op, tail) TYPED_JOIN(shmem_##op, SIZE, tail)
#define CTX_S(op, tail) TYPED_JOIN(shmem_ctx_##op, SIZE, tail)
S(put, )(d, s, 0, pe);
CTX_S(put, )(ctx, d, s, 0, pe);
S(get, )(d, s, 0, pe);
CTX_S(get, )(ctx, d, s, 0, pe);
S(put, _nbi)(d, s, 0, pe);
CTX_S(put, _nbi)(ctx, d, s, 0, pe);
S(get, _nbi)(d, s, 0, pe);
CTX_S(get, _nbi)(ctx, d, s, 0, pe);
S(iput, )(d, s, 1, 1, 0, pe);
CTX_S(iput, )(ctx, d, s, 2, 3, 0, pe);
S(iget, )(d, s, 1, 1, 0, pe);
CTX_S(iget, )(ctx, d, s, 2, 3, 0, pe);
S(ibput, )(d, s, 2, 2, 2, 0, pe);
CTX_S(ibput, )(ctx, d, s, 2, 2, 0, 2, pe);
S(ibget, )(d, s, 2, 2, 2, 0, pe);
CTX_S(ibget, )(ctx, d, s, 2, 2, 0, 2, pe);
S(put, _signal)(d, s, 0, &null_signals[0], 1, SHMEM_SIGNAL_ADD, pe);
CTX_S(put, _signal)(ctx, d, s, 0, &null_signals[1], 1, SHMEM_SIGNAL_ADD, pe);
S(put, _signal_nbi)(d, s, 0, &null_signals[2], 1, SHMEM_SIGNAL_ADD, pe);
CTX_S(put, _signal_nbi)(ctx, d, s, 0, &null_signals[3], 1, SHMEM_SIGNAL_ADD, pe);
null_sent++;
#undef S
#undef CTX_S
