/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation in a memory space, and what a space says about itself.
 *
 * Creates a CPU space, asks for its team, kind and capabilities, allocates with malloc and calloc,
 * moves data between the PEs by put and by atomics, and frees all. Checks every result; all PEs
 * return the same exit status. Runs with any number of PEs.
 *
 *     oshcc space_alloc.c -o space_alloc && oshrun -n 4 ./space_alloc
 */
#include <shmem.h>

#include <inttypes.h>
#include <stdio.h>

#define NELEMS 16
#define NEEDED (SHMEM_SPACE_CAP_RMA | SHMEM_SPACE_CAP_ATOMICS | SHMEM_SPACE_CAP_COLLECTIVES)

static int n_errors; /* found by this PE; a global, so the reduction below may read it */
static int n_errors_all;

static void check(int ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "space_alloc: PE %d: wrong: %s\n", shmem_my_pe(), what);
    n_errors++;
}

static void query_space(shmem_space_t space, shmem_team_t space_team)
{
    shmem_device_type_t type;
    shmem_space_cap_t caps = 0;
    shmem_team_t team;

    check(shmem_space_get_team(space, &team) == 0 && team == space_team, "team of the space");
    check(shmem_space_get_device_type(space, &type) == 0 && type == SHMEM_DEVICE_CPU,
          "device type of the space");
    check(shmem_space_get_caps(space, &caps) == 0 && (caps & NEEDED) == NEEDED,
          "capabilities of the space");
    if (shmem_team_my_pe(space_team) == 0)
        printf("space_alloc: CPU space of %d PEs, capabilities 0x%" PRIx64 "\n",
               shmem_team_n_pes(space_team), (uint64_t)caps);
}

/* Each member writes its numbers into b of the next one, and counts there in the last element. */
static void exchange(shmem_team_t space_team, int *a, int *b)
{
    int rank = shmem_team_my_pe(space_team);
    int n = shmem_team_n_pes(space_team);
    int right = shmem_team_translate_pe(space_team, (rank + 1) % n, SHMEM_TEAM_WORLD);
    int left = (rank + n - 1) % n;
    int ok = 1;

    for (int i = 0; i < NELEMS; i++)
        ok = ok && b[i] == 0;
    check(ok, "calloc did not clear");

    for (int i = 0; i < NELEMS; i++)
        a[i] = 100 * rank + i;
    shmem_team_sync(space_team);
    shmem_int_put(b, a, NELEMS - 1, right);
    shmem_int_atomic_add(&b[NELEMS - 1], rank + 1, right);
    shmem_quiet();
    shmem_team_sync(space_team);

    ok = 1;
    for (int i = 0; i < NELEMS - 1; i++)
        ok = ok && b[i] == 100 * left + i;
    check(ok, "put into the space");
    check(b[NELEMS - 1] == left + 1, "atomic add in the space");
}

static void use_space(shmem_space_t space, shmem_team_t space_team)
{
    int *a = shmem_space_malloc(space, NELEMS * sizeof(int));
    int *b = shmem_space_calloc(space, NELEMS, sizeof(int));
    void *too_much = shmem_space_malloc(space, (size_t)1 << 40);

    query_space(space, space_team);
    check(shmem_space_malloc(space, 0) == NULL, "malloc of nothing gave a block");
    check(too_much == NULL, "malloc beyond the space gave a block");
    check(a != NULL && b != NULL, "no room in the space");
    if (a != NULL && b != NULL) exchange(space_team, a, b);

    shmem_space_free(space, a);
    shmem_space_free(space, b);
    shmem_team_destroy(space_team);
    check(shmem_space_destroy(space) == 0, "shmem_space_destroy");
}

int main(void)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_CPU,
        .size = 128 * 1024 * 1024,
        .flags = SHMEM_SPACE_FLAG_DEFAULT,
    };
    shmem_space_t space;
    shmem_team_t space_team;

    shmem_init();
    if (shmem_space_create(&config, &space, &space_team) != 0)
        check(0, "shmem_space_create failed");
    else if (shmem_team_is_valid(space_team))
        use_space(space, space_team);

    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &n_errors_all, &n_errors, 1);
    if (shmem_my_pe() == 0 && n_errors_all == 0)
        printf("space_alloc: malloc, calloc, put and atomics in a CPU space on %d PEs: "
               "all right\n",
               shmem_n_pes());
    shmem_finalize();
    return n_errors_all == 0 ? 0 : 1;
}
