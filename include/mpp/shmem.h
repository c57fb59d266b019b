/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of shmem.h in old programs. Deprecated since OpenSHMEM 1.1. */
#ifndef MPP_SHMEM_H
#define MPP_SHMEM_H

#include <shmem.h>

#endif /* MPP_SHMEM_H */
