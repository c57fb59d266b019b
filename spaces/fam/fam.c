/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file implements memory of the kind "fam", which is fabric-attached or persistent memory.
 * Each part of a space is a range of a file or device. The parts are mapped outside the window,
 * which is the address range of most other spaces. Design: docs/design/fam.md.
 */
#include "fam.h"
#include "spaces/space_registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

extern const struct stp_kind stp_kind_fam;

/*
 * Read-only mappings of all parts of one generation of a named space. A space gets a new generation
 * when its number of parts grows.
 */
struct fam_parts {
    int index;   /* index of the generation's entry in the pool */
    unsigned n;  /* number of parts */
    void **maps; /* addresses of the parts; NULL for a part that is not mapped yet */
};

/* State of a space of this kind. The field kind_data of struct stp_space points to it. */
struct fam_data {
    struct fam_part part;
    size_t map_bytes; /* size of a mapped part in bytes, a multiple of the page size */
    /*
     * Parts of the space's own generation, and parts of the previous generation. fam_drop() unmaps
     * the parts of the previous generation.
     */
    struct fam_parts parts, previous;
    /*
     * Pointer to the generation whose parts fam_part() maps for the program, which is the field
     * parts or the field previous. NULL for a nameless space.
     */
    const struct fam_parts *readable;
    bool dax; /* true if this PE's part is mapped without a page cache */
};

static int fam_probe(const struct stp_space_params *params, char *message, size_t len)
{
    struct fam_backing backing;

    (void)params;
    return stp_fam_probe_path(stp_env.fam_path, &backing, message, len);
}

/* Examines SHMEM_FAM_PATH and fills in *backing. Returns 0, or -ENODEV after logging an error. */
static int fam_find_backing(struct fam_backing *backing)
{
    char reason[256];
    int rc = stp_fam_probe_path(stp_env.fam_path, backing, reason, sizeof(reason));

    if (rc != 0) stp_error("fam: %s", reason);
    return rc;
}

static struct fam_shape fam_shape(const struct stp_space_params *params, size_t nbytes)
{
    return (struct fam_shape){.name = params->name,
                              .nbytes = nbytes,
                              .n_parts = params->name != NULL ? (unsigned)params->n_pes : 1,
                              .keep = params->keep,
                              .reshape = params->reshape,
                              .open = params->open,
                              .token = params->token};
}

static int fam_admit(const struct stp_space_params *params)
{
    struct fam_shape shape = fam_shape(params, params->nbytes);
    struct fam_backing backing;
    int rc = fam_find_backing(&backing);

    return rc != 0 ? rc : stp_fam_check_fits(&backing, &shape);
}

/*
 * Maps this PE's part. Tries MAP_SYNC first, because stores to a mapping with this flag can be made
 * durable without a system call. Only DAX files support the flag.
 */
static int fam_map(struct stp_space *space, struct stp_part_export *share)
{
    struct fam_data *data = space->kind_data;
    const struct fam_part *part = &data->part;
    size_t nbytes = data->map_bytes;
    int rc =
        stp_own_file_map_own_part(space, part->fd, part->offset, nbytes, nbytes, MAP_SYNC, share);

    data->dax = rc == 0 || (part->pooled && part->pool.device);
    if (rc != 0)
        rc = stp_own_file_map_own_part(space, part->fd, part->offset, nbytes, nbytes, 0, share);
    if (rc == 0) stp_own_file_set_path(space, part->path);
    return rc;
}

static int fam_know(const struct fam_part *part, int index, struct fam_parts *parts)
{
    *parts = (struct fam_parts){index, part->pool.super->entries[index].n_parts, NULL};
    parts->maps = calloc(parts->n, sizeof(*parts->maps));
    return parts->maps != NULL ? 0 : -ENOMEM;
}

/*
 * Fills in data->parts. If the space has a previous generation, also fills in data->previous. The
 * program then reads the parts of the previous generation until fam_drop() is called.
 */
static int fam_know_parts(struct stp_space *space, struct fam_data *data)
{
    int rc;

    if (data->part.head == NULL) return 0;
    rc = fam_know(&data->part, data->part.index, &data->parts);
    data->readable = &data->parts;
    if (rc == 0 && data->part.previous >= 0) {
        rc = fam_know(&data->part, data->part.previous, &data->previous);
        data->readable = &data->previous;
    }
    space->n_parts = data->readable->n;
    return rc;
}

