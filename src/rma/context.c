/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates and destroys contexts. A context holds a team, options, and a struct stp_fabric_ctx, in
 * which the fabric module counts outstanding operations. Creating a context involves no other PE.
 * Destroying a team also destroys the contexts of this team.
 */
#include "rma.h"

#include <stdlib.h>
#include <string.h>

struct stp_ctx stp_ctx_default;
struct stp_ctx stp_ctx_coll;
struct stp_ctx stp_ctx_small;
struct stp_ctx stp_ctx_stage;
struct stp_ctx stp_ctx_proxy;
struct stp_ctx stp_ctx_stream;

/* Returns whether the options promise that threads never use the context at the same time. */
static bool ctx_is_serialized(long options)
{
    return (options & (SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED)) != 0;
}

static int ctx_open(struct stp_ctx *ctx, struct stp_team *team, long options)
{
    ctx->team = team;
    ctx->options = options;
    ctx->n_pes = team->n_pes;
    ctx->world = team->table == NULL && team->start == 0 && team->stride == 1;
    ctx->fabric = NULL;
    ctx->space = NULL;
    ctx->copies = false;
    ctx->fabric_used_on_node = false;
    ctx->in_session = false;
    memset(ctx->queues, 0, sizeof(ctx->queues));
    ctx->live = true;
    if (stp_rt.has_fabric &&
        stp_rt.fabric.ctx_create(ctx_is_serialized(options), &ctx->fabric) != 0)
        return 1;
    stp_copy_open(ctx, "shmem_ctx_create");
    return 0;
}

void stp_ctx_close(struct stp_ctx *ctx)
{
    if (!ctx->live) return;
    stp_quiet(ctx);
    stp_copy_close(ctx);
    if (ctx->space != NULL) stp_space_use(ctx->space, -1);
    if (ctx->fabric != NULL) stp_rt.fabric.ctx_destroy(ctx->fabric);
    *ctx = (struct stp_ctx){0};
}

void stp_ctx_init(void)
{
    stp_ctx_coll = stp_ctx_small = stp_ctx_default = (struct stp_ctx){0};
    stp_ctx_stage = stp_ctx_proxy = (struct stp_ctx){0};
    if (ctx_open(&stp_ctx_default, stp_team_world, 0) != 0 ||
        ctx_open(&stp_ctx_coll, stp_team_world, 0) != 0 ||
        ctx_open(&stp_ctx_small, stp_team_world, 0) != 0 ||
        ctx_open(&stp_ctx_stage, stp_team_world, 0) != 0 ||
        ctx_open(&stp_ctx_proxy, stp_team_world, 0) != 0)
        stp_fatal("shmem_init", "out of memory: cannot create SHMEM_CTX_DEFAULT");
    /*
     * Allow delayed acknowledgements on stp_ctx_small, because it carries the flag words of
     * collectives. After a PE has sent a flag word, it waits for words of other PEs and not for
     * acknowledgements.
     */
    if (stp_ctx_small.fabric != NULL) stp_rt.fabric.allow_delayed_ack(stp_ctx_small.fabric);
}

int stp_ctx_open_for_stream_thread(void)
{
    return ctx_open(&stp_ctx_stream, stp_team_world, SHMEM_CTX_SERIALIZED);
}

/* Internal contexts. They are closed after the default context, because the last sync uses them. */
static struct stp_ctx *const ctx_internal[] = {&stp_ctx_coll, &stp_ctx_small, &stp_ctx_stage,
                                               &stp_ctx_proxy};

void stp_ctx_internal_quiet(void)
{
    for (size_t i = 0; i < STP_COUNT(ctx_internal); i++)
        stp_quiet(ctx_internal[i]);
}

/* Destroys the copy queues of the internal contexts. Called after the proxy thread has stopped. */
void stp_ctx_close_internal_copy_queues(void)
{
    for (size_t i = 0; i < STP_COUNT(ctx_internal); i++)
        stp_copy_close(ctx_internal[i]);
}

/*
 * Destroys the internal contexts and their fabric contexts. Called after the last sync of the job.
 */
void stp_ctx_internal_fini(void)
{
    for (size_t i = 0; i < STP_COUNT(ctx_internal); i++) {
        if (ctx_internal[i]->fabric != NULL) stp_rt.fabric.ctx_destroy(ctx_internal[i]->fabric);
        *ctx_internal[i] = (struct stp_ctx){0};
    }
}

int stp_ctx_pe_slow(const struct stp_ctx *ctx, int pe)
{
    return stp_team_pe(ctx->team, pe);
}

/*
 * List of the structures of destroyed contexts. The field next links them, and stp_rt.lock guards
 * the list. The structures are reused but never freed. In such a structure, live is false and n_pes
 * is 0. If the program uses a destroyed context, the library can therefore report the error instead
 * of crashing.
 */
static struct stp_ctx *ctx_free;

static struct stp_ctx *ctx_new(void)
{
    struct stp_ctx *ctx;

