/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's side of the counting. A program that counted calls which no tool saw exits with
 * status 4: the test would show nothing.
 */
#include "calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((visibility("default"))) unsigned long program_calls[CALLS_N];

__attribute__((destructor)) static void calls_end(void)
{
    if (dlsym(RTLD_DEFAULT, "tool_calls") != NULL) return;
    fprintf(stderr, "calls: there is no tool\n");
    fflush(NULL);
    _exit(4);
}
