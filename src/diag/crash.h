/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports the signal of which a PE dies, and the fault. Design: docs/design/launch.md.
 */
#ifndef STP_CRASH_H
#define STP_CRASH_H

/*
 * Installs handlers for faults and aborts whose action is the default, and for SIGSEGV and SIGBUS
 * also if they have a handler, which is called after ours. Called at the end of init.
 */
void stp_crash_install(void);
void stp_crash_remove(void);

#endif /* STP_CRASH_H */
