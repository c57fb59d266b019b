/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements collectives that run in the order of CUDA streams. The stream thread
 * performs the collectives of a team one after the other, in the order of the calls. This order is
 * equal on all members. The syncs of these collectives use words that no other collective uses.
 * Therefore other collectives can run at the same time. Design: docs/design/streams.md.
 */
#include "stream_engine.h"

#include "coll/coll_internal.h"

/* ---- syncs ------------------------------------------------------------------------------- */

static int coll_rounds(const struct stp_team *team)
{
    int n = 0;

    while ((int64_t)1 << n < team->n_pes)
        n++;
    return n;
}

/*
 * Performs a dissemination sync in steps. Returns true when the sync is complete, and false if an
 * awaited word has not arrived yet. In round r, this member stores a word at the member whose rank
 * is 2^r higher. The word reports that this member and the 2^r - 1 members before it have arrived.
 * The value of the word is the number of the sync, and each word has only one writer. A member that
 * has already begun the next sync stores a higher number. The waiting member accepts this number,
 * too.
 */
static bool coll_sync_step(struct stream_work *work)
{
    struct stp_team *team = work->team;
    uint64_t epoch = team->stream_epoch + 1;

    for (int n = coll_rounds(team); work->round < n; work->round++) {
        uint64_t *word = &team->area->streams[work->round];

        if (!work->word_stored) {
            int64_t rank = (team->rank + ((int64_t)1 << work->round)) % team->n_pes;

            stp_store_slow(&stp_ctx_stream, word, &epoch, sizeof(epoch),
                           stp_team_pe(team, (int)rank), work->fn);
            work->word_stored = true;
        }
        /* Pairs with the fence in coll_begin() of the member that stored the word. */
        if (__atomic_load_n(word, __ATOMIC_ACQUIRE) < epoch) return false;
        work->word_stored = false;
    }
    team->stream_epoch = epoch;
    work->round = 0;
    return true;
}

/*
 * Returns false if an earlier collective of the team has not ended yet. Otherwise completes the
 * earlier operations of the stream thread and returns true.
 */
static bool coll_begin(struct stream_work *work)
{
    if (work->phase > 0) return true;
    if (work->team->stream_done != work->position) return false;
    stp_quiet(&stp_ctx_stream);
    /*
     * Order earlier stores of this PE before the words that coll_sync_step() stores, as in
     * sync_team(). Pairs with the acquire load in coll_sync_step() on the member that waits for
     * such a word.
     */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    work->phase = 1;
    return true;
}

static bool coll_end(struct stream_work *work)
{
    stp_remote_flush();
    /* Pairs with the acquire load in shmem_team_destroy(). */
    __atomic_store_n(&work->team->stream_done, work->position + 1, __ATOMIC_RELEASE);
    return true;
}

static bool step_sync(struct stream_work *work)
{
    return coll_begin(work) && coll_sync_step(work) && coll_end(work);
}

/* ---- data ------------------------------------------------------------------------------------ */

/*
 * Performs a broadcast in steps. The other members get the data from the root after a first sync. A
 * second sync informs the root that they have the data.
 */
static bool step_broadcast(struct stream_work *work)
{
    struct stp_team *team = work->team;

    if (!coll_begin(work)) return false;
    if (work->phase == 1) {
        if (!coll_sync_step(work)) return false;
        if (team->rank == work->root)
            stp_copy_any(work->dest, work->source, work->nbytes, work->fn);
        else
            stp_get(&stp_ctx_stream, work->dest, work->source, work->nbytes,
                    stp_team_pe(team, work->root), work->fn);
        work->phase = 2;
    }
    return coll_sync_step(work) && coll_end(work);
}

static struct stp_coll_slice coll_slice(const struct stream_work *work)
{
    return stp_coll_slice_of(&stp_ctx_stream, work->team, work->op, work->dtype, work->dest,
                             work->source, work->nelems, work->fn);
}

/*
 * Performs a reduction in steps. This member reduces its slice of the elements on the host. Another
 * member may reduce its slice on a device.
 */
static bool step_reduce(struct stream_work *work)
{
    if (!coll_begin(work)) return false;
    if (work->phase == 1) {
        struct stp_coll_slice slice = coll_slice(work);

        if (!coll_sync_step(work)) return false;
        stp_coll_slice_on_host(&slice);
        stp_quiet(&stp_ctx_stream);
        work->phase = 2;
    }
    return coll_sync_step(work) && coll_end(work);
}

/* ---- calls ------------------------------------------------------------------- */

static void coll_enqueue(struct stream_slot *slot, struct stream_work *work)
{
    work->position = __atomic_fetch_add(&work->team->stream_called, 1, __ATOMIC_RELAXED);
    stp_stream_enqueue_work(slot, work, true);
}

static int coll_call(struct stream_work *work, void *stream, int device)
{
    struct stream_slot *slot = stp_stream_lock_slot(stream, device, work->fn);

    coll_enqueue(slot, work);
    stp_stream_unlock_slot(slot);
    return 0;
}

