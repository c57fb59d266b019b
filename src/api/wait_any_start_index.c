/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the element at which a search by an "any" routine starts. The file api.h declares the
 * functions.
 */
#include "api/api.h"

/* ---- start of searches ------------------------------------------------------- */

#define API_ROUNDS 16

static _Thread_local struct {
    struct stp_wait_any_search rounds[API_ROUNDS];
    uint64_t random;
} api_search;

/* Mixes the bits of x. The steps are the last steps of the random number generator splitmix64. */
static uint64_t api_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void stp_wait_any_round_at_random(struct stp_wait_any_search *round)
{
    api_search.random += UINT64_C(0x9e3779b97f4a7c15);
    round->next = (size_t)(((unsigned __int128)api_mix(api_search.random) * round->nelems) >> 64);
    round->n_remaining = round->nelems;
}

struct stp_wait_any_search *stp_wait_any_search(const void *ivars, size_t nelems, const int *status,
                                                const char *fn)
{
    uint64_t key = api_mix((uintptr_t)ivars ^ (uintptr_t)fn << 20 ^ (uintptr_t)status << 40);
    struct stp_wait_any_search *round = &api_search.rounds[key % API_ROUNDS];

    if (round->ivars != ivars || round->nelems != nelems || round->status != status ||
        round->fn != fn) {
        *round = (struct stp_wait_any_search){
            .ivars = ivars, .nelems = nelems, .status = status, .fn = fn};
        stp_wait_any_round_at_random(round);
    }
    return round;
}
