/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds and prints the attributes of spaces for oshinfo, for one kind at a time.
 */
#ifndef STP_KIND_SUPPORTED_ATTRIBUTES_H
#define STP_KIND_SUPPORTED_ATTRIBUTES_H

#include "report.h"

#include "core/job_state.h"

#define STP_INFO_WHY 96

struct stp_info_attributes {
    unsigned has;           /* available traits, as bits of enum stp_trait */
    unsigned lacks;         /* bit of the first trait of the kind that this PE cannot have, or 0 */
    char why[STP_INFO_WHY]; /* reason for lacks */
};

/* Finds the attributes of a kind on this PE. */
void stp_info_attributes_look(const struct stp_kind *kind, struct stp_info_attributes *found);

/* Prints the attributes. pe: the PE that lacks a trait, or a negative number for this process. */
void stp_info_attributes_print(struct stp_report *report, const struct stp_info_attributes *found,
                               int pe);

/* Returns the name of the constant in lower case without its prefix, or NULL if unknown. */
const char *stp_info_atomics_name(shmemx_space_atomics_t atomics);

#endif /* STP_KIND_SUPPORTED_ATTRIBUTES_H */
