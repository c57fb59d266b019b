/* SPDX-License-Identifier: BSD-3-Clause */
/* Defines wait_until and test for one element of TYPE. Spec 9.11.1, 9.11.8. */

/*
 * Returns true if the comparison of *ivar with value has one of the outcomes in the mask outcomes.
 * stp_cmp_outcomes() returns such a mask. The load of *ivar has acquire order. It pairs with the
 * release that another PE performed before it updated *ivar. This release is part of a signal, a
 * fence, a quiet or a barrier.
 */
static inline bool STP_LOCAL(satisfied)(const TYPE *ivar, unsigned outcomes, TYPE value)
{
    TYPE current;
    bool is_satisfied;

    if (STP_LIKELY(!stp_win.devices)) {
        /*
         * Pairs with the fence in shmem_fence() or shmem_quiet() that another PE called before it
         * stored to *ivar. If the PE sent a signal to *ivar, pairs with the release store of the
         * signal.
         */
        current = __atomic_load_n(ivar, __ATOMIC_ACQUIRE);
        return outcomes >> (1 - (current < value) + (current > value)) & 1;
    }
    stp_load_slow(&current, ivar, sizeof(current));
    is_satisfied = outcomes >> (1 - (current < value) + (current > value)) & 1;
    /*
     * Make remote writes to device memory visible, because the program may read them next. Do this
     * only when the awaited value has arrived, not after each poll.
     */
    if (is_satisfied) stp_remote_flush();
    return is_satisfied;
}

/* Waits until *ivar satisfies the comparison. The caller has already checked *ivar once. */
static __attribute__((noinline)) void STP_LOCAL(wait)(const TYPE *ivar, unsigned outcomes,
                                                      TYPE value, const char *fn)
{
    struct stp_wait wait = {0};

    do {
        if (STP_UNLIKELY(stp_wait_idle_once(&wait)))
            STP_WAIT_SHOW_VARS(fn, ivar, 1, 0, outcomes, value);
    } while (!STP_LOCAL(satisfied)(ivar, outcomes, value));
    stp_wait_end(&wait);
}

static void STP_LOCAL(wait_until)(const TYPE *ivar, int cmp, TYPE cmp_value, const char *fn)
{
    unsigned outcomes = stp_cmp_outcomes(cmp, fn);

    stp_api_check_vars(ivar, 1, sizeof(*ivar), fn, "ivar");
    if (!STP_LOCAL(satisfied)(ivar, outcomes, cmp_value))
        STP_LOCAL(wait)(ivar, outcomes, cmp_value, fn);
}

void STP_FN(wait_until)(TYPE *ivar, int cmp, TYPE cmp_value)
{
    STP_LOCAL(wait_until)(ivar, cmp, cmp_value, __func__);
}
STP_PUBLISH_ONE(wait_until);

int STP_FN(test)(TYPE *ivar, int cmp, TYPE cmp_value)
{
    stp_api_check_vars(ivar, 1, sizeof(*ivar), __func__, "ivar");
    if (STP_LOCAL(satisfied)(ivar, stp_cmp_outcomes(cmp, __func__), cmp_value)) return 1;
    stp_wait_after_failed_test();
    return 0;
}
STP_PUBLISH_ONE(test);
