/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the program has becomes a space: shmemx_buffer_register(), of one range or several.
 * Design: docs/design/spaces.md.
 */
#include "space.h"

#include "coll/coll.h"
#include "pshmem.h"
#include "rma/rma.h"

#include <stdlib.h>
#include <string.h>

/* What this PE has passed. */
struct adopt_range {
    void *base;
    size_t nbytes;
    struct stp_adopt adopt;
};

struct adopt_list {
    const char *fn;
    int n;
    struct adopt_range ranges[SHMEMX_BUFFER_RANGES];
};

/* The same as members compare it. */
struct adopt_sizes {
    int64_t n;
    uint64_t nbytes[SHMEMX_BUFFER_RANGES];
};

/* ---- several ranges ------------------------------------------------------------------------ */

/* One of the list against those before it. */
static bool adopt_check_range(const struct adopt_list *list, int i)
{
    const struct adopt_range *one = &list->ranges[i], *first = &list->ranges[0];

    if (one->nbytes == 0) {
        stp_error("%s: attr->ranges[%d].nbytes is 0: at least 1", list->fn, i);
        return false;
    }
    if ((one->adopt.fd >= 0) != (first->adopt.fd >= 0) ||
        (stp_device_of(one->base) != NULL) != (stp_device_of(first->base) != NULL)) {
        stp_error(
            "%s: attr->ranges[%d] and [0] are of two kinds: all are private memory, or have a "
            "descriptor, or are GPU memory",
            list->fn, i);
        return false;
    }
    for (int k = 0; k < i; k++) {
        const struct adopt_range *other = &list->ranges[k];
        uintptr_t at = (uintptr_t)one->base, there = (uintptr_t)other->base;

        if (at >= there + other->nbytes || there >= at + one->nbytes) continue;
        stp_error("%s: attr->ranges[%d], %zu bytes at %p, overlaps [%d], %zu bytes at %p", list->fn,
                  i, one->nbytes, one->base, k, other->nbytes, other->base);
        return false;
    }
    return true;
}

static bool adopt_check_list(const shmemx_buffer_attr_t *attr, struct adopt_list *list, bool heap)
{
    list->n = 0;
    if (attr->addr != NULL || attr->nbytes != 0 || attr->fd != -1 || attr->offset != 0) {
        stp_error("%s: attr->ranges is set, and addr, nbytes, fd or offset too: it is one or the "
                  "other",
                  list->fn);
        return false;
    }
    if (attr->ranges == NULL) {
        stp_error("%s: attr->n_ranges is %d, and ranges a null pointer", list->fn, attr->n_ranges);
        return false;
    }
    if (attr->n_ranges < 1 || attr->n_ranges > SHMEMX_BUFFER_RANGES) {
        stp_error("%s: attr->n_ranges is %d: 1 to %d", list->fn, attr->n_ranges,
                  SHMEMX_BUFFER_RANGES);
        return false;
    }
    for (int i = 0; i < attr->n_ranges; i++) {
        const shmemx_buffer_range_t *range = &attr->ranges[i];

        if (range->with_fd && range->fd < 0) {
            stp_error("%s: attr->ranges[%d].fd is %d: a descriptor, or with_fd is 0", list->fn, i,
                      range->fd);
            return false;
        }
        list->ranges[i] = (struct adopt_range){
            .base = range->addr,
            .nbytes = range->nbytes,
            .adopt = {.fd = range->with_fd ? range->fd : -1,
                      .at = range->with_fd ? range->offset : 0,
                      .heap = heap},
        };
        list->n = i + 1;
        if (!adopt_check_range(list, i)) return false;
    }
    return true;
}

/* Who is the first whose list is not that of the first member, and where? Both of them say it. */
static void adopt_name_differing(const struct stp_team *team, const struct adopt_sizes *all,
                                 const char *fn)
{
    int rank = 1, i = 0;

    while (memcmp(&all[rank], &all[0], sizeof(all[0])) == 0)
        rank++;
    if (team->rank != 0 && team->rank != rank) return;
    if (all[rank].n != all[0].n) {
        stp_error("%s: attr->n_ranges is %d on PE %d and %d on PE %d: all pass as many", fn,
                  (int)all[0].n, stp_team_pe(team, 0), (int)all[rank].n, stp_team_pe(team, rank));
        return;
    }
    while (all[rank].nbytes[i] == all[0].nbytes[i])
        i++;
    stp_error("%s: attr->ranges[%d].nbytes is %zu on PE %d and %zu on PE %d: sizes are equal", fn,
              i, (size_t)all[0].nbytes[i], stp_team_pe(team, 0), (size_t)all[rank].nbytes[i],
              stp_team_pe(team, rank));
}

