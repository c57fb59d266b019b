/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: areas of memory, of which every PE keeps a model for all PEs, and the claims of
 * operations on ranges of memory in a phase. The claims keep a random program valid.
 */
#include "random.h"

enum { GUARD = 64, HEAP_BYTES = 400 * 1024, SMALL_BYTES = 24 * 1024, MALLOC_BYTES = 300 * 1024 };

/* ---- areas ---------------------------------------------------------------- */

int rnd_area_take(struct rnd *r, enum rnd_where where, size_t nbytes)
{
    for (int i = 0; i < r->n_areas; i++) {
        struct rnd_area *area = &r->areas[i];

        if (area->live || area->retired) continue;
        memset(area, 0, sizeof(*area));
        area->live = true;
        area->where = where;
        area->nbytes = area->hi = nbytes;
        for (int pe = 0; pe < r->n_pes; pe++)
            area->model[pe] = calloc(1, nbytes);
        return i;
    }
    return -1;
}

void rnd_area_drop(struct rnd *r, int number)
{
    struct rnd_area *area = &r->areas[number];

    for (int pe = 0; pe < r->n_pes; pe++) {
        free(area->model[pe]);
        free(area->claims[pe].v);
    }
    memset(area, 0, sizeof(*area));
}

void rnd_area_resize(struct rnd *r, int number, size_t nbytes)
{
    struct rnd_area *area = &r->areas[number];

    for (int pe = 0; pe < r->n_pes; pe++)
        area->model[pe] = realloc(area->model[pe], nbytes);
    area->nbytes = area->hi = nbytes;
}

/* The operation that nobody generated: contents at the start. */
static void fill_fixed(struct rnd *r, int number)
{
    struct rnd_area *area = &r->areas[number];

    area->fixed = true;
    area->lo = GUARD;
    area->hi = area->nbytes - GUARD;
    for (int pe = 0; pe < r->n_pes; pe++) {
        struct rnd_op op = {.kind = RND_STORE, .type = -1, .n = area->nbytes};

        op.value = rnd_mix(r->seed * 1000 + (uint64_t)(r->strand * 100 + number));
        rnd_store_bytes(&op, pe, area->model[pe]);
    }
    memcpy(area->base, area->model[r->me], area->nbytes);
}

static void fixed_area(struct rnd *r, enum rnd_where where, void *base, size_t nbytes)
{
    int number = rnd_area_take(r, where, nbytes);

    if (base == NULL) {
        fprintf(stderr, "pe %d: FAIL: the test cannot get memory for a model of %zu bytes\n", r->me,
                nbytes);
        shmem_global_exit(2);
    }
    r->areas[number].base = base;
    fill_fixed(r, number);
}

void rnd_memory_init(struct rnd *r, void *globals, void *stack, size_t stack_bytes)
{
    fixed_area(r, RND_HEAP, shmem_align(64, HEAP_BYTES), HEAP_BYTES);
    fixed_area(r, RND_GLOBAL, globals, RND_GLOBAL_BYTES);
    fixed_area(r, RND_HEAP, shmem_align(64, SMALL_BYTES), SMALL_BYTES);
    fixed_area(r, RND_MALLOCED, aligned_alloc(64, MALLOC_BYTES), MALLOC_BYTES);
    fixed_area(r, RND_STACK, stack, stack_bytes);
    r->locks = shmem_calloc(RND_LOCKS, sizeof(*r->locks));
}

void rnd_memory_move_stack(struct rnd *r, unsigned char *stack)
{
    for (int i = 0; i < RND_AREAS; i++) {
        struct rnd_area *area = &r->areas[i];

        if (!area->live || area->where != RND_STACK) continue;
        memcpy(stack, area->model[r->me], area->nbytes);
        area->base = stack;
    }
}

void rnd_memory_fini(struct rnd *r)
{
    for (int i = 0; i < RND_AREAS; i++) {
        struct rnd_area *area = &r->areas[i];

        if (!area->live) continue;
        if (area->where == RND_HEAP) shmem_free(area->base);
        if (area->where == RND_MALLOCED) free(area->base);
        rnd_area_drop(r, i);
    }
    shmem_free(r->locks);
}

/* ---- who uses what ---------------------------------------------------------- */

bool rnd_is_over(const struct rnd *r, const struct rnd_claim *c)
{
    const struct rnd_slot *slot;

    if (!c->by.sent) return true;
    if (c->by.pe < 0) return false;
    slot = &r->slots[c->by.pe][c->by.slot];
    return slot->quiets > c->quiets || slot->of_quiets[c->by.of] > c->of_quiets;
}

/* All that may act must know that the claim is over. */
static enum rnd_verdict judge_set(const struct rnd *r, const struct rnd_claim *c, uint64_t who)
{
    uint64_t know = c->known;

    if (c->by.pe >= 0 && rnd_is_over(r, c)) know |= rnd_bit(c->by.pe);
    return (who & ~know) == 0 ? RND_OPEN : RND_TAKEN;
}

