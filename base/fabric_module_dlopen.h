/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the fabric module, a file in steppe/ next to the library. Design:
 * docs/design/fabric.md.
 */
#ifndef STP_FABRIC_MODULE_DLOPEN_H
#define STP_FABRIC_MODULE_DLOPEN_H

#include <stddef.h>

/* Type of the one function that the module exports; callers cast it to stp_ofi_open_fn. */
typedef void (*stp_module_entry_fn)(void);

/*
 * Finds the module in steppe/ next to the file from which this library was loaded. If that file is
 * the program itself (libsteppe.a), the folders in which the program finds its libraries are also
 * searched. Returns 0, or -ENOENT with the reason in why if the module does not exist.
 */
int stp_fabric_module_path(char *path, size_t path_len, char *why, size_t why_len);

/*
 * Loads the module and finds its entry. The module stays loaded until the process ends, because
 * libfabric cannot be unloaded. No path comes from the environment, except from LD_LIBRARY_PATH in
 * a program with libsteppe.a.
 *
 * entry: set on success. why: text of the reason on failure.
 * Returns 0, -ENOENT if this installation has no fabric module, or -ENOEXEC if the module cannot be
 * loaded (for example without libfabric) or is not a module of Steppe.
 */
int stp_fabric_module_dlopen(stp_module_entry_fn *entry, char *why, size_t len);

#endif /* STP_FABRIC_MODULE_DLOPEN_H */
