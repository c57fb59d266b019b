/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: executes operations that create or destroy contexts, teams and blocks of the
 * heap, and checks what the calls return.
 */
#include "random.h"

void rnd_must(struct rnd *r, const struct rnd_op *op, int rc)
{
    if (rc != 0) rnd_fail(r, op, "returned %d instead of 0", rc);
}

/* ---- contexts and teams --------------------------------------------------------------- */

static void do_ctx_create(struct rnd *r, const struct rnd_op *op)
{
    shmemx_ctx_config_t bound = {.team = r->teams[op->arg2].handle};
    shmem_team_t team = bound.team, got;
    int rc, of = r->slots[op->pe][op->slot].bound;

    bound.space = rnd_space_of(r, of);
    if (of != 0)
        rc = shmemx_ctx_create(op->arg, &bound, &r->ctx[op->slot]);
    else if (op->arg2 == 0 && r->strand == 0 && op->phase & 1)
        rc = shmem_ctx_create(op->arg, &r->ctx[op->slot]);
    else
        rc = shmem_team_create_ctx(team, op->arg, &r->ctx[op->slot]);
    rnd_must(r, op, rc);
    rnd_must(r, op, shmem_ctx_get_team(r->ctx[op->slot], &got));
    if (got != team) rnd_fail(r, op, "shmem_ctx_get_team did not return the team of the context");
}

void rnd_check_team(struct rnd *r, const struct rnd_op *op, int number)
{
    const struct rnd_team *team = &r->teams[number];
    int rank = rnd_rank(team, r->me), n = shmem_team_n_pes(team->handle);

    if (rank < 0) {
        if (team->handle != SHMEM_TEAM_INVALID)
            rnd_fail(r, op, "this PE is no member, but its handle is not SHMEM_TEAM_INVALID");
        return;
    }
    if (shmem_team_my_pe(team->handle) != rank || n != team->n)
        rnd_fail(r, op, "team %d: this PE is %d of %d, expected %d of %d", number,
                 shmem_team_my_pe(team->handle), n, rank, team->n);
    for (int i = 0; i < n; i++) {
        int world = shmem_team_translate_pe(team->handle, i, SHMEM_TEAM_WORLD);

        if (world != team->members[i])
            rnd_fail(r, op, "team %d: member %d is PE %d of the world, expected %d", number, i,
                     world, team->members[i]);
    }
}

static void do_split(struct rnd *r, const struct rnd_op *op)
{
    shmem_team_config_t config = {.num_contexts = (int)(op->phase % 3)};

    rnd_must(r, op,
             shmem_team_split_strided(
                 r->teams[op->team].handle, (int)op->dst, (int)op->sst, (int)op->n, &config,
                 op->phase & 1 ? SHMEM_TEAM_NUM_CONTEXTS : 0, &r->teams[op->arg].handle));
    rnd_check_team(r, op, op->arg);
}

static void do_split_2d(struct rnd *r, const struct rnd_op *op)
{
    int rank = rnd_rank(&r->teams[op->team], r->me), rows = (int)op->n, columns = op->arg2;
    int row = op->arg + rank / columns, column = op->arg + rows + rank % columns;

    for (int i = 0; i < rows + columns; i++)
        r->teams[op->arg + i].handle = SHMEM_TEAM_INVALID;
    rnd_must(r, op,
             shmem_team_split_2d(r->teams[op->team].handle, (int)op->dst, NULL, 0,
                                 &r->teams[row].handle, NULL, 0, &r->teams[column].handle));
    rnd_check_team(r, op, row);
    rnd_check_team(r, op, column);
}

static void do_team(struct rnd *r, const struct rnd_op *op)
{
    switch (op->kind) {
    case RND_TEAM_SYNC:
        rnd_must(r, op, shmem_team_sync(r->teams[op->team].handle));
        break;
    case RND_TEAM_SPLIT:
        do_split(r, op);
        break;
    case RND_TEAM_2D:
        do_split_2d(r, op);
        break;
    default:
        shmem_team_destroy(r->teams[op->team].handle);
    }
}

/* ---- memory ------------------------------------------------------------------------------- */

void rnd_check_block(struct rnd *r, const struct rnd_op *op, size_t align)
{
    unsigned char *base = r->areas[op->arg].base;

    if (base == NULL) rnd_fail(r, op, "returned NULL instead of a block");
    if ((uintptr_t)base % align != 0)
        rnd_fail(r, op, "returned %p, which is not aligned to %zu bytes", base, align);
}

static void do_malloc(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_area *area = &r->areas[op->arg];

    switch (op->cond) {
    case 0:
        if (shmem_malloc(0) != NULL) rnd_fail(r, op, "shmem_malloc(0) did not return NULL");
        area->base = shmem_malloc(op->n);
        break;
    case 1:
        area->base = shmem_calloc(op->n, 1);
        break;
    case 2:
        area->base = shmem_align(op->bsize, op->n);
        rnd_check_block(r, op, op->bsize);
        break;
    case 3:
        area->base = shmem_malloc_with_hints(op->n, (long)(op->phase & 3));
        break;
    default:
        area->base = shmem_realloc(NULL, op->n);
    }
    rnd_check_block(r, op, op->cond == 2 && op->bsize < 16 ? op->bsize : 16);
}

void rnd_execute_make(struct rnd *r, const struct rnd_op *op)
{
    switch (op->kind) {
    case RND_CTX_CREATE:
        do_ctx_create(r, op);
        break;
    case RND_CTX_DESTROY:
        shmem_ctx_destroy(r->ctx[op->slot]);
        break;
    case RND_BARRIER:
        shmem_barrier_all();
        break;
    case RND_MALLOC:
        do_malloc(r, op);
        break;
    case RND_REALLOC:
        r->areas[op->arg].base = shmem_realloc(r->areas[op->arg].base, op->n);
        rnd_check_block(r, op, 16);
        break;
    case RND_FREE:
        shmem_free(r->areas[op->arg].base);
        break;
    default:
        do_team(r, op);
    }
}
