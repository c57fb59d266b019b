/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs, the generator: creates and destroys contexts, teams, and blocks of the heap and
 * of spaces, and adds under a lock.
 */
#include "random.h"

enum { MOST_BYTES = 100 * 1024 };

/* ---- contexts ---------------------------------------------------------------------- */

void rnd_retire_slot(struct rnd *r, int pe, int slot)
{
    r->slots[pe][slot].live = false;
    r->slots[pe][slot].retired = true;
}

static bool create_ctx(struct rnd *r, int pe)
{
    struct rnd_op op;

    for (int i = 1; i < RND_SLOTS; i++) {
        struct rnd_slot *slot = &r->slots[pe][i];

        if (slot->live || slot->retired) continue;
        op = rnd_op_new(r, RND_CTX_CREATE, pe, i);
        op.arg2 = rnd_draw_team(r);
        op.arg = (int)rnd_below(&r->rng, 8);
        if (!rnd_is_member(&r->teams[op.arg2], pe)) op.arg2 = 0;
        slot->live = true;
        slot->team = op.arg2;
        slot->options = op.arg;
        slot->bound = r->all ? rnd_draw_bound(r) : 0;
        rnd_emit(r, &op);
        return true;
    }
    return false;
}

bool rnd_generate_ctx(struct rnd *r, enum rnd_kind kind)
{
    int pe = (int)rnd_below(&r->rng, (size_t)r->n_pes), slot = rnd_draw_slot(r, pe);
    struct rnd_op op = rnd_op_new(r, kind, pe, slot);

    if (kind == RND_CTX_CREATE) return create_ctx(r, pe);
    if (kind == RND_CTX_DESTROY && r->slots[pe][slot].fixed) return false;
    op.arg = (int)rnd_below(&r->rng, 3); /* of a session: start, start with a number, stop */
    rnd_emit(r, &op);
    if (kind == RND_CTX_DESTROY) rnd_retire_slot(r, pe, slot);
    return true;
}

/* ---- teams --------------------------------------------------------------------------- */

static int take_team(struct rnd *r, int space)
{
    for (int i = 1; i < RND_TEAMS; i++) {
        struct rnd_team *team = &r->teams[i];

        if (team->live || team->retired) continue;
        memset(team, 0, sizeof(*team));
        team->live = true;
        team->space = space;
        return i;
    }
    return -1;
}

static void join(struct rnd_team *team, int pe)
{
    team->members[team->n++] = pe;
    team->set |= rnd_bit(pe);
}

int rnd_take_world(struct rnd *r, int space)
{
    int team = take_team(r, space);

    for (int pe = 0; team >= 0 && pe < r->n_pes; pe++)
        join(&r->teams[team], pe);
    return team;
}

/* Any start, stride (negative and 0, too) and size that stay inside. */
static bool split_strided(struct rnd *r, int parent)
{
    const struct rnd_team *from = &r->teams[parent];
    struct rnd_op op = rnd_op_new(r, RND_TEAM_SPLIT, -1, 0);
    int start = (int)rnd_below(&r->rng, (size_t)from->n), size = 1, made;
    int stride = (int)rnd_below(&r->rng, 7) - 3;
    int most = stride > 0 ? (from->n - 1 - start) / stride : stride < 0 ? start / -stride : 0;

    made = take_team(r, from->space);
    if (made < 0) return false;
    size += (int)rnd_below(&r->rng, (size_t)most + 1);
    for (int i = 0; i < size; i++)
        join(&r->teams[made], from->members[start + i * stride]);
    op.team = parent;
    op.arg = made;
    op.dst = start;
    op.sst = stride;
    op.n = (size_t)size;
    rnd_emit(r, &op);
    return true;
}

/* Rows are teams arg, arg + 1, ...; columns follow. */
static bool split_2d(struct rnd *r, int parent)
{
    const struct rnd_team *from = &r->teams[parent];
    struct rnd_op op = rnd_op_new(r, RND_TEAM_2D, -1, 0);
    int xrange = 1 + (int)rnd_below(&r->rng, (size_t)from->n + 1);
    int columns = xrange < from->n ? xrange : from->n, rows = (from->n + columns - 1) / columns;
    int first = 1;

    for (int i = 1; i < RND_TEAMS && i - first < rows + columns; i++)
        if (r->teams[i].live || r->teams[i].retired) first = i + 1;
    if (first + rows + columns > RND_TEAMS) return false;
    for (int i = 0; i < rows + columns; i++) {
        struct rnd_team *team = &r->teams[first + i];

        memset(team, 0, sizeof(*team));
        team->live = true;
        team->space = from->space;
    }
    for (int i = 0; i < from->n; i++) {
        join(&r->teams[first + i / columns], from->members[i]);
        join(&r->teams[first + rows + i % columns], from->members[i]);
    }
    op.team = parent;
    op.arg = first;
    op.n = (size_t)rows;
    op.dst = xrange;
    op.arg2 = columns;
    rnd_emit(r, &op);
    return true;
}

