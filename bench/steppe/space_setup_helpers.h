/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys spaces for benches, and checks which memory kinds are available.
 */
#ifndef STEPPE_BENCH_SPACE_SETUP_HELPERS_H
#define STEPPE_BENCH_SPACE_SETUP_HELPERS_H

#include "portable/harness.h"

struct bench_space {
    shmem_space_t space;
    shmem_team_t team;
    char *memory; /* block that was allocated in the space, or NULL */
};

/*
 * Creates a space of kind run->kind, and allocates a block of alloc_bytes in it. Collective.
 * Returns 0, or -errno on all PEs with the reason in `reason`.
 */
int bench_space_make(const struct bench_run *run, size_t nbytes, size_t alloc_bytes,
                     struct bench_space *space, char *reason, size_t len);
/* Frees the block and destroys the space. Collective. */
void bench_space_drop(struct bench_space *space);

/*
 * Sets run->remote to `remote`, so that puts and gets access this memory on the peer. The memory is
 * in `space`, or in the symmetric heap if `space` is NULL.
 */
void bench_use_remote(struct bench_run *run, const struct bench_space *space, char *remote);
/* Sets run->remote and run->local to the symmetric heap and private memory again. */
void bench_use_heap(struct bench_run *run);

/*
 * Checks whether every PE can create spaces of kind run->kind. The first call for a kind does the
 * check, and later calls return the same result. For GPUs, the first call also opens the raw CUDA
 * driver. Collective. Returns 0, or -errno on all PEs with the reason in `reason`.
 */
int bench_kind_check(struct bench_run *run, char *reason, size_t len);

/* Implements the member describe_gpu of struct bench_extras. */
void bench_describe_gpu(struct bench_run *run, struct bench_machine *machine);

#endif /* STEPPE_BENCH_SPACE_SETUP_HELPERS_H */
