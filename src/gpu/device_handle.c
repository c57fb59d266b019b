/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file creates and destroys device handles. Kernels use a device handle to access the memory
 * of a team's PEs. The tables, rings and barrier words of a handle lie in a space that belongs to
 * this handle. Design: docs/design/streams.md.
 */
#include "device_handle_host_side.h"

#include "coll/coll.h"
#include "core/versioned_struct.h"
#include "rma/rma.h"
#include "space/space_lifecycle.h"
#include "team/team_lifecycle.h"

#include "pshmem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS_MAX = 1024, SLOTS_MIN = 2, SLOTS_MAX = 65536 };

/* ---- options ----------------------------------------------------------------------------- */

/*
 * Copies the caller's options to *options, or the defaults if user_options is NULL. Returns false
 * after logging if an option is wrong.
 */
static bool options_read(const shmemx_device_options_t *user_options,
                         shmemx_device_options_t *options)
{
    static const shmemx_device_options_t defaults = SHMEMX_DEVICE_OPTIONS_INITIALIZER;

    *options = defaults;
    if (user_options == NULL) return true;
    if (!stp_struct_read(options, sizeof(*options), user_options, STP_DEVICE_OPTIONS_MIN, "options",
                         "DEVICE_OPTIONS", "shmemx_device_handle_create"))
        return false;
    if (options->kind != SHMEM_DEVICE_CPU && options->kind != SHMEM_DEVICE_GPU) {
        stp_error("shmemx_device_handle_create: options->kind is %d: pass SHMEM_DEVICE_CPU (%d) or "
                  "SHMEM_DEVICE_GPU (%d)",
                  options->kind, SHMEM_DEVICE_CPU, SHMEM_DEVICE_GPU);
        return false;
    }
    if (options->kind == SHMEM_DEVICE_CPU && options->device != -1) {
        stp_error("shmemx_device_handle_create: options->device is %d, but options->kind "
                  "SHMEM_DEVICE_CPU has no devices: pass -1",
                  options->device);
        return false;
    }
    if (options->n_rings >= 1 && options->n_rings <= RINGS_MAX && options->n_slots >= SLOTS_MIN &&
        options->n_slots <= SLOTS_MAX)
        return true;
    stp_error("shmemx_device_handle_create: options->n_rings is %d and options->n_slots is %d: "
              "pass 1 to %d rings and %d to %d slots",
              options->n_rings, options->n_slots, RINGS_MAX, SLOTS_MIN, SLOTS_MAX);
    return false;
}

/* Finds the GPU that the options select. Logs and returns false if this PE has no such GPU. */
static bool options_find_gpu(const shmemx_device_options_t *options, struct stp_gpu *gpu)
{
    char text[256];

    if (options->kind == SHMEM_DEVICE_CPU) return true;
    if (stp_gpu_choose(options->device, gpu, text, sizeof(text)) == 0) return true;
    stp_error("shmemx_device_handle_create: this PE cannot use the requested GPU: %s", text);
    return false;
}

/*
 * Makes the members agree on the options. Returns true if the options are correct and equal on all
 * members. The argument `options_ok` is false if an option of this PE is wrong. Sets *n_rows to the
 * largest *n_rows of all members.
 */
static bool options_agree(struct stp_team *team, const shmemx_device_options_t *options,
                          bool options_ok, size_t *n_rows)
{
    int by_ring = options->by_ring != 0;
    int64_t facts[] = {!options_ok,       (int64_t)*n_rows, -options->n_rings, options->n_rings,
                       -options->n_slots, options->n_slots, -options->kind,    options->kind,
                       -by_ring,          by_ring};
    bool equal = true;

    stp_coll_agree(team, facts, STP_COUNT(facts));
    *n_rows = (size_t)facts[1];
    if (facts[0] != 0) return false;
    for (size_t i = 2; i < STP_COUNT(facts); i += 2)
        equal = equal && facts[i] == -facts[i + 1];
    if (equal) return true;
    stp_error("shmemx_device_handle_create: options differ between PEs: this PE passed n_rings "
              "%d, n_slots %d, kind %d and by_ring %d",
              options->n_rings, options->n_slots, options->kind, by_ring);
    return false;
}

/* ---- words shared by the PEs -------------------------------------------------------------- */

/*
 * Offsets of the handle's data in the memory that words_make() allocates, and the size of this
 * memory. The values are equal on all PEs. The barrier's words are at offset 0.
 */
struct layout {
    size_t rings, slots, spaces, tables, nbytes;
};

static size_t layout_take(struct layout *layout, size_t n, size_t size)
{
    size_t offset = layout->nbytes;

    layout->nbytes += (n * size + STP_CACHE_LINE - 1) / STP_CACHE_LINE * STP_CACHE_LINE;
    return offset;
}

static struct layout layout_of(const shmemx_device_options_t *options, size_t n_spaces, int n_pes)
{
    struct layout layout = {0};
    size_t n_rings = (size_t)options->n_rings, n_slots = (size_t)options->n_slots;

