/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines wait_until and test for one element of TYPE. Spec 9.11.1, 9.11.8. */

/*
 * Returns true if the comparison of *ivar with value has one of the wanted outcomes, which
 * stp_cmp_outcomes() returned. The load of *ivar acquires. It pairs with the release before another
 * PE updated *ivar: a signal, a fence, a quiet or a barrier.
 */
static inline bool STP_LOCAL(holds)(const TYPE *ivar, unsigned wanted, TYPE value)
{
    TYPE now;
    bool so;

    if (STP_LIKELY(!stp_win.devices)) {
        /*
         * Pairs with the fence in shmem_fence() or shmem_quiet() before the store to *ivar, or with
         * the release store of a signal to *ivar.
         */
        now = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);
        return wanted >> (1 - (now < value) + (now > value)) & 1;
    }
    stp_load_slow(&now, ivar, sizeof(now));
    so = wanted >> (1 - (now < value) + (now > value)) & 1;
    /*
     * Flush writes to device memory only when the awaited value has arrived, not after each poll.
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
