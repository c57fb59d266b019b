/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counting half of the generated tool. At exit the tool compares its counts with those of the
 * program (calls.c), routine by routine. A process whose counts differ, or in which libsteppe.so
 * called a routine by its public name, exits with status 3.
 */
#include "calls.h"
#include "tool.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Seen by calls.c through dlsym: that there is a tool. */
__attribute__((visibility("default"))) unsigned long tool_calls[CALLS_N];

static const char *const tool_names[] = {CALLS_NAMES};
static uintptr_t tool_library_from, tool_library_to;
static int tool_inside; /* calls from inside the library */

static int tool_find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (strstr(info->dlpi_name, "libsteppe.so") == NULL) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        tool_library_from = info->dlpi_addr + part->p_vaddr;
        tool_library_to = tool_library_from + part->p_memsz;
    }
    return 1;
}

void tool_enter(int number, const void *from)
{
    uintptr_t at = (uintptr_t)from;

    if (tool_library_to == 0) dl_iterate_phdr(tool_find_library, NULL);
    __atomic_add_fetch(&tool_calls[number], 1, __ATOMIC_RELAXED);
    if (at < tool_library_from || at >= tool_library_to) return;
    fprintf(stderr, "tool: %s is called by its public name from inside libsteppe.so\n",
            tool_names[number]);
    __atomic_add_fetch(&tool_inside, 1, __ATOMIC_RELAXED);
}

/* Number of routines whose counts are wrong. */
static int tool_compare(void)
{
    const unsigned long *program = dlsym(RTLD_DEFAULT, "program_calls");
    int wrong = tool_inside;

    if (tool_library_to == 0) return wrong; /* this process made no call */
    for (int i = 0; program != NULL && i < CALLS_N; i++) {
        if (program[i] == tool_calls[i]) continue;
        fprintf(stderr, "tool: the program made %lu calls of %s, and the tool saw %lu\n",
                program[i], tool_names[i], tool_calls[i]);
        wrong++;
    }
    if (program == NULL)
        fprintf(stderr, "tool: the program has no symbol program_calls with its counts\n");
    return program == NULL ? wrong + 1 : wrong;
}

int tool_leave(int status)
{
    return tool_compare() == 0 ? status : 3;
}

__attribute__((destructor)) static void tool_end(void)
{
    if (tool_compare() == 0) return;
    fflush(NULL);
    _exit(3);
}
