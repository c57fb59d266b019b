/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file finds out whether an address is in host memory or in memory of a device. On a PE with
 * devices, every copy needs the locations of its source and its destination. This file therefore
 * recognizes most host memory without a call of the driver. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include "spaces/address_range_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    /*
     * Address ranges of GPU spaces. The number that is stored for a range is 2 * the ordinal of its
     * device, plus 1 if the range is memory of a peer.
     */
    struct stp_ranges ranges;
    pthread_mutex_t lock; /* lock for changes of the ranges */
    uintptr_t brk_start;  /* start of the brk heap, or UINTPTR_MAX if unknown */
    bool error_logged;
} ptr_state = {.lock = PTHREAD_MUTEX_INITIALIZER, .brk_start = UINTPTR_MAX};

/*
 * Does not record the range if the table is full. stp_cuda_location() then queries the driver about
 * addresses in the range.
 */
void stp_cuda_range_add(const void *base, size_t nbytes, const struct cuda_device *device,
                        bool peer)
{
    pthread_mutex_lock(&ptr_state.lock);
    (void)stp_ranges_add(&ptr_state.ranges, base, nbytes, (uintptr_t)device->ordinal * 2 + peer);
    pthread_mutex_unlock(&ptr_state.lock);
}

void stp_cuda_range_remove(const void *base)
{
    pthread_mutex_lock(&ptr_state.lock);
    stp_ranges_remove(&ptr_state.ranges, base);
    pthread_mutex_unlock(&ptr_state.lock);
}

/* ---- host memory in the window ------------------------------------------------------------ */

static bool ptr_is_symmetric_host(uintptr_t addr)
{
    size_t offset;
    int local;

    return stp_data_segment_offset((const void *)addr, &offset) ||
           stp_window_locate((const void *)addr, &offset, &local);
}

/*
 * Returns whether the address is on this thread's stack, in the frame of a caller. Returns false if
 * the thread runs on the stack of a fiber, because only the bounds of the thread's own stack are
 * known.
 */
static bool ptr_is_stack(uintptr_t addr)
{
    static __thread struct {
        uintptr_t low, high;
        bool known;
    } stack __attribute__((tls_model("initial-exec")));
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

    if (STP_UNLIKELY(!stack.known)) {
        pthread_attr_t attr;
        void *low = NULL;
        size_t nbytes = 0;
        stack.known = true;
        if (pthread_getattr_np(pthread_self(), &attr) == 0) {
            if (pthread_attr_getstack(&attr, &low, &nbytes) != 0) nbytes = 0;
            pthread_attr_destroy(&attr);
        }
        stack.low = (uintptr_t)low;
        stack.high = stack.low + nbytes;
    }
    return stack.low <= frame && frame <= addr && addr < stack.high;
}

static bool ptr_is_brk(uintptr_t addr)
{
    return addr >= ptr_state.brk_start && addr < (uintptr_t)sbrk(0);
}

/*
 * Stores the start of the brk heap, which is field 47 of /proc/self/stat. Field 2 is the program's
 * name in parentheses, which may contain spaces. The function therefore counts the fields after the
 * last ')', which ends field 2.
 */
void stp_cuda_find_brk_start(void)
{
    char line[2048], *pos;
    uintptr_t start;

    stp_file_read("/proc/self/stat", line, sizeof(line));
    pos = strrchr(line, ')');
    for (int field = 2; pos != NULL && field < 47; field++)
        pos = strchr(pos + 1, ' ');
    start = pos != NULL ? (uintptr_t)strtoull(pos, NULL, 10) : 0;
    ptr_state.brk_start = start != 0 ? start : UINTPTR_MAX;
    /* Pairs with the atomic exchange in query_attribute(). */
    __atomic_store_n(&ptr_state.error_logged, false, __ATOMIC_SEQ_CST);
}

/* ---- the driver ----------------------------------------------------------------------------- */

/*
 * Queries one attribute of an address. Returns false if the driver returns an error, as it does for
 * ordinary host memory. Logs only the first unexpected error. The atomic exchange pairs with the
 * same exchange in other threads and with the store in stp_cuda_find_brk_start().
 */
static bool query_attribute(void *data, CUpointer_attribute attribute, const void *ptr)
{
    CUresult result =
        stp_cuda.api.pointer_get_attribute(data, attribute, (CUdeviceptr)(uintptr_t)ptr);
    char text[CUDA_TEXT];

    if (result == CUDA_SUCCESS) return true;
    if (result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_INVALID_CONTEXT &&
        !__atomic_exchange_n(&ptr_state.error_logged, true, __ATOMIC_SEQ_CST))
        stp_error("gpu: cuPointerGetAttribute failed: %s",
                  stp_cuda_text(result, text, sizeof(text)));
    return false;
}

