/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: the host twins of the kernels in
 * test/gpu/handle.cu and in the library's spaces/cuda/device_amo.cu. Twins and kernels share their
 * source, shmemx_device.h, which is compiled as C here. The twins use the addresses of devices. Any
 * other address ends the process, and so does an atomic that would not be atomic to others. Each
 * block is a thread.
 */
#include "fake.h"

#include <string.h>

static _Thread_local const struct fakecuda_launch *running;

static void *twin_at(const void *address, size_t nbytes)
{
    void *memory = running->memory((CUdeviceptr)(uintptr_t)address, nbytes);

    if (!memory) fake_die("a kernel reaches for %zu bytes at %p: no device does", nbytes, address);
    return memory;
}

static void twin_atomic(const void *address)
{
    if (!fakecuda_atomic(running, (CUdeviceptr)(uintptr_t)address))
        fake_die("a kernel's atomic at %p is none to others: this device has none there", address);
}

#define SHMEMX_DEV_AT(address, nbytes) ((__typeof__(address))twin_at(address, nbytes))
#define SHMEMX_DEV_ATOMIC_AT(address) twin_atomic(address)
#include <shmemx_device.h>

#include "spaces/cuda/device_amo_kernel_body.h"
#include "test/gpu/handle_ops.h"

enum { MAX_GRID = 64 };

/* A launch of stp_test_handle, and one block of it. */
struct grid {
    const struct fakecuda_launch *launch;
    const shmemx_device_handle_t *handle;
    struct ops_part *parts;
    uint64_t *total;
    struct ops_result *results;
    uint64_t rounds;
};

struct grid_block {
    const struct grid *grid;
    unsigned int number;
};

static uint64_t number(void *const *params, int i)
{
    return *(const uint64_t *)params[i];
}

static void *address(void *const *params, int i)
{
    return (void *)(uintptr_t)number(params, i);
}

static void *run_block(void *arg)
{
    const struct grid_block *block = arg;
    const struct grid *grid = block->grid;
    struct ops_block ops =
        ops_begin(grid->handle, grid->parts, grid->results, block->number, grid->launch->grid[0]);

    fake_running("a block of stp_test_handle");
    running = grid->launch;
    ops_run(&ops, grid->total, grid->rounds);
    return NULL;
}

static CUresult handle_all(const struct fakecuda_launch *launch, void *const *params)
{
    struct grid grid = {.launch = launch,
                        .handle = params[0],
                        .parts = address(params, 1),
                        .total = address(params, 2),
                        .results = address(params, 3),
                        .rounds = number(params, 4)};
    struct grid_block blocks[MAX_GRID];
    pthread_t threads[MAX_GRID];

    if (launch->grid[0] > MAX_GRID) fake_die("%u blocks: %d at most", launch->grid[0], MAX_GRID);
    for (unsigned int i = 0; i < launch->grid[0]; i++) {
        blocks[i] = (struct grid_block){&grid, i};
        if (pthread_create(&threads[i], NULL, run_block, &blocks[i]) != 0)
            fake_die("no thread for block %u", i);
    }
    for (unsigned int i = 0; i < launch->grid[0]; i++)
        pthread_join(threads[i], NULL);
    return CUDA_SUCCESS;
}

static CUresult handle_barrier(const struct fakecuda_launch *launch, void *const *params)
{
    struct ops_block ops = ops_begin(params[0], NULL, address(params, 2), 0, 1);

    running = launch;
    ops_barrier(&ops, address(params, 1), number(params, 3));
    return CUDA_SUCCESS;
}

static CUresult handle_p(const struct fakecuda_launch *launch, void *const *params)
{
    running = launch;
    shmemx_dev_uint64_p(params[0], address(params, 1), number(params, 2), (int)number(params, 3));
    shmemx_dev_quiet(params[0]);
    return CUDA_SUCCESS;
}

/* Until the host stops it, or it has taken times looks. */
static CUresult handle_add(const struct fakecuda_launch *launch, void *const *params)
{
    running = launch;
    ops_add(address(params, 0), address(params, 1), number(params, 2));
    return CUDA_SUCCESS;
}

/* The library's own. */
static CUresult atomic(const struct fakecuda_launch *launch, void *const *params)
{
    running = launch;
    stp_word_atomic(address(params, 0), number(params, 1), number(params, 2), number(params, 3),
                    number(params, 4), address(params, 5));
    return CUDA_SUCCESS;
}

fakecuda_twin fake_twin_handle(const char *name)
{
    static const struct {
        const char *name;
        fakecuda_twin twin;
    } twins[] = {{"stp_test_handle", handle_all},
                 {"stp_test_handle_barrier", handle_barrier},
                 {"stp_test_handle_p", handle_p},
                 {"stp_test_handle_add", handle_add},
                 {"stp_atomic", atomic}};

    for (size_t i = 0; i < sizeof(twins) / sizeof(twins[0]); i++)
        if (strcmp(twins[i].name, name) == 0) return twins[i].twin;
    return fake_twin_reduce(name);
}
