/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that operations work on, and its lines in the caches.
 */
#include "harness.h"
#include "raw_ofi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096

/* As allocated, before alignment and offset. */
static struct {
    char *remote, *source, *local;
} whole;

static char *place(char *memory, size_t align, size_t offset)
{
    uintptr_t at = ((uintptr_t)memory + align - 1) & ~(uintptr_t)(align - 1);

    return memory != NULL ? (char *)at + offset : NULL;
}

static int allocate(struct bench_run *run, const struct bench_options *options, size_t nbytes,
                    bool with_source)
{
    size_t n_pes = (size_t)run->n_pes, align = options->align;
    size_t remote_len = nbytes + align + options->offset_remote;
    size_t local_len = nbytes + align + options->offset_local;

    run->region = nbytes;
    run->shared = shmem_align(PAGE, sizeof(*run->shared));
    whole.remote = shmem_align(PAGE, remote_len);
    whole.source = with_source ? shmem_align(PAGE, remote_len) : NULL;
    whole.local = aligned_alloc(PAGE, (local_len + PAGE - 1) & ~(size_t)(PAGE - 1));
    run->shared_of = calloc(n_pes, sizeof(*run->shared_of));
    run->remote_of = calloc(n_pes, sizeof(*run->remote_of));
    if (run->shared == NULL || whole.remote == NULL) return ENOBUFS;
    if (with_source && whole.source == NULL) return ENOBUFS;
    if (whole.local == NULL || run->shared_of == NULL || run->remote_of == NULL) return ENOMEM;
    run->remote = run->heap_remote = place(whole.remote, align, options->offset_remote);
    run->source = place(whole.source, align, options->offset_local);
    run->local = run->host_local = place(whole.local, align, options->offset_local);
    return 0;
}

/* Every page is touched by its owner before anything is timed. */
static void touch(const struct bench_run *run, size_t nbytes)
{
    memset(run->shared, 0, sizeof(*run->shared));
    memset(run->remote, 1, nbytes);
    memset(run->local, 2, nbytes);
    if (run->source != NULL) memset(run->source, 3, nbytes);
}

int bench_buffers_make(struct bench_run *run, const struct bench_options *options, size_t nbytes,
                       bool with_source)
{
    int status = allocate(run, options, nbytes, with_source);

    if (status == 0) touch(run, nbytes);
    status = bench_worst(status);
    if (status == ENOBUFS)
        bench_say(run,
                  "the symmetric heap has no room for %zu bytes: "
                  "raise SHMEM_SYMMETRIC_SIZE, or lower --sizes, --buffers or --align",
                  (with_source ? 2 : 1) * (nbytes + options->align + options->offset_remote) +
                      sizeof(struct bench_shared));
    else if (status != 0)
        bench_say(run, "no memory for a private buffer of %zu bytes: lower --sizes", nbytes);
    return status != 0 ? -ENOMEM : 0;
}

void bench_buffers_free(struct bench_run *run)
{
    free(whole.local);
    free(run->shared_of);
    free(run->remote_of);
    if (whole.source != NULL) shmem_free(whole.source);
    if (whole.remote != NULL) shmem_free(whole.remote);
    if (run->shared != NULL) shmem_free(run->shared);
    memset(&whole, 0, sizeof(whole));
    run->shared = NULL;
    run->shared_of = NULL;
    run->remote_of = NULL;
    run->remote = run->source = run->local = NULL;
}

/* ---- caches ------------------------------------------------------------------- */

/* From all caches of the host: on these processors an instruction says so. */
static inline void flush_line(const char *at)
{
#if defined(__x86_64__)
    __builtin_ia32_clflush(at);
#elif defined(__aarch64__)
    __asm__ __volatile__("dc civac, %0" ::"r"(at) : "memory");
#else
    (void)at;
#endif
}

bool bench_can_flush(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

static void flush(const char *memory, size_t nbytes)
{
    for (size_t i = 0; memory != NULL && i < nbytes; i += 64)
        flush_line(memory + i);
    if (memory != NULL && nbytes > 0) flush_line(memory + nbytes - 1);
}

void bench_flush_caches(const struct bench *bench, const struct bench_run *run)
{
    if (run->kind == BENCH_KIND_GPU) return;
    flush(run->remote, run->span);
    flush(bench->in_source ? run->source : run->local, run->span);
    if (run->fabric != NULL) {
        flush(run->fabric->memory, run->span);
        flush(run->fabric->memory + run->region, run->span);
    }
    bench_full_fence();
}
