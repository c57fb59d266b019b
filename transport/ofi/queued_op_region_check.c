/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks queued operations, which are posted only after the routine that issued them has returned.
 * Examples are collected puts, signals that wait for their data, and operations that the provider
 * did not accept at once. Before the post, the region of the operation may be removed, and a new
 * region may get the same number. Each region therefore has a generation, a number that changes
 * when the region is added or removed. A queued operation stores the generation of its region. The
 * post compares the stored generation with the current one. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "am.h"
#include "batch.h"

#include <string.h>

static unsigned generation_of(unsigned number)
{
    return __atomic_load_n(&stp_ofi.regions[number].generation, __ATOMIC_RELAXED);
}

_Noreturn STP_COLD static void die_stale(const struct stp_ofi_req *req, const char *fn,
                                         unsigned number)
{
    stp_ofi.core->fatal(fn,
                        "an operation on PE %d was still queued when space %u was destroyed: call "
                        "shmem_quiet before you destroy the space",
                        req->pe, number);
}

/*
 * Ends the job if the region with this number was added or removed after the packed message was
 * begun. The argument arg is the request of the packed message. Returns true, so that
 * stp_ofi_packed_each() continues.
 */
static bool item_is_queued(unsigned number, void *arg)
{
    const struct stp_ofi_req *req = arg;

    if (generation_of(number) > req->place.generation) die_stale(req, req->place.fn, number);
    return true;
}

static void check_place(const struct stp_ofi_req *req, const struct stp_ofi_place *place)
{
    if (STP_UNLIKELY(generation_of(place->number) != place->generation))
        die_stale(req, place->fn, place->number);
}

void stp_ofi_die_if_region_gone(const struct stp_ofi_req *req)
{
    struct stp_ofi_piece piece;

    if (req->work.kind == STP_OFI_ANSWER) return;
    /*
     * Do not check requests while the job ends. Requests to PEs that have left may still be queued,
     * although their regions are already removed.
     */
    if (__atomic_load_n(&stp_ofi.finishing, __ATOMIC_RELAXED)) return;
    if (req->work.kind == STP_OFI_PACKED) {
        if (STP_LIKELY(req->place.generation ==
                       __atomic_load_n(&stp_ofi.generation, __ATOMIC_RELAXED)))
            return;
        stp_ofi_packed_each(req->data + sizeof(struct stp_ofi_am_header),
                            req->nbytes - sizeof(struct stp_ofi_am_header), item_is_queued,
                            (void *)(uintptr_t)req);
        return;
    }
    if (req->n_pieces == 0) check_place(req, &req->place);
    for (unsigned i = 0; i < req->n_pieces; i++) {
        memcpy(&piece, req->data + i * sizeof(piece), sizeof(piece));
        check_place(req, &piece.place);
    }
}
