// SPDX-License-Identifier: BSD-3-Clause
// Compiles active_names.c as C++, which has no generic shmem_sync: checks the active-set form of
// shmem_sync and shmem_team_sync.
#include "active_names.c"
