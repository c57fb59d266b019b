/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the NUMA nodes with high-bandwidth memory. hwloc identifies these nodes by firmware data
 * and by tables of its own. The library loads hwloc only when a program asks for such memory,
 * because hwloc takes longer to start than the rest of the library. Design: docs/design/kinds.md.
 */
#include "spaces/hbm.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#ifdef STP_HAVE_HWLOC
#include "spaces/hwloc_load.h"
#endif

/* The code needs the memory attributes of hwloc 2.3 or later. */
#if defined(HWLOC_API_VERSION) && HWLOC_API_VERSION >= 0x00020300

/* A topology that hwloc has loaded. */
struct topo {
    struct hwloc_calls calls;
    hwloc_topology_t topology;
    int depth;
    unsigned n; /* number of NUMA nodes */
};

static hwloc_obj_t topo_node(const struct topo *topo, unsigned i)
{
    return topo->calls.hwloc_get_obj_by_depth(topo->topology, topo->depth, i);
}

/* Loads the topology of this host, or of the file in HWLOC_XMLFILE. Returns 0, or -1 on failure. */
static int topo_load(struct topo *topo)
{
    if (topo->calls.hwloc_topology_init(&topo->topology) != 0) return -1;
#if HWLOC_API_VERSION >= 0x00020500
    /*
     * Without this flag, hwloc binds this thread to each CPU in turn to query the caches of the
     * CPU.
     */
    (void)topo->calls.hwloc_topology_set_flags(topo->topology,
                                               HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#endif
    if (topo->calls.hwloc_topology_load(topo->topology) == 0) {
        topo->depth = topo->calls.hwloc_get_type_depth(topo->topology, HWLOC_OBJ_NUMANODE);
        topo->n = hwloc_count(&topo->calls, topo->topology, HWLOC_OBJ_NUMANODE);
        return 0;
    }
    topo->calls.hwloc_topology_destroy(topo->topology);
    return -1;
}

/* Returns the bandwidth between a CPU and a NUMA node in MiB/s, or 0 if it is unknown. */
static uint64_t topo_bandwidth(const struct topo *topo, hwloc_obj_t node, int cpu)
{
    hwloc_bitmap_t cpus = topo->calls.hwloc_bitmap_alloc();
    struct hwloc_location initiator = {.type = HWLOC_LOCATION_TYPE_CPUSET, .location.cpuset = cpus};
    hwloc_uint64_t value = 0;

    if (cpus == NULL) return 0;
    topo->calls.hwloc_bitmap_only(cpus, (unsigned)cpu);
    if (topo->calls.hwloc_memattr_get_value(topo->topology, HWLOC_MEMATTR_ID_BANDWIDTH, node,
                                            &initiator, 0, &value) != 0)
        value = 0;
    topo->calls.hwloc_bitmap_free(cpus);
    return value;
}

/*
 * Returns the NUMA node with the usual memory (DRAM) of a CPU, or NULL. This is the local node with
 * the lowest number, because firmware numbers the nodes with DRAM first.
 */
static hwloc_obj_t topo_dram_node(const struct topo *topo, int cpu)
{
    hwloc_obj_t dram_node = NULL;

    for (unsigned i = 0; i < topo->n; i++) {
        hwloc_obj_t node = topo_node(topo, i);
        if (node->cpuset == NULL ||
            topo->calls.hwloc_bitmap_next(node->cpuset, cpu - 1) != cpu) /* not a local node */
            continue;
        if (dram_node == NULL || node->os_index < dram_node->os_index) dram_node = node;
    }
    return dram_node;
}

/*
 * Returns whether a node has high-bandwidth memory. If hwloc reports the type of the memory, only
 * the type counts. Otherwise the node must have at least twice the bandwidth of the usual memory of
 * its CPUs. Recent versions of hwloc use the same criterion.
 */
static bool topo_is_hbm(const struct topo *topo, hwloc_obj_t node)
{
    const char *name = node->subtype;
    hwloc_obj_t dram_node;
    int cpu;

    if (name != NULL && (strcasecmp(name, "MCDRAM") == 0 || strcasecmp(name, "HBM") == 0))
        return true;
    /*
     * SPM (specific-purpose memory) can be of any type. All other names mean DRAM, NVM or GPU
     * memory.
     */
    if (name != NULL && strcasecmp(name, "SPM") != 0) return false;
    cpu = node->cpuset != NULL ? topo->calls.hwloc_bitmap_next(node->cpuset, -1) : -1;
    dram_node = cpu >= 0 ? topo_dram_node(topo, cpu) : NULL;
    if (dram_node == NULL || dram_node == node) return false;
    return topo_bandwidth(topo, dram_node, cpu) > 0 &&
           topo_bandwidth(topo, node, cpu) >= 2 * topo_bandwidth(topo, dram_node, cpu);
}

static void topo_add_node(const struct topo *topo, hwloc_obj_t node, struct stp_hbm *hbm)
{
    struct stp_hbm_node *entry = &hbm->nodes[hbm->n];
    const char *name = node->subtype;

    if (hbm->n == STP_HBM_NODES) return;
    *entry = (struct stp_hbm_node){.number = (int)node->os_index,
                                   .nbytes = node->attr->numanode.local_memory};
    snprintf(entry->memory_type, sizeof(entry->memory_type), "%s",
             name != NULL && strcasecmp(name, "SPM") != 0 ? name : "HBM");
    for (int cpu = -1; node->cpuset != NULL &&
                       (cpu = topo->calls.hwloc_bitmap_next(node->cpuset, cpu)) >= 0 &&
                       cpu < STP_NUMBERS;)
        stp_numbers_add(&entry->cpus, cpu);
    hbm->n++;
}

void stp_hbm_read(struct stp_hbm *hbm)
{
    struct topo topo;

    hbm->n = 0;
    hbm->unusable_reason[0] = '\0';
    if (!hwloc_open(&topo.calls)) {
        snprintf(hbm->unusable_reason, sizeof(hbm->unusable_reason),
                 "no NUMA node is known to have high bandwidth: cannot load %s of hwloc 2.3 or "
                 "later",
                 HWLOC_LIBRARY);
        return;
    }
    if (topo_load(&topo) != 0) {
        snprintf(hbm->unusable_reason, sizeof(hbm->unusable_reason),
                 "no NUMA node is known to have high bandwidth: hwloc cannot read the topology "
                 "of this host");
        return;
    }
    for (unsigned i = 0; i < topo.n; i++)
        if (topo_is_hbm(&topo, topo_node(&topo, i))) topo_add_node(&topo, topo_node(&topo, i), hbm);
    if (hbm->n == 0)
        snprintf(hbm->unusable_reason, sizeof(hbm->unusable_reason),
                 "no NUMA node has high bandwidth (nodes: %u): none is MCDRAM or HBM, and none "
                 "is twice as fast as the usual memory",
                 topo.n);
    else if (!topo.calls.hwloc_topology_is_thissystem(topo.topology))
        snprintf(hbm->unusable_reason, sizeof(hbm->unusable_reason),
                 "hwloc describes another host (HWLOC_XMLFILE or HWLOC_SYNTHETIC), so its "
                 "high-bandwidth NUMA node %d is not usable",
                 hbm->nodes[0].number);
    topo.calls.hwloc_topology_destroy(topo.topology);
}

#else

void stp_hbm_read(struct stp_hbm *hbm)
{
    hbm->n = 0;
    snprintf(
        hbm->unusable_reason, sizeof(hbm->unusable_reason),
        "no NUMA node is known to have high bandwidth: Steppe was built without the headers of "
        "hwloc 2.3");
}

#endif

/*
 * Returns the distance between a node and the nearest of the CPUs. Returns 0 if the node is local
 * to a CPU, or INT_MAX if the distance is unknown.
 */
static int hbm_distance(const struct stp_hbm_node *node, const struct stp_numbers *cpus)
{
    int distance;

    if (stp_numbers_meet(&node->cpus, cpus)) return 0;
    distance = stp_numa_distance(node->number, cpus);
    return distance >= 0 ? distance : INT_MAX;
}

int stp_hbm_choose_index(const struct stp_hbm *hbm, const struct stp_numbers *cpus, int local)
{
    int distances[STP_HBM_NODES], best = INT_MAX, n = 0;

    for (int i = 0; i < hbm->n; i++) {
        distances[i] = hbm_distance(&hbm->nodes[i], cpus);
        if (distances[i] < best) n = 0;
        if (distances[i] <= best) n++;
        if (distances[i] < best) best = distances[i];
    }
    for (int i = 0, nth = n > 0 ? local % n : 0; i < hbm->n; i++)
        if (distances[i] == best && nth-- == 0) return i;
    return -1;
}

int stp_hbm_fits(size_t nbytes, const struct stp_capacity_request *requests, int n,
                 const struct stp_capacity_request *my_request, int *n_numa_sharers)
{
    size_t free_bytes = SIZE_MAX, total;
    int first = -1, last = -1, count = 0;

    for (int i = 0; i < n; i++) {
        if (requests[i].place != my_request->place) continue;
        if (first < 0) first = requests[i].pe;
        last = requests[i].pe;
        if (requests[i].free_bytes < free_bytes) free_bytes = requests[i].free_bytes;
        count++;
    }
    *n_numa_sharers = count;
    if (count == 0 ||
        (!__builtin_mul_overflow(nbytes, (size_t)count, &total) && total <= free_bytes))
        return 0;
    if (my_request->pe == first)
        stp_error("an hbm space of %zu bytes per PE does not fit NUMA node %d, which has %zu "
                  "bytes free for the PEs of this host that use it (number: %d, first: PE %d, "
                  "last: PE %d): request at most %zu bytes per PE",
                  nbytes, my_request->place, free_bytes, count, first, last,
                  free_bytes / (size_t)count & ~(size_t)4095);
    return -ENOMEM;
}
