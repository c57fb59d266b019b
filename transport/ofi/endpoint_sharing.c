/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which endpoint a context uses. Contexts that one thread at a time uses get an endpoint of their
 * own where the provider makes endpoints cheap, so that threads do not meet; beyond a number of
 * endpoints, and everywhere else, contexts share. An endpoint stays when its contexts go, for the
 * next ones. Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "provider_report.h"
#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINTS_CHEAP 16u /* by default where endpoints are cheap */
#define SPARE_FDS 16u       /* left to the program when an endpoint is made */

/*
 * libfabric 1.17: native TCP takes 0.1 ms and 50 KB for an endpoint, ofi_rxm up to a second and
 * 70 MB, shm 20 ms and files. Adapters have few, and others may want them.
 */
static bool is_cheap(void)
{
    return stp_ofi_is(stp_ofi.info, STP_OFI_OWN_DOMAIN);
}

/* libfabric 1.17: net locks a domain as a whole, so an endpoint has its own. */
static bool wants_domain(void)
{
    return is_cheap() && !stp_ofi.mr_local && !stp_ofi.hmem;
}

static unsigned endpoints_max_locked(void)
{
    int asked = stp_ofi.core->env->ofi_endpoints;
    size_t n = asked >= 0 ? (size_t)asked : is_cheap() ? ENDPOINTS_CHEAP : 0;
    size_t room = stp_ofi.info->domain_attr->ep_cnt;
    bool bound = (stp_ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;

    /* A registration serves one endpoint, and buffers here need one. */
    if (bound && (stp_ofi.mr_local || stp_ofi.hmem)) return 0;
    /* The main one is an endpoint too. */
    if (!wants_domain() && n > 0 && n > room - 1) n = room - 1;
    return n < STP_OFI_ENDPOINTS ? (unsigned)n : STP_OFI_ENDPOINTS;
}

static int open_own_domain(struct stp_ofi_endpoint *endpoint, const char **why)
{
    struct fi_info *info = stp_ofi.info;
    int rc;

    *why = "cannot open a fabric, a domain and its addresses";
    if ((rc = fi_fabric(info->fabric_attr, &endpoint->fabric, NULL)) != 0) return rc;
    if ((rc = fi_domain(endpoint->fabric, info, &endpoint->domain, NULL)) != 0) return rc;
    if ((rc = stp_ofi_av_open(endpoint->domain, &endpoint->av)) != 0) return rc;
    if ((rc = stp_ofi_endpoint_open(endpoint, endpoint->domain, endpoint->av, false, why)) != 0)
        return rc;
    return stp_ofi_endpoint_connect(endpoint);
}

static int open_on_main(struct stp_ofi_endpoint *endpoint, const char **why)
{
    int rc = stp_ofi_endpoint_open(endpoint, stp_ofi.domain, stp_ofi.av, false, why);

    return rc != 0 ? rc : stp_ofi_endpoint_connect(endpoint);
}

static void endpoint_delete(struct stp_ofi_endpoint *endpoint)
{
    stp_ofi_endpoint_close(endpoint);
    if (endpoint->av != NULL) fi_close(&endpoint->av->fid);
    if (endpoint->domain != NULL) fi_close(&endpoint->domain->fid);
    if (endpoint->fabric != NULL) fi_close(&endpoint->fabric->fid);
    free(endpoint);
}

static unsigned n_made(void)
{
    return __atomic_load_n(&stp_ofi.n_endpoints, __ATOMIC_RELAXED);
}

/*
 * Descriptors for one more endpoint and for all connections of those that were made. Half of the
 * descriptors are the program's, unless the user asked for a number of endpoints.
 */
static size_t fds_for_another(void)
{
    size_t n =
        STP_OFI_ENDPOINT_FDS + (n_made() + 1) * stp_ofi_endpoint_connection_fds() + SPARE_FDS;

    return stp_ofi.core->env->ofi_endpoints < 0 ? 2 * n : n;
}

static int endpoint_make(struct stp_ofi_endpoint **made, const char **why)
{
    struct stp_ofi_endpoint *endpoint;
    int rc;

    *why = "no memory";
    endpoint = aligned_alloc(STP_CACHE_LINE, sizeof(*endpoint));
    if (endpoint == NULL) return -ENOMEM;
    memset(endpoint, 0, sizeof(*endpoint));
    rc = wants_domain() ? open_own_domain(endpoint, why) : open_on_main(endpoint, why);
    if (rc != 0)
        endpoint_delete(endpoint);
    else
        *made = endpoint;
    return rc;
}

/* One more, or NULL: sharing is always possible. */
static struct stp_ofi_endpoint *endpoint_make_locked(void)
{
    size_t left = stp_ofi_fds_left(), need = fds_for_another();
    struct stp_ofi_endpoint *endpoint = NULL;
    const char *why;
    int rc;

    if (left < need) {
        stp_ofi.core->log(STP_LOG_INFO,
                          "fabric: no further endpoint, contexts share: one needs %zu free "
                          "descriptors, %zu are free: %s",
                          need, left, stp_errno_text(EMFILE));
        return NULL;
    }
    rc = endpoint_make(&endpoint, &why);
    if (rc == 0) return endpoint;
    stp_ofi.core->log(STP_LOG_INFO, "fabric: no further endpoint, contexts share (%s: %s)", why,
                      stp_ofi_strerror(-rc));
    return NULL;
}

/* The one with the fewest contexts. */
static struct stp_ofi_endpoint *least_used_locked(void)
{
    struct stp_ofi_endpoint *least = NULL;

    for (unsigned i = 0; i < n_made(); i++)
        if (least == NULL || stp_ofi.endpoints[i]->n_ctxs < least->n_ctxs)
            least = stp_ofi.endpoints[i];
    return least;
}

static struct stp_ofi_endpoint *endpoint_take_locked(void)
{
    struct stp_ofi_endpoint *least = least_used_locked(), *made = NULL;

    if (least != NULL && least->n_ctxs == 0) return least;
    if (n_made() < endpoints_max_locked()) made = endpoint_make_locked();
    if (made == NULL) return least;
    stp_ofi.endpoints[n_made()] = made;
    /* Pairs with the acquire of whoever drains all: a counted endpoint is complete. */
    __atomic_store_n(&stp_ofi.n_endpoints, n_made() + 1, __ATOMIC_RELEASE);
    return made;
}

struct stp_ofi_endpoint *stp_ofi_endpoint_own_or_shared(bool one_thread)
{
    struct stp_ofi_endpoint *endpoint = NULL;

    if (!one_thread) return &stp_ofi.main;
    pthread_mutex_lock(&stp_ofi.endpoints_lock);
    endpoint = endpoint_take_locked();
    if (endpoint != NULL) endpoint->n_ctxs++;
    pthread_mutex_unlock(&stp_ofi.endpoints_lock);
    return endpoint != NULL ? endpoint : &stp_ofi.main;
}

void stp_ofi_endpoint_give(struct stp_ofi_endpoint *endpoint)
{
    if (endpoint == &stp_ofi.main) return;
    pthread_mutex_lock(&stp_ofi.endpoints_lock);
    endpoint->n_ctxs--;
    pthread_mutex_unlock(&stp_ofi.endpoints_lock);
}

void stp_ofi_extra_endpoints_close(void)
{
    for (unsigned i = n_made(); i-- > 0;)
        endpoint_delete(stp_ofi.endpoints[i]);
    __atomic_store_n(&stp_ofi.n_endpoints, 0, __ATOMIC_RELAXED);
}
