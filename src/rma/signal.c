/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements put with signal and the signal routines. The data of a put with signal arrives before
 * the update of its signal.
 */
#include "rma.h"

#include "spaces/cuda/pinned_host_and_kernel_gpu.h"

#include <string.h>

static enum stp_fabric_amo signal_op(int sig_op, const char *fn)
{
    if (sig_op == SHMEM_SIGNAL_SET) return STP_AMO_SET;
    if (sig_op == SHMEM_SIGNAL_ADD) return STP_AMO_ADD;
    stp_fatal(fn, "sig_op is %d: pass SHMEM_SIGNAL_SET (%d) or SHMEM_SIGNAL_ADD (%d)", sig_op,
              SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD);
}

/*
 * Updates a mapped signal with release order, so that a PE that sees the signal also sees all
 * earlier stores of this PE.
 */
static void signal_store(uint64_t *word, uint64_t signal, enum stp_fabric_amo op)
{
    /* Pairs with the acquire load in signal_load() of the PE that waits for the signal. */
    if (op == STP_AMO_SET)
        __atomic_store_n(word, signal, __ATOMIC_RELEASE);
    else
        __atomic_fetch_add(word, signal, __ATOMIC_RELEASE);
}

/* Updates a signal of the PE whose number in the context's team is pe. */
static void signal_send(struct stp_ctx *ctx, uint64_t *sig_addr, uint64_t signal,
                        enum stp_fabric_amo op, int pe, const char *fn)
{
    int world_pe = stp_ctx_pe(ctx, pe, fn);
    uint64_t *peer_ptr = stp_ptr_inline(sig_addr, world_pe, STP_USE_ATOMIC);

    if (STP_LIKELY(peer_ptr != NULL))
        signal_store(peer_ptr, signal, op);
    else
        stp_amo_slow(ctx, op, STP_U64, sig_addr, &signal, NULL, NULL, false, world_pe, fn);
}

/*
 * Returns the address at which a device can write a signal in pinned host memory. The copy queue
 * can then set the signal after the copy, so that no thread has to wait for the copy. Returns NULL
 * if the signal is not in pinned memory. Also returns NULL if the fabric performs atomics, because
 * a device's store is atomic only with respect to atomics of CPUs.
 */
static void *signal_of_device(const uint64_t *sig_addr, int pe)
{
    size_t offset;
    struct stp_space *space = stp_space_lookup(sig_addr, &offset);

    if (space == NULL || space->pinned == NULL || !stp_win.cpu_atomics) return NULL;
    return stp_pinned_device_ptr(space, stp_local_of(pe), offset);
}

/*
 * Performs a put with signal if stp_put_signal() finds no mapped address for the data or the
 * signal. Data and signal may take different paths.
 */
static void signal_put_slow(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                            uint64_t *sig_addr, uint64_t signal, enum stp_fabric_amo op, bool nbi,
                            int pe, const char *fn)
{
    struct stp_target data = {.path = STP_PATH_HOST}, word;
    enum stp_copy_completion completion = nbi ? STP_COPY_NONE : STP_COPY_LOCAL;
    void *device_ptr;
    bool device;

    stp_kind_begin();
    device = nbytes > 0 && stp_device_of(source) != NULL;
    if ((uintptr_t)sig_addr % sizeof(signal) != 0)
        stp_fatal(fn, "sig_addr %p is not aligned to 8 bytes", (void *)sig_addr);
    if (nbytes > 0) data = stp_locate(ctx, dest, nbytes, pe, STP_USE_COPY, fn, "dest");
    word = stp_locate(ctx, sig_addr, sizeof(signal), pe, STP_USE_ATOMIC, fn, "sig_addr");
    /*
     * If both buffers are host memory and the PE is on another node, the fabric performs the put
     * and the update of the signal as one operation. For most other puts, a quiet between the data
     * and the signal keeps them in order.
     */
    if (stp_local_of(pe) < 0 && word.path == STP_PATH_FABRIC && !device &&
        (nbytes == 0 || data.space->host)) {
        stp_rt.fabric.put_signal(ctx->fabric, &data, source, nbytes, &word, signal, op, nbi);
        return;
    }
    if (data.path == STP_PATH_DEVICE && word.path == STP_PATH_HOST && op == STP_AMO_SET &&
        (device_ptr = signal_of_device(sig_addr, pe)) != NULL) {
        stp_copy_signal(ctx, data.space->kind, data.addr, source, nbytes, completion, device_ptr,
                        signal, fn);
        return;
    }
    if (nbytes > 0) stp_put_to(ctx, &data, source, nbytes);
    if (data.path == STP_PATH_HOST && word.path == STP_PATH_HOST && !device) {
        signal_store((uint64_t *)word.addr, signal, op);
        return;
    }
    stp_quiet(ctx);
    stp_amo_to(ctx, &word, op, STP_U64, &signal, NULL, NULL, false);
}

