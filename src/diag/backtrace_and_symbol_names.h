/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the stack frames of a thread that has received a fatal signal, and finds the names of
 * routines and global variables in symbol tables. Design: docs/design/launch.md and hang.md.
 */
#ifndef STP_BACKTRACE_AND_SYMBOL_NAMES_H
#define STP_BACKTRACE_AND_SYMBOL_NAMES_H

#include "base/base.h"

/* ---- frames (backtrace.c) --------------------------------------------------- */

/*
 * Prints a line for each stack frame of this thread. A signal handler calls this function. pc is
 * the address of the interrupted instruction. If the fault is a call to an address without code,
 * caller is the return address of the call. Otherwise caller is NULL.
 */
void stp_backtrace(const void *pc, const void *caller);

/*
 * Makes stp_backtrace() also write the frames to a file of oshrun. Has no effect if the environment
 * does not name such a file. pe is the number of this PE.
 */
void stp_backtrace_enable_oshrun_copy(int pe);

/* ---- names (routine_and_global_names.c) ------------------------------------------------------ */

/*
 * Returns the name of the outermost public routine of the library on this thread's stack. Returns
 * NULL if the names of routines are unknown, for example if the program uses the static library.
 */
const char *stp_symbol_routine(void);

/*
 * Returns the name of the public routine that the call before a return address has called, or NULL
 * if this is another function or is unknown. Does not allocate memory.
 */
const char *stp_symbol_called_routine(const void *return_address);

/*
 * Writes the name of the executable's global variable that contains addr, as "name" or "name+8".
 * Returns false if no global variable contains addr.
 */
bool stp_symbol_global(const void *addr, char *text, size_t len);

#endif /* STP_BACKTRACE_AND_SYMBOL_NAMES_H */
