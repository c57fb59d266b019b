/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches fabric registrations of the program's private device memory. Each registration covers a
 * whole allocation. An entry is identified by the driver's ID of the allocation, because the driver
 * never reuses an ID. The address alone is not sufficient, because the program can free an
 * allocation and get another one at the same address. Design: docs/design/fabric.md.
 */
#include "rma.h"

struct buffer {
    const struct stp_kind *kind; /* kind of the memory, or NULL for a free entry */
    struct stp_allocation allocation;
    bool refused;       /* whether the registration failed; it is not tried again */
    unsigned n_holders; /* number of threads that issue an operation with this entry now */
    uint64_t last_use;  /* value of buffers.n_uses at the last use of this entry */
};

static struct {
    /* Guards the table. A thread also holds the lock while it registers or unregisters memory. */
    pthread_mutex_t lock;
    uint64_t n_uses; /* number of uses of all entries so far */
    struct buffer entries[STP_FABRIC_BUFFERS];
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Closes a registration and frees its entry. Returns false if operations use the registration. */
static bool buffer_close_locked(unsigned number)
{
    struct buffer *buffer = &buffers.entries[number];

    if (buffer->kind == NULL) return true;
    if (buffer->n_holders > 0) return false;
    if (!buffer->refused) {
        if (!stp_rt.fabric.buffer_remove(number)) return false;
        buffer->kind->device->unregister_private(&buffer->allocation);
    }
    buffer->kind = NULL;
    return true;
}

/*
 * Searches for the entry of the requested allocation. Sets *number to the number of the entry, or
 * to -1 if there is no entry. If an entry of another allocation overlaps the requested allocation,
 * the program has freed the memory of that entry. This function then closes the registration of
 * that entry. Returns false if an operation still uses that registration.
 */
static bool buffer_find_locked(const struct stp_allocation *requested, int *number)
{
    uintptr_t requested_base = (uintptr_t)requested->base;

    *number = -1;
    for (unsigned i = 0; i < STP_FABRIC_BUFFERS; i++) {
        const struct buffer *buffer = &buffers.entries[i];
        uintptr_t base = (uintptr_t)buffer->allocation.base;

        if (buffer->kind == NULL) continue;
        if (buffer->allocation.id == requested->id && base == requested_base &&
            buffer->allocation.nbytes == requested->nbytes)
            *number = (int)i;
        else if (requested_base < base + buffer->allocation.nbytes &&
                 base < requested_base + requested->nbytes && !buffer_close_locked(i))
            return false;
    }
    return true;
}

/*
 * Returns the number of a free entry. If there is no free entry, closes the least recently used
 * entry that no operation uses. Returns -1 if operations use all entries.
 */
static int buffer_find_free_locked(void)
{
    uint64_t last_tried = 0;

    for (;;) {
        int oldest = -1;

        for (int i = 0; i < STP_FABRIC_BUFFERS; i++) {
            const struct buffer *buffer = &buffers.entries[i];

            if (buffer->kind == NULL) return i;
            if (buffer->last_use > last_tried &&
                (oldest < 0 || buffer->last_use < buffers.entries[oldest].last_use))
                oldest = i;
        }
        if (oldest < 0 || buffer_close_locked((unsigned)oldest)) return oldest;
        last_tried = buffers.entries[oldest].last_use;
    }
}

static int buffer_make_locked(const struct stp_kind *kind, const struct stp_allocation *requested)
{
    int number = buffer_find_free_locked();
    struct buffer *buffer;

    if (number < 0) return -1;
    buffer = &buffers.entries[number];
    *buffer = (struct buffer){.kind = kind, .allocation = *requested};
    buffer->refused = kind->device->register_private(&buffer->allocation, (unsigned)number,
                                                     stp_rt.fabric.buffer_add) != 0;
    return number;
}

int stp_device_mr_acquire_for_thread(const struct stp_kind *kind, const void *ptr, size_t nbytes)
{
    struct stp_allocation requested;
    int number = -1;

    if (stp_rt.fabric.no_devices_reason != NULL || !kind->device->allocation(ptr, &requested))
        return -1;
    if (nbytes > requested.nbytes - ((uintptr_t)ptr - (uintptr_t)requested.base)) return -1;
    pthread_mutex_lock(&buffers.lock);
    if (buffer_find_locked(&requested, &number)) {
        if (number < 0) number = buffer_make_locked(kind, &requested);
        if (number >= 0) {
            struct buffer *buffer = &buffers.entries[number];

            buffer->last_use = ++buffers.n_uses;
            if (buffer->refused)
                number = -1;
            else
                buffer->n_holders++;
        }
    }
    pthread_mutex_unlock(&buffers.lock);
    if (number >= 0) stp_rt.fabric.set_current_local_mr(number);
    return number;
}

void stp_device_mr_end_current(int number)
{
    if (STP_LIKELY(number < 0)) return;
    stp_rt.fabric.set_current_local_mr(-1);
    pthread_mutex_lock(&buffers.lock);
    buffers.entries[number].n_holders--;
    pthread_mutex_unlock(&buffers.lock);
}

void stp_device_mr_fini(void)
{
    pthread_mutex_lock(&buffers.lock);
    for (unsigned i = 0; i < STP_FABRIC_BUFFERS; i++)
        /* Also clear entries that are in use, because the fabric closes their registrations. */
        if (!buffer_close_locked(i)) buffers.entries[i].kind = NULL;
    pthread_mutex_unlock(&buffers.lock);
}
