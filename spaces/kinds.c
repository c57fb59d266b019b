/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of memory kinds. runtime.c registers the kinds. This file also has functions that apply
 * to all kinds, and functions for memory that the CPU can access. docs/design/kinds.md describes
 * how to add a kind.
 */
#include "spaces/space_registry.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct stp_kind *stp_kinds[STP_KINDS_MAX];
int stp_n_kinds;

void stp_kind_register(const struct stp_kind *kind)
{
    assert(stp_n_kinds < STP_KINDS_MAX);
    stp_kinds[stp_n_kinds++] = kind;
}

const struct stp_kind *stp_kind_find(int device_type)
{
    for (int i = 0; i < stp_n_kinds; i++)
        if (stp_kinds[i]->device_type == device_type) return stp_kinds[i];
    return NULL;
}

uint32_t stp_kinds_without_driver(void)
{
    uint32_t without_driver = 0;

    for (int i = 0; i < stp_n_kinds; i++)
        if (stp_kinds[i]->device != NULL && !stp_kinds[i]->device->probe_driver())
            without_driver |= (uint32_t)1 << i;
    return without_driver;
}

void stp_kinds_mark_driver_missing(uint32_t kinds, int leader)
{
    for (int i = 0; i < stp_n_kinds; i++)
        if (kinds >> i & 1) stp_kinds[i]->device->mark_driver_missing(leader);
}

void stp_kinds_find_devices(void)
{
    for (int i = 0; i < stp_n_kinds; i++)
        if (stp_kinds[i]->device != NULL) stp_kinds[i]->device->start();
}

void stp_kinds_stop(void)
{
    for (int i = stp_n_kinds; i-- > 0;)
        if (stp_kinds[i]->stop != NULL) stp_kinds[i]->stop();
}

void stp_kinds_pin(void *host, size_t nbytes)
{
    for (int i = 0; i < stp_n_kinds; i++)
        if (stp_kinds[i]->device != NULL) stp_kinds[i]->device->pin(host, nbytes);
}

void stp_kinds_unpin(void *host, size_t nbytes)
{
    for (int i = 0; i < stp_n_kinds; i++)
        if (stp_kinds[i]->device != NULL) stp_kinds[i]->device->unpin(host, nbytes);
}

void stp_kinds_flush_remote(void)
{
    for (int i = 0; i < stp_n_kinds; i++)
        if (stp_kinds[i]->device != NULL) stp_kinds[i]->device->flush_remote();
}

bool stp_kinds_trait_is_possible(enum stp_trait trait, char *reason, size_t len)
{
    bool possible = trait != STP_TRAIT_PINNED;

    for (int i = 0; i < stp_n_kinds && !possible; i++)
        possible = stp_kinds[i]->device != NULL && stp_kinds[i]->device->can_pin(reason, len);
    return possible;
}

/* Returns whether ptr is in the window, the view or the data segment. All three are host memory. */
static bool kinds_is_symmetric_host(const void *ptr)
{
    size_t offset;
    int local;

    return stp_window_locate(ptr, &offset, &local) || stp_data_segment_offset(ptr, &offset);
}

__thread unsigned stp_kind_operation = 1;

const struct stp_kind *stp_device_kind_of(const void *ptr)
{
    if (kinds_is_symmetric_host(ptr)) return NULL;
    for (int i = 0; i < stp_n_kinds; i++)
        if (stp_kinds[i]->device != NULL && stp_kinds[i]->device->owns(ptr)) return stp_kinds[i];
    return NULL;
}

int stp_kinds_dmabuf(void *base, size_t nbytes, size_t *offset)
{
    const struct stp_kind *kind = stp_device_kind_of(base);

    return kind != NULL ? kind->device->dmabuf(base, nbytes, offset) : -1;
}

/* ---- parts of a space ------------------------------------------------------------------------ */

void *stp_kind_alloc_with_peers(const char *description, size_t nbytes, size_t peer_bytes, int *n)
{
    void *records;

    *n = stp_win.n_view > 0 ? stp_win.n_view : 1;
    records = calloc(1, nbytes + (size_t)*n * peer_bytes);
    if (records == NULL)
        stp_error("out of memory: cannot create %s for the PEs of this node (number of PEs: %d)",
                  description, *n);
    return records;
}

void *stp_kind_reach(struct stp_space *space, int local)
{
    if (space->kind->device != NULL) return space->kind->device->reach(space, local);
    if (space->shm_attach != NULL) return stp_own_file_map_peer(space, local);
    if (stp_space_is_private(space)) return local == stp_window_local() ? space->base : NULL;
    return stp_window_open_peer(local) == 0 ? stp_window_part(local) + space->offset : NULL;
}

/*
 * Does not unmap parts in the view, because these mappings of the node's file stay valid when a
 * peer destroys its part.
 */
void stp_kind_detach(struct stp_space *space)
{
    if (space->kind->device != NULL) space->kind->device->detach(space);
    if (space->shm_attach != NULL) stp_own_file_unmap_peers(space);
}

/* ---- copies by the CPU ----------------------------------------------------------------------- */

void stp_store_whole(void *dest, const void *value, size_t nbytes)
{
    switch (nbytes) {
    case 1:
        *(volatile uint8_t *)dest = *(const uint8_t *)value;
        break;
    case 2:
        *(volatile uint16_t *)dest = *(const uint16_t *)value;
        break;
    case 4:
        *(volatile uint32_t *)dest = *(const uint32_t *)value;
        break;
    case 8:
        *(volatile uint64_t *)dest = *(const uint64_t *)value;
        break;
    default:
        memcpy(dest, value, nbytes);
    }
}

void stp_copy_host(void *dest, const void *source, const struct stp_strided_copy *rows)
{
    size_t nbytes = rows->width, addr_bits = (uintptr_t)dest | (uintptr_t)source;
    bool word = nbytes == 1 || nbytes == 2 || nbytes == 4 || nbytes == 8;

    if (rows->n == 1 && word && addr_bits % nbytes == 0) {
        stp_store_whole(dest, source, nbytes);
        return;
    }
    for (size_t i = 0; i < rows->n; i++)
        memmove((char *)dest + i * rows->dest_pitch, (const char *)source + i * rows->source_pitch,
                nbytes);
}
