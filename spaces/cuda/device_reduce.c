/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file performs reductions and scans with a kernel on the device. The kernel reads and writes
 * this PE's part of a space and the peers' parts directly, because all these parts are mapped in
 * this process. The kernel is loaded when the first part of a peer is mapped. Design:
 * docs/design/cuda.md.
 */
#include "cuda.h"

#include "device_reduce_kernel_body.h"

#include <errno.h>
#include <stdlib.h>

#define REDUCE_THREADS 256 /* number of threads in each block of the kernel */
/*
 * Maximum number of blocks of a launch. If there are more elements than threads, a thread processes
 * several elements.
 */
#define REDUCE_BLOCKS 64

/* PTX of device_reduce.cu. */
static const char reduce_ptx[] =
#include "device_reduce_ptx.inc"
    ;

_Static_assert(STP_REDUCTION_PARTS <= STP_REDUCE_MOST,
               "one launch must accept all parts of a reduction");
_Static_assert((int)STP_REDUCE_AND == STP_AND && (int)STP_REDUCE_OR == STP_OR &&
                   (int)STP_REDUCE_XOR == STP_XOR && (int)STP_REDUCE_MAX == STP_MAX &&
                   (int)STP_REDUCE_MIN == STP_MIN && (int)STP_REDUCE_SUM == STP_SUM &&
                   (int)STP_REDUCE_PROD == STP_PROD,
               "operators must have the numbers of base.h");
_Static_assert((int)STP_REDUCE_I8 == STP_I8 && (int)STP_REDUCE_U8 == STP_U8 &&
                   (int)STP_REDUCE_I16 == STP_I16 && (int)STP_REDUCE_U16 == STP_U16 &&
                   (int)STP_REDUCE_I32 == STP_I32 && (int)STP_REDUCE_U32 == STP_U32 &&
                   (int)STP_REDUCE_I64 == STP_I64 && (int)STP_REDUCE_U64 == STP_U64 &&
                   (int)STP_REDUCE_F32 == STP_F32 && (int)STP_REDUCE_F64 == STP_F64,
               "types must have the numbers of base.h");
_Static_assert((int)STP_REDUCE_ALL == STP_SPAN_ALL && (int)STP_REDUCE_UPTO == STP_SPAN_INCLUSIVE &&
                   (int)STP_REDUCE_BEFORE == STP_SPAN_EXCLUSIVE,
               "spans must have the numbers of kinds.h");

struct cuda_reducer {
    CUmodule module; /* module with the kernel, or NULL if the driver has refused the kernel */
    CUfunction function;
};

/*
 * Guards the field reducer of each struct cuda_device. A struct cuda_reducer does not change any
 * more after it was stored in this field. This lock is taken before stp_cuda.lock.
 */
static pthread_mutex_t reduce_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- loading the kernel ------------------------------------------------------------------- */

static CUresult reduce_launch(const struct cuda_reducer *reducer, CUstream stream,
                              struct stp_reduce_job *job)
{
    uint64_t blocks = (job->nelems + REDUCE_THREADS - 1) / REDUCE_THREADS;
    void *params[] = {job};

    if (blocks == 0) blocks = 1;
    if (blocks > REDUCE_BLOCKS) blocks = REDUCE_BLOCKS;
    return stp_cuda.api.launch_kernel(reducer->function, (unsigned)blocks, 1, 1, REDUCE_THREADS, 1,
                                      1, 0, stream, params, NULL);
}

/*
 * Launches the kernel without any elements. Some drivers load a kernel only at its first launch,
 * and the load may wait until other kernels end. This early launch prevents such a wait during a
 * reduction.
 */
