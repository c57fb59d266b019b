/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of shmemx.h in old programs. Deprecated since OpenSHMEM 1.1. */
#ifndef MPP_SHMEMX_H
#define MPP_SHMEMX_H

#include <shmemx.h>

#endif /* MPP_SHMEMX_H */
