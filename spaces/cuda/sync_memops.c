/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file sets the attribute CU_POINTER_ATTRIBUTE_SYNC_MEMOPS for the memory of spaces. While the
 * attribute is set, each synchronous copy by the program from or to this memory is complete when
 * its call returns. The attribute applies to a whole allocation. If the program has made the
 * allocation, the old value of the attribute is restored when the last user of the allocation has
 * ended. A user is a space, or a registration with the fabric. Design: docs/design/cuda.md.
 */
#include "cuda.h"

#include <stdlib.h>

/* An allocation of the program. Its attribute was off before its first user began. */
struct memops {
    struct memops *next;
    unsigned long long id; /* id of the allocation, which the driver never uses again */
    int n_users;           /* number of spaces and fabric registrations that use the allocation */
};

static struct memops *memops_list; /* guarded by stp_cuda.lock */

void stp_cuda_set_sync_memops(const void *base, unsigned value)
{
    stp_cuda_log_failure(stp_cuda.api.pointer_set_attribute(
                             &value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, stp_cuda_address(base)),
                         "cuPointerSetAttribute");
}

/* Returns the driver's id of the allocation that holds base, or 0 if no allocation holds base. */
static unsigned long long memops_id(const void *base)
{
    unsigned long long id = 0;
    CUresult result = stp_cuda.api.pointer_get_attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                         stp_cuda_address(base));

    return result == CUDA_SUCCESS ? id : 0;
}

static bool memops_is_on(const void *base)
{
    unsigned value = 0;
    CUresult result = stp_cuda.api.pointer_get_attribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                                         stp_cuda_address(base));

    return result != CUDA_SUCCESS || value != 0;
}

static struct memops **memops_find_locked(unsigned long long id)
{
    struct memops **link = &memops_list;

    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    return link;
}

unsigned long long stp_cuda_sync_memops_set(const void *base)
{
    unsigned long long id = memops_id(base), restore_id = 0;
    struct memops *memops;

    pthread_mutex_lock(&stp_cuda.lock);
    memops = id != 0 ? *memops_find_locked(id) : NULL;
    if (memops == NULL && id != 0 && !memops_is_on(base)) {
        /* If there is no memory for the record, the attribute is never turned off again. */
        memops = calloc(1, sizeof(*memops));
        if (memops != NULL) {
            *memops = (struct memops){.next = memops_list, .id = id};
            memops_list = memops;
        }
    }
    if (memops != NULL) {
        memops->n_users++;
        restore_id = id;
    }
    stp_cuda_set_sync_memops(base, 1);
    pthread_mutex_unlock(&stp_cuda.lock);
    return restore_id;
}

void stp_cuda_sync_memops_restore(const void *base, unsigned long long id)
{
    struct memops **link, *removed = NULL;

    pthread_mutex_lock(&stp_cuda.lock);
    link = memops_find_locked(id);
    if (*link != NULL && --(*link)->n_users == 0) {
        removed = *link;
        *link = removed->next;
        if (memops_id(base) == id)
            stp_cuda_set_sync_memops(base, 0); /* the program has not freed the allocation yet */
    }
    pthread_mutex_unlock(&stp_cuda.lock);
    free(removed);
}
