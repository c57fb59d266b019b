/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathers data among the PEs, prints messages to the user, and ends the job after an error.
 */
#include "harness.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void bench_gather(void *dest, const void *source, size_t nbytes)
{
    size_t n = (size_t)shmem_n_pes();
    char *board = shmem_malloc(n * nbytes);

    if (board == NULL) {
        fprintf(stderr,
                "steppe-bench: the symmetric heap has no room for %zu bytes: raise "
                "SHMEM_SYMMETRIC_SIZE\n",
                n * nbytes);
        shmem_global_exit(1);
        abort();
    }
    for (int pe = 0; pe < (int)n; pe++)
        shmem_putmem(board + (size_t)shmem_my_pe() * nbytes, source, nbytes, pe);
    shmem_barrier_all();
    memcpy(dest, board, n * nbytes);
    shmem_free(board);
}

int bench_worst(int status)
{
    int n_pes = shmem_n_pes(), *statuses = malloc((size_t)n_pes * sizeof(*statuses));

    if (statuses == NULL) abort();
    bench_gather(statuses, &status, sizeof(status));
    for (int pe = 0; pe < n_pes; pe++)
        if (statuses[pe] > status) status = statuses[pe];
    free(statuses);
    return status;
}

void bench_say(const struct bench_run *run, const char *fmt, ...)
{
    va_list args;

    if (run->me != 0) return;
    va_start(args, fmt);
    fputs("steppe-bench: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

void bench_die(const struct bench_run *run, const char *fmt, ...)
{
    char line[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fprintf(stderr, "steppe-bench: pe %d: %s\n", run->me, line);
    shmem_global_exit(1);
    abort();
}
