/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines wait_until and test for one element of TYPE. Spec 9.11.1, 9.11.8. */

/*
 * Returns true if the comparison of *ivar with value has one of the wanted outcomes. The argument
 * wanted is a mask from stp_cmp_outcomes(). The load of *ivar has acquire order. It pairs with the
 * release that another PE performed before it updated *ivar. This release is part of a signal, a
 * fence, a quiet or a barrier.
 */
static inline bool STP_LOCAL(holds)(const TYPE *ivar, unsigned wanted, TYPE value)
{
    TYPE now;
    bool so;

    if (STP_LIKELY(!stp_win.devices)) {
        /*
         * Pairs with the fence in shmem_fence() or shmem_quiet() that another PE called before it
         * stored to *ivar. If the PE sent a signal to *ivar, pairs with the release store of the
         * signal.
         */
        now = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);
        return wanted >> (1 - (now < value) + (now > value)) & 1;
    }
    stp_load_slow(&now, ivar, sizeof(now));
    so = wanted >> (1 - (now < value) + (now > value)) & 1;
    /*
     * Make remote writes to device memory visible, because the program may read them next. Do this
     * only when the awaited value has arrived, not after each poll.
     */
    if (so) stp_remote_flush();
    return so;
}

/* Waits until *ivar satisfies the comparison. The caller has already checked *ivar once. */
static __attribute__((noinline)) void STP_LOCAL(wait)(const TYPE *ivar, unsigned wanted, TYPE value,
                                                      const char *fn)
{
    struct stp_wait wait = {0};

    do {
        if (STP_UNLIKELY(stp_wait_idle_once(&wait)))
            STP_WAIT_SHOW_VARS(fn, ivar, 1, 0, wanted, value);
    } while (!STP_LOCAL(holds)(ivar, wanted, value));
    stp_wait_end(&wait);
}

static void STP_LOCAL(wait_until)(const TYPE *ivar, int cmp, TYPE cmp_value, const char *fn)
{
    unsigned wanted = stp_cmp_outcomes(cmp, fn);

    stp_api_check_vars(ivar, 1, sizeof(*ivar), fn, "ivar");
    if (!STP_LOCAL(holds)(ivar, wanted, cmp_value)) STP_LOCAL(wait)(ivar, wanted, cmp_value, fn);
}

void STP_FN(wait_until)(TYPE *ivar, int cmp, TYPE cmp_value)
{
    STP_LOCAL(wait_until)(ivar, cmp, cmp_value, __func__);
}
STP_PUBLISH_ONE(wait_until);

int STP_FN(test)(TYPE *ivar, int cmp, TYPE cmp_value)
{
    stp_api_check_vars(ivar, 1, sizeof(*ivar), __func__, "ivar");
    if (STP_LOCAL(holds)(ivar, stp_cmp_outcomes(cmp, __func__), cmp_value)) return 1;
    stp_wait_after_failed_test();
    return 0;
}
STP_PUBLISH_ONE(test);
