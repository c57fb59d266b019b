/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements waits for signals, and quiet, in the order of a stream. Design:
 * docs/design/streams.md.
 */
#include "stream_engine.h"

/* ---- waiting for a signal ---------------------------------------------------------------- */

static bool step_wait(struct stream_work *work)
{
    uint64_t value;

    if (stp_device_kind_of(work->sig_addr) == NULL)
        /* Pairs with the release store of the PE that sets the signal, as in signal_load(). */
        value = __atomic_load_n(work->sig_addr, __ATOMIC_ACQUIRE);
    else
        stp_copy_any(&value, work->sig_addr, sizeof(value), work->fn);
    if (!(work->outcomes >> (1 - (value < work->signal) + (value > work->signal)) & 1))
        return false;
    stp_remote_flush();
    return true;
}

/*
 * Returns whether the stream itself can wait for the condition. For GE and GT, a stream tests the
 * sign of the difference between the signal word and the argument `value`. The test is right only
 * if both numbers are below 2^63. This function can check only the argument. If network adapters
 * write to device memory, the stream thread must wait instead of the stream. The thread flushes
 * these writes after the wait, but a stream cannot flush them.
 */
static bool stream_can_wait(int cmp, uint64_t value)
{
    bool below_limit = value < INT64_MAX;

    return !__atomic_load_n(&stp_rt.remote_flush, __ATOMIC_RELAXED) &&
           (cmp == SHMEM_CMP_EQ || ((cmp == SHMEM_CMP_GE || cmp == SHMEM_CMP_GT) && below_limit));
}

void pshmemx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value,
                                         void *stream)
{
    struct stream_work work = {
        .step = step_wait, .fn = __func__, .sig_addr = sig_addr, .signal = cmp_value};
    struct stream_slot *slot;
    bool on_device;
    void *word;

    stp_check_live(__func__);
    work.outcomes = stp_cmp_outcomes(cmp, __func__);
    if ((uintptr_t)sig_addr % sizeof(cmp_value) != 0)
        stp_fatal(__func__, "sig_addr %p is not aligned to 8 bytes", (void *)sig_addr);
    (void)stp_symmetric(sig_addr, sizeof(*sig_addr), stp_rt.pe, NULL, __func__, "sig_addr");
    slot = stp_stream_lock_slot(stream, stp_stream_device_of(sig_addr), __func__);
    word = stream_can_wait(cmp, cmp_value)
               ? stp_stream_device_addr(&slot->stream, sig_addr, stp_rt.pe, &on_device)
               : NULL;
    if (word == NULL)
        stp_stream_enqueue_work(slot, &work, true);
    else
        stp_stream_wait_word(slot, word, on_device ? NULL : sig_addr,
                             cmp == SHMEM_CMP_GT ? cmp_value + 1 : cmp_value, cmp == SHMEM_CMP_EQ,
                             __func__);
    stp_stream_unlock_slot(slot);
}
STP_PROFILED(shmemx_signal_wait_until_on_stream);

/* ---- quiet ---------------------------------------------------------------------------------- */

static bool step_quiet(struct stream_work *work)
{
    (void)work;
    stp_quiet(&stp_ctx_stream);
    return true;
}

/*
 * Completes the nonblocking works of the stream. All other operations that were enqueued before are
 * complete when the stream reaches the quiet.
 */
void pshmemx_quiet_on_stream(void *stream)
{
    struct stream_work work = {.step = step_quiet, .fn = __func__};
    struct stream_slot *slot = stp_stream_lock_slot(stream, -1, __func__);

    if (slot->n_nbi > 0) {
        stp_stream_enqueue_work(slot, &work, true);
        __atomic_store_n(&slot->n_nbi, 0, __ATOMIC_RELAXED);
    }
    stp_stream_unlock_slot(slot);
}
STP_PROFILED(shmemx_quiet_on_stream);
