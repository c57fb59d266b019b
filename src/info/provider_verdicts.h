/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the fabric module's verdicts on the providers of libfabric. The report section about
 * providers and the doctor use the verdicts.
 */
#ifndef STP_PROVIDER_VERDICTS_H
#define STP_PROVIDER_VERDICTS_H

#include "transport/transport.h"

/*
 * Offers of one provider that have the same verdict and reason. An offer is the use of the provider
 * on one domain (network interface). The offers of a row differ only in the domain.
 */
struct stp_info_offer {
    enum stp_provider_verdict code;
    /*
     * Known defect of the provider, see struct stp_provider_status. The fabric module owns the text
     * and stays loaded.
     */
    const char *trouble;
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
    char provider[64], domain[64]; /* names of the provider and domain that are used, or "" */
    int fds_open, fds_peer;        /* descriptors per endpoint and per peer, or -1 if unknown */
    bool pins_used;                /* whether the used provider pins memory */
    bool pins;                     /* whether any provider that works pins memory */
    bool leaves_host;              /* whether a provider that works reaches other hosts */
    bool no_fds;                   /* whether a provider failed for lack of descriptors */
    char error[256];               /* first error that the module logged */
};

/*
 * Asks the fabric module for its verdict on every provider. The verdicts apply to a job of n_pes
 * PEs, of which n_local are on this host. The array `networks` contains the addresses of this host.
 * The process must not have opened a fabric before. Returns 0 if a provider works for the job, or
 * -errno. If the module cannot be loaded, writes the reason to `reason`. Otherwise writes an empty
 * string. The caller must free offers->rows in all cases.
 */
int stp_info_offers_query_providers(struct stp_info_offers *offers, int n_pes, int n_local,
                                    const struct stp_network *networks, int n_networks,
                                    char *reason, size_t len);

/* Returns true if the verdict means that the offer was tested and works. */
static inline bool stp_info_offer_works(enum stp_provider_verdict code)
{
    return code == STP_PROVIDER_USED || code == STP_PROVIDER_NOT_CHOSEN;
}

#endif /* STP_PROVIDER_VERDICTS_H */
