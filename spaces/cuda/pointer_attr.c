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
    bool complained;
} owns = {.lock = PTHREAD_MUTEX_INITIALIZER, .brk_start = UINTPTR_MAX};

/*
 * Does not record the range if the table is full. stp_cuda_location() then queries the driver about
 * addresses in the range.
 */
void stp_cuda_range_add(const void *base, size_t nbytes, const struct cuda_device *device,
                        bool peer)
{
    pthread_mutex_lock(&owns.lock);
    (void)stp_ranges_add(&owns.ranges, base, nbytes, (uintptr_t)device->ordinal * 2 + peer);
    pthread_mutex_unlock(&owns.lock);
}

void stp_cuda_range_remove(const void *base)
{
    pthread_mutex_lock(&owns.lock);
    stp_ranges_remove(&owns.ranges, base);
    pthread_mutex_unlock(&owns.lock);
}

/* ---- host memory in the window ------------------------------------------------------------ */

static bool owns_is_symmetric_host(uintptr_t at)
{
    size_t offset;
    int local;

    return stp_data_segment_offset((const void *)at, &offset) ||
           stp_window_locate((const void *)at, &offset, &local);
}

/*
 * Returns whether the address is on this thread's stack, in the frame of a caller. Returns false if
 * the thread runs on the stack of a fiber, because only the bounds of the thread's own stack are
 * known.
 */
static bool owns_is_stack(uintptr_t at)
{
    static __thread struct {
        uintptr_t low, high;
        bool known;
    } stack __attribute__((tls_model("initial-exec")));
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

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
    return stack.low <= here && here <= at && at < stack.high;
}

static bool owns_is_brk(uintptr_t at)
{
    return at >= owns.brk_start && at < (uintptr_t)sbrk(0);
}

/*
 * Returns the start of the brk heap, which is field 47 of /proc/self/stat. Field 2 is the program's
 * name in parentheses, which may contain spaces. The function therefore counts the fields after the
 * last ')', which ends field 2.
 */
static uintptr_t owns_find_brk(void)
{
    FILE *file = fopen("/proc/self/stat", "re");
    char line[2048] = "";
    char *at;

    if (file == NULL) return UINTPTR_MAX;
    at = fgets(line, sizeof(line), file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    for (int field = 2; at != NULL && field < 47; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL || strtoull(at, NULL, 10) == 0) return UINTPTR_MAX;
    return (uintptr_t)strtoull(at, NULL, 10);
}

void stp_cuda_find_brk_start(void)
{
    owns.brk_start = owns_find_brk();
    /* Pairs with the atomic exchange in owns_ask(). */
    __atomic_store_n(&owns.complained, false, __ATOMIC_SEQ_CST);
}

/* ---- the driver ----------------------------------------------------------------------------- */

/*
 * Queries one attribute of an address. Returns false if the driver returns an error, as it does for
 * ordinary host memory. Logs only the first unexpected error. The atomic exchange pairs with the
 * same exchange in other threads and with the store in stp_cuda_find_brk_start().
 */
static bool owns_ask(void *data, CUpointer_attribute attribute, const void *ptr)
{
    CUresult result =
        stp_cuda.api.pointer_get_attribute(data, attribute, (CUdeviceptr)(uintptr_t)ptr);
    char text[CUDA_TEXT];

    if (result == CUDA_SUCCESS) return true;
    if (result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_INVALID_CONTEXT &&
        !__atomic_exchange_n(&owns.complained, true, __ATOMIC_SEQ_CST))
        stp_error("gpu: cuPointerGetAttribute failed: %s",
                  stp_cuda_text(result, text, sizeof(text)));
    return false;
}

/* Properties of an address, as the driver has reported them. */
struct owns_answer {
    uintptr_t at;       /* the address */
    unsigned operation; /* number of the operation (stp_kind_operation) that made the query */
    unsigned type;      /* a CUmemorytype, or 0 if the driver does not know the address */
    unsigned managed;
    int ordinal;
    /* True for memory from cuMemAlloc. The allocation is then [base, base + nbytes). */
    int whole;
    CUdeviceptr base;
    size_t nbytes;
    unsigned long long id;
};

static __thread struct owns_answer owns_last __attribute__((tls_model("initial-exec")));

/* Queries the attributes one by one. Called if one call of the driver cannot return all of them. */
static void owns_ask_each(struct owns_answer *answer, const void *ptr)
{
    if (!owns_ask(&answer->type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr)) answer->type = 0;
    if (answer->type != CU_MEMORYTYPE_DEVICE) return;
    (void)owns_ask(&answer->managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, ptr);
    if (!owns_ask(&answer->ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, ptr)) answer->ordinal = -1;
}

/*
 * Returns the driver's report about ptr. Uses the last report again if it was made for ptr in the
 * same operation.
 */
static const struct owns_answer *owns_ask_all(const void *ptr)
{
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_BUFFER_ID};
    struct owns_answer *answer = &owns_last;
    void *data[] = {&answer->type, &answer->managed, &answer->ordinal, &answer->whole,
                    &answer->base, &answer->nbytes,  &answer->id};

    if (answer->at == (uintptr_t)ptr && answer->operation == stp_kind_operation) return answer;
    *answer =
        (struct owns_answer){.at = (uintptr_t)ptr, .operation = stp_kind_operation, .ordinal = -1};
    if (stp_cuda.api.pointer_get_attributes == NULL ||
        stp_cuda.api.pointer_get_attributes(STP_COUNT(attributes), attributes, data,
                                            (CUdeviceptr)(uintptr_t)ptr) != CUDA_SUCCESS)
        owns_ask_each(answer, ptr);
    return answer;
}