    (void)layout_take(&layout, 1, sizeof(struct stp_dev_sync));
    layout.rings = layout_take(&layout, n_rings, sizeof(struct stp_dev_ring));
    layout.slots = layout_take(&layout, n_rings * n_slots, sizeof(struct stp_dev_slot));
    layout.spaces = layout_take(&layout, n_spaces, sizeof(struct stp_dev_space));
    layout.tables = layout_take(&layout, n_spaces * 2 * (size_t)n_pes, sizeof(uint64_t));
    return layout;
}

/*
 * Creates the handle's space, collectively over the team. Allocates nbytes zeroed bytes in this
 * space. Returns their address, or NULL after logging.
 */
static char *words_make(struct stp_device_handle *handle, shmem_team_t team, size_t nbytes,
                        const char *fn)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU,
                                   .size = nbytes + (size_t)2 * STP_CACHE_LINE,
                                   .flags = SHMEM_SPACE_FLAG_DEFAULT};
    struct stp_team *user_team;
    char *words;

    attr.parent = team;
    attr.flags = handle->on_gpu ? SHMEMX_SPACE_PINNED : 0;
    attr.device = handle->on_gpu ? handle->gpu.device : -1;
    if (stp_space_make(&config, &attr, false, &handle->words, &user_team, fn) != 0) return NULL;
    pshmem_team_destroy(stp_team_handle(user_team));
    words = stp_space_alloc(handle->words, nbytes, STP_CACHE_LINE, true, fn);
    if (words != NULL) return words;
    stp_error("%s: out of memory: cannot allocate %zu bytes for the rings and tables of the handle",
              stp_public_name(fn), nbytes);
    (void)pshmem_space_destroy(stp_space_handle(handle->words)); /* all members make this call */
    return NULL;
}

/* ---- creation and destruction --------------------------------------------------------------- */

void stp_device_handle_free_host_records(struct stp_device_handle *handle)
{
    free(handle->row_spaces);
    free(handle->bases);
    free(handle->pes);
    free(handle->served);
    free(handle);
}

/* Allocates the host's record of a handle, without a space. Returns NULL if there is no memory. */
static struct stp_device_handle *handle_new(const struct stp_team *team,
                                            const struct stp_device_handle *prototype,
                                            size_t n_rings, size_t n_spaces)
{
    struct stp_device_handle *handle = calloc(1, sizeof(*handle));

    if (handle == NULL) return NULL;
    *handle = *prototype;
    handle->row_spaces = calloc(n_spaces, sizeof(struct stp_space *));
    handle->bases = calloc(n_spaces, sizeof(*handle->bases));
    handle->pes = calloc((size_t)team->n_pes, sizeof(*handle->pes));
    handle->served = calloc(n_rings, sizeof(*handle->served));
    if (handle->row_spaces == NULL || handle->bases == NULL || handle->pes == NULL ||
        handle->served == NULL) {
        stp_device_handle_free_host_records(handle);
        return NULL;
    }
    for (int i = 0; i < team->n_pes; i++)
        handle->pes[i] = stp_team_pe(team, i);
    return handle;
}

/*
 * Fills handle->view. Also fills the slots and the tables in the handle's space. Returns 0, or
 * -errno.
 */
static int handle_fill(struct stp_device_handle *handle, const struct stp_team *team, char *words,
                       const shmemx_device_options_t *options, const struct layout *layout,
                       size_t n_spaces)
{
    int rc;

    handle->view = (shmemx_device_handle_t){
        .version = SHMEMX_DEVICE_VERSION,
        .nbytes = sizeof(handle->view),
        .my_pe = team->rank,
        .n_pes = team->n_pes,
        .n_rings = (uint32_t)options->n_rings,
        .n_slots = (uint32_t)options->n_slots,
        .spaces = (struct stp_dev_space *)(void *)(words + layout->spaces),
        .rings = (struct stp_dev_ring *)(void *)(words + layout->rings),
        .slots = (struct stp_dev_slot *)(void *)(words + layout->slots),
        .sync = (struct stp_dev_sync *)(void *)words,
        .owner = handle,
    };
    for (size_t i = 0; i < (size_t)options->n_rings * (size_t)options->n_slots; i++)
        handle->view.slots[i].turn = i % (size_t)options->n_slots;
    rc = stp_device_handle_find_gpu_words(handle);
    if (rc != 0) return rc;
    handle->view.n_spaces = (uint32_t)n_spaces;
    stp_device_handle_fill_tables(handle, (uint64_t *)(void *)(words + layout->tables));
    return 0;
}

/* Creates a context for the handle and begins to serve the handle's rings. Returns 0, or -errno. */
static int handle_start(struct stp_device_handle *handle)
{
    shmem_ctx_t ctx;
    int rc;

    if (pshmem_ctx_create(0, &ctx) != 0) return -ENOMEM;
    handle->ctx = stp_ctx_of(ctx);
    rc = stp_device_handle_start_serving(handle);
    if (rc != 0) {
        pshmem_ctx_destroy(ctx);
        handle->ctx = NULL;
    }
    return rc;
}

/*
 * Completes the handle's operations, frees its context, releases the spaces in its table and frees
 * the handle, collectively over the team.
 */
