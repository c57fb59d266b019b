/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles by which kernels reach the PEs of a team: tables of what lies where, a barrier's words
 * and rings, all in a space of the handle's own. Design: docs/design/kernel.md.
 */
#include "kernel.h"

#include "coll/coll.h"
#include "rma/rma.h"
#include "space/space.h"
#include "team/team.h"

#include "pshmem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RINGS_MAX = 1024, SLOTS_MIN = 2, SLOTS_MAX = 65536 };

/* ---- what it is made with ---------------------------------------------------------------- */

/* The caller's options; false, logged, when they are wrong. */
static bool options_read(const shmemx_device_options_t *given, shmemx_device_options_t *options)
{
    static const shmemx_device_options_t defaults = SHMEMX_DEVICE_OPTIONS_INITIALIZER;

    *options = defaults;
    if (given == NULL) return true;
    if (given->struct_size < sizeof(given->struct_size) || given->struct_size > sizeof(*options))
        stp_fatal("shmemx_device_handle_create",
                  "options->struct_size is %zu: begin with SHMEMX_DEVICE_OPTIONS_INITIALIZER (%zu)",
                  given->struct_size, sizeof(*options));
    memcpy(options, given, given->struct_size);
    if (options->n_rings >= 1 && options->n_rings <= RINGS_MAX && options->n_slots >= SLOTS_MIN &&
        options->n_slots <= SLOTS_MAX)
        return true;
    stp_error("shmemx_device_handle_create: options->n_rings is %d and n_slots %d: they are 1 to "
              "%d and %d to %d",
              options->n_rings, options->n_slots, RINGS_MAX, SLOTS_MIN, SLOTS_MAX);
    return false;
}

/* The next of the parts of spaces that this PE's CPUs load and store; NULL: no more. */
static struct stp_space *spaces_next(unsigned *number, struct stp_space *before)
{
    struct stp_space *space = before != NULL ? before->next_part : NULL;

    while (space == NULL && *number + 1 < STP_SPACE_NUMBERS) {
        space = stp_registry_at(++*number);
        if (space != NULL && !space->host) space = NULL;
    }
    return space;
}

#define FOR_EACH_SPACE(space, number)                                                              \
    for (struct stp_space *space = (number = STP_SPACE_INTERNAL, spaces_next(&number, NULL));      \
         space != NULL; space = spaces_next(&number, space))

static size_t spaces_count(void)
{
    unsigned number;
    size_t n = 0;

    FOR_EACH_SPACE(space, number)
    n++;
    return n;
}

/* ---- the words ---------------------------------------------------------------------------- */

/* What lies in the handle's space, behind each other; the barrier's words first, as on each PE. */
struct layout {
    size_t rings, slots, spaces, tables, nbytes;
};

static size_t layout_take(struct layout *layout, size_t n, size_t size)
{
    size_t at = layout->nbytes;

    layout->nbytes += (n * size + STP_CACHE_LINE - 1) / STP_CACHE_LINE * STP_CACHE_LINE;
    return at;
}

static struct layout layout_of(const shmemx_device_options_t *options, size_t n_spaces, int n_pes)
{
    struct layout layout = {0};
    size_t n_rings = (size_t)options->n_rings, n_slots = (size_t)options->n_slots;

    (void)layout_take(&layout, 1, sizeof(struct shmemx_dev_sync));
    layout.rings = layout_take(&layout, n_rings, sizeof(struct shmemx_dev_ring));
    layout.slots = layout_take(&layout, n_rings * n_slots, sizeof(struct shmemx_dev_slot));
    layout.spaces = layout_take(&layout, n_spaces, sizeof(struct shmemx_dev_space));
    layout.tables = layout_take(&layout, n_spaces * 2 * (size_t)n_pes, sizeof(uint64_t));
    return layout;
}

/* A space of the team's members for nbytes, cleared; collective. NULL, logged: there is none. */
static char *words_make(struct stp_kernel *kernel, shmem_team_t team, size_t nbytes, const char *fn)
{
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_config_t config = {.device_type = SHMEM_DEVICE_CPU,
                                   .size = nbytes + (size_t)2 * STP_CACHE_LINE,
                                   .flags = SHMEM_SPACE_FLAG_DEFAULT};
    struct stp_team *user_team;

    attr.parent = team;
    if (stp_space_make(&config, &attr, &kernel->words, &user_team, fn) != 0) return NULL;
    pshmem_team_destroy(stp_team_handle(user_team));
    return stp_space_alloc(kernel->words, nbytes, STP_CACHE_LINE, true, fn);
}

