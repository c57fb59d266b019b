/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fake CUDA driver, a test double and never evidence about a GPU: the host twin of the library's
 * kernel for reductions, spaces/cuda/device_reduce.cu. Twin and kernel share their source,
 * device_reduce_kernel_body.h, which is compiled as C here. The twin uses the addresses of devices;
 * any other address ends the process.
 */
#include "fake.h"

#include <shmemx_device_machine.h>

#include "spaces/cuda/device_reduce_kernel_body.h"

#include <string.h>

static size_t reduce_size(uint32_t type)
{
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

    return sizes[type];
}

/* Elements from at on; false, and nothing done: some part has them not in one block of memory. */
static bool reduce_some(const struct fakecuda_launch *launch, const struct stp_reduce_job *job,
                        uint64_t at, uint64_t nelems)
{
    size_t size = reduce_size(job->type), nbytes = nelems * size;
    uint64_t n_threads = (uint64_t)launch->grid[0] * launch->block[0];
    struct stp_reduce_job here = *job;

    here.nelems = nelems;
    for (uint64_t k = 0; k < job->n; k++) {
        CUdeviceptr source = (CUdeviceptr)(uintptr_t)job->sources[k] + at * size;
        CUdeviceptr dest = (CUdeviceptr)(uintptr_t)job->dests[k] + at * size;

        if (source % size != 0 || dest % size != 0)
            fake_die("a kernel's elements of %zu bytes are at %#llx and %#llx: misaligned", size,
                     (unsigned long long)source, (unsigned long long)dest);
        here.sources[k] = launch->memory(source, nbytes);
        here.dests[k] = launch->memory(dest, nbytes);
        if (here.sources[k] == NULL || here.dests[k] == NULL) return false;
    }
    for (uint64_t thread = 0; thread < n_threads && thread < nelems; thread++)
        stp_reduce_elements(&here, thread, n_threads);
    return true;
}

/* Parts may go over the border of two mappings. */
static void reduce_split(const struct fakecuda_launch *launch, const struct stp_reduce_job *job,
                         uint64_t at, uint64_t nelems)
{
    if (nelems == 0 || reduce_some(launch, job, at, nelems)) return;
    if (nelems == 1) fake_die("a kernel reaches for an element that no device does");
    reduce_split(launch, job, at, nelems / 2);
    reduce_split(launch, job, at + nelems / 2, nelems - nelems / 2);
}

static CUresult reduce(const struct fakecuda_launch *launch, void *const *params)
{
    const struct stp_reduce_job *job = params[0];

    reduce_split(launch, job, 0, job->nelems);
    return CUDA_SUCCESS;
}

fakecuda_twin fake_twin_reduce(const char *name)
{
    return strcmp(name, "stp_reduce") == 0 ? reduce : NULL;
}