/* Properties of an address, as the driver has reported them. */
struct ptr_attributes {
    uintptr_t addr;     /* the address */
    unsigned operation; /* number of the operation (stp_kind_operation) that made the query */
    unsigned type;      /* a CUmemorytype, or 0 if the driver does not know the address */
    unsigned managed;
    int ordinal;
    /* True for memory from cuMemAlloc. The allocation is then [base, base + nbytes). */
    int from_mem_alloc;
    CUdeviceptr base;
    size_t nbytes;
    unsigned long long id;
};

static __thread struct ptr_attributes last_query __attribute__((tls_model("initial-exec")));

/* Queries the attributes one by one. Called if one call of the driver cannot return all of them. */
static void query_each(struct ptr_attributes *attr, const void *ptr)
{
    if (!query_attribute(&attr->type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr)) attr->type = 0;
    if (attr->type != CU_MEMORYTYPE_DEVICE) return;
    (void)query_attribute(&attr->managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, ptr);
    if (!query_attribute(&attr->ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr))
        attr->ordinal = -1;
}

/*
 * Returns the driver's report about ptr. Uses the last report again if it was made for ptr in the
 * same operation.
 */
static const struct ptr_attributes *query_all(const void *ptr)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_BUFFER_ID};
    struct ptr_attributes *attr = &last_query;
    void *data[] = {&attr->type, &attr->managed, &attr->ordinal, &attr->from_mem_alloc,
                    &attr->base, &attr->nbytes,  &attr->id};

    if (attr->addr == (uintptr_t)ptr && attr->operation == stp_kind_operation) return attr;
    *attr = (struct ptr_attributes){
        .addr = (uintptr_t)ptr, .operation = stp_kind_operation, .ordinal = -1};
    if (stp_cuda.api.pointer_get_attributes == NULL ||
        stp_cuda.api.pointer_get_attributes(STP_COUNT(attributes), attributes, data,
                                            (CUdeviceptr)(uintptr_t)ptr) != CUDA_SUCCESS)
        query_each(attr, ptr);
    return attr;
}

/* Queries the location of ptr. Managed memory counts as host memory, because CPUs may access it. */
static struct cuda_location query_location(const void *ptr)
{
    const struct ptr_attributes *attr = query_all(ptr);

    if (attr->type != CU_MEMORYTYPE_DEVICE || attr->managed != 0 || attr->ordinal < 0 ||
        attr->ordinal >= stp_cuda.n_devices)
        return (struct cuda_location){NULL, false};
    return (struct cuda_location){&stp_cuda.devices[attr->ordinal], false};
}

struct cuda_location stp_cuda_location(const void *ptr)
{
    uintptr_t addr = (uintptr_t)ptr;
    struct stp_range range;

    if (ptr == NULL || !stp_cuda.usable || ptr_is_symmetric_host(addr) || ptr_is_stack(addr) ||
        ptr_is_brk(addr))
        return (struct cuda_location){NULL, false};
    if (stp_ranges_find(&ptr_state.ranges, ptr, &range))
        return (struct cuda_location){&stp_cuda.devices[range.value / 2], range.value % 2 != 0};
    return query_location(ptr);
}

/*
 * Returns false for symmetric host memory, stacks and the brk heap without a query, even if a
 * stream can access them. Copies of such memory take a slower path.
 */
bool stp_stream_reaches(const void *ptr)
{
    uintptr_t addr = (uintptr_t)ptr;
    struct stp_range range;

    if (ptr_is_symmetric_host(addr) || ptr_is_stack(addr) || ptr_is_brk(addr)) return false;
    return stp_ranges_find(&ptr_state.ranges, ptr, &range) || query_all(ptr)->type != 0;
}

bool stp_cuda_is_device_ptr(const void *ptr)
{
    return stp_cuda_location(ptr).device != NULL;
}

/*
 * Returns false for memory that cuMemMap() has mapped. For such memory the driver reports the whole
 * reserved address range, even if parts of it are not mapped. Also returns false for memory from
 * memory pools, because network adapters do not register it.
 */
bool stp_cuda_find_registrable(const void *ptr, struct stp_allocation *allocation)
{
    const struct ptr_attributes *attr;
    struct stp_range range;

    if (stp_ranges_find(&ptr_state.ranges, ptr, &range)) return false;
    attr = query_all(ptr);
    if (attr->type != CU_MEMORYTYPE_DEVICE || attr->managed != 0 || attr->from_mem_alloc == 0 ||
        attr->id == 0 || attr->ordinal < 0 || attr->ordinal >= stp_cuda.n_devices)
        return false;
    *allocation = (struct stp_allocation){.base = (void *)(uintptr_t)attr->base,
                                          .nbytes = attr->nbytes,
                                          .id = attr->id,
                                          .device = attr->ordinal};
    return true;
}