/* Where the part of a space that PE pe has is, for this PE's loads and stores; 0: nowhere. */
static uint64_t part_of(struct stp_space *space, int pe, bool by_ring)
{
    if (space->team != NULL && stp_team_rank_of(space->team, pe) < 0) return 0;
    if (pe == stp_rt.pe) return (uint64_t)(uintptr_t)space->base;
    return by_ring ? 0 : (uint64_t)(uintptr_t)stp_ptr(space->base, pe);
}

static void tables_fill(struct stp_kernel *kernel, char *tables, bool by_ring)
{
    shmemx_device_handle_t *handle = &kernel->handle;
    size_t n_pes = (size_t)handle->n_pes, n = 0;
    unsigned number;

    FOR_EACH_SPACE(space, number)
    {
        uint64_t *parts = (uint64_t *)(void *)tables + 2 * n * n_pes, *atomic = parts + n_pes;

        if (n == handle->n_spaces) break; /* another thread made one meanwhile: by the rings */
        for (size_t i = 0; i < n_pes; i++) {
            parts[i] = part_of(space, kernel->pes[i], by_ring);
            atomic[i] = parts[i] != 0 &&
                        stp_ptr_inline(space->base, kernel->pes[i], STP_USE_ATOMIC) != NULL;
        }
        handle->spaces[n] = (struct shmemx_dev_space){
            .base = (uint64_t)(uintptr_t)space->base,
            .nbytes = space->max_bytes, /* objects in what it grows by are reached, too */
            .parts = (uint64_t)(uintptr_t)parts,
            .atomic = (uint64_t)(uintptr_t)atomic,
        };
        kernel->used[n] = space;
        kernel->bases[n++] = space->base;
        stp_space_use(space, 1);
    }
    handle->n_spaces = (uint32_t)n;
}

/* ---- making and ending ---------------------------------------------------------------------- */

static void kernel_delete(struct stp_kernel *kernel)
{
    free(kernel->used);
    free(kernel->bases);
    free(kernel->pes);
    free(kernel->served);
    free(kernel);
}

static struct stp_kernel *kernel_new(const struct stp_team *team, size_t n_rings, size_t n_spaces)
{
    struct stp_kernel *kernel = calloc(1, sizeof(*kernel));

    if (kernel == NULL) return NULL;
    kernel->used = calloc(n_spaces, sizeof(struct stp_space *));
    kernel->bases = calloc(n_spaces, sizeof(*kernel->bases));
    kernel->pes = calloc((size_t)team->n_pes, sizeof(*kernel->pes));
    kernel->served = calloc(n_rings, sizeof(*kernel->served));
    if (kernel->used == NULL || kernel->bases == NULL || kernel->pes == NULL ||
        kernel->served == NULL) {
        kernel_delete(kernel);
        return NULL;
    }
    for (int i = 0; i < team->n_pes; i++)
        kernel->pes[i] = stp_team_pe(team, i);
    return kernel;
}

static void kernel_fill(struct stp_kernel *kernel, const struct stp_team *team, char *words,
                        const shmemx_device_options_t *options, const struct layout *layout,
                        size_t n_spaces)
{
    kernel->handle = (shmemx_device_handle_t){
        .version = SHMEMX_DEVICE_VERSION,
        .nbytes = sizeof(kernel->handle),
        .my_pe = team->rank,
        .n_pes = team->n_pes,
        .n_spaces = (uint32_t)n_spaces,
        .n_rings = (uint32_t)options->n_rings,
        .n_slots = (uint32_t)options->n_slots,
        .spaces = (struct shmemx_dev_space *)(void *)(words + layout->spaces),
        .rings = (struct shmemx_dev_ring *)(void *)(words + layout->rings),
        .slots = (struct shmemx_dev_slot *)(void *)(words + layout->slots),
        .sync = (struct shmemx_dev_sync *)(void *)words,
        .owner = kernel,
    };
    for (size_t i = 0; i < (size_t)options->n_rings * (size_t)options->n_slots; i++)
        kernel->handle.slots[i].turn = i % (size_t)options->n_slots;
    tables_fill(kernel, words + layout->tables, options->by_ring != 0);
}

