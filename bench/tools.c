/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare, plot and launch: programs in Python beside the library's modules, which need no
 * launcher and never start the library.
 */
#include "harness.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUILD_DIR "../lib/steppe" /* from the program's directory, in the build tree */
#ifndef BENCH_MODULE_DIR
#define BENCH_MODULE_DIR BUILD_DIR /* where it is installed */
#endif

bool bench_is_tool(const char *word)
{
    static const char *const tools[] = {"compare", "plot", "launch"};

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (strcmp(word, tools[i]) == 0) return true;
    return false;
}

/* The program's own path, and that of the tools. */
static int find(char *self, char *tools)
{
    static const char *const places[] = {BENCH_MODULE_DIR, BUILD_DIR};
    ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);
    char *slash;

    self[n > 0 ? n : 0] = '\0';
    slash = strrchr(self, '/');
    for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(tools, PATH_MAX + 64, "%.*s/%s/bench/main.py", (int)(slash - self), self,
                 places[i]);
        if (access(tools, R_OK) == 0) return 0;
    }
    return -ENOENT;
}

/* argv[1] and what follows it, behind the interpreter and the tools. */
int bench_run_tool(char **argv)
{
    char self[PATH_MAX], tools[PATH_MAX + 64];
    size_t n = 0;
    char **args;

    if (find(self, tools) != 0) {
        fprintf(stderr, "steppe-bench: %s: no %s/bench/main.py beside %s: install all of Steppe\n",
                argv[1], BENCH_MODULE_DIR, self);
        return 2;
    }
    while (argv[n] != NULL)
        n++;
    args = calloc(n + 2, sizeof(*args));
    if (args == NULL) return 2;
    args[0] = "python3";
    args[1] = tools;
    memcpy(args + 2, argv + 1, n * sizeof(*args)); /* with the NULL */
    setenv("STEPPE_BENCH_PROGRAM", self, 1);
    execvp(args[0], args);
    fprintf(stderr, "steppe-bench: %s: python3: %s\n", argv[1], strerror(errno));
    return 2;
}
