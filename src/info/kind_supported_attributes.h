/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds and prints, for oshinfo, the attributes that spaces of one kind of memory can have.
 */
#ifndef STP_KIND_SUPPORTED_ATTRIBUTES_H
#define STP_KIND_SUPPORTED_ATTRIBUTES_H

#include "report.h"

#include "core/job_state.h"

#define STP_INFO_REASON_SIZE 96

struct stp_info_attributes {
    unsigned supported; /* traits that this PE supports, as bits of enum stp_trait */
    /* Bit of the first trait that the kind supports but this PE does not support, or 0. */
    unsigned unsupported;
    char reason[STP_INFO_REASON_SIZE]; /* reason for the bit in unsupported */
};

/* Finds the attributes that spaces of a kind can have on this PE. */
void stp_info_attributes_query(const struct stp_kind *kind, struct stp_info_attributes *attributes);

/*
 * Prints *attributes. pe is the PE that does not support the trait in attributes->unsupported. If
 * pe is negative, no PE number is printed.
 */
void stp_info_attributes_print(struct stp_report *report,
                               const struct stp_info_attributes *attributes, int pe);

/*
 * Returns the name of an atomics constant, in lower case and without the prefix. Returns NULL if
 * the constant is unknown.
 */
const char *stp_info_atomics_name(shmemx_space_atomics_t atomics);

#endif /* STP_KIND_SUPPORTED_ATTRIBUTES_H */
