/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the attributes (fields of shmemx_space_attr_t) that spaces of a kind of memory can have on
 * this machine. Also finds the first attribute that the kind supports in general, but not on this
 * machine.
 */
#include "kind_supported_attributes.h"

#include <string.h>

#include "info.h"

/*
 * Names under which traits are printed. Each name is a field of shmemx_space_attr_t, except
 * "pinned", which is a flag.
 */
static const char *const attribute_names[STP_N_TRAITS] = {
    [STP_TRAIT_GROWS] = "max_size", [STP_TRAIT_PAGES] = "page_size",
    [STP_TRAIT_NODE] = "numa_node", [STP_TRAIT_POLICY] = "numa_policy",
    [STP_TRAIT_PINNED] = "pinned",  [STP_TRAIT_NAME] = "name",
    [STP_TRAIT_ADOPTS] = "buffer",
};

void stp_info_attributes_query(const struct stp_kind *kind, struct stp_info_attributes *attributes)
{
    *attributes = (struct stp_info_attributes){0};
    for (unsigned trait = 0; trait < STP_N_TRAITS; trait++) {
        char reason[STP_INFO_REASON_SIZE];

        if ((kind->traits & STP_HAS(trait)) == 0) continue;
        if (stp_kinds_trait_is_possible((enum stp_trait)trait, reason, sizeof(reason))) {
            attributes->supported |= STP_HAS(trait);
        } else if (attributes->unsupported == 0) {
            attributes->unsupported = STP_HAS(trait);
            snprintf(attributes->reason, sizeof(attributes->reason), "%s", reason);
        }
    }
}

void stp_info_attributes_print(struct stp_report *report,
                               const struct stp_info_attributes *attributes, int pe)
{
    stp_report_words(report, "attributes", attribute_names, STP_N_TRAITS, attributes->supported);
    if (attributes->unsupported == 0) return;
    stp_report_list(report, "not_here");
    stp_report_item(report, "attribute", attribute_names[__builtin_ctz(attributes->unsupported)]);
    if (pe >= 0) stp_report_number(report, "pe", pe);
    stp_report_prose(report, "why", attributes->reason);
    stp_report_end_group(report);
    stp_report_end_group(report);
}

const char *stp_info_atomics_name(shmemx_space_atomics_t atomics)
{
    static const char *const names[] = {
        [SHMEMX_ATOMICS_HOST] = "host",
        [SHMEMX_ATOMICS_NATIVE] = "native",
        [SHMEMX_ATOMICS_OWNER] = "owner",
        [SHMEMX_ATOMICS_DEVICE] = "device",
    };

    return (unsigned)atomics < STP_COUNT(names) ? names[atomics] : NULL;
}
