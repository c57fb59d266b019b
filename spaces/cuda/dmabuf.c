/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file exports GPU memory as a dma-buf file descriptor. With the descriptor, a network adapter
 * can register the memory without an additional kernel module. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <unistd.h>

/*
 * Exports the pages that contain the range, because the driver exports only whole pages. Sets
 * *offset to the offset of base in the first page.
 */
int stp_cuda_dmabuf(void *base, size_t nbytes, size_t *offset)
{
    CUdeviceptr page = (CUdeviceptr)sysconf(_SC_PAGESIZE), addr = (CUdeviceptr)(uintptr_t)base;
    CUdeviceptr start = addr / page * page, end = (addr + nbytes + page - 1) / page * page;
    CUresult result;
    int fd = -1;

    if (stp_cuda.api.mem_get_handle == NULL) return -1;
    result = stp_cuda.api.mem_get_handle(&fd, start, (size_t)(end - start),
                                         CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    stp_cuda_log_failure(result, "cuMemGetHandleForAddressRange");
    if (result != CUDA_SUCCESS) return -1;
    *offset = (size_t)(addr - start);
    return fd;
}
