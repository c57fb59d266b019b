/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spaces that benches make and give back, for the files of steppe-bench that call the library.
 */
#ifndef STEPPE_BENCH_SPACE_SETUP_HELPERS_H
#define STEPPE_BENCH_SPACE_SETUP_HELPERS_H

#include "portable/harness.h"

struct bench_space {
    shmem_space_t space;
    shmem_team_t team;
    char *memory; /* a block in it */
};

/*
 * Make a space of run->kind with a block of block bytes. Collective; 0, or -errno on all PEs alike
 * with the reason in why.
 */
int bench_space_make(const struct bench_run *run, size_t nbytes, size_t alloc_bytes,
                     struct bench_space *made, char *why, size_t len);
void bench_space_drop(struct bench_space *made);

/* Use other memory than the heap's for puts and gets: remote, NULL: the heap's. */
void bench_use_remote(struct bench_run *run, const struct bench_space *space, char *remote);
void bench_use_heap(struct bench_run *run);

/*
 * Can every PE have spaces of run->kind? Asked once a kind. Collective; 0, or -errno on all PEs
 * with the reason, on PE 0, in why. Loads the raw driver for GPUs.
 */
int bench_kind_check(struct bench_run *run, char *why, size_t len);

/* The member describe_gpu of struct bench_extras. */
void bench_describe_gpu(struct bench_run *run, struct bench_machine *machine);

#endif /* STEPPE_BENCH_SPACE_SETUP_HELPERS_H */
