/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the generated tool does in each routine that it replaces: it counts the call, and remembers
 * calls that come from inside libsteppe.so, where no call may come from.
 */
#ifndef STEPPE_TEST_TOOL_H
#define STEPPE_TEST_TOOL_H

#ifdef __cplusplus
extern "C" {
#endif

/* Routine number was called; from: the caller's address. */
void tool_enter(int number, const void *from);

/* The job ends with this status: it, or 3 when the counts are wrong. */
int tool_leave(int status);

#ifdef __cplusplus
}
#endif

#endif
