/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Defines waits and tests on arrays of TYPE. Spec 9.11.2 to 9.11.7, 9.11.9 to 9.11.14.
 *
 * Routines with a single value and routines with a vector of values share their code. Element i is
 * compared with values[i * step]. The parameter step is 0 for a single value, and 1 for a vector.
 * Elements whose status is not 0 are skipped.
 */

static bool STP_LOCAL(many_satisfied)(const TYPE *ivars, size_t i, unsigned outcomes,
                                      const TYPE *values, size_t step)
{
    return STP_LOCAL(satisfied)(&ivars[i], outcomes, values[i * step]);
}

/* Checks the array if SHMEM_CHECK is 1. Returns the mask of outcomes from stp_cmp_outcomes(). */
static unsigned STP_LOCAL(many_outcomes)(const TYPE *ivars, size_t nelems, int cmp, const char *fn)
{
    stp_api_check_vars(ivars, nelems, sizeof(*ivars), fn, "ivars");
    return stp_cmp_outcomes(cmp, fn);
}

static void STP_LOCAL(wait_all)(const TYPE *ivars, size_t nelems, const int *status, int cmp,
                                const TYPE *values, size_t step, const char *fn)
{
    unsigned outcomes = STP_LOCAL(many_outcomes)(ivars, nelems, cmp, fn);
    struct stp_wait wait = {0};

    for (size_t i = 0; i < nelems; i++) {
        if (status != NULL && status[i] != 0) continue;
        while (!STP_LOCAL(many_satisfied)(ivars, i, outcomes, values, step))
            if (STP_UNLIKELY(stp_wait_idle_once(&wait)))
                STP_WAIT_SHOW_VARS(fn, ivars, nelems, i, outcomes, values[i * step]);
    }
    stp_wait_end(&wait);
}

static int STP_LOCAL(test_all)(const TYPE *ivars, size_t nelems, const int *status, int cmp,
                               const TYPE *values, size_t step, const char *fn)
{
    unsigned outcomes = STP_LOCAL(many_outcomes)(ivars, nelems, cmp, fn);

    for (size_t i = 0; i < nelems; i++) {
        if (status != NULL && status[i] != 0) continue;
        if (STP_LOCAL(many_satisfied)(ivars, i, outcomes, values, step)) continue;
        stp_wait_after_failed_test();
        return 0;
    }
    return 1;
}

/*
 * Finds an element that satisfies the comparison. Returns its index, or SIZE_MAX if no element
 * satisfies the comparison. First checks the elements that the current round has not checked yet.
 * Then starts a new round and checks all elements. Sets *any_waiting to whether at least one of the
 * checked elements has the status 0.
 */
static size_t STP_LOCAL(find)(struct stp_wait_any_search *round, unsigned outcomes,
                              const TYPE *values, size_t step, bool *any_waiting)
{
    const TYPE *ivars = round->ivars;

    *any_waiting = false;
    for (int n_rounds = 0; n_rounds < 2; n_rounds++) {
        if (n_rounds == 1) stp_wait_any_round_at_random(round);
        while (round->n_remaining > 0) {
            size_t i = round->next;
            round->next = i + 1 < round->nelems ? i + 1 : 0;
            round->n_remaining--;
            if (round->status != NULL && round->status[i] != 0) continue;
            *any_waiting = true;
            if (STP_LOCAL(many_satisfied)(ivars, i, outcomes, values, step)) return i;
        }
    }
    return SIZE_MAX;
}

static size_t STP_LOCAL(wait_any)(const TYPE *ivars, size_t nelems, const int *status, int cmp,
                                  const TYPE *values, size_t step, const char *fn)
{
    unsigned outcomes = STP_LOCAL(many_outcomes)(ivars, nelems, cmp, fn);
    struct stp_wait_any_search *round = stp_wait_any_search(ivars, nelems, status, fn);
    struct stp_wait wait = {0};
    bool any_waiting;

    for (;;) {
        size_t found = STP_LOCAL(find)(round, outcomes, values, step, &any_waiting);
        if (found != SIZE_MAX || !any_waiting) {
            stp_wait_end(&wait);
            return found;
        }
        if (STP_UNLIKELY(stp_wait_idle_once(&wait)))
            STP_WAIT_SHOW_VARS(fn, ivars, nelems, SIZE_MAX, outcomes, values[0]);
    }
}

static size_t STP_LOCAL(test_any)(const TYPE *ivars, size_t nelems, const int *status, int cmp,
                                  const TYPE *values, size_t step, const char *fn)
{
    unsigned outcomes = STP_LOCAL(many_outcomes)(ivars, nelems, cmp, fn);
    struct stp_wait_any_search *round = stp_wait_any_search(ivars, nelems, status, fn);
    bool any_waiting;
    size_t found = STP_LOCAL(find)(round, outcomes, values, step, &any_waiting);

    if (found == SIZE_MAX) stp_wait_after_failed_test();
    return found;
}

/*
 * Writes the indices of all elements that satisfy the comparison to the array indices. Returns the
 * number of these elements. Sets *any_waiting to whether at least one element has the status 0.
 */
static size_t STP_LOCAL(collect)(const TYPE *ivars, size_t nelems, size_t *indices,
                                 const int *status, unsigned outcomes, const TYPE *values,
                                 size_t step, bool *any_waiting)
{
    size_t n_found = 0;

    *any_waiting = false;
    for (size_t i = 0; i < nelems; i++) {
        if (status != NULL && status[i] != 0) continue;
        *any_waiting = true;
        if (STP_LOCAL(many_satisfied)(ivars, i, outcomes, values, step)) indices[n_found++] = i;
    }
    return n_found;
}

