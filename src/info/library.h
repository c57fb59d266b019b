/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the reports read and call of the library: a table, filled by src/info_print.c. By name they
 * call only what of src/base keeps no state.
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
    X(env_format, stp_env_format)                                                                  \
    X(env_is_set, stp_env_is_set)                                                                  \
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
    X(window_choose, stp_window_choose)

struct stp_info_library {
    const char *version; /* of the library, as the next two */
    const char *compiler;
    const char *flags;
    struct stp_runtime *rt; /* the doctor writes here and in boot, as a start would */
    struct stp_boot *boot;
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
extern const struct stp_info_library *_Atomic stp_lib;

/*
 * Print the sections that the list names, NULL: all that cost little. fd stays the caller's.
 * Returns 0, -EINVAL for a section that there is not, -ENODEV when the doctor found what will make
 * jobs fail, another -errno when nothing could be printed.
 */
int stp_info_print(const struct stp_info_library *library, int fd, const char *sections, bool json);

#endif /* STP_INFO_LIBRARY_H */
