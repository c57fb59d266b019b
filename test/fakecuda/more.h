/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the functions of the CUDA driver API that programs and tests use and the library does
 * not, in the style of spaces/cuda/cuda_api.h, which this header extends: contexts, synchronous
 * copies, memory by handles, captures. For the fake driver and the tests.
 */
#ifndef STP_FAKECUDA_MORE_H
#define STP_FAKECUDA_MORE_H

#include "spaces/cuda/cuda_api.h"

typedef unsigned long long CUmemGenericAllocationHandle;

typedef struct {
    int type;
    int id; /* of a device: its ordinal */
} CUmemLocation;

typedef struct {
    int type;
    int requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;

typedef struct {
    CUmemLocation location;
    int flags;
} CUmemAccessDesc;

_Static_assert(sizeof(CUmemAllocationProp) == 32, "the driver's ABI fixes this size");
_Static_assert(sizeof(CUmemAccessDesc) == 12, "the driver's ABI fixes this size");

#define CUDA_ERROR_NOT_INITIALIZED ((CUresult)3)
#define CUDA_ERROR_DEVICE_UNAVAILABLE ((CUresult)46)
#define CUDA_ERROR_INVALID_DEVICE ((CUresult)101)
#define CUDA_ERROR_INVALID_IMAGE ((CUresult)200)
#define CUDA_ERROR_MAP_FAILED ((CUresult)205)
#define CUDA_ERROR_ALREADY_MAPPED ((CUresult)208)
#define CUDA_ERROR_PEER_ACCESS_UNSUPPORTED ((CUresult)217)
#define CUDA_ERROR_INVALID_PTX ((CUresult)218)
#define CUDA_ERROR_UNSUPPORTED_PTX_VERSION ((CUresult)222)
#define CUDA_ERROR_OPERATING_SYSTEM ((CUresult)304)
#define CUDA_ERROR_INVALID_HANDLE ((CUresult)400)
#define CUDA_ERROR_NOT_FOUND ((CUresult)500)
#define CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ((CUresult)712)
#define CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ((CUresult)713)

#define CU_MEMORYTYPE_ARRAY ((CUmemorytype)3)
#define CU_STREAM_CAPTURE_STATUS_ACTIVE ((CUstreamCaptureStatus)1)

enum {
    CU_CTX_SCHED_AUTO = 0x00,
    CU_STREAM_DEFAULT = 0x0,
    CU_MEM_ATTACH_GLOBAL = 0x1,
    CU_MEM_ALLOCATION_TYPE_PINNED = 0x1,
    CU_MEM_LOCATION_TYPE_DEVICE = 0x1,
    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 0x1,
    CU_MEM_ACCESS_FLAGS_PROT_READ = 0x1,
    CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 0x3,
};

typedef enum { CU_STREAM_CAPTURE_MODE_RELAXED = 2 } CUstreamCaptureMode;

/* Functions beside STP_CUDA_FUNCTIONS, as tests call them: X(member, symbol, arguments). */
#define FAKE_DRIVER_FUNCTIONS(X)                                                                   \
    X(driver_version, cuDriverGetVersion, (int *version))                                          \
    /* contexts */                                                                                 \
    X(ctx_get_current, cuCtxGetCurrent, (CUcontext * ctx))                                         \
    X(ctx_set_current, cuCtxSetCurrent, (CUcontext ctx))                                           \
    X(ctx_create, cuCtxCreate_v2, (CUcontext * ctx, unsigned int flags, CUdevice device))          \
    X(ctx_destroy, cuCtxDestroy_v2, (CUcontext ctx))                                               \
    X(ctx_synchronize, cuCtxSynchronize, (void))                                                   \
    /* memory, and memory by handles, mapped where addresses were reserved */                      \
    X(mem_alloc_managed, cuMemAllocManaged,                                                        \
      (CUdeviceptr * address, size_t nbytes, unsigned int flags))                                  \
    X(mem_address_reserve, cuMemAddressReserve,                                                    \
      (CUdeviceptr * address, size_t nbytes, size_t alignment, CUdeviceptr wanted,                 \
       unsigned long long flags))                                                                  \
    X(mem_address_free, cuMemAddressFree, (CUdeviceptr address, size_t nbytes))                    \
    X(mem_create, cuMemCreate,                                                                     \
      (CUmemGenericAllocationHandle * handle, size_t nbytes, const CUmemAllocationProp *prop,      \
       unsigned long long flags))                                                                  \
    X(mem_release, cuMemRelease, (CUmemGenericAllocationHandle handle))                            \
    X(mem_map, cuMemMap,                                                                           \
      (CUdeviceptr address, size_t nbytes, size_t offset, CUmemGenericAllocationHandle handle,     \
       unsigned long long flags))                                                                  \
    X(mem_unmap, cuMemUnmap, (CUdeviceptr address, size_t nbytes))                                 \
    X(mem_set_access, cuMemSetAccess,                                                              \
      (CUdeviceptr address, size_t nbytes, const CUmemAccessDesc *access, size_t count))           \
    /* copies */                                                                                   \
    X(memcpy_htod, cuMemcpyHtoD_v2, (CUdeviceptr dest, const void *source, size_t nbytes))         \
    X(memcpy_dtoh, cuMemcpyDtoH_v2, (void *dest, CUdeviceptr source, size_t nbytes))               \
    /* streams */                                                                                  \
    X(stream_begin_capture, cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))

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

/* The functions of both lists that have members, as tests find them by dlsym(). */
struct fake_cuda_api {
#define FAKE_MEMBER(member, symbol, required, arguments) CUresult(*member) arguments;
    STP_CUDA_FUNCTIONS(FAKE_MEMBER)
#undef FAKE_MEMBER
#define FAKE_MEMBER(member, symbol, arguments) CUresult(*member) arguments;
    FAKE_DRIVER_FUNCTIONS(FAKE_MEMBER)
#undef FAKE_MEMBER
};

#endif /* STP_FAKECUDA_MORE_H */
