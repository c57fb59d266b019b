/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the endpoint of a context. If only one thread at a time uses the context, and the
 * provider's endpoints are cheap, the context gets an endpoint of its own. The thread then shares
 * no lock with other threads. When the maximum number of endpoints is reached, such a context
 * shares the endpoint that has the fewest contexts. All other contexts share the main endpoint. An
 * endpoint stays open when its contexts are destroyed, and later contexts use it again.
 * Design: docs/design/fabric.md.
 */
#include "ofi_internal.h"

#include "provider_report.h"
#include "peer_liveness_and_fd_limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINTS_CHEAP 16u /* default maximum number of endpoints if endpoints are cheap */
#define SPARE_FDS 16u       /* number of free descriptors that remain for the program */

/*
 * Returns whether endpoints are cheap with this provider. With libfabric 1.17, opening an endpoint
 * takes 0.1 ms and 50 KB on native TCP. It takes up to a second and 70 MB on ofi_rxm, and 20 ms and
 * additional files on shm. Endpoints of network adapters are not cheap either, because an adapter
 * has few endpoints and other processes may need them.
 */
static bool is_cheap(void)
{
    return stp_ofi_is(stp_ofi.info, STP_OFI_OWN_DOMAIN);
}

/*
 * Returns whether each endpoint gets its own domain. The net provider of libfabric 1.17 locks a
 * whole domain during each call, so endpoints in one domain would wait for each other.
 */
static bool needs_own_domain(void)
{
    return is_cheap() && !stp_ofi.mr_local && !stp_ofi.hmem;
}

static unsigned endpoints_max_locked(void)
{
    int requested = stp_ofi.core->env->ofi_endpoints;
    size_t n = requested >= 0 ? (size_t)requested : is_cheap() ? ENDPOINTS_CHEAP : 0;
    size_t ep_limit = stp_ofi.info->domain_attr->ep_cnt;
    bool bound = (stp_ofi.info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;

    /*
     * If the provider binds each registration to one endpoint, local buffers are registered for the
     * main endpoint only. Open no further endpoint if local buffers need registrations.
     */
    if (bound && (stp_ofi.mr_local || stp_ofi.hmem)) return 0;
    /* A domain has at most ep_cnt endpoints, and the main endpoint is one of them. */
    if (!needs_own_domain() && n > 0 && n > ep_limit - 1) n = ep_limit - 1;
    return n < STP_OFI_ENDPOINTS ? (unsigned)n : STP_OFI_ENDPOINTS;
}

static int endpoint_open(struct stp_ofi_endpoint *endpoint, const char **reason)
{
    int rc;

    if (!needs_own_domain()) {
        endpoint->domain = stp_ofi.main.domain;
        endpoint->av = stp_ofi.main.av;
        endpoint->addrs = stp_ofi.main.addrs;
        return stp_ofi_endpoint_open(endpoint, false, reason);
    }
    rc = stp_ofi_domain_open(endpoint, reason);
    if (rc != 0) *reason = "cannot open another fabric, domain and address vector";
    if (rc == 0) rc = stp_ofi_endpoint_open(endpoint, false, reason);
    return rc != 0 ? rc : stp_ofi_endpoint_connect(endpoint);
}

static void endpoint_delete(struct stp_ofi_endpoint *endpoint)
{
    stp_ofi_endpoint_close(endpoint);
    if (endpoint->domain != stp_ofi.main.domain) stp_ofi_domain_close(endpoint);
    free(endpoint);
}

static unsigned n_made(void)
{
    return __atomic_load_n(&stp_ofi.n_endpoints, __ATOMIC_RELAXED);
}

/*
 * Returns how many descriptors must be free before one more endpoint is opened. The number covers
 * the new endpoint itself and the connections of all endpoints. The number is doubled, so that half
 * of the free descriptors remain for the program. It is not doubled if the user has set the number
 * of endpoints.
 */
static size_t fds_for_another(void)
{
    size_t n =
        STP_OFI_ENDPOINT_FDS + (n_made() + 1) * stp_ofi_endpoint_connection_fds() + SPARE_FDS;

    return stp_ofi.core->env->ofi_endpoints < 0 ? 2 * n : n;
}

static int endpoint_make(struct stp_ofi_endpoint **new_endpoint, const char **reason)
{
    struct stp_ofi_endpoint *endpoint;
    int rc;

    *reason = "has no memory for another endpoint";
    endpoint = aligned_alloc(STP_CACHE_LINE, sizeof(*endpoint));
    if (endpoint == NULL) return -ENOMEM;
    memset(endpoint, 0, sizeof(*endpoint));
    rc = endpoint_open(endpoint, reason);
    if (rc != 0)
        endpoint_delete(endpoint);
    else
        *new_endpoint = endpoint;
    return rc;
}

/*
 * Opens and returns a new endpoint. On failure, logs the reason and returns NULL. The caller then
 * lets contexts share endpoints.
 */
static struct stp_ofi_endpoint *endpoint_make_locked(void)
{
    size_t n_free = stp_ofi_fds_free(), n_needed = fds_for_another();
    struct stp_ofi_endpoint *endpoint = NULL;
    const char *reason;
    int rc;

    if (n_free < n_needed) {
        stp_ofi.core->log(STP_LOG_INFO,
                          "fabric: contexts share endpoints, because another endpoint needs %zu "
                          "free file descriptors, but %zu are free: %s",
                          n_needed, n_free, stp_errno_text(EMFILE));
        return NULL;
    }
    rc = endpoint_make(&endpoint, &reason);
    if (rc == 0) return endpoint;
    stp_ofi.core->log(STP_LOG_INFO, "fabric: contexts share endpoints, because provider %s %s: %s",
                      stp_ofi.info->fabric_attr->prov_name, reason, stp_ofi_strerror(-rc));
    return NULL;
}

/*
 * Returns the additional endpoint with the fewest contexts, or NULL if only the main endpoint
 * exists.
 */
static struct stp_ofi_endpoint *least_used_locked(void)
{
    struct stp_ofi_endpoint *least_used = NULL;

    for (unsigned i = 0; i < n_made(); i++)
        if (least_used == NULL || stp_ofi.endpoints[i]->n_ctxs < least_used->n_ctxs)
            least_used = stp_ofi.endpoints[i];
    return least_used;
}

static struct stp_ofi_endpoint *endpoint_take_locked(void)
{
    struct stp_ofi_endpoint *least_used = least_used_locked(), *new_endpoint = NULL;

    if (least_used != NULL && least_used->n_ctxs == 0) return least_used;
    if (n_made() < endpoints_max_locked()) new_endpoint = endpoint_make_locked();
    if (new_endpoint == NULL) return least_used;
    stp_ofi.endpoints[n_made()] = new_endpoint;
    /* Pairs with the acquire loads in stp_ofi_n_endpoints() and stp_ofi_poll_all_queues(). */
    __atomic_store_n(&stp_ofi.n_endpoints, n_made() + 1, __ATOMIC_RELEASE);
    return new_endpoint;
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
