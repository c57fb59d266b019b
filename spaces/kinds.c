/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kinds of memory this build knows: one row, one file each; and what kinds whose memory the
 * CPU reaches by itself put into their rows. How to add a kind: docs/design/kinds.md.
 */
#include "spaces/mapped.h"
#include "spaces/spaces.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

extern const struct stp_kind stp_kind_cpu, stp_kind_gpu, stp_kind_hbm, stp_kind_fam;

const struct stp_kind *const stp_kinds[STP_N_KINDS] = {
    [STP_KIND_CPU] = &stp_kind_cpu,
    [STP_KIND_GPU] = &stp_kind_gpu,
    [STP_KIND_HBM] = &stp_kind_hbm,
    [STP_KIND_FAM] = &stp_kind_fam,
};

const struct stp_kind *stp_kind_find(int device_type)
{
    for (int i = 0; i < STP_N_KINDS; i++)
        if (stp_kinds[i]->device_type == device_type) return stp_kinds[i];
    return NULL;
}

uint32_t stp_kinds_look(void)
{
    uint32_t missing = 0;

    for (unsigned i = 0; i < STP_N_KINDS; i++)
        if (!stp_kinds[i]->look()) missing |= (uint32_t)1 << i;
    return missing;
}

void stp_kinds_missing(uint32_t kinds, int leader)
{
    for (unsigned i = 0; i < STP_N_KINDS; i++)
        if (kinds >> i & 1) stp_kinds[i]->missing(leader);
}

void stp_kinds_start(void)
{
    for (int i = 0; i < STP_N_KINDS; i++)
        stp_kinds[i]->start();
}

void stp_kinds_stop(void)
{
    for (int i = STP_N_KINDS; i-- > 0;)
        stp_kinds[i]->stop();
}

/* In the window, the view, or the data segment: host memory, whoever asks. */
static bool kinds_is_symmetric_host(const void *ptr)
{
    size_t offset;
    int local;

    return stp_window_holds(ptr, &offset, &local) || stp_segment_offset(ptr, &offset);
}

__thread unsigned stp_kind_operation = 1;

const struct stp_kind *stp_kind_of(const void *ptr)
{
    if (kinds_is_symmetric_host(ptr)) return NULL;
    for (int i = 0; i < STP_N_KINDS; i++)
        if (!stp_kinds[i]->host && stp_kinds[i]->owns(ptr)) return stp_kinds[i];
    return NULL;
}

int stp_kinds_dmabuf(void *base, size_t nbytes, size_t *offset)
{
    const struct stp_kind *kind = stp_kind_of(base);

    return kind != NULL && kind->dmabuf != NULL ? kind->dmabuf(base, nbytes, offset) : -1;
}

/* ---- rows of kinds in the window ------------------------------------------------ */

void *stp_kind_host_reach(struct stp_space *space, int local)
{
    if (space->outside != NULL) return stp_outside_reach(space, local);
    if (stp_space_is_private(space)) return local == stp_window_local() ? space->base : NULL;
    return stp_window_reach(local) == 0 ? stp_window_part(local) + space->offset : NULL;
}

bool stp_kind_host_can(enum stp_trait trait, int device, char *why, size_t len)
{
    (void)device;
    return trait != STP_TRAIT_PINNED || stp_mapped_can(why, len);
}

void stp_kind_no_claim(const struct stp_space_params *params, struct stp_claim *mine)
{
    (void)params;
    mine->place = -1;
    mine->left = UINT64_MAX;
}

int stp_kind_admit_any(struct stp_space *space, const struct stp_claim *claims, int n,
                       const struct stp_claim *mine)
{
    (void)space;
    (void)claims;
    (void)n;
    (void)mine;
    return 0;
}

int stp_kind_no_grow(struct stp_space *space, size_t nbytes, char *why, size_t len)
{
    (void)nbytes;
    snprintf(why, len, "memory of kind %s has the size it has", space->kind->name);
    return -EOPNOTSUPP;
}

void stp_kind_no_shrink(struct stp_space *space)
{
    (void)space;
}

