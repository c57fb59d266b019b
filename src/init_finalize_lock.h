/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What routines that work without a job, too, need of init and finalize: that none is under way.
 */
#ifndef STP_INIT_FINALIZE_LOCK_H
#define STP_INIT_FINALIZE_LOCK_H

/* No init and no finalize, of any thread, between the two. Not from within either. */
void stp_init_finalize_lock(void);
void stp_init_finalize_unlock(void);

#endif /* STP_INIT_FINALIZE_LOCK_H */
