/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What oshinfo says of the attributes of spaces, kind by kind.
 */
#ifndef STP_KIND_SUPPORTED_ATTRIBUTES_H
#define STP_KIND_SUPPORTED_ATTRIBUTES_H

#include "report.h"

#include "core/job_state.h"

#define STP_INFO_WHY 96

struct stp_info_attributes {
    unsigned has;           /* bits of enum stp_trait */
    unsigned lacks;         /* the bit of the first that the kind knows and this PE cannot have, */
    char why[STP_INFO_WHY]; /* and why */
};

/* Looks for this PE. */
void stp_info_attributes_look(const struct stp_kind *kind, struct stp_info_attributes *found);

/* pe: whose lack it is; negative: this process's. */
void stp_info_attributes_print(struct stp_report *report, const struct stp_info_attributes *found,
                               int pe);

/* As the constants are called, without their prefix. */
const char *stp_info_atomics_name(shmemx_space_atomics_t atomics);

#endif /* STP_KIND_SUPPORTED_ATTRIBUTES_H */
