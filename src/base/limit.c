/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors in words that say what to do: the limits that users can raise are named. Also part of
 * the fabric module, which has a copy of its own.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

const char *stp_strerror(int error)
{
    static __thread char text[128];
    struct rlimit limit;

    if (error == ENFILE)
        return "descriptors ran out on this host (sysctl fs.file-max): raise it";
    if (error != EMFILE) return strerror(error);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return "descriptors ran out (ulimit -n): raise it";
    snprintf(text, sizeof(text), "descriptors ran out (ulimit -n is %llu): raise it",
             (unsigned long long)limit.rlim_cur);
    return text;
}
