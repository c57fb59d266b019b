/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs use of the CUDA driver API beside this library, declared as in spaces/cuda/api.h,
 * which this adds to: events, kernels, captures. For the fake driver and its
 * tests.
 */
#ifndef STP_FAKECUDA_MORE_H
#define STP_FAKECUDA_MORE_H

#include "spaces/cuda/api.h"

typedef struct CUgraph_st *CUgraph;

#define CUDA_ERROR_INVALID_IMAGE ((CUresult)200)
#define CUDA_ERROR_INVALID_PTX ((CUresult)218)
#define CUDA_ERROR_UNSUPPORTED_PTX_VERSION ((CUresult)222)
#define CUDA_ERROR_ILLEGAL_STATE ((CUresult)401)
#define CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ((CUresult)901)

#define CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES ((CUdevice_attribute)98)
#define CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ((CUdevice_attribute)122)
#define CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR ((CUdevice_attribute)123)

enum {
    CU_EVENT_BLOCKING_SYNC = 0x1,
    CU_EVENT_DISABLE_TIMING = 0x2,
    CU_STREAM_WAIT_VALUE_AND = 0x2,
    CU_STREAM_WAIT_VALUE_NOR = 0x3,
    CU_STREAM_WAIT_VALUE_FLUSH = 1 << 30,
    CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 0x1
};

typedef enum {
    CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
    CU_STREAM_CAPTURE_MODE_RELAXED = 2
} CUstreamCaptureMode;

/* Every function: X(symbol, arguments). */
#define FAKE_MORE_FUNCTIONS(X)                                                                     \
    /* events */                                                                                   \
    X(cuEventCreate, (CUevent * event, unsigned int flags))                                        \
    X(cuEventDestroy_v2, (CUevent event))                                                          \
    X(cuEventRecord, (CUevent event, CUstream stream))                                             \
    X(cuEventQuery, (CUevent event))                                                               \
    X(cuEventSynchronize, (CUevent event))                                                         \
    X(cuEventElapsedTime, (float *ms, CUevent start, CUevent end))                                 \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags))                     \
    /* captures */                                                                                 \
    X(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))                        \
    X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                      \
    X(cuStreamGetCaptureInfo, (CUstream stream, CUstreamCaptureStatus * status, uint64_t * id))    \
    X(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))                             \
    X(cuGraphDestroy, (CUgraph graph))

/*
 * The host twin of a kernel: a C function that does what all its threads do. It runs when the
 * kernel would, on a thread of the stream. params: where each parameter is, as for cuLaunchKernel.
 * memory: the bytes of a device address that the kernel may touch, NULL when it may not; a twin
 * that gets NULL returns CUDA_ERROR_ILLEGAL_ADDRESS. Returns CUDA_SUCCESS, or the fault that ends
 * the context.
 */
struct fakecuda_launch {
    unsigned int grid[3];
    unsigned int block[3];
    int device; /* ordinal */
    void *(*memory)(CUdeviceptr address, size_t nbytes);
};

typedef CUresult (*fakecuda_twin)(const struct fakecuda_launch *launch, void *const *params);

#endif /* STP_FAKECUDA_MORE_H */
