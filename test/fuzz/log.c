/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces base/log_and_fatal.c for fuzz targets: messages are formatted, and not printed. */
#include "fuzz.h"

#include "base/base.h"

#include <stdarg.h>

int stp_log_level = STP_LOG_DEBUG;

void stp_log(int level, const char *fmt, ...)
{
    char line[2048];
    va_list args;

    (void)level;
    va_start(args, fmt);
    FUZZ_CHECK(vsnprintf(line, sizeof(line), fmt, args) >= 0);
    va_end(args);
}
