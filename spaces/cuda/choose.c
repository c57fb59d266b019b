/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which GPU a PE uses: the one that is asked for, else one of those nearest to the CPUs that this
 * process may run on, the PEs of the node taking turns. And what is said of devices. Design:
 * docs/design/cuda.md.
 */
#include "cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHOOSE_MAX_CPUS 8192
#define CHOOSE_LINE 4096 /* bytes of a line with a number for each of so many */
#define CHOOSE_FAR 1000  /* farther than any distance that firmware tells */

/* CPUs, or nodes: numbers as the kernel's lists have them. */
struct number_set {
    unsigned char bits[CHOOSE_MAX_CPUS / CHAR_BIT];
};

/* ---- sysfs --------------------------------------------------------------------------- */

/* The first line of a file under sysfs; "" when there is none. */
static const char *sysfs_line(char *line, size_t len, const char *path)
{
    char whole[256];
    ssize_t n = -1;
    int fd;

    snprintf(whole, sizeof(whole), "%s/%s", stp_cuda.sysfs, path);
    fd = open(whole, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, line, len - 1);
        close(fd);
    }
    line[n > 0 ? n : 0] = '\0';
    return line;
}

/* A long one, on the heap, since threads have small stacks; NULL: no memory. */
static char *sysfs_long_line(const char *path)
{
    char *line = malloc(CHOOSE_LINE);

    if (line != NULL) sysfs_line(line, CHOOSE_LINE, path);
    return line;
}

/* "0-3,8,10-11" */
static void list_parse(struct number_set *set, const char *at)
{
    char *end;

    for (;;) {
        unsigned long low = strtoul(at, &end, 10), high = low;
        if (end == at) return;
        if (*end == '-') high = strtoul(end + 1, &end, 10);
        for (unsigned long i = low; i <= high && i < CHOOSE_MAX_CPUS; i++)
            set->bits[i / CHAR_BIT] |= (unsigned char)(1u << i % CHAR_BIT);
        if (*end != ',') return;
        at = end + 1;
    }
}

static void sysfs_list(struct number_set *set, const char *path)
{
    char *line = sysfs_long_line(path);

    memset(set, 0, sizeof(*set));
    if (line != NULL) list_parse(set, line);
    free(line);
}

static bool set_has(const struct number_set *set, int i)
{
    return (set->bits[i / CHAR_BIT] >> i % CHAR_BIT & 1) != 0;
}

static bool set_meet(const struct number_set *a, const struct number_set *b)
{
    for (size_t i = 0; i < sizeof(a->bits); i++)
        if ((a->bits[i] & b->bits[i]) != 0) return true;
    return false;
}

/* ---- locality -------------------------------------------------------------------------- */

static void choose_own_cpus(struct number_set *set)
{
    cpu_set_t cpus[CHOOSE_MAX_CPUS / CPU_SETSIZE];

    memset(set, 0, sizeof(*set));
    if (sched_getaffinity(0, sizeof(cpus), cpus) != 0) return;
    for (int i = 0; i < CHOOSE_MAX_CPUS; i++)
        if (CPU_ISSET_S((size_t)i, sizeof(cpus), cpus))
            set->bits[i / CHAR_BIT] |= (unsigned char)(1u << i % CHAR_BIT);
}

int stp_cuda_numa(const struct cuda_device *device)
{
    char path[96], line[32];
    int node = -1;

    if (device->bus[0] == '\0') return -1;
    snprintf(path, sizeof(path), "bus/pci/devices/%s/numa_node", device->bus);
    return sscanf(sysfs_line(line, sizeof(line), path), "%d", &node) == 1 ? node : -1;
}

/* From a node to the nearest one with a CPU of ours; distances come one for each node online. */
static int choose_node_distance(int node, const struct number_set *own)
{
    struct number_set online, cpus;
    char path[96], *line, *at, *end;
    int best = CHOOSE_FAR;

    snprintf(path, sizeof(path), "devices/system/node/node%d/distance", node);
    at = line = sysfs_long_line(path);
    if (line == NULL) return best;
    sysfs_list(&online, "devices/system/node/online");
    for (int i = 0; i < CHOOSE_MAX_CPUS; i++) {
        int distance;
        if (!set_has(&online, i)) continue;
        distance = (int)strtol(at, &end, 10);
        if (end == at) break;
        at = end;
        snprintf(path, sizeof(path), "devices/system/node/node%d/cpulist", i);
        sysfs_list(&cpus, path);
        if (distance < best && set_meet(&cpus, own)) best = distance;
    }
    free(line);
    return best;
}

