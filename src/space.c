/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating and destroying spaces: every PE checks, then all agree, so that all return the
 * same. Nothing is assumed equal that was not compared. Design: docs/design/spaces.md.
 */
#include "steppe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPACE_PAGE 4096

static bool space_is_local_member(int local, void *arg)
{
    (void)local;
    (void)arg;
    return true; /* every PE has host memory */
}

struct stp_space *stp_space_of(shmem_space_t space)
{
    if (space == SHMEM_SPACE_DEFAULT) return stp_space_at(STP_SPACE_HEAP);
    return space;
}

shmem_space_t stp_space_handle(struct stp_space *space)
{
    return space == stp_space_at(STP_SPACE_HEAP) ? SHMEM_SPACE_DEFAULT : space;
}

/* ---- local halves ---------------------------------------------------------------- */

static int space_register(struct stp_space *space, struct stp_fabric_region *mine)
{
    int rc;

    *mine = (struct stp_fabric_region){0};
    if (!stp_rt.has_fabric) return 0;
    rc = stp_rt.fabric.region_add(space->number, space->base, space->nbytes, mine);
    space->key = mine->key;
    return rc;
}

/* Memory, books and registration for a space whose number and offset are agreed. */
static int space_open(struct stp_space *space, bool with_heap, struct stp_fabric_region *mine)
{
    int rc = space->kind->create(space, space_is_local_member, NULL);

    if (rc != 0) return rc;
    if (with_heap) {
        rc = stp_heap_create(space->nbytes, &space->heap);
        if (rc != 0) goto err_kind;
    }
    rc = space_register(space, mine);
    if (rc != 0) goto err_heap;
    stp_space_enter(space);
    return 0;

err_heap:
    stp_heap_destroy(space->heap);
    space->heap = NULL;
err_kind:
    space->kind->destroy(space);
    return rc;
}

static void space_close(struct stp_space *space)
{
    stp_space_leave(space);
    if (stp_rt.has_fabric) stp_rt.fabric.region_remove(space->number);
    stp_heap_destroy(space->heap);
    if (space->kind != NULL) space->kind->destroy(space);
    stp_space_delete(space);
}

static struct stp_space *space_new(unsigned number, size_t nbytes)
{
    struct stp_space *space = stp_space_new();

    if (space == NULL) return NULL;
    space->number = number;
    space->kind = stp_kinds[STP_KIND_CPU];
    space->nbytes = (nbytes + SPACE_PAGE - 1) & ~(size_t)(SPACE_PAGE - 1);
    if (space->nbytes == 0) space->nbytes = SPACE_PAGE;
    return space;
}

static void space_init_one(unsigned number, size_t nbytes, bool with_heap,
                           struct stp_fabric_region *mine)
{
    struct stp_space *space = space_new(number, nbytes);

    if (space == NULL) stp_fatal("shmem_init", "no memory for the first spaces");
    /* shmem_align can promise what the heap's base has */
    space->offset = stp_window_find(space->nbytes, with_heap ? STP_WINDOW_ALIGN : STP_RANGE_ALIGN, 0);
    if (space->offset == SIZE_MAX)
        space->offset = stp_window_find(space->nbytes, STP_RANGE_ALIGN, 0);
    if (space->offset == SIZE_MAX)
        stp_fatal("shmem_init", "a space of %zu bytes does not fit the window: raise "
                                "SHMEM_WINDOW_SIZE",
                  space->nbytes);
    if (space_open(space, with_heap, mine) != 0)
        stp_fatal("shmem_init", "cannot create a space of %zu bytes", space->nbytes);
}

