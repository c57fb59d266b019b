/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header declares the part of the CUDA driver API that the library uses. The library opens the
 * driver with dlopen() at run time. One build therefore runs with and without a GPU, and building
 * needs no CUDA installation. The types and constants have the same names as in NVIDIA's cuda.h. On
 * 64-bit Linux, the types also have the same binary layout. The list of functions uses the
 * versioned symbols of libcuda.so.1, for example cuCtxPopCurrent_v2. Never include this header
 * together with NVIDIA's cuda.h. test/fakecuda/more.h declares other driver functions, which only
 * programs and tests call.
 */
#ifndef STP_CUDA_API_H
#define STP_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STP_CUDA_LIBRARY "libcuda.so.1"

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUarray_st *CUarray;
typedef void (*CUhostFn)(void *user);

typedef enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700, /* error after which the context cannot be used any more */
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
    CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum {
    CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,    /* largest row pitch of a 2D copy, in bytes */
    CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20, /* value of type CUcomputemode */
    CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
    CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86,
    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117, /* CU_FLUSH_..._OPTION_ bits */
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING = 118
} CUdevice_attribute;

typedef enum { CU_COMPUTEMODE_PROHIBITED = 2 } CUcomputemode;

typedef enum { CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED = 3 } CUdevice_P2PAttribute;

/* Attributes of an address. Each comment names the type of the attribute's value. */
typedef enum {
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,                 /* unsigned int (values: CUmemorytype) */
    CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6,                 /* unsigned int, which can also be set */
    CU_POINTER_ATTRIBUTE_BUFFER_ID = 7,                   /* unsigned long long */
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,                  /* unsigned int */
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,              /* int */
    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10, /* int */
    CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,           /* CUdeviceptr */
    CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12                  /* size_t */
} CUpointer_attribute;

typedef enum {
    CU_MEMORYTYPE_HOST = 1,
    CU_MEMORYTYPE_DEVICE = 2,
    CU_MEMORYTYPE_UNIFIED = 4 /* the driver derives the type of the memory from the address */
} CUmemorytype;

typedef enum {
    CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD = 1 /* file descriptor, of type int */
} CUmemRangeHandleType;

typedef enum {
    CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX = 0
} CUflushGPUDirectRDMAWritesTarget;

typedef enum { CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER = 100 } CUflushGPUDirectRDMAWritesScope;

typedef enum { CU_STREAM_CAPTURE_STATUS_NONE = 0 } CUstreamCaptureStatus;

/* Flags of several functions. The name of a flag shows which function takes it. */
enum {
    CU_STREAM_NON_BLOCKING = 0x1,
    CU_STREAM_WAIT_VALUE_GEQ = 0x0, /* waits until (int64_t)(*addr - value) >= 0 */
    CU_STREAM_WAIT_VALUE_EQ = 0x1,
    CU_STREAM_WRITE_VALUE_DEFAULT = 0x0, /* the value is written after all earlier work */
    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS = 0x1,
    CU_MEMHOSTALLOC_PORTABLE = 0x01,
    CU_MEMHOSTALLOC_DEVICEMAP = 0x02,
    CU_MEMHOSTREGISTER_PORTABLE = 0x01,
    CU_MEMHOSTREGISTER_DEVICEMAP = 0x02,
    CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST = 0x1,
    CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER = 100
};

typedef struct {
    char bytes[16];
} CUuuid;

#define CU_IPC_HANDLE_SIZE 64

typedef struct {
    char reserved[CU_IPC_HANDLE_SIZE];
} CUipcMemHandle;

/*
 * Parameters of a copy of Height rows with WidthInBytes bytes each. For memory of the type
 * CU_MEMORYTYPE_UNIFIED, the field srcDevice or dstDevice holds the address.
 */
typedef struct {
    size_t srcXInBytes;
    size_t srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes;
    size_t dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes;
    size_t Height;
} CUDA_MEMCPY2D;