/* 0: on the same node as a CPU of ours; the larger the farther. */
static int choose_distance(const struct cuda_device *device, const struct number_set *own)
{
    struct number_set cpus;
    char path[96];

    if (device->bus[0] == '\0') return CHOOSE_FAR;
    snprintf(path, sizeof(path), "bus/pci/devices/%s/local_cpulist", device->bus);
    sysfs_list(&cpus, path);
    if (set_meet(&cpus, own)) return 0;
    return device->numa >= 0 ? choose_node_distance(device->numa, own) : CHOOSE_FAR;
}

int stp_cuda_nearest(void)
{
    int near[CUDA_MAX_DEVICES], n = 0, best = INT_MAX;
    struct number_set own;

    choose_own_cpus(&own);
    for (int i = 0; i < stp_cuda.n_devices; i++) {
        int distance;
        if (stp_cuda.devices[i].why_not[0] != '\0') continue;
        distance = choose_distance(&stp_cuda.devices[i], &own);
        if (distance < best) n = 0;
        if (distance <= best) near[n++] = i;
        if (distance < best) best = distance;
    }
    return n == 0 ? 0 : near[stp_window_local() % n];
}

/* ---- choice ------------------------------------------------------------------------------ */

/* A device by number, as somebody asked for it. */
static int choose_number(int ordinal, const char *who, struct cuda_device **device, char *text,
                         size_t len)
{
    if (ordinal >= stp_cuda.n_devices) {
        snprintf(text, len, "%s %d, devices are 0..%d", who, ordinal, stp_cuda.n_devices - 1);
        return -EINVAL;
    }
    *device = &stp_cuda.devices[ordinal];
    if ((*device)->why_not[0] == '\0') return 0;
    snprintf(text, len, "%s %d, which cannot be used: %s", who, ordinal, (*device)->why_not);
    return -EINVAL;
}

/* An adopted buffer decides by itself. */
static int choose_by_buffer(const struct stp_space_params *params, struct cuda_device **device,
                            char *text, size_t len)
{
    struct cuda_location location = stp_cuda_location(params->buffer);

    *device = location.device;
    if (location.peer) {
        snprintf(text, len, "buffer %p is memory of another PE", params->buffer);
        return -EINVAL;
    }
    if (*device == NULL) {
        snprintf(text, len, "buffer %p is no device memory: cuMemAlloc and cudaMalloc make such",
                 params->buffer);
        return -EINVAL;
    }
    if (params->device >= 0 && params->device != (*device)->ordinal) {
        snprintf(text, len, "device is %d, and buffer %p is memory of device %d", params->device,
                 params->buffer, (*device)->ordinal);
        return -EINVAL;
    }
    return 0;
}

/* "gpu 0: NAME, 80 GiB" */
static void choose_name(const struct cuda_device *device, char *text, size_t len)
{
    char size[STP_SIZE_TEXT];

    snprintf(text, len, "gpu %d: %s, %s", device->ordinal, device->name,
             stp_size_text(device->total, size));
}

int stp_cuda_choose(const struct stp_space_params *params, struct cuda_device **device, char *text,
                    size_t len)
{
    int rc = 0;

    if (!stp_cuda.up) {
        snprintf(text, len, "%s", stp_cuda.why[0] != '\0' ? stp_cuda.why : "not started");
        return -ENODEV;
    }
    *device = &stp_cuda.devices[stp_cuda.near];
    if (params->buffer != NULL) {
        rc = choose_by_buffer(params, device, text, len);
    } else if (params->device >= 0) {
        rc = choose_number(params->device, "device is", device, text, len);
    } else if (stp_env.gpu_device >= 0) {
        rc = choose_number(stp_env.gpu_device, "SHMEM_GPU_DEVICE is", device, text, len);
        if (rc != 0) return -ENODEV;
    }
    if (rc == 0) choose_name(*device, text, len);
    return rc;
}

/* ---- texts --------------------------------------------------------------------------------- */

bool stp_cuda_describe(int i, char *text, size_t len)
{
    const struct cuda_device *device = &stp_cuda.devices[i < 0 ? 0 : i];
    const unsigned char *u = (const unsigned char *)device->uuid.bytes;
    char name[160];

    if (i < 0 || i >= stp_cuda.n_devices) return false;
    if (device->why_not[0] != '\0') {
        snprintf(text, len, "gpu %d cannot be used: %s", i, device->why_not);
        return true;
    }
    choose_name(device, name, sizeof(name));
    snprintf(text, len,
             "%s, pci %s, numa %d, uuid %02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x%s",
             name, device->bus, device->numa, u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8],
             u[9], u[10], u[11], u[12], u[13], u[14], u[15],
             i == stp_cuda.near ? ", nearest to this PE" : "");
    return true;
}
