/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports a fatal signal of a PE and the fault that caused it. Design: docs/design/launch.md. */
#ifndef STP_CRASH_H
#define STP_CRASH_H

/*
 * Installs our handler for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, if the signal has the
 * default action. SIGSEGV and SIGBUS get our handler even if the program has installed a handler
 * for them. Our handler then calls the program's handler. Called near the end of init.
 */
void stp_crash_install(void);
/* Restores the actions that stp_crash_install() replaced. */
void stp_crash_remove(void);

#endif /* STP_CRASH_H */