/*
 * Enqueues a sync, a kernel that reduces this member's slice of the elements, and a second sync.
 * Returns false, without enqueuing anything, if no kernel can do this reduction.
 */
static bool coll_reduce_by_stream(struct stream_slot *slot, const struct stream_work *work)
{
    struct stream_work sync = {.step = step_sync, .fn = work->fn, .team = work->team};
    struct stp_coll_slice slice = coll_slice(work);
    struct stp_reduction parts;

    if (stp_coll_slice_parts(&slice, &parts) == NULL || !stp_stream_reduces(&slot->stream, &parts))
        return false;
    coll_enqueue(slot, &sync);
    if (stp_stream_reduction(&slot->stream, &parts) != 0)
        stp_fatal(work->fn, "cannot enqueue a reduction of %zu elements on the stream",
                  work->nelems);
    coll_enqueue(slot, &sync);
    return true;
}

static int coll_sync(shmem_team_t team, void *stream, const char *fn)
{
    struct stream_work work = {.step = step_sync, .fn = fn};

    if (stp_team_is_invalid(team)) return stp_reject(fn, "team", STP_INVALID_TEAM);
    work.team = stp_team_check(team, fn);
    return coll_call(&work, stream, -1);
}

/* Checks that dest and source are symmetric, unless there are no elements. */
static void coll_check(const struct stream_work *work)
{
    if (work->nbytes == 0) return;
    (void)stp_symmetric(work->dest, work->nbytes, stp_rt.pe, NULL, work->fn, "dest");
    (void)stp_symmetric(work->source, work->nbytes, stp_rt.pe, NULL, work->fn, "source");
}

int stp_stream_reduce(shmem_team_t team_handle, enum stp_op op, enum stp_dtype dtype, void *dest,
                      const void *source, size_t nreduce, void *stream, const char *fn)
{
    struct stream_work work = {.step = step_reduce,
                               .fn = fn,
                               .op = op,
                               .dtype = dtype,
                               .dest = dest,
                               .source = source,
                               .nelems = nreduce,
                               .nbytes = stp_bytes(nreduce, stp_dtype_size(dtype), fn)};
    struct stream_slot *slot;

    if (stp_team_is_invalid(team_handle)) return stp_reject(fn, "team", STP_INVALID_TEAM);
    work.team = stp_team_check(team_handle, fn);
    coll_check(&work);
    if (nreduce == 0) return 0;
    if (work.team->n_pes == 1) { /* a reduction of one member is a copy */
        stp_stream_put(dest, source, work.nbytes, stp_rt.pe, false, stream, fn);
        return 0;
    }
    stp_kind_begin();
    slot = stp_stream_lock_slot(stream, stp_stream_choose(dest, source), fn);
    if (!coll_reduce_by_stream(slot, &work)) coll_enqueue(slot, &work);
    stp_stream_unlock_slot(slot);
    return 0;
}

int pshmemx_broadcastmem_on_stream(shmem_team_t team, void *dest, const void *source, size_t nelems,
                                   int PE_root, void *stream)
{
    struct stream_work work = {.step = step_broadcast,
                               .fn = __func__,
                               .dest = dest,
                               .source = source,
                               .nbytes = nelems,
                               .root = PE_root};

    if (stp_team_is_invalid(team)) return stp_reject(__func__, "team", STP_INVALID_TEAM);
    work.team = stp_team_check(team, __func__);
    if ((unsigned)PE_root >= (unsigned)work.team->n_pes) {
        stp_error(
            "shmemx_broadcastmem_on_stream: PE_root is %d: valid PE numbers in the team are 0..%d",
            PE_root, work.team->n_pes - 1);
        return 1;
    }
    coll_check(&work);
    return nelems == 0 ? 0 : coll_call(&work, stream, stp_stream_choose(dest, source));
}
STP_PROFILED(shmemx_broadcastmem_on_stream);

/*
 * Performs only a sync. At its start, the sync also completes the earlier operations of the stream
 * thread, so a barrier needs nothing else.
 */
void pshmemx_barrier_all_on_stream(void *stream)
{
    stp_check_live(__func__);
    (void)coll_sync(SHMEM_TEAM_WORLD, stream, __func__);
}
STP_PROFILED(shmemx_barrier_all_on_stream);

void pshmemx_sync_all_on_stream(void *stream)
{
    stp_check_live(__func__);
    (void)coll_sync(SHMEM_TEAM_WORLD, stream, __func__);
}
STP_PROFILED(shmemx_sync_all_on_stream);

int pshmemx_barrier_on_stream(shmem_team_t team, void *stream)
{
    return coll_sync(team, stream, __func__);
}
STP_PROFILED(shmemx_barrier_on_stream);

int pshmemx_sync_on_stream(shmem_team_t team, void *stream)
{
    return coll_sync(team, stream, __func__);
}
STP_PROFILED(shmemx_sync_on_stream);
