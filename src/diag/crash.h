/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last words of a PE that dies of a signal. Design: docs/design/launch.md.
 */
#ifndef STP_CRASH_H
#define STP_CRASH_H

/*
 * Take the signals of faults and aborts whose disposition is the default; of SIGSEGV and SIGBUS
 * also those that have handlers, which are called behind ours. At the end of init.
 */
void stp_crash_install(void);
void stp_crash_remove(void);

#endif /* STP_CRASH_H */