/* Contexts of the team end: those that the program must end, then all others with the team. */
void rnd_destroy_team(struct rnd *r, int number)
{
    struct rnd_team *team = &r->teams[number];
    struct rnd_op op = rnd_op_new(r, RND_TEAM_DESTROY, -1, 0);

    for (int pe = 0; pe < r->n_pes; pe++) {
        for (int i = 1; i < RND_SLOTS; i++) {
            struct rnd_slot *slot = &r->slots[pe][i];
            struct rnd_op end = rnd_op_new(r, RND_CTX_DESTROY, pe, i);

            if (!slot->live || slot->team != number) continue;
            if (slot->options & SHMEM_CTX_PRIVATE || rnd_one_in(&r->rng, 2)) rnd_emit(r, &end);
            slot->quiets++;
            slot->dirty = false;
            rnd_retire_slot(r, pe, i);
        }
    }
    op.team = number;
    rnd_emit(r, &op);
    team->live = false;
    team->retired = true;
}

bool rnd_generate_team(struct rnd *r, enum rnd_kind kind)
{
    int team = rnd_draw_team(r);
    struct rnd_op op = rnd_op_new(r, kind, -1, 0);

    if (kind == RND_TEAM_SPLIT) return split_strided(r, team);
    if (kind == RND_TEAM_2D) return split_2d(r, team);
    if (kind == RND_TEAM_DESTROY) {
        if (r->teams[team].fixed) return false;
        rnd_destroy_team(r, team);
        return true;
    }
    op.team = team;
    rnd_emit(r, &op);
    return true;
}

/* ---- memory: all PEs together, so one strand alone ---------------------------------------- */

void rnd_emit_contents(struct rnd *r, int area, size_t from)
{
    uint64_t value = rnd_next(&r->rng);

    for (int pe = 0; pe < r->n_pes; pe++) {
        struct rnd_access access = {.pe = pe, .how = RND_WRITE};
        struct rnd_op op = rnd_op_new(r, RND_STORE, pe, 0);

        op.dest = (struct rnd_place){area, from};
        op.n = r->areas[area].nbytes - from;
        op.value = value;
        rnd_claim(r, op.dest, op.n, pe, &access);
        if (op.n > 0) rnd_emit(r, &op);
    }
}

/* Now and then a block that leaves no room for the next one, which makes the space grow. */
static uint64_t draw_filler(struct rnd *r, int number)
{
    struct rnd_space *space = &r->spaces[number];

    if (space->max_size == 0 || space->n_fillers == 2 || rnd_one_in(&r->rng, 2)) return 0;
    return (uint64_t)++space->n_fillers;
}

/* malloc, calloc, align, hints, realloc of NULL: cond says which. */
static bool allocate(struct rnd *r, int space)
{
    struct rnd_op op = rnd_op_new(r, space < 0 ? RND_MALLOC : RND_SPACE_MALLOC, -1, 0);
    size_t nbytes = 1 + rnd_below(&r->rng, (size_t)1 << (1 + rnd_below(&r->rng, 17)));
    int area;

    if (nbytes > MOST_BYTES) nbytes = MOST_BYTES;
    if (space >= 0 && !rnd_space_has_room(r, space, nbytes)) return false;
    area = rnd_area_take(r, space < 0 ? RND_HEAP : RND_SPACE, nbytes);
    if (area < 0) return false;
    r->areas[area].space = space;
    r->areas[area].device = space >= 0 && r->spaces[space].memory == RND_GPU;
    op.team = 0;
    op.arg = area;
    op.arg2 = space;
    op.n = nbytes;
    op.cond = rnd_below(&r->rng, 5);
    op.bsize = (size_t)8 << rnd_below(&r->rng, 10);
    if (space >= 0) op.value = draw_filler(r, space);
    /* a heap in the program's memory lies at no larger multiple */
    if (space >= 0 && r->spaces[space].nbytes > 0 && op.bsize > 64) op.bsize = 64;
    rnd_emit(r, &op);
    if (op.cond != 1) rnd_emit_contents(r, area, 0);
    return true;
}