/* The data segment is a space without a heap and without a kind: it was there before us. */
static void space_init_data(struct stp_fabric_region *mine)
{
    struct stp_space *space;

    if (stp_segment.nbytes == 0) return;
    space = space_new(STP_SPACE_DATA, stp_segment.nbytes);
    if (space == NULL) stp_fatal("shmem_init", "no memory for the first spaces");
    space->kind = NULL;
    space->base = stp_segment.base;
    if (space_register(space, mine) != 0)
        stp_fatal("shmem_init", "cannot register globals and statics with the fabric");
    stp_space_enter(space);
}

static uint64_t space_caps(bool ident)
{
    uint64_t caps = SHMEM_SPACE_CAP_RMA | SHMEM_SPACE_CAP_COLLECTIVES | SHMEM_SPACE_CAP_ATOMICS |
                    SHMEM_SPACE_CAP_WORLD_ACCESS;

    return ident ? caps | SHMEM_SPACE_CAP_IDENT_ADDR : caps;
}

void stp_space_init(struct stp_card *card)
{
    const struct stp_kind *cpu = stp_kinds[STP_KIND_CPU];

    if (cpu->admit(stp_env.symmetric_size) != 0)
        stp_fatal("shmem_init", "SHMEM_SYMMETRIC_SIZE is more than this host has");
    space_init_one(STP_SPACE_INTERNAL, stp_coll_internal_bytes(stp_window_capacity()), false,
                   &card->regions[STP_SPACE_INTERNAL]);
    space_init_data(&card->regions[STP_SPACE_DATA]);
    space_init_one(STP_SPACE_HEAP, stp_env.symmetric_size, true, &card->regions[STP_SPACE_HEAP]);
}

void stp_space_teams_init(void)
{
    struct stp_space *heap = stp_space_at(STP_SPACE_HEAP);

    heap->team = heap->user_team = stp_team_world;
    heap->caps = space_caps(stp_rt.ident_addr) | SHMEM_SPACE_CAP_DIRECT_ACCESS;
}

void stp_space_fini(void)
{
    for (unsigned n = STP_SPACE_NUMBERS; n-- > 0;) {
        struct stp_space *space = stp_space_at(n);
        if (space != NULL) space_close(space);
    }
}

/* ---- create ------------------------------------------------------------------------ */

/* A config as numbers that a reduction can compare. */
enum { CONFIG_TYPE, CONFIG_SIZE, CONFIG_FLAGS, CONFIG_N };

static int space_check_config(const shmem_space_config_t *config, int64_t numbers[CONFIG_N])
{
    const struct stp_kind *kind;
    char why[128];

    memset(numbers, 0, CONFIG_N * sizeof *numbers);
    if (config == NULL) {
        stp_error("shmem_space_create: config is a null pointer");
        return -EINVAL;
    }
    numbers[CONFIG_TYPE] = (int64_t)config->device_type;
    numbers[CONFIG_SIZE] = (int64_t)(config->size & INT64_MAX);
    numbers[CONFIG_FLAGS] = config->flags;
    kind = stp_kind_find((int)config->device_type);
    if (kind == NULL) {
        stp_error("shmem_space_create: device_type %d is no kind of memory this build has: "
                  "SHMEM_DEVICE_CPU (%d) is",
                  (int)config->device_type, SHMEM_DEVICE_CPU);
        return -ENODEV;
    }
    if (config->size == 0 || config->size > INT64_MAX) {
        stp_error("shmem_space_create: size is %zu: bytes a PE, at least 1", config->size);
        return -EINVAL;
    }
    if (config->flags != SHMEM_SPACE_FLAG_DEFAULT) {
        stp_error("shmem_space_create: flags %#x are unknown: SHMEM_SPACE_FLAG_DEFAULT (0) is "
                  "the only one",
                  (unsigned)config->flags);
        return -EINVAL;
    }
    if (kind->probe(why, sizeof why) != 0) return -ENODEV;
    return kind->admit(config->size);
}