    pthread_mutex_lock(&stp_rt.lock);
    ctx = ctx_free;
    if (ctx != NULL) ctx_free = ctx->next;
    pthread_mutex_unlock(&stp_rt.lock);
    if (ctx == NULL) return calloc(1, sizeof(*ctx));
    ctx->next = NULL;
    return ctx;
}

static void ctx_delete(struct stp_ctx *ctx)
{
    *ctx = (struct stp_ctx){0};
    pthread_mutex_lock(&stp_rt.lock);
    ctx->next = ctx_free;
    ctx_free = ctx;
    pthread_mutex_unlock(&stp_rt.lock);
}

static int ctx_create(struct stp_team *team, long options, struct stp_space *space,
                      shmem_ctx_t *handle)
{
    struct stp_ctx *ctx = ctx_new();

    *handle = SHMEM_CTX_INVALID;
    if (ctx == NULL) return 1;
    if (ctx_open(ctx, team, options) != 0) {
        ctx_delete(ctx);
        return 1;
    }
    ctx->space = space;
    if (space != NULL) stp_space_use(space, 1);
    pthread_mutex_lock(&stp_rt.lock);
    ctx->next = team->ctxs;
    if (ctx->next != NULL) ctx->next->prev = ctx;
    team->ctxs = ctx;
    pthread_mutex_unlock(&stp_rt.lock);
    *handle = (shmem_ctx_t)ctx;
    return 0;
}

static void ctx_destroy(struct stp_ctx *ctx)
{
    struct stp_team *team = ctx->team;

    pthread_mutex_lock(&stp_rt.lock);
    if (ctx->prev != NULL)
        ctx->prev->next = ctx->next;
    else
        team->ctxs = ctx->next;
    if (ctx->next != NULL) ctx->next->prev = ctx->prev;
    pthread_mutex_unlock(&stp_rt.lock);
    stp_ctx_close(ctx);
    ctx_delete(ctx);
}

void stp_ctx_destroy_all(struct stp_team *team)
{
    while (team->ctxs != NULL)
        ctx_destroy(team->ctxs);
}

int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
    stp_check_live(__func__);
    return ctx_create(stp_team_world, options, NULL, ctx);
}
STP_PROFILED(shmem_ctx_create);

int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
    if (stp_team_is_invalid(team)) {
        *ctx = SHMEM_CTX_INVALID;
        return 1;
    }
    return ctx_create(stp_team_check(team, __func__), options, NULL, ctx);
}
STP_PROFILED(shmem_team_create_ctx);

/* Returns whether all members of the team are also members of the space's team. */
static bool ctx_team_in_space(const struct stp_team *team, const struct stp_space *space)
{
    for (int rank = 0; rank < team->n_pes; rank++)
        if (stp_team_rank_of(space->team, stp_team_pe(team, rank)) < 0) return false;
    return true;
}

int pshmemx_ctx_create(long options, const shmemx_ctx_config_t *config, shmem_ctx_t *ctx)
{
    struct stp_space *space;
    struct stp_team *team;

    if (ctx == NULL) return stp_reject(__func__, "ctx", "a null pointer");
    *ctx = SHMEM_CTX_INVALID;
    if (config == NULL) return stp_reject(__func__, "config", "a null pointer");
    if (stp_team_is_invalid(config->team))
        return stp_reject(__func__, "config->team", STP_INVALID_TEAM);
    if (stp_space_is_invalid(config->space))
        return stp_reject(__func__, "config->space", STP_INVALID_SPACE);
    team = stp_team_check(config->team, __func__);
    space = stp_space_check(config->space, __func__, "config->space");
    if (!ctx_team_in_space(team, space)) {
        stp_error("shmemx_ctx_create: config->team has members that are not members of "
                  "config->space (space %u)",
                  space->number);
        return 1;
    }
    return ctx_create(team, options, space, ctx);
}
STP_PROFILED(shmemx_ctx_create);

struct stp_ctx *stp_ctx_check_live(shmem_ctx_t ctx, const char *fn)
{
    struct stp_ctx *c = stp_ctx_of(ctx);

    if (!c->live) {
        stp_check_live(fn);
        stp_fatal(fn, "ctx %p is not a live context: was it or its team destroyed?", (void *)ctx);
    }
    return c;
}

void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
    if (ctx == SHMEM_CTX_INVALID) return;
    if (ctx == SHMEM_CTX_DEFAULT)
        stp_fatal(__func__, "ctx is SHMEM_CTX_DEFAULT, which cannot be destroyed");
    ctx_destroy(stp_ctx_check_live(ctx, __func__));
}
STP_PROFILED(shmem_ctx_destroy);

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
    if (ctx == SHMEM_CTX_INVALID) {
        *team = SHMEM_TEAM_INVALID;
        return 1;
    }
    *team = stp_team_handle(stp_ctx_check_live(ctx, __func__)->team);
    return 0;
}
STP_PROFILED(shmem_ctx_get_team);