void stp_put_signal(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *sig_addr, uint64_t signal, int sig_op, bool nbi, int pe,
                    const char *fn)
{
    enum stp_fabric_amo op = signal_op(sig_op, fn);
    uint64_t *peer_sig_addr = stp_ptr_inline(sig_addr, pe, STP_USE_ATOMIC);
    void *peer_ptr = NULL;

    /* For 0 bytes, nbytes - 1 wraps around, so that the first comparison is false. */
    if (STP_LIKELY(nbytes - 1 < STP_UNCHECKED_BYTES) ||
        (nbytes > 0 && stp_window_fits(dest, nbytes)))
        peer_ptr = stp_ptr_inline(dest, pe, STP_USE_COPY);
    if (STP_LIKELY(peer_sig_addr != NULL && (peer_ptr != NULL || nbytes == 0))) {
        if (peer_ptr != NULL) __builtin_memcpy(peer_ptr, source, nbytes);
        signal_store(peer_sig_addr, signal, op);
        return;
    }
    signal_put_slow(ctx, dest, source, nbytes, sig_addr, signal, op, nbi, pe, fn);
}

void stp_put_notify(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *word, uint64_t value, int sig_op, int pe, const char *fn)
{
    struct stp_target data, word_target;

    stp_kind_begin();
    if (nbytes > 0 && stp_local_of(pe) < 0 && stp_device_of(source) == NULL) {
        data = stp_locate(ctx, dest, nbytes, pe, STP_USE_COPY, fn, "dest");
        word_target = stp_locate(ctx, word, sizeof(*word), pe, STP_USE_ATOMIC, fn, "word");
        if (word_target.path == STP_PATH_FABRIC && data.space->host) {
            stp_rt.fabric.put_notify(ctx->fabric, &data, source, nbytes, &word_target, value,
                                     signal_op(sig_op, fn));
            return;
        }
    }
    stp_put_signal(ctx, dest, source, nbytes, word, value, sig_op, true, pe, fn);
}

void pshmem_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    signal_send(stp_ctx_check(ctx, __func__), sig_addr, signal, STP_AMO_SET, pe, __func__);
}
STP_PROFILED(shmem_ctx_signal_set);

void pshmem_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    signal_send(stp_ctx_check(ctx, __func__), sig_addr, signal, STP_AMO_ADD, pe, __func__);
}
STP_PROFILED(shmem_ctx_signal_add);

void(pshmem_signal_set)(uint64_t *sig_addr, uint64_t signal, int pe)
{
    signal_send(&stp_ctx_default, sig_addr, signal, STP_AMO_SET, pe, __func__);
}
STP_PROFILED(shmem_signal_set);

void(pshmem_signal_add)(uint64_t *sig_addr, uint64_t signal, int pe)
{
    signal_send(&stp_ctx_default, sig_addr, signal, STP_AMO_ADD, pe, __func__);
}
STP_PROFILED(shmem_signal_add);

/* With SHMEM_CHECK=1, checks that sig_addr is in symmetric memory. */
static void signal_check(const uint64_t *sig_addr, const char *fn)
{
    if (STP_UNLIKELY(stp_rt.check))
        (void)stp_symmetric(sig_addr, sizeof(*sig_addr), stp_rt.pe, NULL, fn, "sig_addr");
}

/* Loads a signal word of this PE with acquire order. */
static uint64_t signal_load(const uint64_t *sig_addr)
{
    uint64_t value;

    /*
     * Pairs with the release in signal_store(). If another node sent the signal, pairs with the
     * release in the fabric module.
     */
    if (STP_LIKELY(!stp_win.devices)) return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
    stp_load_slow(&value, sig_addr, sizeof(value));
    return value;
}

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
    uint64_t value;

    signal_check(sig_addr, __func__);
    value = signal_load(sig_addr);
    stp_remote_flush();           /* the program may read the data of the put next */
    stp_wait_after_failed_test(); /* a program may call this routine in a loop */
    return value;
}
STP_PROFILED(shmem_signal_fetch);

static STP_COLD void signal_show(const uint64_t *sig_addr, unsigned outcomes, uint64_t cmp_value,
                                 const char *fn)
{
    stp_wait_publish_subject(&(struct stp_wait_subject){.kind = STP_WAIT_VARS,
                                                        .fn = fn,
                                                        .addr = sig_addr,
                                                        .pe = -1,
                                                        .nelems = 1,
                                                        .size = sizeof(*sig_addr),
                                                        .comparisons = outcomes,
                                                        .value = cmp_value});
}

uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    unsigned outcomes = stp_cmp_outcomes(cmp, __func__);
    struct stp_wait wait = {0};
    uint64_t value;

    signal_check(sig_addr, __func__);
    value = signal_load(sig_addr);
    while (!(outcomes >> (1 - (value < cmp_value) + (value > cmp_value)) & 1)) {
        if (STP_UNLIKELY(stp_wait_idle_once(&wait)))
            signal_show(sig_addr, outcomes, cmp_value, __func__);
        value = signal_load(sig_addr);
    }
    stp_wait_end(&wait);
    stp_remote_flush();
    /* Return the value that satisfied the test, because the signal may have changed since. */
    return value;
}
STP_PROFILED(shmem_signal_wait_until);