/* All lists are good, and as long as each other, range by range: or all get 1. */
static int adopt_agree(struct stp_team *team, const struct adopt_list *list, bool good)
{
    struct adopt_sizes mine = {.n = list->n}, *all;
    int64_t facts[3], hash;

    for (int i = 0; i < list->n; i++)
        mine.nbytes[i] = list->ranges[i].nbytes;
    hash = (int64_t)(stp_hash(STP_HASH_EMPTY, &mine, sizeof(mine)) & INT64_MAX);
    facts[0] = !good;
    facts[1] = hash;
    facts[2] = -hash;
    stp_coll_agree(team, facts, 3);
    if (facts[0] != 0) return 1;
    if (facts[1] == -facts[2]) return 0;
    all = malloc((size_t)team->n_pes * sizeof(*all));
    if (all == NULL) stp_fatal(list->fn, "no memory for what %d PEs pass", team->n_pes);
    stp_coll_gather(team, all, &mine, sizeof(mine));
    adopt_name_differing(team, all, list->fn);
    free(all);
    return 1;
}

/* Range by range, each as a space of its own; a later one that is refused ends those before it. */
static int adopt_all(shmem_team_t team, const struct adopt_list *list, struct stp_space **space)
{
    struct stp_space *last = NULL, *made;

    for (int i = 0; i < list->n; i++) {
        const struct adopt_range *range = &list->ranges[i];

        if (stp_space_adopt(team, range->base, range->nbytes, &range->adopt, *space, &made,
                            list->fn) != 0) {
            if (list->n > 1 && stp_team_of(team)->rank == 0)
                stp_error("%s: attr->ranges[%d], %zu bytes, is refused", list->fn, i,
                          range->nbytes);
            if (*space != NULL) stp_space_end(*space);
            return 1;
        }
        if (last == NULL)
            *space = made;
        else
            last->next_range = made;
        last = made;
    }
    return 0;
}

/* ---- the public routines --------------------------------------------------------------------- */

static int adopt_register(shmem_team_t team, const shmemx_buffer_attr_t *attr, shmem_space_t *space,
                          const char *fn)
{
    bool heap = (attr->flags & SHMEMX_ADOPT_HEAP) != 0, good = true;
    struct adopt_list list = {.fn = stp_public_name(fn), .n = 1};
    struct stp_space *made = NULL;

    stp_check_live(fn);
    stp_check_given(space, fn, "space");
    *space = SHMEM_SPACE_INVALID;
    if (stp_team_is_invalid(team)) return 1;
    if ((attr->flags & ~SHMEMX_ADOPT_HEAP) != 0)
        stp_fatal(fn, "flags %#x are unknown: SHMEMX_ADOPT_HEAP (%d) is the only one",
                  (unsigned)attr->flags, SHMEMX_ADOPT_HEAP);
    if (attr->fd < -1) stp_fatal(fn, "fd is %d: -1, or a descriptor", attr->fd);
    list.ranges[0] = (struct adopt_range){
        attr->addr, attr->nbytes, {.fd = attr->fd, .at = attr->offset, .heap = heap}};
    stp_kind_begin();
    if (attr->ranges != NULL || attr->n_ranges != 0) good = adopt_check_list(attr, &list, heap);
    if (adopt_agree(stp_team_check(team, fn), &list, good) != 0) return 1;
    if (adopt_all(team, &list, &made) != 0) return 1;
    stp_space_offer(made);
    *space = stp_space_handle(made);
    return 0;
}

int pshmemx_buffer_register(shmem_team_t team, void *addr, size_t nbytes, int flags,
                            shmem_space_t *space)
{
    shmemx_buffer_attr_t attr = SHMEMX_BUFFER_ATTR_INITIALIZER;

    attr.addr = addr;
    attr.nbytes = nbytes;
    attr.flags = flags;
    return adopt_register(team, &attr, space, __func__);
}
STP_PROFILED(shmemx_buffer_register);

int pshmemx_buffer_register_attr(shmem_team_t team, const shmemx_buffer_attr_t *attr,
                                 shmem_space_t *space)
{
    shmemx_buffer_attr_t full = SHMEMX_BUFFER_ATTR_INITIALIZER;

    stp_check_given(attr, __func__, "attr");
    stp_struct_check(attr->struct_size, offsetof(shmemx_buffer_attr_t, fd), sizeof(full),
                     "attr->struct_size", __func__);
    if (attr->struct_size > sizeof(full))
        stp_fatal(__func__, "attr->struct_size is %zu, and this library knows %zu bytes of it",
                  attr->struct_size, sizeof(full));
    memcpy(&full, attr, attr->struct_size); /* a program of an older header has fewer fields */
    return adopt_register(team, &full, space, __func__);
}
STP_PROFILED(shmemx_buffer_register_attr);
