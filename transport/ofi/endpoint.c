/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which lane a context uses. Contexts that one thread at a time uses get an endpoint of their own
 * where the provider makes endpoints cheap, so that threads do not meet; beyond a number of lanes,
 * and everywhere else, contexts share. A lane stays when its contexts go, for the next ones.
 * Design: docs/design/fabric.md.
 */
#include "ofi.h"

#include "advice.h"
#include "health.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANES_CHEAP 16u /* by default where endpoints are cheap */
#define SPARE_FDS 16u   /* left to the program when a lane is made */

/* libfabric 1.17: net locks a domain as a whole, so a lane has its own. */
static bool wants_domain(void)
{
    const char *provider = stp_ofi.info->fabric_attr->prov_name;

    return (strcmp(provider, "net") == 0 || strcmp(provider, "tcp") == 0) && !stp_ofi.mr_local &&
           !stp_ofi.hmem;
}

/*
 * libfabric 1.17: native TCP takes 0.1 ms and 50 KB for an endpoint, ofi_rxm up to a second and
 * 70 MB, shm 20 ms and files. Adapters have few, and others may want them.
 */
static bool is_cheap(void)
{
    const char *provider = stp_ofi.info->fabric_attr->prov_name;

    return strcmp(provider, "net") == 0 || strcmp(provider, "tcp") == 0;
}

/* What every PE can bear, as they published it before the program took descriptors of its own. */
static size_t lanes_agreed_locked(void)
{
    if (stp_ofi.lanes_agreed < 0) stp_ofi.lanes_agreed = stp_ofi_lanes_published();
    return (size_t)stp_ofi.lanes_agreed;
}

static unsigned lanes_max_locked(void)
{
    int asked = stp_ofi.core->env->ofi_lanes;
    size_t n = asked >= 0 ? (size_t)asked : is_cheap() ? LANES_CHEAP : 0;
    size_t room = stp_ofi.info->domain_attr->ep_cnt;
    size_t agreed = n > 0 ? lanes_agreed_locked() : 0;
    bool bound = (stp_ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;

    /* A registration serves one endpoint, and buffers here need one. */
    if (bound && (stp_ofi.mr_local || stp_ofi.hmem)) return 0;
    /* Half of the descriptors are the program's, unless somebody asked. */
    if (asked < 0) agreed = (agreed + 1) / 2;
    if (n > agreed) n = agreed;
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

static unsigned n_made(void)
{
    return atomic_load_explicit(&stp_ofi.n_lanes, memory_order_relaxed);
}

/* Those that were made may still have all their connections before them. */
static bool has_fds_for_another(void)
{
    return stp_ofi_fds_left() >=
           STP_OFI_LANE_FDS + (n_made() + 1) * stp_ofi_fds_of_peers() + SPARE_FDS;
}

static int lane_make(struct stp_ofi_lane **made, const char **why)
{
    struct stp_ofi_lane *lane;
    int rc;

    *why = "what is left would not do for its connections";
    if (!has_fds_for_another()) return -EMFILE;
    *why = "no memory";
    lane = aligned_alloc(STP_CACHE_LINE, sizeof(*lane));
    if (lane == NULL) return -ENOMEM;
    memset(lane, 0, sizeof(*lane));
    rc = wants_domain() ? open_own_domain(lane, why) : open_on_main(lane, why);
    if (rc != 0)
        lane_delete(lane);
    else
        *made = lane;
    return rc;
}

/* One more, or NULL: sharing is always possible. */
static struct stp_ofi_lane *lane_make_locked(void)
{
    struct stp_ofi_lane *lane = NULL;
    const char *why;
    int rc = lane_make(&lane, &why);

    if (rc == 0) return lane;
    stp_ofi.core->log(STP_LOG_INFO, "fabric: no further endpoint, contexts share (%s: %s)", why,
                      stp_ofi_strerror(-rc));
    return NULL;
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
    if (n_made() < lanes_max_locked()) made = lane_make_locked();
    if (made == NULL) return least;
    stp_ofi.lanes[n_made()] = made;
    /* Pairs with the acquire of whoever drains all: a counted lane is complete. */
    atomic_store_explicit(&stp_ofi.n_lanes, n_made() + 1, memory_order_release);
    return made;
}

struct stp_ofi_lane *stp_ofi_lane_take(bool alone)
{
    struct stp_ofi_lane *lane = NULL;

    if (!alone) return &stp_ofi.main;
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
