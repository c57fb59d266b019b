/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading the fabric module, which lies in steppe/ beside the library. Design:
 * docs/design/fabric.md.
 */
#ifndef STP_FABRIC_MODULE_DLOPEN_H
#define STP_FABRIC_MODULE_DLOPEN_H

#include <stddef.h>

/* The one function that the module exports, to be cast to stp_ofi_open_fn. */
typedef void (*stp_module_entry_fn)(void);

/*
 * Where the module lies: in steppe/ beside the file this library was loaded from, or, when that is
 * the program itself (libsteppe.a), in one of the folders where it finds its libraries. Returns 0,
 * or -ENOENT with the reason as text when nothing is there.
 */
int stp_fabric_module_path(char *path, size_t path_len, char *why, size_t why_len);

/*
 * Load the module and find its entry. It stays loaded until the process ends: libfabric cannot be
 * unloaded. No path comes from the environment.
 *
 * entry: set on success. why: on failure, what went wrong, as text.
 * Returns 0, -ENOENT when this installation has no such module, -ENOEXEC when it cannot be loaded
 * (as where libfabric is missing) or is not one of ours.
 */
int stp_fabric_module_dlopen(stp_module_entry_fn *entry, char *why, size_t len);

#endif /* STP_FABRIC_MODULE_DLOPEN_H */
