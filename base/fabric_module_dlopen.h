/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds and loads the fabric module, a shared object in the folder steppe/ next to the library.
 * Design: docs/design/transport.md.
 */
#ifndef STP_FABRIC_MODULE_DLOPEN_H
#define STP_FABRIC_MODULE_DLOPEN_H

#include <stdbool.h>
#include <stddef.h>

/* Advice for users when stp_fabric_module_dlopen() returns -ENOEXEC. */
extern const char stp_fabric_module_advice[];

/* Type of the only function that the module exports. Callers cast it to stp_ofi_open_fn. */
typedef void (*stp_module_entry_fn)(void);

/*
 * Finds the fabric module and writes its path to path. Searches the folder steppe/ next to the file
 * from which this library was loaded. If the library is linked into the program (libsteppe.a), also
 * searches the folders in which the dynamic loader finds the program's libraries.
 * Returns 0, or -ENOENT if the module does not exist. In this case the function writes an error
 * text to reason.
 */
int stp_fabric_module_path(char *path, size_t path_len, char *reason, size_t reason_len);

/*
 * Returns whether this process has loaded libfabric. Before the module is loaded, this means that
 * the program itself, or another library of the program, uses libfabric.
 */
bool stp_libfabric_is_loaded(void);

/*
 * Loads the fabric module and sets *entry to the function that the module exports. The module stays
 * loaded until the process ends, because libfabric cannot be unloaded. No environment variable
 * selects the file, except that LD_LIBRARY_PATH influences the search in a program that is linked
 * with libsteppe.a.
 *
 * Returns 0, or an error after writing an error text to reason, a buffer of len bytes. The error is
 * -ENOENT if this installation has no fabric module. It is -ENOEXEC if the module cannot be loaded
 * (for example because libfabric is missing or too old) or is not a module of Steppe.
 */
int stp_fabric_module_dlopen(stp_module_entry_fn *entry, char *reason, size_t len);

#endif /* STP_FABRIC_MODULE_DLOPEN_H */
