/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx_info_print(): hands the reports (src/info) what they read and call of the library.
 */
#include "info/library.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static const struct stp_info_library info_library = {.version = STP_VERSION,
                                                     .compiler = COMPILER,
                                                     .flags = STP_BUILD_FLAGS,
                                                     .rt = &stp_rt,
                                                     .boot = &stp_boot,
                                                     .log_level = &stp_log_level,
                                                     .env = &stp_env,
                                                     .env_rows = stp_env_table,
                                                     .n_env_rows = &stp_env_n_rows,
                                                     .segment = &stp_segment,
                                                     .kinds = stp_kinds,
                                                     .team_world = &stp_team_world,
                                                     .fatal = stp_fatal,
#define ENTRY(name, function) .name = (function),
                                                     STP_INFO_FUNCTIONS(ENTRY)
#undef ENTRY
};

int pshmemx_info_print(int fd, const char *section, int json)
{
    if (stp_rt.references == 0) stp_env_load();
    return -stp_info_print(&info_library, fd, section, json != 0);
}
STP_PROFILED(shmemx_info_print);
