/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls every routine of shmem.h, shmemx.h, shmemx_fam.h and shmemx_stream.h one to three times
 * under a tool that replaces all of them. The program itself calls the profiling twins
 * (pshmem_...). The tool, not this program, checks the counts; results of the calls are not
 * checked.
 *
 * usage: every_WAY [exit]     exit: only shmem_global_exit()
 */
#include "every.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define EVERY_ALIGNED __attribute__((aligned(64)))

char dest[EVERY_BYTES] EVERY_ALIGNED, source[EVERY_BYTES] EVERY_ALIGNED;
char zeros[EVERY_BYTES] EVERY_ALIGNED, work[EVERY_BYTES] EVERY_ALIGNED;
long sync_array[SHMEM_SYNC_SIZE], lock[1];
uint64_t word[1];
char local[EVERY_BYTES] EVERY_ALIGNED;
int me, n_pes, null_fd;
shmem_space_config_t config = {SHMEM_DEVICE_CPU, 1 << 16, SHMEM_SPACE_FLAG_DEFAULT};
shmemx_ctx_config_t ctx_config = {SHMEM_TEAM_WORLD, SHMEM_SPACE_DEFAULT};
shmem_space_t space;
shmem_team_t team, column;
shmem_ctx_t ctx;

/* Any value but zero, in every integer type: zeros differ from it. */
static char every_ones[EVERY_BYTES] EVERY_ALIGNED;
void *ones = every_ones;

int main(int argc, char **argv)
{
    pshmem_init();
    me = pshmem_my_pe();
    n_pes = pshmem_n_pes();
    null_fd = open("/dev/null", O_WRONLY);
    memset(every_ones, 1, sizeof(every_ones));
    if (argc > 1 && strcmp(argv[1], "exit") == 0) {
        pshmem_barrier_all();
        calls_count(every_exit);
        shmem_global_exit(0);
    }
    for (int i = 0; i < CALLS_N; i++)
        for (int times = 0; every_call[i] != NULL && times < 1 + i % 3; times++)
            every_call[i]();
    pshmem_finalize();
    return 0;
}
