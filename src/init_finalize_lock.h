/* SPDX-License-Identifier: BSD-3-Clause */
/* Routines that also work outside a job hold this lock, so that no thread runs init or finalize. */
#ifndef STP_INIT_FINALIZE_LOCK_H
#define STP_INIT_FINALIZE_LOCK_H

/* Waits until no thread is in init or finalize. Must not be called from init or finalize. */
void stp_init_finalize_lock(void);
/* Allows threads to run init and finalize again. */
void stp_init_finalize_unlock(void);

#endif /* STP_INIT_FINALIZE_LOCK_H */