/* Who is the first PE whose config is not that of PE 0? Everybody learns it, and says so. */
static void space_name_differing(const int64_t mine[CONFIG_N])
{
    int64_t first[CONFIG_N], differs = INT64_MIN;

    for (int i = 0; i < CONFIG_N; i++) first[i] = stp_rt.pe == 0 ? mine[i] : INT64_MIN;
    stp_coll_agree(stp_team_world, first, CONFIG_N);
    if (memcmp(first, mine, sizeof first) != 0) differs = -(int64_t)stp_rt.pe;
    stp_coll_agree(stp_team_world, &differs, 1);
    if (stp_rt.pe == 0 || stp_rt.pe == (int)-differs)
        stp_error("shmem_space_create: the configs of PE 0 and PE %d differ: here device_type is "
                  "%lld, size %lld, flags %lld",
                  (int)-differs, (long long)mine[CONFIG_TYPE], (long long)mine[CONFIG_SIZE],
                  (long long)mine[CONFIG_FLAGS]);
}

/* All configs are good and equal, or all PEs get nonzero. */
static int space_agree_config(const shmem_space_config_t *config)
{
    int64_t mine[CONFIG_N], range[2 * CONFIG_N + 1];

    range[2 * CONFIG_N] = space_check_config(config, mine) != 0;
    for (int i = 0; i < CONFIG_N; i++) {
        range[2 * i] = mine[i];
        range[2 * i + 1] = -mine[i];
    }
    stp_coll_agree(stp_team_world, range, STP_COUNT(range));
    for (int i = 0; i < CONFIG_N; i++) {
        if (range[2 * i] == -range[2 * i + 1]) continue;
        space_name_differing(mine);
        return 1;
    }
    return range[2 * CONFIG_N] != 0;
}

static size_t space_find_number(size_t from, void *arg)
{
    (void)arg;
    return stp_space_find_number(from);
}

static size_t space_find_offset(size_t from, void *arg)
{
    return stp_window_find(((const struct stp_space *)arg)->nbytes, STP_RANGE_ALIGN, from);
}

/* Number and offset that are free on every PE. */
static int space_agree_place(struct stp_space *space)
{
    size_t number = stp_coll_agree_index(stp_team_world, space_find_number, NULL);
    size_t offset = stp_coll_agree_index(stp_team_world, space_find_offset, space);

    if (number == SIZE_MAX) {
        stp_error("shmem_space_create: %d spaces are alive: that is all there can be",
                  STP_SPACE_NUMBERS - STP_SPACE_FIRST_USER);
        return 1;
    }
    if (offset == SIZE_MAX) {
        stp_error("shmem_space_create: %zu bytes do not fit the window: raise SHMEM_WINDOW_SIZE",
                  space->nbytes);
        return 1;
    }
    space->number = (unsigned)number;
    space->offset = offset;
    return 0;
}

/* Providers that pick keys or want addresses: every PE's descriptor to every PE. */
static int space_exchange_regions(struct stp_space *space, const struct stp_fabric_region *mine)
{
    size_t nbytes = (size_t)stp_rt.n_pes * sizeof *mine;
    struct stp_fabric_region *peers;
    int rc;

    if (!stp_rt.has_fabric) return 0;
    if (!stp_rt.fabric.peer_table) return stp_rt.fabric.region_peers(space->number, NULL);
    peers = malloc(nbytes);
    if (peers == NULL) stp_fatal("shmem_space_create", "no memory for %d descriptors", stp_rt.n_pes);
    stp_coll_gather(stp_team_world, peers, mine, sizeof *mine);
    rc = stp_rt.fabric.region_peers(space->number, peers);
    free(peers);
    return rc;
}

static bool space_bases_equal(const struct stp_space *space)
{
    int64_t range[2] = {(int64_t)(uintptr_t)space->base, -(int64_t)(uintptr_t)space->base};

    stp_coll_agree(stp_team_world, range, 2);
    return range[0] == -range[1];
}