static size_t STP_LOCAL(wait_some)(const TYPE *ivars, size_t nelems, size_t *indices,
                                   const int *status, int cmp, const TYPE *values, size_t step,
                                   const char *fn)
{
    unsigned outcomes = STP_LOCAL(many_outcomes)(ivars, nelems, cmp, fn);
    struct stp_wait wait = {0};
    bool any_waiting;

    for (;;) {
        size_t n_found =
            STP_LOCAL(collect)(ivars, nelems, indices, status, outcomes, values, step,
                               &any_waiting);
        if (n_found > 0 || !any_waiting) {
            stp_wait_end(&wait);
            return n_found;
        }
        if (STP_UNLIKELY(stp_wait_idle_once(&wait)))
            STP_WAIT_SHOW_VARS(fn, ivars, nelems, SIZE_MAX, outcomes, values[0]);
    }
}

static size_t STP_LOCAL(test_some)(const TYPE *ivars, size_t nelems, size_t *indices,
                                   const int *status, int cmp, const TYPE *values, size_t step,
                                   const char *fn)
{
    unsigned outcomes = STP_LOCAL(many_outcomes)(ivars, nelems, cmp, fn);
    bool any_waiting;
    size_t n_found =
        STP_LOCAL(collect)(ivars, nelems, indices, status, outcomes, values, step, &any_waiting);

    if (n_found == 0) stp_wait_after_failed_test();
    return n_found;
}

/* ---- the routines ------------------------------------------------------------ */

void STP_FN(wait_until_all)(TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value)
{
    STP_LOCAL(wait_all)(ivars, nelems, status, cmp, &cmp_value, 0, __func__);
}
STP_PUBLISH_ONE(wait_until_all);

size_t STP_FN(wait_until_any)(TYPE *ivars, size_t nelems, const int *status, int cmp,
                              TYPE cmp_value)
{
    return STP_LOCAL(wait_any)(ivars, nelems, status, cmp, &cmp_value, 0, __func__);
}
STP_PUBLISH_ONE(wait_until_any);

size_t STP_FN(wait_until_some)(TYPE *ivars, size_t nelems, size_t *indices, const int *status,
                               int cmp, TYPE cmp_value)
{
    return STP_LOCAL(wait_some)(ivars, nelems, indices, status, cmp, &cmp_value, 0, __func__);
}
STP_PUBLISH_ONE(wait_until_some);

int STP_FN(test_all)(TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value)
{
    return STP_LOCAL(test_all)(ivars, nelems, status, cmp, &cmp_value, 0, __func__);
}
STP_PUBLISH_ONE(test_all);

size_t STP_FN(test_any)(TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value)
{
    return STP_LOCAL(test_any)(ivars, nelems, status, cmp, &cmp_value, 0, __func__);
}
STP_PUBLISH_ONE(test_any);

size_t STP_FN(test_some)(TYPE *ivars, size_t nelems, size_t *indices, const int *status, int cmp,
                         TYPE cmp_value)
{
    return STP_LOCAL(test_some)(ivars, nelems, indices, status, cmp, &cmp_value, 0, __func__);
}
STP_PUBLISH_ONE(test_some);

void STP_FN(wait_until_all_vector)(TYPE *ivars, size_t nelems, const int *status, int cmp,
                                   const TYPE *cmp_values)
{
    STP_LOCAL(wait_all)(ivars, nelems, status, cmp, cmp_values, 1, __func__);
}
STP_PUBLISH_ONE(wait_until_all_vector);

size_t STP_FN(wait_until_any_vector)(TYPE *ivars, size_t nelems, const int *status, int cmp,
                                     const TYPE *cmp_values)
{
    return STP_LOCAL(wait_any)(ivars, nelems, status, cmp, cmp_values, 1, __func__);
}
STP_PUBLISH_ONE(wait_until_any_vector);

size_t STP_FN(wait_until_some_vector)(TYPE *ivars, size_t nelems, size_t *indices,
                                      const int *status, int cmp, const TYPE *cmp_values)
{
    return STP_LOCAL(wait_some)(ivars, nelems, indices, status, cmp, cmp_values, 1, __func__);
}
STP_PUBLISH_ONE(wait_until_some_vector);

int STP_FN(test_all_vector)(TYPE *ivars, size_t nelems, const int *status, int cmp,
                            const TYPE *cmp_values)
{
    return STP_LOCAL(test_all)(ivars, nelems, status, cmp, cmp_values, 1, __func__);
}
STP_PUBLISH_ONE(test_all_vector);

size_t STP_FN(test_any_vector)(TYPE *ivars, size_t nelems, const int *status, int cmp,
                               const TYPE *cmp_values)
{
    return STP_LOCAL(test_any)(ivars, nelems, status, cmp, cmp_values, 1, __func__);
}
STP_PUBLISH_ONE(test_any_vector);

size_t STP_FN(test_some_vector)(TYPE *ivars, size_t nelems, size_t *indices, const int *status,
                                int cmp, const TYPE *cmp_values)
{
    return STP_LOCAL(test_some)(ivars, nelems, indices, status, cmp, cmp_values, 1, __func__);
}
STP_PUBLISH_ONE(test_some_vector);
