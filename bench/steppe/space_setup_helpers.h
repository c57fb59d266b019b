/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and releases the spaces of benches, for the files of steppe-bench that use spaces.
 */
#ifndef STEPPE_BENCH_SPACE_SETUP_HELPERS_H
#define STEPPE_BENCH_SPACE_SETUP_HELPERS_H

#include "portable/harness.h"

struct bench_space {
    shmem_space_t space;
    shmem_team_t team;
    char *memory; /* block in the space, or NULL */
};

/*
 * Makes a space of run->kind with a block of alloc_bytes. Collective. Returns 0, or -errno on all
 * PEs with the reason in why.
 */
int bench_space_make(const struct bench_run *run, size_t nbytes, size_t alloc_bytes,
                     struct bench_space *made, char *why, size_t len);
void bench_space_drop(struct bench_space *made);

/* Makes puts and gets use remote. remote is in space, or in the heap if space is NULL. */
void bench_use_remote(struct bench_run *run, const struct bench_space *space, char *remote);
void bench_use_heap(struct bench_run *run);

/*
 * Checks once per kind whether every PE can have spaces of run->kind. Collective. Returns 0, or
 * -errno on all PEs with the reason, on PE 0, in why. Loads the raw driver for GPUs.
 */
int bench_kind_check(struct bench_run *run, char *why, size_t len);

/* Implements the member describe_gpu of struct bench_extras. */
void bench_describe_gpu(struct bench_run *run, struct bench_machine *machine);

#endif /* STEPPE_BENCH_SPACE_SETUP_HELPERS_H */
