/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals: put with a notice that is never early, and the signal words by themselves.
 */
#include "rma.h"

static enum stp_fabric_amo signal_op(int sig_op, const char *fn)
{
    if (sig_op == SHMEM_SIGNAL_SET) return STP_AMO_SET;
    if (sig_op == SHMEM_SIGNAL_ADD) return STP_AMO_ADD;
    stp_fatal(fn, "sig_op is %d: it is SHMEM_SIGNAL_SET (%d) or SHMEM_SIGNAL_ADD (%d)", sig_op,
              SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD);
}

/* Release: whoever acquires the signal's value sees what was stored before it. */
static void signal_store(uint64_t *there, uint64_t signal, enum stp_fabric_amo op)
{
    if (op == STP_AMO_SET) __atomic_store_n(there, signal, __ATOMIC_RELEASE);
    else __atomic_fetch_add(there, signal, __ATOMIC_RELEASE);
}

static void signal_send(struct stp_ctx *ctx, uint64_t *sig_addr, uint64_t signal, int sig_op,
                        int pe, const char *fn)
{
    enum stp_fabric_amo op = signal_op(sig_op, fn);
    uint64_t *there = stp_reach_amo(sig_addr, pe);

    if (STP_LIKELY(there != NULL)) signal_store(there, signal, op);
    else stp_amo_slow(ctx, op, STP_U64, sig_addr, &signal, NULL, NULL, false, pe, fn);
}

void stp_put_signal(struct stp_ctx *ctx, void *dest, const void *source, size_t nbytes,
                    uint64_t *sig_addr, uint64_t signal, int sig_op, bool nbi, int pe,
                    const char *fn)
{
    enum stp_fabric_amo op = signal_op(sig_op, fn);
    bool device = nbytes > 0 && stp_on_device(dest, source);
    void *there = nbytes > 0 && !stp_rt.check && !device ? stp_peer(dest, pe) : NULL;
    uint64_t *sig_there = stp_reach_amo(sig_addr, pe);
    struct stp_place place = {0}, sig_place;

    if (STP_UNLIKELY(stp_rt.check)) {
        if (nbytes > 0) {
            stp_check_bound(ctx, dest, fn, "dest");
            stp_check_range(dest, nbytes, pe, fn, "dest");
        }
        stp_check_bound(ctx, sig_addr, fn, "sig_addr");
        stp_check_range(sig_addr, sizeof signal, pe, fn, "sig_addr");
    }

    if (sig_there == NULL && !stp_rt.check) sig_there = stp_reach_amo_slow(sig_addr, pe);
    if ((there != NULL || nbytes == 0) && sig_there != NULL) {
        if (nbytes > 0) __builtin_memcpy(there, source, nbytes);
        signal_store(sig_there, signal, op);
        return;
    }
    if (device || stp_device_of(sig_addr) != NULL || stp_local_of(pe) >= 0 || !stp_rt.has_fabric) {
        /* halves that travel apart, or everything checked: the quiet keeps the order */
        (void)stp_place_of(sig_addr, sizeof signal, pe, fn, "sig_addr");
        stp_put(ctx, dest, source, nbytes, pe, fn);
        stp_quiet(ctx);
        stp_amo_slow(ctx, op, STP_U64, sig_addr, &signal, NULL, NULL, false, pe, fn);
        return;
    }
    if (nbytes > 0) place = stp_place_of(dest, nbytes, pe, fn, "dest");
    sig_place = stp_place_of(sig_addr, sizeof signal, pe, fn, "sig_addr");
    if ((uintptr_t)sig_addr % sizeof signal != 0)
        stp_fatal(fn, "sig_addr %p is not aligned to 8 bytes", (void *)sig_addr);
    stp_rt.fabric.put_signal(ctx->fabric, pe, place.number, place.offset, source, nbytes,
                             sig_place.number, sig_place.offset, signal, op, nbi);
}

void pshmem_ctx_signal_set(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    struct stp_ctx *c = stp_ctx_check(ctx, __func__);

    signal_send(c, sig_addr, signal, SHMEM_SIGNAL_SET, stp_ctx_pe(c, pe, __func__), __func__);
}
STP_PROFILED(shmem_ctx_signal_set);

void pshmem_ctx_signal_add(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe)
{
    struct stp_ctx *c = stp_ctx_check(ctx, __func__);

    signal_send(c, sig_addr, signal, SHMEM_SIGNAL_ADD, stp_ctx_pe(c, pe, __func__), __func__);
}
STP_PROFILED(shmem_ctx_signal_add);

void (pshmem_signal_set)(uint64_t *sig_addr, uint64_t signal, int pe)
{
    struct stp_ctx *c = &stp_ctx_default;

    signal_send(c, sig_addr, signal, SHMEM_SIGNAL_SET, stp_ctx_pe(c, pe, __func__), __func__);
}
STP_PROFILED(shmem_signal_set);

void (pshmem_signal_add)(uint64_t *sig_addr, uint64_t signal, int pe)
{
    struct stp_ctx *c = &stp_ctx_default;

    signal_send(c, sig_addr, signal, SHMEM_SIGNAL_ADD, stp_ctx_pe(c, pe, __func__), __func__);
}
STP_PROFILED(shmem_signal_add);

/* SHMEM_CHECK=1: sig_addr is a symmetric word. */
static void signal_check(const uint64_t *sig_addr, const char *fn)
{
    if (STP_UNLIKELY(stp_rt.check))
        stp_check_range(sig_addr, sizeof *sig_addr, stp_rt.pe, fn, "sig_addr");
}

/* A signal word of this PE: pairs with the release of signal_store(). */
static uint64_t signal_load(const uint64_t *sig_addr)
{
    uint64_t value;

    if (STP_LIKELY(!stp_win.devices)) return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
    stp_load_slow(&value, sig_addr, sizeof value);
    return value;
}

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
    uint64_t value;

    signal_check(sig_addr, __func__);
    value = signal_load(sig_addr);
    stp_wait_missed(); /* a program may poll with it */
    return value;
}
STP_PROFILED(shmem_signal_fetch);

static bool signal_compare(uint64_t value, int cmp, uint64_t cmp_value, const char *fn)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: return value == cmp_value;
    case SHMEM_CMP_NE: return value != cmp_value;
    case SHMEM_CMP_GT: return value > cmp_value;
    case SHMEM_CMP_LE: return value <= cmp_value;
    case SHMEM_CMP_LT: return value < cmp_value;
    case SHMEM_CMP_GE: return value >= cmp_value;
    default: stp_fatal_cmp(fn, cmp);
    }
}

uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    struct stp_wait wait = {0};
    uint64_t value;

    signal_check(sig_addr, __func__);
    value = signal_load(sig_addr);
    while (!signal_compare(value, cmp, cmp_value, __func__)) {
        stp_wait_idle(&wait);
        value = signal_load(sig_addr);
    }
    return value; /* the one that satisfied the test, not a second look */
}
STP_PROFILED(shmem_signal_wait_until);
