/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory kind "hbm": spaces in high-bandwidth memory of the host. A space of this kind is host
 * memory that is bound to a NUMA node with high-bandwidth memory. Design: docs/design/kinds.md.
 */
#include "spaces/hbm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct stp_kind stp_kind_hbm;

static struct {
    /* Guards the field found. A thread holds the lock also while it queries hwloc. */
    pthread_mutex_t lock;
    struct stp_hbm *found;
} hbm = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Returns the nodes with high-bandwidth memory, or NULL if malloc() failed. Only the first call
 * queries hwloc.
 */
static const struct stp_hbm *hbm_read_once(void)
{
    const struct stp_hbm *found;

    pthread_mutex_lock(&hbm.lock);
    if (hbm.found == NULL) {
        hbm.found = malloc(sizeof(*hbm.found));
        if (hbm.found != NULL) stp_hbm_read(hbm.found);
    }
    found = hbm.found;
    pthread_mutex_unlock(&hbm.lock);
    return found;
}

static void hbm_stop(void)
{
    pthread_mutex_lock(&hbm.lock);
    free(hbm.found);
    hbm.found = NULL;
    pthread_mutex_unlock(&hbm.lock);
}

static int hbm_probe(const struct stp_space_params *params, char *message, size_t len)
{
    const struct stp_hbm *found = hbm_read_once();

    (void)params;
    if (found == NULL)
        return stp_reason(-ENOMEM, message, len,
                          "this process is out of memory for a list of NUMA nodes");
    if (found->unusable_reason[0] != '\0')
        return stp_reason(-ENODEV, message, len, "%s", found->unusable_reason);
    snprintf(message, len, "high-bandwidth memory");
    return 0;
}

/* Returns the index of the NUMA node for a new space, or -ENODEV after logging. */
static int hbm_pick(const struct stp_space_params *params)
{
    const struct stp_hbm *found = hbm_read_once();
    struct stp_numbers own_cpus;

    if (params->numa_node == -1) {
        stp_numbers_own_cpus(&own_cpus);
        return stp_hbm_choose_index(found, &own_cpus, stp_window_local());
    }
    for (int i = 0; i < found->n; i++)
        if (found->nodes[i].number == params->numa_node) return i;
    stp_error("attr->numa_node is %d, but this NUMA node has no high-bandwidth memory; NUMA node "
              "%d has it (oshinfo --spaces lists all such nodes)",
              params->numa_node, found->nodes[0].number);
    return -ENODEV;
}

/*
 * Sets *bound_params to a copy of params that binds the memory to the node that hbm_pick() chooses.
 * Returns the index of the node, or -ENODEV after logging.
 */
static int hbm_bind(const struct stp_space_params *params, struct stp_space_params *bound_params)
{
    int i = hbm_pick(params);

    *bound_params = *params;
    bound_params->numa_by = stp_kind_hbm.numa_by;
    bound_params->numa = STP_NUMA_BIND;
    if (i >= 0) bound_params->numa_node = hbm_read_once()->nodes[i].number;
    return i;
}

static size_t hbm_free(int node)
{
    struct stp_device device = STP_DEVICE_UNKNOWN;

    stp_numa_describe(node, &device);
    return device.free;
}

/*
 * Checks that the node has enough free memory for the part. Without this check, the kernel would
 * end the job later, when a page is touched and the node is full.
 */
static int hbm_admit(const struct stp_space_params *params)
{
    struct stp_space_params bound_params;
    int i = hbm_bind(params, &bound_params);
    size_t free_bytes;

    if (i < 0) return i;
    if (stp_numa_check(&bound_params) != 0) return -ENODEV;
    free_bytes = hbm_free(bound_params.numa_node);
    if (bound_params.nbytes > free_bytes) {
        stp_error("an hbm space of %zu bytes per PE exceeds the free memory of NUMA node %d: "
                  "request at most %zu bytes",
                  bound_params.nbytes, bound_params.numa_node, free_bytes);
        return -ENOMEM;
    }
    return stp_cpu_check_fits_ram_and_cgroup(&bound_params, "hbm");
}

