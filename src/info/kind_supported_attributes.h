/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds and prints, for oshinfo, the attributes that spaces of one kind of memory can have.
 */
#ifndef STP_KIND_SUPPORTED_ATTRIBUTES_H
#define STP_KIND_SUPPORTED_ATTRIBUTES_H

#include "report.h"

#include "core/job_state.h"

#define STP_INFO_WHY 96

struct stp_info_attributes {
    unsigned has;           /* traits that this PE supports, as bits of enum stp_trait */
    unsigned lacks;         /* bit of the kind's first trait that this PE does not support, or 0 */
    char why[STP_INFO_WHY]; /* reason why this PE does not support the trait in lacks */
};

/* Finds the attributes that spaces of a kind can have on this PE. */
void stp_info_attributes_look(const struct stp_kind *kind, struct stp_info_attributes *found);

/* Prints the attributes. pe is the PE without the trait in lacks, or negative for this process. */
void stp_info_attributes_print(struct stp_report *report, const struct stp_info_attributes *found,
                               int pe);

/* Returns the name of an atomics constant in lower case, without its prefix, or NULL if unknown. */
const char *stp_info_atomics_name(shmemx_space_atomics_t atomics);

#endif /* STP_KIND_SUPPORTED_ATTRIBUTES_H */
