/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the fabric module about the providers of libfabric and stores its verdicts.
 */
#include "provider_verdicts.h"

#include "base/fabric_module_dlopen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Object in which on_log() stores an error. This pointer is necessary, because a log function has
 * no argument for the object.
 */
static __thread struct stp_info_offers *listener;

static struct stp_info_offer *offers_find(struct stp_info_offers *offers,
                                          const struct stp_provider_status *offer)
{
    for (size_t i = 0; i < offers->n; i++) {
        struct stp_info_offer *row = &offers->rows[i];

        if (row->code == offer->code && strcmp(row->provider, offer->provider) == 0 &&
            strncmp(row->reason, offer->reason, sizeof(row->reason) - 1) == 0)
            return row;
    }
    return NULL;
}

static void offers_add(struct stp_info_offers *offers, const struct stp_provider_status *offer)
{
    struct stp_info_offer *rows = realloc(offers->rows, (offers->n + 1) * sizeof(*rows)), *row;

    if (rows == NULL) {
        offers->incomplete = true;
        return;
    }
    offers->rows = rows;
    row = &rows[offers->n++];
    row->code = offer->code;
    row->trouble = offer->trouble;
    snprintf(row->provider, sizeof(row->provider), "%s", offer->provider);
    snprintf(row->domains, sizeof(row->domains), "%s", offer->domain != NULL ? offer->domain : "");
    snprintf(row->reason, sizeof(row->reason), "%s", offer->reason);
    snprintf(row->advice, sizeof(row->advice), "%s", offer->advice != NULL ? offer->advice : "");
}

/* Stores the values that the module measured when it tested the provider. */
static void offers_measure(struct stp_info_offers *offers, const struct stp_provider_status *offer)
{
    offers->no_fds |= offer->error == EMFILE;
    if (!stp_info_offer_works(offer->code)) return;
    offers->leaves_host |= offer->leaves_host;
    offers->pins |= offer->pins;
    if (offer->code != STP_PROVIDER_USED) return;
    offers->pins_used = offer->pins;
    offers->fds_open = offer->fds_open;
    offers->fds_peer = offer->fds_peer;
    snprintf(offers->provider, sizeof(offers->provider), "%s", offer->provider);
    snprintf(offers->domain, sizeof(offers->domain), "%s", offer->domain);
}

static void on_provider(void *arg, const struct stp_provider_status *offer)
{
    struct stp_info_offers *offers = arg;
    struct stp_info_offer *row = offers_find(offers, offer);

    offers_measure(offers, offer);
    if (row == NULL) {
        offers_add(offers, offer);
    } else if (offer->domain != NULL && !stp_words_have(row->domains, offer->domain)) {
        size_t len = strlen(row->domains);

        snprintf(row->domains + len, sizeof(row->domains) - len, ", %s", offer->domain);
    }
}

static void STP_PRINTF(2, 3) on_log(int level, const char *fmt, ...)
{
    va_list args;

    if (level != STP_LOG_ERROR || listener->error[0] != '\0') return;
    va_start(args, fmt);
    vsnprintf(listener->error, sizeof(listener->error), fmt, args);
    va_end(args);
}

int stp_info_offers_query_providers(struct stp_info_offers *offers, int n_pes, int n_local,
                                    const struct stp_network *networks, int n_networks,
                                    char *reason, size_t len)
{
    struct stp_core core = {
        .abi = STP_FABRIC_ABI,
        .n_pes = n_pes,
        .n_local = n_local,
        .program_has_libfabric = stp_libfabric_is_loaded(),
        .env = &stp_env,
        .networks = networks,
        .n_networks = n_networks,
        .log = on_log,
        .fatal = stp_fatal,
        .report = on_provider,
        .report_arg = offers,
        .version = &offers->version,
    };
    stp_module_entry_fn open_fabric;
    int rc;

    *offers = (struct stp_info_offers){.fds_open = -1, .fds_peer = -1};
    listener = offers;
    reason[0] = '\0';
    rc = stp_fabric_module_dlopen(&open_fabric, reason, len);
    return rc != 0 ? rc : ((stp_ofi_open_fn)open_fabric)(&core, NULL);
}
