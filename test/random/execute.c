/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: executes operations as calls of the library: transfers, atomics, waits, order,
 * collectives and locks.
 */
#include "random.h"

#include <sched.h>

int rnd_rank(const struct rnd_team *team, int pe)
{
    for (int i = 0; i < team->n; i++)
        if (team->members[i] == pe) return i;
    return -1;
}

/* Slots behind those of contexts are streams, which have none. */
shmem_ctx_t rnd_ctx(const struct rnd *r, int slot)
{
    return slot == 0 || slot >= RND_SLOTS ? SHMEM_CTX_DEFAULT : r->ctx[slot];
}

static struct rnd_call call_of(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_call c = {.ctx = rnd_ctx(r, op->slot), .plain = op->plain};

    c.dest = rnd_mine(r, op->dest);
    c.source = rnd_mine(r, op->source);
    c.sig = rnd_mine(r, op->sig);
    c.n = op->n;
    c.dst = op->dst;
    c.sst = op->sst;
    c.bsize = op->bsize;
    c.value = op->value;
    c.cond = op->cond;
    c.sig_op = op->arg;
    c.stream = rnd_stream(op->slot);
    if (op->to >= 0 && op->pe >= 0)
        c.pe = rnd_rank(&r->teams[r->slots[op->pe][op->slot].team], op->to);
    return c;
}

/* ---- one-sided ------------------------------------------------------------------ */

static void do_amo(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_call c = call_of(r, op);

    c.result = rnd_mine(r, op->source);
    if (c.result == NULL) c.result = &r->scratch[r->n_scratch++ % 512];
    rnd_types[op->type].call[op->kind](&c);
}

static bool is_device(const struct rnd *r, struct rnd_place place)
{
    return r->areas[place.area].device;
}

/* By load or store where the other PE's memory is mapped, else by put or get. */
static void do_pointer(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_call c = call_of(r, op);
    size_t nbytes = op->n * rnd_types[op->type].size;
    void *there = nbytes == 0 ? NULL : shmem_ptr(op->kind == RND_POKE ? c.dest : c.source, op->to);

    if (there == NULL || is_device(r, op->dest) || is_device(r, op->source))
        rnd_types[op->type].call[op->kind == RND_POKE ? RND_PUT : RND_GET](&c);
    else if (op->kind == RND_POKE)
        memcpy(there, c.source, nbytes);
    else
        memcpy(c.dest, there, nbytes);
}

static void do_signal(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_call c = call_of(r, op);

    if (op->arg == SHMEM_SIGNAL_SET) {
        if (op->plain)
            shmem_signal_set(c.sig, c.value, c.pe);
        else
            shmem_ctx_signal_set(c.ctx, c.sig, c.value, c.pe);
    } else {
        if (op->plain)
            shmem_signal_add(c.sig, c.value, c.pe);
        else
            shmem_ctx_signal_add(c.ctx, c.sig, c.value, c.pe);
    }
}

/* ---- waits -------------------------------------------------------------------------- */

static void do_signal_wait(struct rnd *r, const struct rnd_op *op)
{
    uint64_t *word = rnd_mine(r, op->sig);
    uint64_t got = shmem_signal_wait_until(word, op->arg, op->value);

    if (!rnd_type_compare(&rnd_types[op->type], got, op->arg, op->value))
        rnd_fail(r, op, "returned 0x%lx, for which the comparison is false", got);
    got = shmem_signal_fetch(word);
    if (!rnd_type_compare(&rnd_types[op->type], got, op->arg, op->value))
        rnd_fail(r, op, "shmem_signal_fetch then returned 0x%lx, for which the comparison is false",
                 got);
}

static bool is_test(enum rnd_kind kind)
{
    return kind == RND_TEST || kind == RND_TEST_ALL || kind == RND_TEST_ANY ||
           kind == RND_TEST_SOME;
}

/* Did a test succeed? Wait routines always do. */
static bool succeeded(const struct rnd_op *op, const struct rnd_call *c)
{
    if (!is_test(op->kind)) return true;
    return op->kind == RND_TEST_ANY ? c->rc == 0 : c->rc != 0;
}

/* Wait for one word, by any of the routines. */
static void do_wait(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_call c = call_of(r, op);
    size_t indices[1] = {7};
    int status[1] = {0};

    c.dest = c.sig;
    c.cmp = op->arg;
    c.vector = op->arg2;
    c.source = &op->value;
    c.status = op->phase & 1 ? status : NULL;
    c.indices = indices;
    do
        rnd_types[op->type].call[op->kind](&c);
    while (!succeeded(op, &c));
    if ((op->kind == RND_WAIT_ANY && c.rc != 0) || (op->kind == RND_WAIT_SOME && c.rc != 1))
        rnd_fail(r, op, "returned %lld: any must return 0, and some must return 1", c.rc);
    if ((op->kind == RND_WAIT_SOME || op->kind == RND_TEST_SOME) && indices[0] != 0)
        rnd_fail(r, op, "returned index %zu instead of 0", indices[0]);
}

/* ---- order ---------------------------------------------------------------------------- */

static void do_order(struct rnd *r, const struct rnd_op *op)
{
    const struct rnd_team *team = &r->teams[r->slots[op->pe][op->slot].team];
    shmem_ctx_t ctx = rnd_ctx(r, op->slot);
    int pes[RND_MAX_PES + 1];

    if (op->kind == RND_FENCE) {
        if (op->plain)
            shmem_fence();
        else
            shmem_ctx_fence(ctx);
    } else if (op->kind == RND_QUIET) {
        if (op->plain)
            shmem_quiet();
        else
            shmem_ctx_quiet(ctx);
    } else {
        for (int i = 0; i <= team->n; i++)
            pes[i] = (team->n - i) % team->n; /* one of them twice */
        if (op->plain)
            shmem_pe_quiet(pes, (size_t)team->n + 1);
        else
            shmem_ctx_pe_quiet(ctx, pes, (size_t)team->n + 1);
    }
}