static void fam_forget(struct fam_data *data, struct fam_parts *parts)
{
    for (unsigned i = 0; i < parts->n && parts->maps != NULL; i++)
        if (parts->maps[i] != NULL) munmap(parts->maps[i], data->map_bytes);
    free(parts->maps);
    parts->maps = NULL;
    parts->n = 0;
}

static int fam_part(struct stp_space *space, unsigned i, const void **base)
{
    struct fam_data *data = space->kind_data;
    /* Pairs with the release store in fam_drop() in another thread. */
    const struct fam_parts *parts = __atomic_load_n(&data->readable, __ATOMIC_ACQUIRE);
    /* Pairs with the compare-and-swap below in another thread. */
    void *map = __atomic_load_n(&parts->maps[i], __ATOMIC_ACQUIRE), *existing = NULL;
    off_t offset;

    if (map == NULL) {
        if (!stp_fam_part_is_here(&data->part, parts->index, i, &offset)) return -ENXIO;
        map = mmap(NULL, data->map_bytes, PROT_READ, MAP_SHARED, data->part.fd, offset);
        if (map == MAP_FAILED) {
            stp_error("fam: cannot map part %u of the space in %s: %s", i, data->part.path,
                      strerror(errno));
            return -errno;
        }
        /*
         * Pairs with the acquire load above, and with this call in other threads. If two threads
         * map the part, the mapping of the first thread is kept.
         */
        if (!__atomic_compare_exchange_n(&parts->maps[i], &existing, map, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE)) { /* another thread was first */
            munmap(map, data->map_bytes);
            map = existing;
        }
    }
    *base = map;
    return 0;
}

static bool fam_reshaping(const struct stp_space *space)
{
    const struct fam_data *data = space->kind_data;

    return space->n_parts > 0 && data->part.previous >= 0;
}

static int fam_settle(struct stp_space *space)
{
    const struct fam_data *data = space->kind_data;
    int rc = stp_fam_flush(space->base, data->map_bytes, data->dax);

    if (rc != 0)
        stp_error("fam: this PE cannot make its new part of the space in %s durable: %s",
                  data->part.path, strerror(-rc));
    return rc;
}

static int fam_release(struct stp_space *space)
{
    return stp_fam_part_replace_generation(&((struct fam_data *)space->kind_data)->part);
}

static void fam_drop(struct stp_space *space)
{
    struct fam_data *data = space->kind_data;

    /* Pairs with the acquire load in fam_part(). */
    __atomic_store_n(&data->readable, &data->parts, __ATOMIC_RELEASE);
    space->n_parts = data->parts.n;
    fam_forget(data, &data->previous);
    stp_fam_part_free_previous(&data->part);
}

/*
 * Maps this PE's part and sets space->kind_data to data. Returns 0, or -errno after logging an
 * error.
 */
static int fam_use_part(struct stp_space *space, struct fam_data *data,
                        struct stp_part_export *share)
{
    int rc;

    space->kind_data = data;
    rc = fam_map(space, share);
    if (rc == 0) rc = fam_know_parts(space, data);
    if (rc == 0) {
        space->found = data->part.found;
        space->device = -1;
        return 0;
    }
    fam_forget(data, &data->parts);
    fam_forget(data, &data->previous);
    stp_own_file_destroy(space);
    space->kind_data = NULL;
    stp_error("fam: cannot map %zu bytes of %s: %s", data->map_bytes, stp_env.fam_path,
              strerror(-rc));
    /*
     * Do not return -EEXIST. The caller would assume a conflict with another thread and try again.
     */
    return rc == -EEXIST ? -EINVAL : rc;
}

static int fam_create(struct stp_space *space, const struct stp_space_params *params,
                      struct stp_part_export *share)
{
    struct fam_shape shape = fam_shape(params, space->nbytes);
    struct fam_data *data = calloc(1, sizeof(*data));
    struct fam_backing backing;
    int rc = -ENOMEM;