static enum rnd_verdict judge(const struct rnd *r, const struct rnd_claim *c,
                              const struct rnd_access *a)
{
    const struct rnd_slot *slot;

    if (c->by.how == RND_READ && a->how == RND_READ) return RND_OPEN;
    if (c->by.how == RND_MERGE && a->how == RND_MERGE && c->by.family == a->family) return RND_OPEN;
    if (a->pe < 0) return judge_set(r, c, a->who);
    if (c->known & rnd_bit(a->pe)) return RND_OPEN;
    if (c->by.pe != a->pe) return RND_TAKEN;
    if (rnd_is_over(r, c) || (c->by.fetched && a->amo)) return RND_OPEN;
    if (c->by.in_order && c->by.slot == a->slot) return RND_OPEN;
    if (!c->by.ordered || !a->ordered || c->by.slot != a->slot) return RND_NEEDS_QUIET;
    slot = &r->slots[a->pe][a->slot];
    return slot->fences > c->fences || slot->of_fences[c->by.of] > c->of_fences ? RND_OPEN
                                                                                : RND_NEEDS_FENCE;
}

enum rnd_verdict rnd_judge(const struct rnd *r, struct rnd_place place, size_t nbytes, int pe,
                           const struct rnd_access *access, const struct rnd_claim **why)
{
    const struct rnd_claims *claims = &r->areas[place.area].claims[pe];
    enum rnd_verdict worst = RND_OPEN;

    if (nbytes == 0) return RND_OPEN;
    for (size_t i = 0; i < claims->n; i++) {
        const struct rnd_claim *c = &claims->v[i];
        enum rnd_verdict verdict;

        if (c->hi <= place.at || c->lo >= place.at + nbytes) continue;
        verdict = judge(r, c, access);
        if (verdict <= worst) continue;
        worst = verdict;
        *why = c;
    }
    return worst;
}

void rnd_claim(struct rnd *r, struct rnd_place place, size_t nbytes, int pe,
               const struct rnd_access *access)
{
    const struct rnd_slot *slot;
    struct rnd_claims *claims;
    struct rnd_claim *c;

    if (nbytes == 0) return;
    if (place.at + nbytes > r->areas[place.area].nbytes) {
        fprintf(stderr, "pe %d: FAIL: seed %lu: the generator chose a range outside area %d\n",
                r->me, r->seed, place.area);
        shmem_global_exit(2);
    }
    claims = &r->areas[place.area].claims[pe];
    if (claims->n == claims->room) {
        claims->room = claims->room * 2 + 16;
        claims->v = realloc(claims->v, claims->room * sizeof(*claims->v));
    }
    c = &claims->v[claims->n++];
    *c = (struct rnd_claim){.lo = place.at, .hi = place.at + nbytes, .by = *access};
    if (access->pe < 0) {
        c->known = rnd_bit(pe); /* a collective's dest is its owner's at the end of the call */
        return;
    }
    slot = &r->slots[access->pe][access->slot];
    c->fences = slot->fences;
    c->quiets = slot->quiets;
    c->of_fences = slot->of_fences[access->of];
    c->of_quiets = slot->of_quiets[access->of];
    if (access->sent) r->slots[access->pe][access->slot].dirty = true;
}

void rnd_spread(struct rnd *r, uint64_t from, uint64_t to)
{
    for (int i = 0; i < RND_AREAS; i++) {
        for (int pe = 0; r->areas[i].live && pe < r->n_pes; pe++) {
            struct rnd_claims *claims = &r->areas[i].claims[pe];

            for (size_t k = 0; k < claims->n; k++) {
                struct rnd_claim *c = &claims->v[k];
                uint64_t know = c->known;

                if (c->by.pe >= 0 && rnd_is_over(r, c)) know |= rnd_bit(c->by.pe);
                if (know & from) c->known |= to;
            }
        }
    }
}

void rnd_spread_fenced(struct rnd *r, int pe, int number, int to, int of)
{
    const struct rnd_slot *slot = &r->slots[pe][number];

    for (int i = 0; i < RND_AREAS; i++) {
        struct rnd_claims *claims = &r->areas[i].claims[to];

        for (size_t k = 0; r->areas[i].live && k < claims->n; k++) {
            struct rnd_claim *c = &claims->v[k];

            if (c->by.pe != pe || c->by.slot != number || !c->by.ordered) continue;
            if (c->fences < slot->fences || (c->by.of == of && c->of_fences < slot->of_fences[of]))
                c->known |= rnd_bit(to);
        }
    }
}

void rnd_memory_next(struct rnd *r)
{
    for (int i = 0; i < RND_AREAS; i++) {
        if (r->areas[i].retired) rnd_area_drop(r, i);
        for (int pe = 0; pe < r->n_pes; pe++)
            r->areas[i].claims[pe].n = 0;
    }
    for (int i = 0; i < RND_TEAMS; i++)
        r->teams[i].retired = false;
    for (int i = 0; i < RND_SPACES; i++)
        r->spaces[i].retired = false;
    for (int pe = 0; pe < r->n_pes; pe++)
        for (int i = 0; i < RND_SLOTS; i++)
            r->slots[pe][i].retired = false;
}

int rnd_of(const struct rnd *r, int area)
{
    if (!rnd_is_symmetric(&r->areas[area])) return 0;
    return r->areas[area].where == RND_SPACE ? 1 + r->areas[area].space : RND_OF_DEFAULT;
}

bool rnd_area_quiet(const struct rnd *r, int area, bool default_ends)
{
    for (int pe = 0; pe < r->n_pes; pe++) {
        const struct rnd_claims *claims = &r->areas[area].claims[pe];

        for (size_t k = 0; k < claims->n; k++)
            if (!rnd_is_over(r, &claims->v[k]) && !(default_ends && claims->v[k].by.slot == 0))
                return false;
    }
    return true;
}
