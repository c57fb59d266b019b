/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines the wait for and the test of one element of TYPE. Spec 9.11.1, 9.11.8. */

/*
 * Returns true if *ivar compares with value in one of the wanted ways; see stp_cmp_outcomes(). The
 * acquire pairs with the release before the update: a signal, a fence, a quiet or a barrier.
 */
static inline bool STP_LOCAL(holds)(const TYPE *ivar, unsigned wanted, TYPE value)
{
    TYPE now;
    bool so;

    if (STP_LIKELY(!stp_win.devices)) {
        /*
         * Pairs with the fence in shmem_fence() or shmem_quiet(), or with the release store of a
         * signal, before ivar was stored.
         */
        now = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);
        return wanted >> (1 - (now < value) + (now > value)) & 1;
    }
    stp_load_slow(&now, ivar, sizeof(now));
    so = wanted >> (1 - (now < value) + (now > value)) & 1;
    if (so) stp_remote_flush(); /* once the data is there, not at each poll */
    return so;
}

/* Waits until *ivar satisfies the comparison. Called after the first check has failed. */
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
