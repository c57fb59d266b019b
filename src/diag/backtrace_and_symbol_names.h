/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the stack of a thread tells: the frames of one that a signal has hit, and the names that the
 * linker has left. Design: docs/design/launch.md and hang.md.
 */
#ifndef STP_BACKTRACE_AND_SYMBOL_NAMES_H
#define STP_BACKTRACE_AND_SYMBOL_NAMES_H

#include "base/base.h"

/* ---- frames (backtrace.c) --------------------------------------------------- */

/*
 * A line for each frame of this thread, which a signal has hit at that code; inside of its handler.
 * caller: the return address of a call of what is no code, where it is known, or NULL.
 */
void stp_backtrace(const void *hit, const void *caller);

/* From now on also for oshrun, where it has asked for that. Reads the environment. */
void stp_backtrace_enable_oshrun_copy(int pe);

/* ---- names (routine_and_global_names.c) ------------------------------------------------------ */

/*
 * Returns the name of the outermost public routine that this thread is in, or NULL where the linker
 * has left no names: in a program that was linked with an archive.
 */
const char *stp_symbol_routine(void);

/* The global of the executable at addr, as "name" or "name+8". False: it has no name. */
bool stp_symbol_global(const void *addr, char *text, size_t len);

#endif /* STP_BACKTRACE_AND_SYMBOL_NAMES_H */
