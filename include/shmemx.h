/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steppe's extensions to OpenSHMEM: names begin with shmemx_, each has a pshmemx_ twin.
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* Version of this library, "0.1.0". Any time, also before shmem_init(). */
const char *shmemx_version(void);

/*
 * Print what the library is, what it found and how it is set, to file descriptor fd.
 *
 * section: name of the one section to print, NULL for all. json: nonzero for one JSON object,
 * zero for text. Any time, also before shmem_init(). Returns 0, nonzero when section is unknown
 * or fd cannot be written.
 */
int shmemx_info_print(int fd, const char *section, int json);

/*
 * Print a table of this PE's live spaces to file descriptor fd: number, kind, size, base,
 * provider, interface, key. Local, between init and finalize. Returns 0, nonzero when fd cannot
 * be written.
 */
int shmemx_space_print(int fd);

const char *pshmemx_version(void);
int pshmemx_info_print(int fd, const char *section, int json);
int pshmemx_space_print(int fd);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* SHMEMX_H */