static void do_session(struct rnd *r, const struct rnd_op *op)
{
    shmem_ctx_session_config_t config = {.total_ops = 10};
    shmem_ctx_t ctx = rnd_ctx(r, op->slot);

    if (op->arg == 0)
        shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    else if (op->arg == 1)
        shmem_ctx_session_start(ctx, 0, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    else
        shmem_ctx_session_stop(ctx);
}

/* ---- collectives ------------------------------------------------------------------------- */

static void settle(struct rnd *r, const struct rnd_op *op)
{
    const struct rnd_type *type = &rnd_types[op->type];
    size_t nbytes = op->n * type->size;
    void *values = rnd_mine(r, op->dest);

    if (!is_device(r, op->dest)) {
        rnd_type_settle(type, values, op->n);
        return;
    }
    values = malloc(nbytes + 1);
    rnd_fetch(values, rnd_mine(r, op->dest), nbytes);
    rnd_type_settle(type, values, op->n);
    rnd_fill(rnd_mine(r, op->dest), values, nbytes);
    free(values);
}

static void do_coll_on_stream(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_call c = call_of(r, op);

    c.team = r->teams[op->team].handle;
    c.root = op->arg;
    rnd_types[op->type].call[op->kind](&c);
    if (c.rc != 0) rnd_fail(r, op, "returned %lld instead of 0", c.rc);
}

static void do_coll(struct rnd *r, const struct rnd_op *op)
{
    const struct rnd_team *team = &r->teams[op->team];
    const struct rnd_type *type = &rnd_types[op->type];
    struct rnd_call c = call_of(r, op);

    c.team = team->handle;
    c.root = op->arg;
    if (op->kind == RND_COLLECT) c.n = rnd_collect_nelems(op, rnd_rank(team, r->me));
    type->call[op->kind](&c);
    if (c.rc != 0) rnd_fail(r, op, "returned %lld instead of 0", c.rc);
    if (op->kind >= RND_MAX && op->kind <= RND_EXSCAN) settle(r, op);
}

/* A read and a write of a word that only the lock keeps together. */
static void do_locked_add(struct rnd *r, const struct rnd_op *op)
{
    uint64_t value, *word = rnd_mine(r, op->dest);
    long *lock = &r->locks[op->arg];

    if (op->arg2 == 0)
        shmem_set_lock(lock);
    else
        while (shmem_test_lock(lock) != 0)
            sched_yield();
    shmem_getmem(&value, word, 8, op->to);
    value += op->value;
    shmem_putmem(word, &value, 8, op->to);
    shmem_clear_lock(lock);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void do_store(struct rnd *r, const struct rnd_op *op)
{
    unsigned char *bytes = rnd_mine(r, op->dest);

    if (is_device(r, op->dest)) { /* of a long double not all bytes are stored */
        bytes = malloc(op->n + 1);
        rnd_fetch(bytes, rnd_mine(r, op->dest), op->n);
    }
    rnd_store_bytes(op, op->pe, bytes);
    if (!is_device(r, op->dest)) return;
    rnd_fill(rnd_mine(r, op->dest), bytes, op->n);
    free(bytes);
}

static void do_one_sided(struct rnd *r, const struct rnd_op *op)
{
    struct rnd_call c;

    switch (op->kind) {
    case RND_STORE:
        do_store(r, op);
        break;
    case RND_POKE:
    case RND_PEEK:
        do_pointer(r, op);
        break;
    case RND_SIGNAL:
        do_signal(r, op);
        break;
    case RND_SIGNAL_WAIT:
        do_signal_wait(r, op);
        break;
    case RND_FENCE:
    case RND_QUIET:
    case RND_PE_QUIET:
        do_order(r, op);
        break;
    case RND_SESSION:
        do_session(r, op);
        break;
    case RND_LOCKED_ADD:
        do_locked_add(r, op);
        break;
    default:
        c = call_of(r, op);
        rnd_types[op->type].call[op->kind](&c);
    }
}

void rnd_execute(struct rnd *r, const struct rnd_op *op)
{
    enum rnd_kind kind = op->kind;

    if (op->pe >= 0 ? op->pe != r->me : !rnd_is_member(&r->teams[op->team], r->me)) return;
    r->now = op;
    r->n_done++;
    if (kind == RND_SYNC)
        rnd_sync_run(r, op);
    else if (kind > RND_SYNC && kind <= RND_S_BARRIER)
        rnd_execute_stream(r, op);
    else if (kind >= RND_SPACE_REALLOC || (kind >= RND_SPACE_CREATE && kind <= RND_SPACE_DESTROY))
        rnd_execute_space(r, op);
    else if (kind == RND_S_BROADCAST || kind == RND_S_SUM)
        do_coll_on_stream(r, op);
    else if (kind >= RND_BROADCAST && kind <= RND_EXSCAN)
        do_coll(r, op);
    else if (kind >= RND_A_FETCH && kind <= RND_A_FXOR_NBI)
        do_amo(r, op);
    else if (kind >= RND_WAIT && kind <= RND_TEST_SOME)
        do_wait(r, op);
    else if (kind == RND_CTX_CREATE || kind == RND_CTX_DESTROY ||
             (kind >= RND_TEAM_SYNC && kind <= RND_FREE))
        rnd_execute_make(r, op);
    else
        do_one_sided(r, op);
}
