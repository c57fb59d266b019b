/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Without arguments, checks the arguments of shmemx_space_persist(). With arguments, runs steps on
 * a named space from the state that an earlier job made durable: the left PE writes a cell, its
 * owner makes the cell and then a count durable, and records the count in a file.
 * run_space_persist.sh kills these jobs.
 *
 * usage: space_persist [<directory of the records> <steps>]
 */
#include "pe_test.h"

#include <shmemx.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { CELLS = 12, WORDS = 512 };

struct part {
    uint64_t cells[CELLS][WORDS];
    uint64_t done;
};

static uint64_t here[WORDS], first, last_done; /* symmetric: globals */

static shmem_space_t create(shmem_device_type_t type, const char *name, size_t nbytes,
                            shmem_team_t *team)
{
    shmem_space_config_t config = {.device_type = type, .size = nbytes};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space = SHMEM_SPACE_INVALID;

    attr.name = name;
    attr.flags = name != NULL ? SHMEMX_SPACE_KEEP : 0;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, team) == 0,
               "shmemx_space_create_attr failed");
    PE_REQUIRE(space != SHMEM_SPACE_INVALID,
               "shmemx_space_create_attr returned SHMEM_SPACE_INVALID on this PE");
    return space;
}

static void destroy(shmem_space_t space, shmem_team_t team)
{
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

/* ---- what is refused --------------------------------------------------------------------- */

static void check_arguments(void)
{
    shmem_team_t team, cpu_team;
    shmem_space_t space = create(SHMEM_DEVICE_FAM, NULL, 3 * 4096, &team);
    shmem_space_t cpu = create(SHMEM_DEVICE_CPU, NULL, 4096, &cpu_team);
    char *block = shmem_space_malloc(space, 3 * 4096), *on_cpu = shmem_space_malloc(cpu, 64);

    PE_CHECK_EQ(shmemx_space_persist(space, block, 3 * 4096), 0);
    PE_CHECK_EQ(shmemx_space_persist(space, block + 4095, 2), 0);
    PE_CHECK_EQ(shmemx_space_persist(space, block + 1, 0), 0);
    PE_CHECK(shmemx_space_persist(space, block + 1, 3 * 4096) != 0,
             "persist of one byte past the end of the space returned 0, expected an error");
    PE_CHECK(shmemx_space_persist(space, block - 1, 1) != 0,
             "persist of the byte before the space returned 0, expected an error");
    PE_CHECK(shmemx_space_persist(space, block, SIZE_MAX) != 0,
             "persist of SIZE_MAX bytes returned 0, expected an error");
    PE_CHECK(shmemx_space_persist(space, here, 8) != 0,
             "persist of a global returned 0, expected an error");
    PE_CHECK(shmemx_space_persist(cpu, on_cpu, 8) != 0,
             "persist in a CPU space returned 0, expected an error");
    PE_CHECK(shmemx_space_persist(SHMEM_SPACE_INVALID, block, 8) != 0,
             "shmemx_space_create_attr failed");
    shmem_space_free(cpu, on_cpu);
    shmem_space_free(space, block);
    destroy(cpu, cpu_team);
    destroy(space, team);
}

/* ---- rounds ------------------------------------------------------------------------------- */

/* What this PE said before: 0 when nothing. */
static int witness_open(const char *directory, uint64_t *said)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/said.%d", directory, pe_me);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    PE_REQUIRE(fd >= 0, "%s cannot be opened", path);
    if (pread(fd, said, sizeof(*said), 0) != sizeof(*said)) *said = 0;
    return fd;
}

/* The last step may have been under way to any cell but those of the steps that were counted. */
static void check_part(const struct part *part, uint64_t said)
{
    uint64_t oldest = part->done > CELLS - 2 ? part->done - (CELLS - 2) : 1;

    PE_CHECK(part->done >= said, "LOST: %" PRIu64 " steps were durable, %" PRIu64 " are there",
             said, part->done);
    for (uint64_t step = oldest; step <= part->done; step++)
        for (int i = 0; i < WORDS; i++)
            if (!PE_CHECK(part->cells[step % CELLS][i] == step,
                          "LOST: word %d of step %" PRIu64 " of %" PRIu64 " is %" PRIu64, i, step,
                          part->done, part->cells[step % CELLS][i]))
                break;
}

static void run_step(shmem_space_t space, struct part *part, uint64_t step, int witness)
{
    uint64_t *cell = part->cells[step % CELLS];

    for (int i = 0; i < WORDS; i++)
        here[i] = step;
    shmem_put64(cell, here, WORDS, (pe_me + 1) % pe_n);
    shmem_barrier_all();
    PE_REQUIRE(shmemx_space_persist(space, cell, sizeof(part->cells[0])) == 0,
               "persist of a cell failed");
    part->done = step;
    PE_REQUIRE(shmemx_space_persist(space, &part->done, sizeof(part->done)) == 0,
               "persist of the count failed");
    PE_REQUIRE(pwrite(witness, &step, sizeof(step), 0) == sizeof(step),
               "writing the record of the durable step failed");
    shmem_barrier_all(); /* the next step may use the cell that this PE relies on */
}

static void run(const char *directory, uint64_t steps)
{
    shmem_team_t team;
    shmem_space_t space = create(SHMEM_DEVICE_FAM, "persist", sizeof(struct part), &team);
    struct part *part = shmem_space_malloc(space, sizeof(*part));
    uint64_t said;
    int witness = witness_open(directory, &said);

    PE_REQUIRE(part != NULL, "shmem_space_malloc of the part returned NULL");
    check_part(part, said);
    last_done = part->done;
    shmem_uint64_min_reduce(SHMEM_TEAM_WORLD, &first, &last_done, 1);
    for (uint64_t step = first + 1; step <= first + steps; step++)
        run_step(space, part, step, witness);
    close(witness);
    shmem_space_free(space, part);
    destroy(space, team);
}

int main(int argc, char **argv)
{
    pe_test_begin();
    if (argc == 3)
        run(argv[1], strtoull(argv[2], NULL, 10));
    else
        check_arguments();
    return pe_test_end();
}
