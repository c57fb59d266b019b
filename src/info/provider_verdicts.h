/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the fabric module's verdicts on the providers of libfabric, for the section of providers
 * and for the doctor.
 */
#ifndef STP_PROVIDER_VERDICTS_H
#define STP_PROVIDER_VERDICTS_H

#include "transport/transport.h"

/* Offers of one provider that differ only in the domain. */
struct stp_info_offer {
    enum stp_provider_verdict code;
    const char *trouble; /* text in the module, which stays loaded; see stp_provider_status */
    char provider[64];
    char domains[256]; /* domains separated by ", " */
    char reason[384];
    char advice[384]; /* advice, or "" if nothing needs to be done or can be done */
};

struct stp_info_offers {
    struct stp_info_offer *rows;
    size_t n;
    bool incomplete; /* whether rows are missing for lack of memory */

    struct stp_fabric_version version;
    char provider[64], domain[64]; /* provider and domain that are used, or "" */
    int fds_open, fds_peer;        /* descriptors of the used provider, or -1 if unknown */
    bool pins_used;                /* whether the used provider pins memory */
    bool pins;                     /* whether any provider that works pins memory */
    bool leaves_host;              /* whether a provider that works reaches other hosts */
    bool no_fds;                   /* whether a provider failed for lack of descriptors */
    char error[256];               /* first error that the module logged */
};

/*
 * Asks the fabric module about every provider, for a job of n_pes PEs with n_local on this host and
 * these networks. The process must not have opened a fabric. Returns 0 if a provider works for the
 * job, or -errno. why: the reason if the module cannot be loaded, else empty. The caller frees
 * offers->rows in both cases.
 */
int stp_info_offers_query_providers(struct stp_info_offers *offers, int n_pes, int n_local,
                                    const struct stp_network *networks, int n_networks, char *why,
                                    size_t len);

/* Returns true for an offer that was tested and works. */
static inline bool stp_info_offer_works(enum stp_provider_verdict code)
{
    return code == STP_PROVIDER_USED || code == STP_PROVIDER_NOT_CHOSEN;
}

#endif /* STP_PROVIDER_VERDICTS_H */
