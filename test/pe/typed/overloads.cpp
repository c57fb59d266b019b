/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the compiler keep all overloads of shmem_cxx.h. The test tree.all_overloads compares the
 * routines that they call with the list of routines. wait_until on long is the C function of that
 * name, so no overload calls the typed routine. The program is not run.
 */
#include <shmem.h>

void (*not_by_overload)(long *, int, long) = shmem_long_wait_until;
void (*by_old_name)(long *, int, long) = shmem_wait_until;