static CUresult reduce_launch_first(const struct cuda_reducer *reducer, const char **call)
{
    const struct stp_cuda_api *api = &stp_cuda.api;
    struct stp_reduce_job empty = {0};
    CUstream stream;
    CUresult result;

    *call = "cuStreamCreate";
    result = api->stream_create(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return result;
    *call = "cuLaunchKernel";
    result = reduce_launch(reducer, stream, &empty);
    if (result == CUDA_SUCCESS) {
        *call = "cuStreamSynchronize";
        result = api->stream_synchronize(stream);
    }
    stp_cuda_log_failure(api->stream_destroy(stream), "cuStreamDestroy");
    return result;
}

/* Loads the kernel and launches it once. The caller has made the device's context current. */
static CUresult reduce_fill(struct cuda_reducer *reducer, const char **call)
{
    const struct stp_cuda_api *api = &stp_cuda.api;
    CUresult result;

    *call = "cuModuleLoadData";
    if (api->module_load == NULL || api->module_unload == NULL ||
        api->module_get_function == NULL || api->launch_kernel == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    result = api->module_load(&reducer->module, reduce_ptx);
    if (result != CUDA_SUCCESS) return result;
    *call = "cuModuleGetFunction";
    result = api->module_get_function(&reducer->function, reducer->module, "stp_reduce");
    if (result != CUDA_SUCCESS) return result;
    return reduce_launch_first(reducer, call);
}

static void reduce_make_locked(struct cuda_device *device)
{
    struct cuda_reducer *reducer = calloc(1, sizeof(*reducer));
    char text[CUDA_TEXT];
    const char *call;
    CUresult result;

    if (reducer == NULL || stp_cuda_retain_and_enter(device) != 0) {
        free(reducer);
        return;
    }
    result = reduce_fill(reducer, &call);
    if (result != CUDA_SUCCESS && reducer->module != NULL) {
        stp_cuda_log_failure(stp_cuda.api.module_unload(reducer->module), "cuModuleUnload");
        reducer->module = NULL;
    }
    stp_cuda_leave();
    if (result != CUDA_SUCCESS)
        stp_info("gpu %d does not accept the library's kernel for reductions, so the host "
                 "performs reductions: %s: %s",
                 device->ordinal, call, stp_cuda_text(result, text, sizeof(text)));
    device->reducer = reducer;
}

/*
 * Returns the device's kernel. The first call loads the kernel. Returns NULL if the kernel cannot
 * be loaded or if SHMEM_GPU_REDUCE is off.
 */
static const struct cuda_reducer *reduce_get_kernel(struct cuda_device *device)
{
    const struct cuda_reducer *reducer;

    if (!stp_env.gpu_reduce) return NULL;
    pthread_mutex_lock(&reduce_lock);
    if (device->reducer == NULL) reduce_make_locked(device);
    reducer = device->reducer;
    pthread_mutex_unlock(&reduce_lock);
    return reducer != NULL && reducer->module != NULL ? reducer : NULL;
}

void stp_cuda_reduce_prepare(struct cuda_device *device)
{
    (void)reduce_get_kernel(device);
}

void stp_cuda_reduce_unload(struct cuda_device *device)
{
    struct cuda_reducer *reducer;

    pthread_mutex_lock(&reduce_lock);
    reducer = device->reducer;
    device->reducer = NULL;
    pthread_mutex_unlock(&reduce_lock);
    if (reducer == NULL) return;
    if (reducer->module != NULL && stp_cuda_enter(device) == 0) {
        stp_cuda_log_failure(stp_cuda.api.module_unload(reducer->module), "cuModuleUnload");
        stp_cuda_leave();
    }
    free(reducer);
    stp_cuda_context_unref(device);
}

/* ---- one reduction ------------------------------------------------------------------------ */

/*
 * Returns the device in whose context all sources and destinations are mapped, or NULL if there is
 * no such device. Also returns NULL if an address is not a multiple of the element size, because a
 * kernel cannot access such an element. The host can reduce unaligned elements.
 */
static struct cuda_device *reduce_device(const struct stp_reduction *reduction)
{
    struct cuda_device *device = stp_cuda_location(reduction->dests[0]).device;
    size_t size = stp_dtype_size(reduction->dtype);

    for (int i = 0; i < reduction->n; i++) {
        const void *source = reduction->sources[i], *dest = reduction->dests[i];

        if (((uintptr_t)source | (uintptr_t)dest) % size != 0 ||
            stp_cuda_location(source).device != device || stp_cuda_location(dest).device != device)
            return NULL;
    }
    return device;
}

static bool reduce_has_kernel(enum stp_op op, enum stp_dtype dtype)
{
    return dtype <= STP_F64 && stp_op_valid(op, dtype);
}

static int reduce_run(struct stp_queue *queue, const struct cuda_reducer *reducer,
                      struct cuda_device *device, struct stp_reduce_job *job)
{
    struct cuda_stream *stream = stp_cuda_queue_lock(queue, device);
    int rc;

    if (stream == NULL) return -EIO;
    rc = stp_cuda_check(device, reduce_launch(reducer, stream->handle, job), "cuLaunchKernel");
    if (rc == 0) rc = stp_cuda_stream_wait(stream);
    stp_cuda_queue_unlock(queue);
    return rc;
}

/*
 * Fills in *job with the kernel's arguments. Returns the kernel, or NULL if the device has no
 * kernel for this reduction.
 */
static const struct cuda_reducer *reduce_plan(const struct stp_reduction *reduction,
                                              struct cuda_device *device,
                                              struct stp_reduce_job *job)
{
    const struct cuda_reducer *reducer;

    if (device == NULL || !reduce_has_kernel(reduction->op, reduction->dtype)) return NULL;
    reducer = reduce_get_kernel(device);
    if (reducer == NULL) return NULL;
    *job = (struct stp_reduce_job){.nelems = reduction->nelems,
                                   .op = (uint32_t)reduction->op,
                                   .type = (uint32_t)reduction->dtype,
                                   .n = (uint32_t)reduction->n,
                                   .span = (uint32_t)reduction->span};
    for (int i = 0; i < reduction->n; i++) {
        job->sources[i] = reduction->sources[i];
        job->dests[i] = reduction->dests[i];
    }
    return reducer;
}

int stp_cuda_reduce(struct stp_queue *queue, const struct stp_reduction *reduction)
{
    struct cuda_device *device = reduce_device(reduction);
    struct stp_reduce_job job;
    const struct cuda_reducer *reducer = reduce_plan(reduction, device, &job);

    return reducer != NULL ? reduce_run(queue, reducer, device, &job) : -ENOTSUP;
}

/* ---- operations in the program's streams ---------------------------------------------------- */

bool stp_stream_reduces(const struct stp_stream *stream, const struct stp_reduction *reduction)
{
    struct cuda_device *device = reduce_device(reduction);

    return device != NULL && device->ordinal == stream->device &&
           reduce_has_kernel(reduction->op, reduction->dtype) && reduce_get_kernel(device) != NULL;
}

int stp_stream_reduction(const struct stp_stream *stream, const struct stp_reduction *reduction)
{
    struct cuda_device *device = &stp_cuda.devices[stream->device];
    struct stp_reduce_job job;
    const struct cuda_reducer *reducer = reduce_plan(reduction, device, &job);

    if (reducer == NULL) return -ENOTSUP;
    return stp_cuda_check(device, reduce_launch(reducer, stream->handle, &job), "cuLaunchKernel");
}
