/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fabric module says of each provider of libfabric, collected for the section of providers
 * and for the doctor.
 */
#ifndef STP_PROVIDER_VERDICTS_H
#define STP_PROVIDER_VERDICTS_H

#include "transport/transport.h"

/* Offers of one provider that are alike but for the domain. */
struct stp_info_offer {
    enum stp_provider_verdict code;
    const char *trouble; /* as in struct stp_provider_status: of the module, which stays loaded */
    char provider[64];
    char domains[256]; /* joined by ", " */
    char reason[384];
    char advice[384]; /* empty: nothing needs to be done, or can */
};

struct stp_info_offers {
    struct stp_info_offer *rows;
    size_t n;
    bool incomplete; /* some rows are missing for lack of memory */

    struct stp_fabric_version version;
    char provider[64], domain[64]; /* the ones that are used; empty: none */
    int fds_open, fds_peer;        /* what the provider that is used takes; -1: not known */
    bool pins_used;                /* the provider that is used pins memory */
    bool pins;                     /* it does, or another one that works */
    bool leaves_host;              /* a provider that works reaches other hosts */
    bool no_fds;                   /* a provider failed for want of descriptors */
    char error[256];               /* the first error that the module logged */
};

/*
 * Asks the fabric module about every provider, for a job of n_pes PEs with n_local on this host and
 * these networks of the host. Needs a process without a fabric. Returns 0 when a provider serves,
 * or -errno; why: the reason when the module cannot be loaded, else empty. The caller frees
 * offers->rows in both cases.
 */
int stp_info_offers_query_providers(struct stp_info_offers *offers, int n_pes, int n_local,
                                    const struct stp_network *networks, int n_networks, char *why,
                                    size_t len);

/* Returns true for an offer that was tried and works. */
static inline bool stp_info_offer_works(enum stp_provider_verdict code)
{
    return code == STP_PROVIDER_USED || code == STP_PROVIDER_NOT_CHOSEN;
}

#endif /* STP_PROVIDER_VERDICTS_H */
