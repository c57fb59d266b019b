/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's half of the counting. A program that counted calls exits with status 4 when no tool
 * is loaded, because the test would then show nothing.
 */
#include "calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((visibility("default"))) unsigned long program_calls[CALLS_N];

__attribute__((destructor)) static void calls_end(void)
{
    if (dlsym(RTLD_DEFAULT, "tool_calls") != NULL) return;
    fprintf(stderr, "calls: no tool is loaded, so that nothing compares the counted calls\n");
    fflush(NULL);
    _exit(4);
}