_Static_assert(sizeof(void *) == 8 && sizeof(CUdeviceptr) == 8,
               "the driver's ABI has 64-bit pointers");
_Static_assert(sizeof(CUresult) == 4 && sizeof(CUmemorytype) == 4, "enums are passed as int");
_Static_assert(sizeof(CUuuid) == 16 && sizeof(CUipcMemHandle) == 64,
               "the driver's ABI fixes these sizes");
_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "the driver's ABI fixes this size");

/*
 * List of the driver functions that the library calls. The list calls the macro X(member, symbol,
 * required, arguments) once for each function. All functions return CUresult. The argument "member"
 * is the name of the function pointer in struct stp_cuda_api. If "required" is true, the library
 * does not use a driver that lacks the function. If "required" is false and the driver lacks the
 * function, the pointer is NULL. Functions for memory, copies and streams need a current context.
 * Only the functions whose member name begins with pointer_ need none.
 */
#define STP_CUDA_FUNCTIONS(X)                                                                      \
    X(init, cuInit, true, (unsigned int flags))                                                    \
    X(error_name, cuGetErrorName, true, (CUresult error, const char **text))                       \
    X(error_string, cuGetErrorString, true, (CUresult error, const char **text))                   \
    /* devices */                                                                                  \
    X(device_count, cuDeviceGetCount, true, (int *count))                                          \
    X(device_get, cuDeviceGet, true, (CUdevice * device, int ordinal))                             \
    X(device_name, cuDeviceGetName, true, (char *name, int len, CUdevice device))                  \
    X(device_uuid, cuDeviceGetUuid_v2, false, (CUuuid * uuid, CUdevice device))                    \
    X(device_uuid_v1, cuDeviceGetUuid, false, (CUuuid * uuid, CUdevice device))                    \
    X(device_pci_bus_id, cuDeviceGetPCIBusId, true, (char *id, int len, CUdevice device))          \
    X(device_total_mem, cuDeviceTotalMem_v2, true, (size_t * nbytes, CUdevice device))             \
    X(device_attribute, cuDeviceGetAttribute, true,                                                \
      (int *value, CUdevice_attribute attribute, CUdevice device))                                 \
    X(device_p2p_attribute, cuDeviceGetP2PAttribute, false,                                        \
      (int *value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to))                   \
    /* contexts */                                                                                 \
    X(primary_ctx_retain, cuDevicePrimaryCtxRetain, true, (CUcontext * ctx, CUdevice device))      \
    X(primary_ctx_release, cuDevicePrimaryCtxRelease_v2, true, (CUdevice device))                  \
    X(primary_ctx_get_state, cuDevicePrimaryCtxGetState, true,                                     \
      (CUdevice device, unsigned int *flags, int *active))                                         \
    X(ctx_push_current, cuCtxPushCurrent_v2, true, (CUcontext ctx))                                \
    X(ctx_pop_current, cuCtxPopCurrent_v2, true, (CUcontext * ctx))                                \
    /* memory */                                                                                   \
    X(mem_get_info, cuMemGetInfo_v2, true, (size_t * free, size_t * total))                        \
    X(mem_alloc, cuMemAlloc_v2, true, (CUdeviceptr * address, size_t nbytes))                      \
    X(mem_free, cuMemFree_v2, true, (CUdeviceptr address))                                         \
    X(mem_get_address_range, cuMemGetAddressRange_v2, true,                                        \
      (CUdeviceptr * base, size_t * nbytes, CUdeviceptr address))                                  \
    X(mem_get_handle, cuMemGetHandleForAddressRange, false,                                        \
      (void *handle, CUdeviceptr address, size_t nbytes, CUmemRangeHandleType type,                \
       unsigned long long flags))                                                                  \
    X(mem_host_alloc, cuMemHostAlloc, true, (void **address, size_t nbytes, unsigned int flags))   \
    X(mem_free_host, cuMemFreeHost, true, (void *address))                                         \
    X(mem_host_register, cuMemHostRegister_v2, true,                                               \
      (void *address, size_t nbytes, unsigned int flags))                                          \
    X(mem_host_unregister, cuMemHostUnregister, true, (void *address))                             \
    X(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2, false,                            \
      (CUdeviceptr * address, void *host, unsigned int flags))                                     \
    X(pointer_get_attribute, cuPointerGetAttribute, true,                                          \
      (void *data, CUpointer_attribute attribute, CUdeviceptr address))                            \
    X(pointer_get_attributes, cuPointerGetAttributes, false,                                       \
      (unsigned int n, CUpointer_attribute *attributes, void **data, CUdeviceptr address))         \
    X(pointer_set_attribute, cuPointerSetAttribute, true,                                          \
      (const void *value, CUpointer_attribute attribute, CUdeviceptr address))                     \
    X(ipc_get_mem_handle, cuIpcGetMemHandle, false,                                                \
      (CUipcMemHandle * handle, CUdeviceptr address))                                              \
    X(ipc_open_mem_handle, cuIpcOpenMemHandle_v2, false,                                           \
      (CUdeviceptr * address, CUipcMemHandle handle, unsigned int flags))                          \
    X(ipc_close_mem_handle, cuIpcCloseMemHandle, false, (CUdeviceptr address))                     \
    X(flush_rdma_writes, cuFlushGPUDirectRDMAWrites, false,                                        \
      (CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope))            \
    /* copies */                                                                                   \
    X(memcpy_any_async, cuMemcpyAsync, true,                                                       \
      (CUdeviceptr dest, CUdeviceptr source, size_t nbytes, CUstream stream))                      \
    X(memcpy_htod_async, cuMemcpyHtoDAsync_v2, true,                                               \
      (CUdeviceptr dest, const void *source, size_t nbytes, CUstream stream))                      \
    X(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2, true,                                               \
      (void *dest, CUdeviceptr source, size_t nbytes, CUstream stream))                            \
    X(memcpy_2d_async, cuMemcpy2DAsync_v2, true, (const CUDA_MEMCPY2D *copy, CUstream stream))     \
    X(memset_d8_async, cuMemsetD8Async, true,                                                      \
      (CUdeviceptr dest, unsigned char byte, size_t nbytes, CUstream stream))                      \
    /* streams */                                                                                  \
    X(stream_create, cuStreamCreate, true, (CUstream * stream, unsigned int flags))                \
    X(stream_destroy, cuStreamDestroy_v2, true, (CUstream stream))                                 \
    X(stream_synchronize, cuStreamSynchronize, true, (CUstream stream))                            \
    X(stream_get_ctx, cuStreamGetCtx, false, (CUstream stream, CUcontext * ctx))                   \
    X(stream_is_capturing, cuStreamIsCapturing, false,                                             \
      (CUstream stream, CUstreamCaptureStatus * status))                                           \
    X(launch_host_func, cuLaunchHostFunc, false, (CUstream stream, CUhostFn function, void *user)) \
    X(stream_write_value, cuStreamWriteValue64_v2, false,                                          \
      (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags))                  \
    X(stream_wait_value, cuStreamWaitValue64_v2, false,                                            \
      (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags))                  \
    /* kernels */                                                                                  \
    X(module_load, cuModuleLoadData, false, (CUmodule * module, const void *image))                \
    X(module_unload, cuModuleUnload, false, (CUmodule module))                                     \
    X(module_get_function, cuModuleGetFunction, false,                                             \
      (CUfunction * function, CUmodule module, const char *name))                                  \
    X(launch_kernel, cuLaunchKernel, false,                                                        \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,         \
       unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,      \
       CUstream stream, void **params, void **extra))

/* Pointers to the functions of the driver, as dlsym() has returned them. */
struct stp_cuda_api {
#define STP_CUDA_MEMBER(member, symbol, required, arguments) CUresult(*member) arguments;
    STP_CUDA_FUNCTIONS(STP_CUDA_MEMBER)
#undef STP_CUDA_MEMBER
};

#endif /* STP_CUDA_API_H */