bool stp_kind_needs_no_driver(void)
{
    return true;
}

void stp_kind_misses_nothing(int leader)
{
    (void)leader;
}

bool stp_kind_owns_nothing(const void *ptr)
{
    (void)ptr;
    return false;
}

int stp_kind_no_queue(struct stp_queue **queue)
{
    *queue = NULL;
    return 0;
}

void stp_kind_no_queue_destroy(struct stp_queue *queue)
{
    (void)queue;
}

void stp_store_whole(void *there, const void *value, size_t nbytes)
{
    switch (nbytes) {
    case 1:
        *(volatile uint8_t *)there = *(const uint8_t *)value;
        break;
    case 2:
        *(volatile uint16_t *)there = *(const uint16_t *)value;
        break;
    case 4:
        *(volatile uint32_t *)there = *(const uint32_t *)value;
        break;
    case 8:
        *(volatile uint64_t *)there = *(const uint64_t *)value;
        break;
    default:
        memcpy(there, value, nbytes);
    }
}

/* What is an element to somebody is written whole. */
int stp_kind_host_copy(struct stp_queue *queue, void *dest, const void *source, size_t nbytes,
                       enum stp_copy_end end)
{
    (void)queue;
    (void)end;
    if (nbytes <= sizeof(uint64_t) && nbytes > 0 && (nbytes & (nbytes - 1)) == 0 &&
        ((uintptr_t)dest | (uintptr_t)source) % nbytes == 0)
        stp_store_whole(dest, source, nbytes);
    else
        memmove(dest, source, nbytes);
    return 0;
}

int stp_kind_host_copy_rows(struct stp_queue *queue, void *dest, const void *source,
                            const struct stp_rows *rows, enum stp_copy_end end)
{
    (void)queue;
    (void)end;
    for (size_t i = 0; i < rows->n; i++)
        memcpy((char *)dest + i * rows->dest_pitch, (const char *)source + i * rows->source_pitch,
               rows->width);
    return 0;
}

int stp_kind_no_flush(struct stp_queue *queue)
{
    (void)queue;
    return 0;
}

void stp_kind_no_pin(void *host, size_t nbytes)
{
    (void)host;
    (void)nbytes;
}

void stp_kind_nothing(void)
{
}

/* Of the window nothing is let go: what a peer does to its part does no harm. */
void stp_kind_host_detach(struct stp_space *space)
{
    if (space->outside != NULL) stp_outside_detach(space);
}

int stp_kind_no_persist(struct stp_space *space, size_t offset, size_t nbytes)
{
    (void)space;
    (void)offset;
    (void)nbytes;
    return -EOPNOTSUPP;
}

bool stp_kind_no_root_at(struct stp_space *space, unsigned i, struct stp_root *root)
{
    (void)space;
    (void)i;
    (void)root;
    return false;
}

int stp_kind_no_root_set(struct stp_space *space, const struct stp_root *root)
{
    stp_error("space %u (%s) has no name: it keeps no names of blocks, \"%s\" for one",
              space->number, space->kind->name, root->name);
    return -EOPNOTSUPP;
}

int stp_kind_no_atomic(struct stp_space *space, size_t offset, const struct stp_word_op *op,
                       uint64_t *old)
{
    (void)space;
    (void)offset;
    (void)op;
    (void)old;
    return -ENOTSUP;
}

int stp_kind_no_reduce(struct stp_queue *queue, const struct stp_reduction *reduction)
{
    (void)queue;
    (void)reduction;
    return -ENOTSUP;
}

int stp_kind_no_set_word(struct stp_queue *queue, const void *near, void *word, uint64_t value)
{
    (void)queue;
    (void)near;
    (void)word;
    (void)value;
    return -EOPNOTSUPP;
}

bool stp_kind_no_enter(const struct stp_space *space)
{
    (void)space;
    return false;
}

int stp_kind_host_zero(struct stp_queue *queue, struct stp_space *space, size_t offset,
                       size_t nbytes)
{
    (void)queue;
    memset(space->base + offset, 0, nbytes);
    return 0;
}
