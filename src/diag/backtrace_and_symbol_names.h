/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the frames of a thread that a signal has hit, and finds names of routines and globals that
 * the linker has left. Design: docs/design/launch.md and hang.md.
 */
#ifndef STP_BACKTRACE_AND_SYMBOL_NAMES_H
#define STP_BACKTRACE_AND_SYMBOL_NAMES_H

#include "base/base.h"

/* ---- frames (backtrace.c) --------------------------------------------------- */

/*
 * Prints a line for each frame of this thread, from within the handler of the signal that has hit
 * the code at hit. caller: the return address of a call to an address without code, or NULL.
 */
void stp_backtrace(const void *hit, const void *caller);

/* Makes stp_backtrace() also write to oshrun's file if the environment names one. pe: this PE. */
void stp_backtrace_enable_oshrun_copy(int pe);

/* ---- names (routine_and_global_names.c) ------------------------------------------------------ */

/*
 * Returns the name of the outermost public routine that this thread executes. Returns NULL if the
 * linker has left no names, as in a program linked with the static library.
 */
const char *stp_symbol_routine(void);

/* Writes the global of the executable at addr as "name" or "name+8". Returns false without one. */
bool stp_symbol_global(const void *addr, char *text, size_t len);

#endif /* STP_BACKTRACE_AND_SYMBOL_NAMES_H */