static void handle_delete(struct stp_device_handle *handle, const char *fn)
{
    if (handle->ctx != NULL) {
        stp_device_handle_stop_serving(handle);
        pshmem_ctx_destroy((shmem_ctx_t)handle->ctx); /* performs a quiet */
    }
    for (uint32_t i = 0; i < handle->view.n_spaces; i++)
        stp_space_use(handle->row_spaces[i], -1);
    /* This call first syncs the members. After the sync, no member uses its handle any more. */
    stp_space_free(handle->words, handle->view.sync, fn);
    if (handle->kernel_atomics) stp_stage_amo_by_gpu_disable();
    (void)pshmem_space_destroy(stp_space_handle(handle->words));
    stp_device_handle_free_host_records(handle);
}

/*
 * Enables atomics by GPUs: on each member, GPUs perform the atomics of all PEs on this member's GPU
 * memory. Sets handle->kernel_atomics if all members succeed. Kernels may then also perform atomics
 * on device memory.
 */
static void handle_enable_gpu_atomics(struct stp_device_handle *handle, struct stp_team *team)
{
    bool enabled;

    if (!handle->on_gpu) return; /* on_gpu is equal on all members */
    enabled = stp_stage_amo_by_gpu_enable(handle->gpu.device) == 0;
    handle->kernel_atomics = !stp_coll_any(team, !enabled);
    if (enabled && !handle->kernel_atomics) stp_stage_amo_by_gpu_disable();
}

/*
 * Creates a handle after the members have agreed on the options. The table of the handle gets room
 * for n_rows rows. The argument `prototype` contains the fields of the handle that are derived from
 * the options. If a member fails, returns NULL after logging, on all members.
 */
static struct stp_device_handle *handle_make(struct stp_team *team, shmem_team_t team_handle,
                                             const shmemx_device_options_t *options,
                                             const struct stp_device_handle *prototype,
                                             size_t n_rows, const char *fn)
{
    struct layout layout = layout_of(options, n_rows, team->n_pes);
    struct stp_device_handle *handle =
        handle_new(team, prototype, (size_t)options->n_rings, n_rows);
    int64_t failed = handle == NULL;
    char *words = NULL;

    stp_coll_agree(team, &failed, 1);
    if (failed != 0)
        stp_error("%s: out of memory: at least one PE of the team cannot allocate the handle",
                  stp_public_name(fn));
    if (handle != NULL && failed == 0) words = words_make(handle, team_handle, layout.nbytes, fn);
    if (words == NULL) { /* words is NULL on all members or on none */
        if (handle != NULL) stp_device_handle_free_host_records(handle);
        return NULL;
    }
    handle_enable_gpu_atomics(handle, team);
    failed = -handle_fill(handle, team, words, options, &layout, n_rows);
    if (failed == 0) failed = -handle_start(handle);
    stp_coll_agree(team, &failed, 1); /* after this call, all members' tables are complete */
    if (failed == 0) return handle;
    stp_error("%s: at least one PE of the team cannot set up the handle: %s", stp_public_name(fn),
              strerror((int)failed));
    handle_delete(handle, fn);
    return NULL;
}

int pshmemx_device_handle_create(shmem_team_t team_handle,
                                 const shmemx_device_options_t *user_options,
                                 shmemx_device_handle_t *handle)
{
    shmemx_device_options_t options;
    struct stp_device_handle prototype = {0}, *record;
    struct stp_team *team;
    size_t n_rows;
    bool options_ok;

    if (stp_team_is_invalid(team_handle)) return stp_reject(__func__, "team", STP_INVALID_TEAM);
    team = stp_team_check(team_handle, __func__);
    options_ok = options_read(user_options, &options) && options_find_gpu(&options, &prototype.gpu);
    if (handle == NULL)
        options_ok = stp_reject(__func__, "handle", "a null pointer") == 0;
    else
        memset(handle, 0, sizeof(*handle));
    prototype.on_gpu = options.kind == SHMEM_DEVICE_GPU;
    prototype.by_ring = options.by_ring != 0;
    /* The additional row is for the handle's own space. */
    n_rows = stp_device_handle_count_eligible(&prototype) + 1;
    if (!options_agree(team, &options, options_ok, &n_rows)) return 1;
    record = handle_make(team, team_handle, &options, &prototype, n_rows, __func__);
    if (record == NULL) return 1;
    *handle = stp_device_handle_view(record);
    return 0;
}
STP_PROFILED(shmemx_device_handle_create);

int pshmemx_device_handle_destroy(shmemx_device_handle_t *handle)
{
    struct stp_device_handle *record;

    if (handle == NULL) return stp_reject(__func__, "handle", "a null pointer");
    stp_check_live(__func__);
    if (handle->owner == NULL)
        return stp_reject(__func__, "handle",
                          "empty: it was never created, or it was destroyed before");
    record = stp_device_handle_check_live(handle->owner);
    if (record == NULL) stp_fatal(__func__, "handle is a copy of a handle that was destroyed");
    handle_delete(record, __func__);
    memset(handle, 0, sizeof(*handle));
    return 0;
}
STP_PROFILED(shmemx_device_handle_destroy);
