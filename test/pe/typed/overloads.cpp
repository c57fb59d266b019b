/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All overloads of shmem_cxx.h, kept by the compiler: tree.all_overloads looks at what they call.
 * wait_until on long is C's function of that name, so no overload calls the typed one.
 */
#include <shmem.h>

void (*not_by_overload)(long *, int, long) = shmem_long_wait_until;
void (*by_old_name)(long *, int, long) = shmem_wait_until;
