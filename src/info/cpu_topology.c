/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the report section about the machine's topology. The data comes from hwloc or, if hwloc is
 * not available, from the kernel.
 */
#include "info.h"

#ifdef STP_HAVE_HWLOC
#include "spaces/hwloc_load.h"
#endif

#include <glob.h>
#include <sched.h>
#include <unistd.h>

#ifdef STP_HAVE_HWLOC
static void info_counts(struct stp_report *report, const struct hwloc_calls *calls,
                        hwloc_topology_t topology)
{
    static const struct {
        const char *name;
        hwloc_obj_type_t type;
    } rows[] = {
        {"packages", HWLOC_OBJ_PACKAGE},
        {"cores", HWLOC_OBJ_CORE},
        {"threads", HWLOC_OBJ_PU},
    };

    for (size_t i = 0; i < STP_COUNT(rows); i++)
        stp_report_number(report, rows[i].name, hwloc_count(calls, topology, rows[i].type));
}

static void info_numa(struct stp_report *report, const struct hwloc_calls *calls,
                      hwloc_topology_t topology)
{
    unsigned n = hwloc_count(calls, topology, HWLOC_OBJ_NUMANODE);
    int depth = calls->hwloc_get_type_depth(topology, HWLOC_OBJ_NUMANODE);

    stp_report_list(report, "numa_nodes");
    for (unsigned i = 0; i < n; i++) {
        hwloc_obj_t node = calls->hwloc_get_obj_by_depth(topology, depth, i);
        char title[32];

        snprintf(title, sizeof(title), "node %u", node->os_index);
        stp_report_item(report, "numa_node", title);
        stp_report_bytes(report, "memory", node->attr->numanode.local_memory);
        stp_report_end_group(report);
    }
    stp_report_end_group(report);
}

static void info_caches(struct stp_report *report, const struct hwloc_calls *calls,
                        hwloc_topology_t topology)
{
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                             HWLOC_OBJ_L3CACHE};

    stp_report_list(report, "caches");
    for (size_t i = 0; i < STP_COUNT(types); i++) {
        unsigned n = hwloc_count(calls, topology, types[i]);
        hwloc_obj_t cache;
        char title[16];

        if (n == 0) continue;
        cache = calls->hwloc_get_obj_by_depth(topology,
                                              calls->hwloc_get_type_depth(topology, types[i]), 0);
        snprintf(title, sizeof(title), "L%u", cache->attr->cache.depth);
        stp_report_item(report, "cache", title);
        stp_report_number(report, "count", n);
        stp_report_bytes(report, "size", cache->attr->cache.size);
        stp_report_number(report, "line", cache->attr->cache.linesize);
        stp_report_end_group(report);
    }
    stp_report_end_group(report);
}

static bool info_by_hwloc(struct stp_report *report)
{
    struct hwloc_calls calls;
    hwloc_topology_t topology;

    if (!hwloc_open(&calls) || calls.hwloc_topology_init(&topology) != 0) return false;
    if (calls.hwloc_topology_load(topology) != 0) {
        calls.hwloc_topology_destroy(topology);
        return false;
    }
    stp_report_text(report, "source", "hwloc");
    info_counts(report, &calls, topology);
    info_numa(report, &calls, topology);
    info_caches(report, &calls, topology);
    calls.hwloc_topology_destroy(topology);
    return true;
}

#else
static bool info_by_hwloc(struct stp_report *report)
{
    (void)report;
    return false;
}
#endif

static void info_by_kernel(struct stp_report *report)
{
    glob_t nodes = {0};

    stp_report_text(report, "source", "kernel (libhwloc.so.15 cannot be used)");
    stp_report_number(report, "threads", sysconf(_SC_NPROCESSORS_ONLN));
    if (glob("/sys/devices/system/node/node[0-9]*", 0, NULL, &nodes) == 0)
        stp_report_number(report, "numa_nodes", (long long)nodes.gl_pathc);
    globfree(&nodes);
}

void stp_info_topology(struct stp_report *report)
{
    cpu_set_t allowed;

    if (!info_by_hwloc(report)) info_by_kernel(report);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
        stp_report_number(report, "allowed_threads", CPU_COUNT(&allowed));
}
