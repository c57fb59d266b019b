/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routines that also work outside a job exclude init and finalize in all threads with this lock.
 */
#ifndef STP_INIT_FINALIZE_LOCK_H
#define STP_INIT_FINALIZE_LOCK_H

/* Between lock and unlock no thread is in init or finalize, which may not call these functions. */
void stp_init_finalize_lock(void);
void stp_init_finalize_unlock(void);

#endif /* STP_INIT_FINALIZE_LOCK_H */