/* The private team serves malloc, free and destroy after the user destroyed the other one. */
static int space_make_teams(struct stp_space *space)
{
    struct stp_team_members all = {stp_rt.n_pes, stp_rt.pe, 0, 1, NULL};
    struct stp_team *team, *user_team;

    if (stp_team_create(stp_team_world, &all, 0, NULL, &team) != 0) return 1;
    if (stp_team_create(stp_team_world, &all, 0, space, &user_team) != 0) {
        stp_team_destroy(team);
        return 1;
    }
    space->team = team;
    space->user_team = user_team;
    return 0;
}

/* From an agreed config to a live space, on all PEs or on none. */
static struct stp_space *space_build(const shmem_space_config_t *config)
{
    struct stp_space *space = space_new(0, config->size);
    struct stp_fabric_region mine;
    int64_t failed = space == NULL;
    bool ident;

    stp_coll_agree(stp_team_world, &failed, 1);
    if (failed || space_agree_place(space) != 0) goto err_new;
    failed = space_open(space, true, &mine) != 0;
    if (!failed) {
        stp_coll_agree(stp_team_world, &failed, 1);
        if (failed) space_close(space);
        if (failed) return NULL;
    } else {
        stp_coll_agree(stp_team_world, &failed, 1);
        goto err_new;
    }
    failed = space_exchange_regions(space, &mine) != 0;
    ident = space_bases_equal(space);
    stp_coll_agree(stp_team_world, &failed, 1);
    if (failed || space_make_teams(space) != 0) {
        space_close(space);
        return NULL;
    }
    space->caps = space_caps(ident) | (space->kind->direct ? SHMEM_SPACE_CAP_DIRECT_ACCESS : 0);
    return space;

err_new:
    if (space != NULL) stp_space_delete(space);
    return NULL;
}

int pshmem_space_create(const shmem_space_config_t *config, shmem_space_t *space,
                        shmem_team_t *team)
{
    struct stp_space *made;

    stp_check_live(__func__);
    *space = SHMEM_SPACE_INVALID;
    *team = SHMEM_TEAM_INVALID;
    if (space_agree_config(config) != 0) return 1;
    made = space_build(config);
    if (made == NULL) return 1;
    *space = stp_space_handle(made);
    *team = stp_team_handle(made->user_team);
    if (stp_env.spaces_table && stp_rt.pe == 0) pshmemx_space_print(2);
    return 0;
}
STP_PROFILED(shmem_space_create);

/* ---- destroy ------------------------------------------------------------------------ */

static void space_warn_live(const struct stp_space *space)
{
    struct stp_heap_stats stats;

    stp_heap_stats(space->heap, &stats);
    if (stats.n_blocks > 0 && stp_rt.pe == 0)
        stp_warn("shmem_space_destroy: space %u goes with %zu allocations of %zu bytes still live",
                 space->number, stats.n_blocks, stats.used);
}

int pshmem_space_destroy(shmem_space_t handle)
{
    struct stp_space *space = handle;
    int64_t in_use;

    if (handle == SHMEM_SPACE_INVALID) return 0;
    stp_check_live(__func__);
    if (handle == SHMEM_SPACE_DEFAULT) {
        stp_error("shmem_space_destroy: the default space lives as long as the program");
        return 1;
    }
    if (!stp_space_is_live(space)) {
        stp_error("shmem_space_destroy: %p is not a live space: was it destroyed before?", handle);
        return 1;
    }
    in_use = space->n_users;
    stp_coll_agree(space->team, &in_use, 1);
    if (in_use != 0) {
        if (space->n_users > 0)
            stp_error("shmem_space_destroy: %d teams of space %u are alive: destroy them first",
                      space->n_users, space->number);
        return 1;
    }
    space_warn_live(space);
    stp_quiet(&stp_ctx_default);
    stp_team_destroy(space->team); /* its sync: nobody uses the space any more */
    space->team = NULL;
    space_close(space);
    return 0;
}
STP_PROFILED(shmem_space_destroy);
