/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds and loads the fabric module, a shared object in the folder steppe/ next to the library.
 * Design: docs/design/fabric.md.
 */
#ifndef STP_FABRIC_MODULE_DLOPEN_H
#define STP_FABRIC_MODULE_DLOPEN_H

#include <stddef.h>

/* Type of the only function that the module exports. Callers cast it to stp_ofi_open_fn. */
typedef void (*stp_module_entry_fn)(void);

/*
 * Finds the fabric module and writes its path to path. Searches the folder steppe/ next to the file
 * from which this library was loaded. If this file is the program itself, which is linked with
 * libsteppe.a, the function also searches the folders in which the program finds its libraries.
 * Returns 0. If the module does not exist, writes the reason to why and returns -ENOENT.
 */
int stp_fabric_module_path(char *path, size_t path_len, char *why, size_t why_len);

/*
 * Loads the fabric module and sets *entry to the function that the module exports. The module stays
 * loaded until the process ends, because libfabric cannot be unloaded. The environment does not
 * influence which file is loaded. The only exception is LD_LIBRARY_PATH, which can do so if the
 * program is linked with libsteppe.a.
 *
 * Returns 0 on success. On failure, writes the reason to why, a buffer of len bytes, and returns an
 * error: -ENOENT if this installation has no fabric module, or -ENOEXEC if the module cannot be
 * loaded (for example because libfabric is missing) or is not a module of Steppe.
 */
int stp_fabric_module_dlopen(stp_module_entry_fn *entry, char *why, size_t len);

#endif /* STP_FABRIC_MODULE_DLOPEN_H */