static void hbm_claim(const struct stp_space_params *params,
                      struct stp_capacity_request *my_request)
{
    int i = hbm_pick(params);

    my_request->place = i >= 0 ? hbm_read_once()->nodes[i].number : -1;
    my_request->free_bytes = i >= 0 ? hbm_free(my_request->place) : 0;
}

static int hbm_admit_all(struct stp_space *space, const struct stp_capacity_request *requests,
                         int n, const struct stp_capacity_request *my_request)
{
    return stp_hbm_fits(space->nbytes, requests, n, my_request, &space->n_numa_sharers);
}

static int hbm_create(struct stp_space *space, const struct stp_space_params *params,
                      struct stp_part_export *share)
{
    struct stp_space_params bound_params;
    int i = hbm_bind(params, &bound_params), rc;

    if (i < 0) return i;
    rc = stp_cpu_create(space, &bound_params, share);
    if (rc == 0) space->device = i;
    return rc;
}

static int hbm_grow(struct stp_space *space, size_t nbytes, char *reason, size_t len)
{
    size_t free_bytes = space->numa_is_set ? hbm_free(space->numa_node) : SIZE_MAX;
    size_t n = space->n_numa_sharers > 1 ? (size_t)space->n_numa_sharers : 1;

    if (nbytes - space->nbytes <= free_bytes / n) return stp_cpu_grow(space, nbytes, reason, len);
    snprintf(reason, len,
             "the growth by %zu bytes exceeds the share of each PE in the free memory of NUMA "
             "node %d: %zu bytes (free: %zu, PEs: %zu)",
             nbytes - space->nbytes, space->numa_node, free_bytes / n, free_bytes, n);
    return -ENOMEM;
}

static int hbm_devices(int i, struct stp_device *device)
{
    const struct stp_hbm *found = hbm_read_once();
    const struct stp_hbm_node *node;

    if (found == NULL) return 0;
    if (device == NULL || i < 0 || i >= found->n) return found->n;
    node = &found->nodes[i];
    stp_numa_describe(node->number, device);
    /* Take the size from hwloc, because HWLOC_XMLFILE can name the topology of another host. */
    device->nbytes = node->nbytes;
    snprintf(device->name, sizeof(device->name), "%s, NUMA node %d", node->memory_type,
             node->number);
    snprintf(device->unusable_reason, sizeof(device->unusable_reason), "%s",
             found->unusable_reason);
    if (found->unusable_reason[0] != '\0') device->free = SIZE_MAX;
    return found->n;
}

static bool hbm_describe(int i, char *text, size_t len)
{
    struct stp_device device = STP_DEVICE_UNKNOWN;
    char size[STP_SIZE_TEXT];

    if (i < 0 || i >= hbm_devices(i, &device)) return false;
    snprintf(text, len, "%s, %s", device.name, stp_size_text(device.nbytes, size));
    return true;
}

const struct stp_kind stp_kind_hbm = {
    .name = "hbm",
    .device_type = 2, /* SHMEM_DEVICE_HBM */
    .host = true,
    .in_window = true,
    .traits = STP_HAS(STP_TRAIT_GROWS) | STP_HAS(STP_TRAIT_PAGES) | STP_HAS(STP_TRAIT_NODE) |
              STP_HAS(STP_TRAIT_PINNED),
    .numa_by = "SHMEM_DEVICE_HBM",
    .stop = hbm_stop,
    .probe = hbm_probe,
    .admit = hbm_admit,
    .claim = hbm_claim,
    .admit_all = hbm_admit_all,
    .create = hbm_create,
    .grow = hbm_grow,
    .shrink = stp_cpu_undo_grow,
    .attach = stp_cpu_attach,
    .destroy = stp_cpu_destroy,
    .describe = hbm_describe,
    .devices = hbm_devices,
};