    if (data == NULL) {
        stp_error("fam: out of memory: cannot create a space");
        return rc;
    }
    rc = fam_find_backing(&backing);
    if (rc == 0 && params->name != NULL) rc = stp_fam_check_space_name(params->name);
    if (rc != 0) goto err_own;
    data->map_bytes = backing.type == FAM_DEVICE
                          ? (space->nbytes + FAM_ALIGN - 1) & ~(FAM_ALIGN - 1)
                          : space->nbytes;
    rc = stp_fam_part_open(&data->part, &backing, &shape, params->pe, data->map_bytes);
    if (rc != 0) goto err_own;
    rc = fam_use_part(space, data, share);
    if (rc == 0) return 0;
    stp_fam_part_close(&data->part, false);

err_own:
    free(data);
    return rc;
}

static int fam_attach(struct stp_space *space, int local, const struct stp_part_export *share)
{
    struct fam_data *data = space->kind_data;

    if (local == stp_window_local()) stp_fam_part_mark_made(&data->part);
    return stp_own_file_peer(space, local, share);
}

static void fam_destroy(struct stp_space *space)
{
    struct fam_data *data = space->kind_data;
    bool used = space->caps != 0; /* true if all members have created their parts */

    if (data == NULL) return;
    if (used && fam_reshaping(space))
        stp_warn(
            "fam: the new parts of the space in %s are discarded, because "
            "shmemx_space_reshape_commit() was not called: the name still denotes the old parts",
            data->part.path);
    if (used && data->part.keep) {
        int rc = stp_fam_flush(space->base, data->map_bytes, data->dax);
        if (rc != 0)
            stp_warn("fam: data that was written to the space may be lost: %s", strerror(-rc));
    }
    stp_own_file_destroy(space);
    fam_forget(data, &data->parts);
    fam_forget(data, &data->previous);
    stp_fam_part_close(&data->part, used);
    free(data);
    space->kind_data = NULL;
}

static int fam_persist(struct stp_space *space, size_t offset, size_t nbytes)
{
    const struct fam_data *data = space->kind_data;

    return stp_fam_flush(space->base + offset, nbytes, data->dax);
}

static bool fam_root_at(const struct stp_space *space, unsigned i, struct stp_named_block *root)
{
    return stp_fam_root_at(&((struct fam_data *)space->kind_data)->part, i, root);
}

static int fam_root_set(struct stp_space *space, const struct stp_named_block *root)
{
    return stp_fam_root_set(&((struct fam_data *)space->kind_data)->part, root);
}

static int fam_stat(const char *name, struct stp_named *named)
{
    struct fam_backing backing;
    int rc = fam_find_backing(&backing);

    if (rc == 0) rc = stp_fam_check_space_name(name);
    return rc != 0 ? rc : stp_fam_part_stat(&backing, name, named);
}

static bool fam_describe(int i, char *text, size_t len)
{
    return i == 0 && fam_probe(NULL, text, len) == 0;
}

/* Reports SHMEM_FAM_PATH as the only device. Does not report how many bytes of a pool are free. */
static int fam_devices(int i, struct stp_device *device)
{
    struct fam_backing backing;
    struct statvfs vfs;
    char reason[128];

    if (stp_fam_probe_path(stp_env.fam_path, &backing, reason, sizeof(reason)) != 0) return 0;
    if (device == NULL || i != 0) return 1;
    snprintf(device->name, sizeof(device->name), "%.95s", backing.path);
    device->pages[device->n_pages++] =
        backing.type == FAM_DEVICE ? FAM_ALIGN : (size_t)sysconf(_SC_PAGESIZE);
    device->nbytes = backing.nbytes;
    if (backing.type != FAM_DIRECTORY) return 1;
    device->free = backing.nbytes;
    if (statvfs(backing.path, &vfs) == 0)
        device->nbytes = (size_t)vfs.f_blocks * (size_t)vfs.f_frsize;
    return 1;
}

static const struct stp_store_ops fam_store = {
    .persist = fam_persist,
    .named_block_at = fam_root_at,
    .named_block_set = fam_root_set,
    .stat = fam_stat,
    .part = fam_part,
    .reshaping = fam_reshaping,
    .settle = fam_settle,
    .release = fam_release,
    .drop = fam_drop,
};

const struct stp_kind stp_kind_fam = {
    .name = "fam",
    .device_type = 3, /* SHMEM_DEVICE_FAM */
    .host = true,
    .traits = STP_HAS(STP_TRAIT_NAME),
    .store = &fam_store,
    .probe = fam_probe,
    .admit = fam_admit,
    .create = fam_create,
    .attach = fam_attach,
    .destroy = fam_destroy,
    .describe = fam_describe,
    .devices = fam_devices,
};