static int draw_block(struct rnd *r, enum rnd_where where)
{
    int first = (int)rnd_below(&r->rng, (size_t)r->n_areas);

    for (int i = 0; i < r->n_areas; i++) {
        const struct rnd_area *area = &r->areas[(first + i) % r->n_areas];

        if (area->live && !area->fixed && !area->whole && area->where == where)
            return (first + i) % r->n_areas;
    }
    return -1;
}

void rnd_retire_area(struct rnd *r, int area)
{
    r->areas[area].live = false;
    r->areas[area].retired = true;
}

bool rnd_free_block(struct rnd *r, enum rnd_where where, int area)
{
    struct rnd_op op = rnd_op_new(r, where == RND_HEAP ? RND_FREE : RND_SPACE_FREE, -1, 0);

    if (area < 0) area = draw_block(r, where);
    if (area < 0 || !rnd_area_quiet(r, area, true)) return false;
    op.team = 0;
    op.arg = area;
    op.arg2 = r->areas[area].space;
    rnd_emit(r, &op);
    rnd_retire_area(r, area);
    return true;
}

static bool resize_block(struct rnd *r, enum rnd_kind kind)
{
    struct rnd_op op = rnd_op_new(r, kind, -1, 0);
    int area = draw_block(r, kind == RND_REALLOC ? RND_HEAP : RND_SPACE);
    size_t old;

    if (area < 0 || !rnd_area_quiet(r, area, true)) return false;
    old = r->areas[area].nbytes;
    op.team = 0;
    op.arg = area;
    op.n = 1 + rnd_below(&r->rng, rnd_one_in(&r->rng, 2) ? MOST_BYTES : old + 64);
    op.arg2 = r->areas[area].space;
    if (kind != RND_REALLOC && !rnd_space_has_room(r, op.arg2, op.n)) return false;
    rnd_area_resize(r, area, op.n);
    if (r->hot_pe >= 0 && r->hot.area == area) r->hot_pe = -1;
    for (int pe = 0; pe < r->n_pes; pe++)
        r->areas[area].claims[pe].n = 0; /* it is another block */
    rnd_emit(r, &op);
    if (op.n > old) rnd_emit_contents(r, area, old);
    return true;
}

bool rnd_generate_memory(struct rnd *r, enum rnd_kind kind)
{
    struct rnd_op op = rnd_op_new(r, kind, -1, 0);
    int space = (int)rnd_below(&r->rng, (size_t)r->n_spaces);

    if (r->strand != 0) return false;
    switch (kind) {
    case RND_MALLOC:
        return allocate(r, -1);
    case RND_REALLOC:
    case RND_SPACE_REALLOC:
        return resize_block(r, kind);
    case RND_FREE:
        return rnd_free_block(r, RND_HEAP, -1);
    case RND_SPACE_CREATE:
        return rnd_create_space(r);
    case RND_SPACE_MALLOC:
        return r->spaces[space].live && r->spaces[space].area < 0 && allocate(r, space);
    case RND_SPACE_FREE:
        return rnd_free_block(r, RND_SPACE, -1);
    case RND_SPACE_DESTROY:
        return rnd_destroy_space(r);
    default:
        op.team = 0;
        rnd_emit(r, &op);
        return true;
    }
}

/* ---- locks ------------------------------------------------------------------------------- */

/* Several PEs add to one word by get and put, each while it holds the lock. */
bool rnd_generate_locked(struct rnd *r)
{
    int owner = (int)rnd_below(&r->rng, (size_t)r->n_pes), lock;
    struct rnd_place word = {-1, 0};

    lock = (int)rnd_below(&r->rng, RND_LOCKS);
    for (int pe = 0; pe < r->n_pes; pe++) {
        struct rnd_access access = {.pe = pe, .how = RND_MERGE, .family = -1 - lock};
        struct rnd_op op = rnd_op_new(r, RND_LOCKED_ADD, pe, 0);
        const struct rnd_claim *why;

        if (pe == 0 && !rnd_find(r, owner, 8, 8, false, &access, &word)) return false;
        if (rnd_judge(r, word, 8, owner, &access, &why) != RND_OPEN) break;
        rnd_claim(r, word, 8, owner, &access);
        op.dest = word;
        op.to = owner;
        op.arg = lock;
        op.arg2 = (int)rnd_below(&r->rng, 2); /* test until it is ours */
        op.value = rnd_next(&r->rng);
        rnd_emit(r, &op);
    }
    return true;
}