/* Queries the location of ptr. Managed memory counts as host memory, because CPUs may access it. */
static struct cuda_location owns_ask_location(const void *ptr)
{
    const struct owns_answer *answer = owns_ask_all(ptr);

    if (answer->type != CU_MEMORYTYPE_DEVICE || answer->managed != 0 || answer->ordinal < 0 ||
        answer->ordinal >= stp_cuda.n_devices)
        return (struct cuda_location){NULL, false};
    return (struct cuda_location){&stp_cuda.devices[answer->ordinal], false};
}

struct cuda_location stp_cuda_location(const void *ptr)
{
    uintptr_t at = (uintptr_t)ptr;
    struct stp_range range;

    if (ptr == NULL || !stp_cuda.up || owns_is_symmetric_host(at) || owns_is_stack(at) ||
        owns_is_brk(at))
        return (struct cuda_location){NULL, false};
    if (stp_ranges_find(&owns.ranges, ptr, &range))
        return (struct cuda_location){&stp_cuda.devices[range.what / 2], range.what % 2 != 0};
    return owns_ask_location(ptr);
}

/*
 * Returns false for some memory that a stream can access. Copies of such memory then take a slower
 * path.
 */
bool stp_stream_reaches(const void *ptr)
{
    uintptr_t at = (uintptr_t)ptr;
    struct stp_range range;

    if (owns_is_symmetric_host(at) || owns_is_stack(at) || owns_is_brk(at)) return false;
    return stp_ranges_find(&owns.ranges, ptr, &range) || owns_ask_all(ptr)->type != 0;
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
    const struct owns_answer *answer;
    struct stp_range range;

    if (stp_ranges_find(&owns.ranges, ptr, &range)) return false;
    answer = owns_ask_all(ptr);
    if (answer->type != CU_MEMORYTYPE_DEVICE || answer->managed != 0 || answer->whole == 0 ||
        answer->id == 0 || answer->ordinal < 0 || answer->ordinal >= stp_cuda.n_devices)
        return false;
    *allocation = (struct stp_allocation){.base = (void *)(uintptr_t)answer->base,
                                          .nbytes = answer->nbytes,
                                          .id = answer->id,
                                          .device = answer->ordinal};
    return true;
}
