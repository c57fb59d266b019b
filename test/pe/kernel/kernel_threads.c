/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that two threads create and destroy handles for kernels, each for its own team, while a
 * third thread creates and destroys spaces. A handle keeps the spaces that it uses, does not use
 * the words of another handle, and at the end no space is left.
 */
#include "pe_leaks.h"
#include "pe_threads.h"

#include <shmemx.h>
#include <shmemx_device.h>

#include <unistd.h>

enum { MAKERS = 2, ROUNDS = 60, NBYTES = 65536 };

static uint64_t words[MAKERS]; /* symmetric: one for each thread */
static int n_ended;

struct maker {
    pthread_t thread;
    shmem_team_t team;
    int id;
};

static void *make_handles(void *arg)
{
    const struct maker *mine = arg;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        shmemx_device_handle_t handle;

        PE_REQUIRE(shmemx_device_handle_create(mine->team, NULL, &handle) == 0,
                   "shmemx_device_handle_create in a thread failed");
        shmemx_dev_uint64_p(&handle, &words[mine->id], round, pe_right());
        shmemx_dev_barrier(&handle);
        PE_CHECK_EQ(*(volatile uint64_t *)&words[mine->id], round);
        shmemx_dev_barrier(&handle); /* the next round's comes after everybody's look */
        PE_CHECK_EQ(shmemx_device_handle_destroy(&handle), 0);
    }
    __atomic_fetch_add(&n_ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A space that a handle has meanwhile is kept from its end: on all members, who try again. */
static void make_spaces(shmem_team_t parent)
{
    shmem_space_config_t config = {SHMEM_DEVICE_CPU, NBYTES, SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;

    attr.parent = parent;
    for (int round = 0; round < ROUNDS; round++) {
        shmem_space_t space;
        shmem_team_t team;
        char *block;

        PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, &team) == 0,
                   "shmemx_space_create_attr beside handles failed");
        shmem_team_destroy(team);
        block = shmem_space_calloc(space, 1, NBYTES / 2);
        PE_REQUIRE(block != NULL, "shmem_space_calloc returned NULL");
        memset(block, round, NBYTES / 2);
        shmem_space_free(space, block);
        while (shmem_space_destroy(space) != 0)
            usleep(500);
    }
}

int main(void)
{
    struct maker makers[MAKERS];
    shmem_team_t team;
    char left[256];

    PE_REQUIRE(pe_threads_begin(), "the library does not provide SHMEM_THREAD_MULTIPLE");
    for (int i = 0; i < MAKERS; i++) {
        makers[i].id = i;
        PE_REQUIRE(shmemx_team_duplicate(SHMEM_TEAM_WORLD, &makers[i].team) == 0,
                   "shmemx_team_duplicate of the world failed");
    }
    PE_REQUIRE(shmemx_team_duplicate(SHMEM_TEAM_WORLD, &team) == 0,
               "shmemx_team_duplicate of the world failed");
    for (int i = 0; i < MAKERS; i++)
        makers[i].thread = pe_thread(make_handles, &makers[i]);
    make_spaces(team);
    for (int i = 0; i < MAKERS; i++) {
        pthread_join(makers[i].thread, NULL);
        shmem_team_destroy(makers[i].team);
    }
    shmem_team_destroy(team);
    PE_CHECK_EQ(n_ended, MAKERS);
    PE_CHECK(pe_space_numbers(left, sizeof(left))[0] == '\0',
             "these spaces are left at the end: %s", left);
    return pe_test_end();
}