/* Everything but the handle's space, which all members have. 0 or -errno. */
static int kernel_start(struct stp_kernel *kernel)
{
    shmem_ctx_t ctx;
    int rc;

    if (pshmem_ctx_create(0, &ctx) != 0) return -ENOMEM;
    kernel->ctx = stp_ctx_of(ctx);
    rc = stp_kernel_serve(kernel);
    if (rc != 0) {
        pshmem_ctx_destroy(ctx);
        kernel->ctx = NULL;
    }
    return rc;
}

/* Its own part of the end: nothing is under way any more. */
static void kernel_end(struct stp_kernel *kernel)
{
    if (kernel->ctx != NULL) {
        (void)stp_kernel_leave(kernel);
        pshmem_ctx_destroy((shmem_ctx_t)kernel->ctx); /* with a quiet */
    }
    for (uint32_t i = 0; i < kernel->handle.n_spaces; i++)
        stp_space_use(kernel->used[i], -1);
}

int pshmemx_device_handle_create(shmem_team_t team_handle, const shmemx_device_options_t *given,
                                 shmemx_device_handle_t *handle)
{
    struct stp_kernel *kernel;
    shmemx_device_options_t options;
    struct layout layout;
    struct stp_team *team;
    int64_t facts[6];
    char *words;

    stp_check_given(handle, __func__, "handle");
    memset(handle, 0, sizeof(*handle));
    if (stp_team_is_invalid(team_handle)) return 1;
    team = stp_team_check(team_handle, __func__);
    facts[0] = !options_read(given, &options);
    facts[1] = -(facts[2] = options.n_rings);
    facts[3] = -(facts[4] = options.n_slots);
    facts[5] = (int64_t)spaces_count() + 1; /* and the handle's own */
    stp_coll_agree(team, facts, STP_COUNT(facts));
    if (facts[0] != 0) return 1;
    if (facts[1] != -facts[2] || facts[3] != -facts[4]) {
        stp_error("%s: options differ between PEs: here %d rings of %d requests",
                  stp_public_name(__func__), options.n_rings, options.n_slots);
        return 1;
    }
    layout = layout_of(&options, (size_t)facts[5], team->n_pes);
    kernel = kernel_new(team, (size_t)options.n_rings, (size_t)facts[5]);
    facts[0] = kernel == NULL;
    stp_coll_agree(team, facts, 1);
    words = kernel != NULL && facts[0] == 0
                ? words_make(kernel, team_handle, layout.nbytes, __func__)
                : NULL;
    if (words == NULL) { /* on all members */
        if (facts[0] != 0) stp_error("%s: no memory for a handle", stp_public_name(__func__));
        if (kernel != NULL) kernel_delete(kernel);
        return 1;
    }
    kernel_fill(kernel, team, words, &options, &layout, (size_t)facts[5]);
    facts[0] = -kernel_start(kernel);
    stp_coll_agree(team, facts, 1); /* and the words of all are as they begin */
    if (facts[0] == 0) {
        *handle = kernel->handle;
        return 0;
    }
    stp_error("%s: no thread or context to serve it: %s", stp_public_name(__func__),
              strerror((int)facts[0]));
    kernel_end(kernel);
    stp_space_free(kernel->words, words, __func__);
    (void)pshmem_space_destroy(stp_space_handle(kernel->words));
    kernel_delete(kernel);
    return 1;
}
STP_PROFILED(shmemx_device_handle_create);

int pshmemx_device_handle_destroy(shmemx_device_handle_t *handle)
{
    struct stp_kernel *kernel;
    struct stp_space *words;
    void *memory;

    stp_check_given(handle, __func__, "handle");
    stp_check_live(__func__);
    kernel = stp_kernel_find(handle->owner);
    if (kernel == NULL) {
        stp_error("%s: handle is not live: no create gave it, or it was destroyed",
                  stp_public_name(__func__));
        return 1;
    }
    words = kernel->words;
    memory = kernel->handle.sync;
    kernel_end(kernel);
    stp_space_free(words, memory, __func__); /* with a sync of the members: all have ended it */
    (void)pshmem_space_destroy(stp_space_handle(words));
    kernel_delete(kernel);
    memset(handle, 0, sizeof(*handle));
    return 0;
}
STP_PROFILED(shmemx_device_handle_destroy);
