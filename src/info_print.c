/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx_info_print(): opens the module of reports (src/info), and hands it what it reads and calls
 * of the library. Design: docs/design/info.md.
 */
#include "info/library.h"

#include <errno.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif
#define ENTRY(name, function) .name = (function),

/* clang-format off */
static const struct stp_info_library info_library = {
    .layout = STP_INFO_LAYOUT,
    .version = STP_VERSION,
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
    STP_INFO_FUNCTIONS(ENTRY)
};
/* clang-format on */

/* Say why nothing is printed. Returns what users get. */
static int info_refuse(const char *why, int error)
{
    stp_error("shmemx_info_print (oshinfo, SHMEM_INFO): %s; the library and its folder steppe/ "
              "belong together: install both from one build of Steppe",
              why);
    return error;
}

int pshmemx_info_print(int fd, const char *section, int json)
{
    stp_module_entry_fn print;
    char why[1024];
    int rc;

    if (stp_references() == 0) stp_env_load();
    if (stp_module_open(STP_MODULE_INFO, &print, why, sizeof(why)) != 0)
        return info_refuse(why, ELIBACC);
    rc = ((stp_info_print_fn)print)(&info_library, fd, section, json != 0);
    if (rc == -ELIBBAD) return info_refuse("info.so is of another build than the library", ELIBBAD);
    return -rc;
}
STP_PROFILED(shmemx_info_print);
