/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys spaces for benches. Finds out which memory kinds are available on all PEs.
 */
#include "portable/harness.h"
#include "raw_cuda_driver.h"
#include "space_setup_helpers.h"

#include <errno.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#define SMALL ((size_t)64 << 10) /* size of a space that is created only to test a kind */

_Static_assert((int)BENCH_KIND_GPU == SHMEM_DEVICE_GPU && (int)BENCH_KIND_FAM == SHMEM_DEVICE_FAM,
               "bench_definition.h has the kinds of shmem.h");

/* ---- one space ------------------------------------------------------------------- */

int bench_space_make(const struct bench_run *run, size_t nbytes, size_t alloc_bytes,
                     struct bench_space *space, char *reason, size_t len)
{
    shmem_space_config_t config = {
        .device_type = (shmem_device_type_t)run->kind,
        .size = nbytes,
        .flags = SHMEM_SPACE_FLAG_DEFAULT,
    };
    bool no_room;

    *space = (struct bench_space){SHMEM_SPACE_INVALID, SHMEM_TEAM_INVALID, NULL};
    if (shmem_space_create(&config, &space->space, &space->team) != 0) {
        snprintf(reason, len, "cannot create a space of kind %s with %zu bytes",
                 bench_kind_name(run->kind), nbytes);
        return -ENODEV;
    }
    if (bench_worst(space->space == SHMEM_SPACE_INVALID) != 0) {
        snprintf(reason, len, "at least one PE has no memory of kind %s",
                 bench_kind_name(run->kind));
        bench_space_drop(space);
        return -ENODEV;
    }
    space->memory = alloc_bytes > 0 ? shmem_space_calloc(space->space, 1, alloc_bytes) : NULL;
    no_room = alloc_bytes > 0 && space->memory == NULL;
    if (bench_worst(no_room) == 0) return 0;
    snprintf(reason, len, "a space of %zu bytes has no room for an allocation of %zu bytes", nbytes,
             alloc_bytes);
    bench_space_drop(space);
    return -ENOMEM;
}

void bench_space_drop(struct bench_space *space)
{
    if (space->memory != NULL) shmem_space_free(space->space, space->memory);
    if (space->team != SHMEM_TEAM_INVALID) shmem_team_destroy(space->team);
    if (space->space != SHMEM_SPACE_INVALID) shmem_space_destroy(space->space);
    *space = (struct bench_space){SHMEM_SPACE_INVALID, SHMEM_TEAM_INVALID, NULL};
}

/* ---- available kinds of memory ------------------------------------------------------ */

/*
 * Asks the CUDA driver whether every PE has a GPU. An attempt to create a GPU space would instead
 * print an error of the library on PEs without a GPU.
 */
static int check_gpu(struct bench_run *run, char *reason, size_t len)
{
    int status = raw_cuda_load(reason, len);

    if (bench_worst(status != 0) == 0) return 0;
    if (status == 0) snprintf(reason, len, "another PE has no GPU");
    (void)run;
    return -ENODEV;
}

/*
 * Checks that SHMEM_FAM_PATH is set. Without it, creating a space would print an error of the
 * library.
 */
static int check_fam(char *reason, size_t len)
{
    if (bench_worst(getenv("SHMEM_FAM_PATH") == NULL) == 0) return 0;
    snprintf(reason, len, "kind fam needs SHMEM_FAM_PATH, which is not set");
    return -ENODEV;
}

static int check_space(struct bench_run *run, char *reason, size_t len)
{
    struct bench_space probe;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    int status = bench_space_make(run, SMALL, sizeof(uint64_t), &probe, reason, len);

    if (status != 0) return status;
    (void)shmemx_space_query(probe.space, &info);
    bench_space_drop(&probe);
    if (run->kind != SHMEM_DEVICE_GPU) return 0;
    status = raw_cuda_open(info.device, run->region, &run->cuda, reason, len);
    if (bench_worst(status != 0) == 0) return 0;
    if (status == 0) snprintf(reason, len, "another PE cannot use its GPU");
    return -ENODEV;
}

int bench_kind_check(struct bench_run *run, char *reason, size_t len)
{
    static struct {
        bool checked;
        int status;
        char reason[200];
    } results[BENCH_N_KINDS];
    int kind = run->kind, status = 0;

    if (!results[kind].checked) {
        results[kind].checked = true;
        if (kind == SHMEM_DEVICE_GPU)
            status = check_gpu(run, results[kind].reason, sizeof(results[kind].reason));
        if (kind == SHMEM_DEVICE_FAM)
            status = check_fam(results[kind].reason, sizeof(results[kind].reason));
        if (status == 0)
            status = check_space(run, results[kind].reason, sizeof(results[kind].reason));
        results[kind].status = status;
    }
    if (results[kind].status != 0) snprintf(reason, len, "%s", results[kind].reason);
    return results[kind].status;
}

void bench_describe_gpu(struct bench_run *run, struct bench_machine *machine)
{
    char reason[200];

    run->kind = SHMEM_DEVICE_GPU;
    if (bench_kind_check(run, reason, sizeof(reason)) != 0) return;
    snprintf(machine->gpu, sizeof(machine->gpu), "%s", run->cuda->device);
    snprintf(machine->driver, sizeof(machine->driver), "%s", run->cuda->driver);
    machine->test_double = run->cuda->test_double;
}

/* ---- memory outside the heap ---------------------------------------------------------- */

void bench_use_remote(struct bench_run *run, const struct bench_space *space, char *remote)
{
    bool host = space == NULL || run->kind != SHMEM_DEVICE_GPU;

    run->remote = remote;
    run->remote_ptr = host && run->peer >= 0 ? shmem_ptr(remote, run->peer) : NULL;
    run->space_path = NULL;
    if (space == NULL || run->peer < 0) return;
    run->space_path = shmemx_space_path_name(shmemx_space_path(space->space, run->peer));
}

void bench_use_heap(struct bench_run *run)
{
    run->local = run->host_local;
    run->remote = run->heap_remote;
    run->remote_ptr = run->peer >= 0 ? run->remote_of[run->peer] : NULL;
    run->space_path = NULL;
}
