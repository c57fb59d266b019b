/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates and frees the memory that the operations of benches use.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

static int allocate(struct bench_run *run, size_t nbytes, bool with_source)
{
    size_t n_pes = (size_t)run->n_pes;

    run->region = nbytes;
    run->shared = shmem_align(PAGE, sizeof(*run->shared));
    run->remote = run->heap_remote = shmem_align(PAGE, nbytes);
    run->source = with_source ? shmem_align(PAGE, nbytes) : NULL;
    run->local = run->host_local = aligned_alloc(PAGE, (nbytes + PAGE - 1) & ~(size_t)(PAGE - 1));
    run->shared_of = calloc(n_pes, sizeof(*run->shared_of));
    run->remote_of = calloc(n_pes, sizeof(*run->remote_of));
    if (run->shared == NULL || run->remote == NULL) return ENOBUFS;
    if (with_source && run->source == NULL) return ENOBUFS;
    if (run->local == NULL || run->shared_of == NULL || run->remote_of == NULL) return ENOMEM;
    return 0;
}

/* Writes to every page of this PE's memory, so that no page fault occurs during a measurement. */
static void touch(const struct bench_run *run, size_t nbytes)
{
    memset(run->shared, 0, sizeof(*run->shared));
    memset(run->remote, 1, nbytes);
    memset(run->local, 2, nbytes);
    if (run->source != NULL) memset(run->source, 3, nbytes);
}

int bench_buffers_make(struct bench_run *run, size_t nbytes, bool with_source)
{
    int status = allocate(run, nbytes, with_source);

    if (status == 0) touch(run, nbytes);
    status = bench_worst(status);
    if (status == ENOBUFS)
        bench_say(run,
                  "the symmetric heap has no room for %zu bytes: "
                  "raise SHMEM_SYMMETRIC_SIZE, or lower --sizes or --buffers",
                  (with_source ? 2 : 1) * nbytes + sizeof(struct bench_shared));
    else if (status != 0)
        bench_say(run,
                  "out of memory: cannot allocate a private buffer of %zu bytes: lower --sizes",
                  nbytes);
    return status != 0 ? -ENOMEM : 0;
}

void bench_buffers_free(struct bench_run *run)
{
    free(run->host_local);
    free(run->shared_of);
    free(run->remote_of);
    shmem_free(run->source); /* may be NULL */
    shmem_free(run->heap_remote);
    shmem_free(run->shared);
    run->shared = NULL;
    run->shared_of = NULL;
    run->remote_of = NULL;
    run->remote = run->heap_remote = run->source = run->local = run->host_local = NULL;
}
