/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the library and the module of reports (lib/steppe/info.so), which is loaded
 * when a report is asked for: a table of what it reads and calls of the library, filled by
 * src/info_print.c. What of src/base keeps no state the module has as copies of its own.
 * Design: docs/design/info.md.
 */
#ifndef STP_INFO_LIBRARY_H
#define STP_INFO_LIBRARY_H

#include "boot/area.h"
#include "boot/module.h"
#include "coll/coll.h"
#include "core/core.h"
#include "pmi/pmi.h"

/* Name in the table, function of the library. */
#define STP_INFO_FUNCTIONS(X)                                                                      \
    X(cgroup_memory, stp_cgroup_memory)                                                            \
    X(coll_gather, stp_coll_gather)                                                                \
    X(device_look, stp_device_look)                                                                \
    X(env_format, stp_env_format)                                                                  \
    X(env_is_set, stp_env_is_set)                                                                  \
    X(env_unknown, stp_env_unknown)                                                                \
    X(hostname, stp_hostname)                                                                      \
    X(kind_find, stp_kind_find)                                                                    \
    X(kinds_start, stp_kinds_start)                                                                \
    X(kinds_stop, stp_kinds_stop)                                                                  \
    X(module_open, stp_module_open)                                                                \
    X(module_path, stp_module_path)                                                                \
    X(network_learn, stp_network_learn)                                                            \
    X(network_publish, stp_network_publish)                                                        \
    X(pmi_fence, stp_pmi_fence)                                                                    \
    X(pmi_get, stp_pmi_get)                                                                        \
    X(pmi_look, stp_pmi_look)                                                                      \
    X(pmi_node_of, stp_pmi_node_of)                                                                \
    X(pmi_open, stp_pmi_open)                                                                      \
    X(pmi_put, stp_pmi_put)                                                                        \
    X(space_create, pshmem_space_create)                                                           \
    X(space_destroy, pshmem_space_destroy)                                                         \
    X(space_path, pshmemx_space_path)                                                              \
    X(space_path_name, pshmemx_space_path_name)                                                    \
    X(space_query, pshmemx_space_query)                                                            \
    X(team_destroy, pshmem_team_destroy)                                                           \
    X(window_choose, stp_window_choose)                                                            \
    X(window_view_bytes, stp_window_view_bytes)

/*
 * Equal where both were compiled with the same structures; together with the version that stands
 * for one build.
 */
#define STP_INFO_LAYOUT                                                                            \
    (sizeof(struct stp_info_library) | (uint64_t)sizeof(struct stp_runtime) << 12 |                \
     (uint64_t)sizeof(struct stp_boot) << 26 | (uint64_t)sizeof(struct stp_env) << 38 |            \
     (uint64_t)sizeof(struct stp_kind) << 50)

struct stp_info_library {
    uint64_t layout;     /* STP_INFO_LAYOUT; it and version stand first in every release */
    const char *version; /* of the library, as the next two */
    const char *compiler;
    const char *flags;
    const struct stp_runtime *rt;
    const struct stp_boot *boot;
    int *log_level;
    const struct stp_env *env;
    const struct stp_env_row *env_rows;
    const size_t *n_env_rows;
    const struct stp_segment *segment;
    const struct stp_kind *const *kinds; /* STP_KIND_... */
    struct stp_team *const *team_world;
    /* apart from the list: gcc's __typeof__ forgets that it does not return */
    void (*fatal)(const char *routine, const char *fmt, ...) STP_PRINTF(2, 3)
        __attribute__((noreturn));
#define STP_INFO_FIELD(name, function) __typeof__(function) *name;
    STP_INFO_FUNCTIONS(STP_INFO_FIELD)
#undef STP_INFO_FIELD
};

/* Set by stp_info_print(), from whatever thread calls it. */
extern const struct stp_info_library *stp_lib;

/*
 * The module's entry: print the sections that the list names, NULL: all that cost little. fd stays
 * the caller's. Returns 0, -EINVAL for a section that there is not, -ENODEV when the doctor found
 * what will make jobs fail, -ELIBBAD when the library is of another build, another -errno when
 * nothing could be printed.
 */
typedef int (*stp_info_print_fn)(const struct stp_info_library *library, int fd,
                                 const char *sections, bool json);
int stp_info_print(const struct stp_info_library *library, int fd, const char *sections, bool json);

#endif /* STP_INFO_LIBRARY_H */
