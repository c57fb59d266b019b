/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the properties of a device for programs and reports. Design: docs/design/spaces.md. */
#include "device_info_query.h"

#include "job_state.h"

#include <stdio.h>
#include <string.h>

_Static_assert(SHMEMX_DEVICE_PAGES == STP_DEVICE_PAGES,
               "both structures have the same number of page sizes");
_Static_assert(SHMEMX_BYTES_UNKNOWN == SIZE_MAX, "unknown sizes have the same value");

/* Returns the NUMA node of the network adapter that the fabric uses, or -1 if it is unknown. */
static int devices_nic_node(void)
{
    static const char *const classes[] = {"infiniband", "net"};
    int length, node;

    if (stp_references() == 0 || !stp_rt.has_fabric || stp_rt.fabric.domain == NULL) return -1;
    /*
     * Count the characters of the name without its suffix. If the domain is "mlx5_0-xrc", the name
     * without the suffix is mlx5_0.
     */
    length = (int)strcspn(stp_rt.fabric.domain, "-");
    for (size_t i = 0; i < STP_COUNT(classes); i++) {
        char path[160], line[32];

        snprintf(path, sizeof(path), "class/%s/%.*s/device/numa_node", classes[i], length,
                 stp_rt.fabric.domain);
        if (sscanf(stp_sysfs_read_or_empty(line, sizeof(line), path), "%d", &node) == 1)
            return node;
    }
    return -1;
}

int stp_device_query(const struct stp_kind *kind, int i, shmemx_device_info_t *info)
{
    struct stp_device device = STP_DEVICE_UNKNOWN;

    if (i < 0 || i >= kind->devices(i, &device)) return 1;
    *info =
        (shmemx_device_info_t){.struct_size = sizeof(*info),
                               .device_type = (shmem_device_type_t)kind->device_type,
                               .device = i,
                               .usable = device.unusable_reason[0] == '\0',
                               .numa_node = device.numa,
                               .distance = device.distance,
                               .nic_distance = stp_numa_between(device.numa, devices_nic_node()),
                               .n_page_sizes = device.n_pages,
                               .nbytes = device.nbytes,
                               .free = device.free};
    memcpy(info->page_sizes, device.pages, sizeof(info->page_sizes));
    snprintf(info->bus_id, sizeof(info->bus_id), "%s", device.bus);
    snprintf(info->name, sizeof(info->name), "%s", device.name);
    snprintf(info->why_not, sizeof(info->why_not), "%s", device.unusable_reason);
    return 0;
}
