/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which lane a context uses. Contexts that one thread at a time uses get an endpoint of their own
 * where the provider makes endpoints cheap, so that threads do not meet; beyond a number of lanes,
 * and everywhere else, contexts share. A lane stays when its contexts go, for the next ones.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LANES_CHEAP 16u /* by default where endpoints are cheap */

/* The provider's own lock is one per domain: a lane has its own then. */
static bool wants_domain(void)
{
    const char *provider = stp_ofi.info->fabric_attr->prov_name;

    return (strcmp(provider, "net") == 0 || strcmp(provider, "tcp") == 0) && !stp_ofi.mr_local &&
           !stp_ofi.hmem;
}

/*
 * What is known of it: native TCP takes 0.1 ms and 50 KB for an endpoint, ofi_rxm up to a second
 * and 70 MB, shm 20 ms and files. Adapters have few, and others may want them.
 */
static bool is_cheap(void)
{
    const char *provider = stp_ofi.info->fabric_attr->prov_name;

    return strcmp(provider, "net") == 0 || strcmp(provider, "tcp") == 0;
}

/* Each lane connects to each peer that it is used with: a quarter of the descriptors at most. */
static size_t lanes_affordable(void)
{
    struct rlimit limit;
    size_t n_pes = (size_t)stp_ofi.core->n_pes;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return (size_t)limit.rlim_cur / 4 / n_pes < LANES_CHEAP ? (size_t)limit.rlim_cur / 4 / n_pes
                                                            : LANES_CHEAP;
}

static unsigned lanes_max(void)
{
    int asked = stp_ofi.core->env->ofi_lanes;
    size_t n = asked >= 0 ? (size_t)asked : is_cheap() ? lanes_affordable() : 0;
    size_t room = stp_ofi.info->domain_attr->ep_cnt;
    bool bound = (stp_ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;

    /* A registration serves one endpoint, and buffers here need one. */
    if (bound && (stp_ofi.mr_local || stp_ofi.hmem)) return 0;
    /* The main one is an endpoint too. */
    if (!wants_domain() && n > 0 && n > room - 1) n = room - 1;
    return n < STP_OFI_LANES ? (unsigned)n : STP_OFI_LANES;
}

static int open_own_domain(struct stp_ofi_lane *lane, const char **why)
{
    struct fi_info *info = stp_ofi.info;
    int rc;

    *why = "cannot open a fabric, a domain and its addresses";
    if ((rc = fi_fabric(info->fabric_attr, &lane->fabric, NULL)) != 0) return rc;
    if ((rc = fi_domain(lane->fabric, info, &lane->domain, NULL)) != 0) return rc;
    if ((rc = stp_ofi_av_open(lane->domain, &lane->av)) != 0) return rc;
    if ((rc = stp_ofi_lane_open(lane, lane->domain, lane->av, false, why)) != 0) return rc;
    return stp_ofi_lane_connect(lane);
}

static int open_on_main(struct stp_ofi_lane *lane, const char **why)
{
    int rc = stp_ofi_lane_open(lane, stp_ofi.domain, stp_ofi.av, false, why);

    return rc != 0 ? rc : stp_ofi_lane_connect(lane);
}

static void lane_delete(struct stp_ofi_lane *lane)
{
    stp_ofi_lane_close(lane);
    if (lane->av != NULL) fi_close(&lane->av->fid);
    if (lane->domain != NULL) fi_close(&lane->domain->fid);
    if (lane->fabric != NULL) fi_close(&lane->fabric->fid);
    free(lane);
}

/* One more, or NULL: sharing is always possible. */
static struct stp_ofi_lane *lane_make_locked(void)
{
    struct stp_ofi_lane *lane = aligned_alloc(STP_CACHE_LINE, sizeof(*lane));
    const char *why = "no memory";
    int rc = -ENOMEM;

    if (lane != NULL) {
        memset(lane, 0, sizeof(*lane));
        rc = wants_domain() ? open_own_domain(lane, &why) : open_on_main(lane, &why);
    }
    if (rc == 0) return lane;
    if (lane != NULL) lane_delete(lane);
    stp_ofi.core->log(STP_LOG_INFO, "fabric: no further endpoint, contexts share (%s: %s)", why,
                      stp_ofi_strerror(-rc));
    return NULL;
}

static unsigned n_made(void)
{
    return atomic_load_explicit(&stp_ofi.n_lanes, memory_order_relaxed);
}

/* The one with the fewest contexts. */
static struct stp_ofi_lane *least_used_locked(void)
{
    struct stp_ofi_lane *least = NULL;

    for (unsigned i = 0; i < n_made(); i++)
        if (least == NULL || stp_ofi.lanes[i]->n_ctxs < least->n_ctxs) least = stp_ofi.lanes[i];
    return least;
}

static struct stp_ofi_lane *take_locked(void)
{
    struct stp_ofi_lane *least = least_used_locked(), *made = NULL;

    if (least != NULL && least->n_ctxs == 0) return least;
    if (n_made() < lanes_max()) made = lane_make_locked();
    if (made == NULL) return least;
    stp_ofi.lanes[n_made()] = made;
    /* Pairs with the acquire of whoever drains all: a counted lane is complete. */
    atomic_store_explicit(&stp_ofi.n_lanes, n_made() + 1, memory_order_release);
    return made;
}

struct stp_ofi_lane *stp_ofi_lane_take(bool alone)
{
    struct stp_ofi_lane *lane = NULL;

    if (!alone || lanes_max() == 0) return &stp_ofi.main;
    pthread_mutex_lock(&stp_ofi.lanes_lock);
    lane = take_locked();
    if (lane != NULL) lane->n_ctxs++;
    pthread_mutex_unlock(&stp_ofi.lanes_lock);
    return lane != NULL ? lane : &stp_ofi.main;
}

void stp_ofi_lane_give(struct stp_ofi_lane *lane)
{
    if (lane == &stp_ofi.main) return;
    pthread_mutex_lock(&stp_ofi.lanes_lock);
    lane->n_ctxs--;
    pthread_mutex_unlock(&stp_ofi.lanes_lock);
}

void stp_ofi_lanes_close(void)
{
    for (unsigned i = n_made(); i-- > 0;)
        lane_delete(stp_ofi.lanes[i]);
    atomic_store_explicit(&stp_ofi.n_lanes, 0, memory_order_relaxed);
}
