/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of memory spaces: creates a CPU space or ends the test, destroys a space
 * with its team, and checks that all PEs got the same value. "S<n>" is row S<n> of
 * docs/reference/conformance-spaces.md; "P" is the text of the proposal.
 */
#ifndef STEPPE_TEST_PE_SPACES_H
#define STEPPE_TEST_PE_SPACES_H

#include "pe_data.h"

enum { PE_MIB = 1024 * 1024 };

static inline shmem_space_config_t pe_cpu_config(size_t size)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_CPU, .size = size, .flags = SHMEM_SPACE_FLAG_DEFAULT};

    return config;
}

static inline shmem_space_t pe_space_create(size_t size, shmem_team_t *team)
{
    shmem_space_config_t config = pe_cpu_config(size);
    shmem_space_t space = SHMEM_SPACE_INVALID;
    int rc = shmem_space_create(&config, &space, team);

    PE_REQUIRE(
        rc == 0 && space != SHMEM_SPACE_INVALID,
        "shmem_space_create of a CPU space of %zu bytes returned %d, expected 0 and a valid handle",
        size, rc);
    return space;
}

static inline void pe_space_end(shmem_space_t space, shmem_team_t team)
{
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* All PEs have the same answer; a PE that differs is named. Collective over the world. */
static inline void pe_check_agreed(long answer, const char *what)
{
    static long answers[1];

    answers[0] = answer;
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++) {
        long theirs = shmem_long_g(answers, pe);

        PE_CHECK(theirs == answer, "%s: PEs differ: %ld here, %ld on pe %d", what, answer, theirs,
                 pe);
    }
    shmem_barrier_all();
}

#endif
