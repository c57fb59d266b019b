/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that the generated calls of every routine use. All are global variables of the program,
 * and therefore symmetric.
 */
#ifndef STEPPE_TEST_EVERY_H
#define STEPPE_TEST_EVERY_H

#include "calls.h"

#include <pshmem.h>
#include <shmemx.h>
#include <shmemx_device.h>

enum { EVERY_BYTES = 4096 };

extern char dest[EVERY_BYTES], source[EVERY_BYTES], zeros[EVERY_BYTES], work[EVERY_BYTES];
extern long sync_array[SHMEM_SYNC_SIZE], lock[1];
extern uint64_t word[1];
extern char local[EVERY_BYTES];
extern void *ones; /* one of the type of the routine's family: see every_main.c */
extern int me, n_pes, null_fd;
extern shmem_space_config_t config;
extern shmemx_ctx_config_t ctx_config;
extern shmem_space_t space;
extern shmem_team_t team, column;
extern shmem_ctx_t ctx;

/* By number; NULL for shmem_global_exit(), whose number every_exit is. */
extern void (*const every_call[CALLS_N])(void);
extern const int every_exit;

#endif
