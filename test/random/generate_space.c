/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs, the generator: spaces. It chooses the kind of memory, the size, and whether the
 * space can grow. Memory of the program can become a space too, as a heap or as one block. It also
 * emits contexts of one space, and fences and quiets of one space. All PEs are members of each
 * space.
 */
#include "random.h"

enum { SPACE_BYTES = 1 << 20, UNIT_BYTES = 64, BUFFER_BYTES = 2 << 20 };
static const size_t grown_bytes = (size_t)160 << 20; /* two fillers and what makes it grow */

/* ---- making them --------------------------------------------------------------------- */

static enum rnd_memory draw_memory(struct rnd *r)
{
    enum rnd_memory memory;

    if (!r->all) return r->gpu ? (enum rnd_memory)rnd_below(&r->rng, RND_FEW_MEMORIES) : RND_HOST;
    memory = (enum rnd_memory)rnd_below(&r->rng, RND_N_MEMORIES);
    return r->has[memory] ? memory : RND_HOST;
}

/* A heap, or one block; false: there is no area for it. */
static bool draw_buffer(struct rnd *r, int number)
{
    struct rnd_space *space = &r->spaces[number];

    if (rnd_one_in(&r->rng, 2)) {
        space->nbytes = BUFFER_BYTES;
        space->room = BUFFER_BYTES / 2;
        return true;
    }
    space->nbytes = UNIT_BYTES * (1 + rnd_below(&r->rng, (size_t)1 << rnd_below(&r->rng, 11)));
    space->area = rnd_area_take(r, RND_SPACE, space->nbytes);
    if (space->area < 0) return false;
    r->areas[space->area].space = number;
    r->areas[space->area].whole = true;
    return true;
}

/* How large it is; what grows begins small. */
static size_t draw_size(struct rnd *r, struct rnd_space *space)
{
    if (!r->all) return SPACE_BYTES + rnd_below(&r->rng, SPACE_BYTES);
    space->room = SPACE_BYTES;
    if (space->memory == RND_FAM || space->memory == RND_GPU || rnd_one_in(&r->rng, 2))
        return 2 * SPACE_BYTES + rnd_below(&r->rng, SPACE_BYTES);
    space->max_size = grown_bytes;
    return 1 + rnd_below(&r->rng, SPACE_BYTES);
}

static bool is_of_program(enum rnd_memory memory)
{
    return memory == RND_PRIVATE || memory == RND_DESCRIPTOR;
}

/* Memory of the program has no team of its own. */
static bool make_space(struct rnd *r, int number, struct rnd_op *op)
{
    struct rnd_space *space = &r->spaces[number];

    if (is_of_program(space->memory)) {
        op->arg2 = -1;
        return draw_buffer(r, number);
    }
    op->arg2 = rnd_take_world(r, number);
    if (op->arg2 < 0) return false;
    op->n = draw_size(r, space);
    return true;
}

bool rnd_create_space(struct rnd *r)
{
    struct rnd_op op = rnd_op_new(r, RND_SPACE_CREATE, -1, 0);
    struct rnd_space *space;
    int number = 0;

    while (number < r->n_spaces && (r->spaces[number].live || r->spaces[number].retired))
        number++;
    if (number == r->n_spaces) return false;
    space = &r->spaces[number];
    memset(space, 0, sizeof(*space));
    space->area = -1;
    space->memory = draw_memory(r);
    if (!make_space(r, number, &op)) return false;
    space->live = true;
    op.team = 0;
    op.arg = number;
    if (r->all) op.value = rnd_next(&r->rng);
    rnd_emit(r, &op);
    if (space->area >= 0) rnd_emit_contents(r, space->area, 0);
    return true;
}

bool rnd_space_has_room(const struct rnd *r, int number, size_t nbytes)
{
    size_t used = nbytes;

    for (int i = 0; i < r->n_areas; i++) {
        const struct rnd_area *area = &r->areas[i];

        if ((area->live || area->retired) && area->where == RND_SPACE && area->space == number)
            used += area->nbytes + 4096; /* what an alignment may take */
    }
    return r->spaces[number].room == 0 || used <= r->spaces[number].room;
}

/* ---- ending them ------------------------------------------------------------------------ */

static bool is_in_use(const struct rnd *r, int number)
{
    for (int i = 0; i < r->n_areas; i++) {
        const struct rnd_area *area = &r->areas[i];

        if (area->where != RND_SPACE || area->space != number) continue;
        if (area->live && !area->whole) return true;
        if ((area->live || area->retired) && !rnd_area_quiet(r, i, false)) return true;
    }
    return false;
}

/* Contexts of it would keep it. */
static void end_bound(struct rnd *r, int number)
{
    for (int pe = 0; pe < r->n_pes; pe++) {
        for (int i = 1; i < RND_SLOTS; i++) {
            struct rnd_op op = {0};

            if (!r->slots[pe][i].live || r->slots[pe][i].bound != number + 1) continue;
            op = rnd_op_new(r, RND_CTX_DESTROY, pe, i);
            rnd_emit(r, &op);
            rnd_retire_slot(r, pe, i);
        }
    }
}

/* Its blocks and teams first; nobody uses them. */
bool rnd_destroy_space(struct rnd *r)
{
    struct rnd_op op = rnd_op_new(r, RND_SPACE_DESTROY, -1, 0);
    int number = (int)rnd_below(&r->rng, (size_t)r->n_spaces);
    struct rnd_space *space = &r->spaces[number];

    if (!space->live) return false;
    for (int i = 0; r->all && i < r->n_areas; i++)
        if (r->areas[i].live && r->areas[i].where == RND_SPACE && r->areas[i].space == number &&
            !r->areas[i].whole)
            rnd_free_block(r, RND_SPACE, i);
    if (is_in_use(r, number)) return false;
    end_bound(r, number);
    for (int i = 1; i < RND_TEAMS; i++)
        if (r->teams[i].live && r->teams[i].space == number) rnd_destroy_team(r, i);
    op.team = 0;
    op.arg = number;
    rnd_emit(r, &op);
    if (space->area >= 0) rnd_retire_area(r, space->area);
    space->live = false;
    space->retired = true;
    return true;
}

/* ---- operations on the objects of one ----------------------------------------------------- */

static bool is_live(const struct rnd *r, int of)
{
    return of == RND_OF_DEFAULT || (of > 0 && r->spaces[of - 1].live);
}

int rnd_draw_bound(struct rnd *r)
{
    int of = 1 + (int)rnd_below(&r->rng, RND_OF_DEFAULT);

    return rnd_one_in(&r->rng, 3) || !is_live(r, of) ? 0 : of;
}

bool rnd_emit_of(struct rnd *r, enum rnd_kind kind, int pe, int slot, int of)
{
    struct rnd_op op;

    if (slot >= RND_SLOTS || !is_live(r, of)) return false;
    op = rnd_op_new(r, kind, pe, slot);
    op.arg = of;
    rnd_emit(r, &op);
    return true;
}

bool rnd_generate_of(struct rnd *r, enum rnd_kind kind)
{
    int pe = (int)rnd_below(&r->rng, (size_t)r->n_pes), slot = rnd_draw_slot(r, pe);
    int of = 1 + (int)rnd_below(&r->rng, RND_OF_DEFAULT);

    return rnd_emit_of(r, kind, pe, slot, of);
}
