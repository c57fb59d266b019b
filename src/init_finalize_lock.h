/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the lock of init and finalize. A routine that may be called before init
 * holds this lock, so that no other thread runs init or finalize at the same time.
 */
#ifndef STP_INIT_FINALIZE_LOCK_H
#define STP_INIT_FINALIZE_LOCK_H

/*
 * Waits until no thread is in init or finalize. Then blocks threads that call init or finalize.
 * Must not be called from init or finalize.
 */
void stp_init_finalize_lock(void);
/* Allows threads to run init and finalize again. */
void stp_init_finalize_unlock(void);

#endif /* STP_INIT_FINALIZE_LOCK_H */
