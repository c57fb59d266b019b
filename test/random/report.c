/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: prints operations as text, compares memory with the model, and ends a program
 * that fails.
 */
#include "random.h"

#include <stdarg.h>

char rnd_command[1000];

static const char *const names[RND_N_KINDS] = {
    "put",
    "put_nbi",
    "get",
    "get_nbi",
    "p",
    "g",
    "iput",
    "iget",
    "ibput",
    "ibget",
    "put_signal",
    "put_signal_nbi",
    "broadcast",
    "collect",
    "fcollect",
    "alltoall",
    "alltoalls",
    "max_reduce",
    "min_reduce",
    "sum_reduce",
    "prod_reduce",
    "and_reduce",
    "or_reduce",
    "xor_reduce",
    "sum_inscan",
    "sum_exscan",
    "atomic_fetch",
    "atomic_set",
    "atomic_swap",
    "atomic_compare_swap",
    "atomic_fetch_inc",
    "atomic_inc",
    "atomic_fetch_add",
    "atomic_add",
    "atomic_fetch_and",
    "atomic_and",
    "atomic_fetch_or",
    "atomic_or",
    "atomic_fetch_xor",
    "atomic_xor",
    "atomic_fetch_nbi",
    "atomic_swap_nbi",
    "atomic_compare_swap_nbi",
    "atomic_fetch_inc_nbi",
    "atomic_fetch_add_nbi",
    "atomic_fetch_and_nbi",
    "atomic_fetch_or_nbi",
    "atomic_fetch_xor_nbi",
    "wait_until",
    "test",
    "wait_until_all",
    "wait_until_any",
    "wait_until_some",
    "test_all",
    "test_any",
    "test_some",
    "put_on_stream",
    "put_nbi_on_stream",
    "get_on_stream",
    "get_nbi_on_stream",
    "put_signal_on_stream",
    "put_signal_nbi_on_stream",
    "broadcast_on_stream",
    "sum_reduce_on_stream",
    "store",
    "store through shmem_ptr",
    "load through shmem_ptr",
    "signal",
    "signal_wait_until",
    "fence",
    "quiet",
    "pe_quiet",
    "ctx_create",
    "ctx_destroy",
    "session",
    "team_sync",
    "team_split_strided",
    "team_split_2d",
    "team_destroy",
    "barrier_all",
    "malloc",
    "realloc",
    "free",
    "space_create",
    "space_malloc",
    "space_free",
    "space_destroy",
    "add under a lock",
    "sync",
    "signal_op_on_stream",
    "signal_wait_until_on_stream",
    "quiet_on_stream",
    "quiet_on_stream and wait",
    "sync_on_stream",
    "barrier_on_stream",
    "space_realloc",
    "ctx_space_fence",
    "ctx_space_quiet",
};

static const char *const where_names[] = {"heap", "globals", "space", "malloc", "stack"};
static const char *const memory_names[RND_N_MEMORIES] = {"host", "pinned",  "gpu",       "hbm",
                                                         "fam",  "private", "descriptor"};

static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t size, const char *fmt, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, fmt);
    vsnprintf(text + used, size - used, fmt, args);
    va_end(args);
}

/* "space (fam)" */
static const char *area_name(const struct rnd *r, const struct rnd_area *area, char *text,
                             size_t size)
{
    const struct rnd_space *space = &r->spaces[area->space];

    snprintf(text, size, "%s", where_names[area->where]);
    if (area->where == RND_SPACE)
        append(text, size, " (%s%s%s)", memory_names[space->memory],
               space->max_size > 0 ? ", grows" : "", area->whole ? ", whole" : "");
    return text;
}

static void append_place(const struct rnd *r, char *text, size_t size, const char *what,
                         struct rnd_place place)
{
    char name[60];

    if (place.area < 0) return;
    append(text, size, ", %s %s %d+%zu", what,
           area_name(r, &r->areas[place.area], name, sizeof(name)), place.area, place.at);
}

void rnd_op_text(const struct rnd *r, const struct rnd_op *op, char *text, size_t size)
{
    snprintf(text, size, "phase %u, op %zu: %s", op->phase, (size_t)(op - r->log), names[op->kind]);
    if (op->kind == RND_SYNC) append(text, size, " (%s)", rnd_sync_name(op->arg));
    if (op->type >= 0) append(text, size, " %s", rnd_types[op->type].name);
    append(text, size, ", n %zu", op->n);
    if (op->bsize > 0) append(text, size, ", blocks of %zu", op->bsize);
    if (op->dst != 1 || op->sst != 1) append(text, size, ", strides %td %td", op->dst, op->sst);
    if (op->pe >= 0) append(text, size, ", by pe %d with context %d", op->pe, op->slot);
    if (op->to >= 0) append(text, size, ", to pe %d", op->to);
    if (op->team >= 0) append(text, size, ", team %d = pes 0x%lx", op->team, op->set);
    if (op->kind == RND_SPACE_CREATE)
        append(text, size, ", of %s memory", memory_names[r->spaces[op->arg].memory]);
    append_place(r, text, size, "dest", op->dest);
    append_place(r, text, size, "source", op->source);
    append_place(r, text, size, "signal", op->sig);
    append(text, size, ", value 0x%lx cond 0x%lx arg %d %d", op->value, op->cond, op->arg,
           op->arg2);
}

static void print_command(const struct rnd *r)
{
    fprintf(stderr, "pe %d: to repeat: %s --seed %lu\n", r->me, rnd_command, r->seed);
}

void rnd_fail(const struct rnd *r, const struct rnd_op *op, const char *fmt, ...)
{
    char text[500], what[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    rnd_op_text(r, op, text, sizeof(text));
    fprintf(stderr, "pe %d: FAIL: seed %lu, strand %d, %s: %s\n", r->me, r->seed, r->strand, text,
            what);
    print_command(r);
    shmem_global_exit(2);
    abort();
}

/* ---- comparison ----------------------------------------------------------------------- */

/* Did op write the byte of PE pe at place? */
static bool touches(const struct rnd_op *op, struct rnd_place place, int pe)
{
    struct rnd_place result = op->source;

    if (rnd_signals(op->kind) && op->sig.area == place.area && op->to == pe &&
        place.at >= op->sig.at && place.at < op->sig.at + 8)
        return true;
    if (op->kind >= RND_A_FETCH && op->kind <= RND_A_FXOR_NBI && op->pe == pe &&
        result.area == place.area && place.at >= result.at &&
        place.at < result.at + rnd_types[op->type].size)
        return true;
    return op->dest.area == place.area && place.at >= op->dest.at &&
           place.at < op->dest.at + rnd_dest_span(op, pe);
}

static void print_bytes(const struct rnd *r, const char *what, const unsigned char *bytes, size_t n)
{
    char text[100] = "";

    for (size_t i = 0; i < n && i < 16; i++)
        append(text, sizeof(text), " %02x", bytes[i]);
    fprintf(stderr, "pe %d: %s%s\n", r->me, what, text);
}

static void print_writers(const struct rnd *r, struct rnd_place place)
{
    char text[500];
    int found = 0;

    for (size_t i = r->n_log; i-- > 0 && found < 3;) {
        if (!touches(&r->log[i], place, r->me)) continue;
        rnd_op_text(r, &r->log[i], text, sizeof(text));
        fprintf(stderr, "pe %d: %s: %s\n", r->me, found == 0 ? "written last by" : "before that",
                text);
        found++;
    }
    if (found == 0) fprintf(stderr, "pe %d: no logged operation wrote to this address\n", r->me);
}

/* How many bytes differ from here to the next 64 that do not. */
static size_t damage(const struct rnd_area *area, const unsigned char *is,
                     const unsigned char *want, size_t at)
{
    size_t last = at;

    for (size_t i = at; i < area->nbytes && i < last + 64; i++)
        if (is[i] != want[i]) last = i;
    return last + 1 - at;
}

static void differ(const struct rnd *r, int number, const unsigned char *is)
{
    const struct rnd_area *area = &r->areas[number];
    const unsigned char *want = area->model[r->me];
    struct rnd_place place = {number, 0};
    char name[60];
    size_t n;

    while (is[place.at] == want[place.at])
        place.at++;
    n = damage(area, is, want, place.at);
    fprintf(stderr,
            "pe %d: FAIL: seed %lu, strand %d, phase %u: memory differs from the model: %s %d "
            "(%zu bytes at %p), offset %zu, %zu bytes\n",
            r->me, r->seed, r->strand, r->phase, area_name(r, area, name, sizeof(name)), number,
            area->nbytes, (void *)area->base, place.at, n);
    print_bytes(r, "found   ", is + place.at, n);
    print_bytes(r, "expected", want + place.at, n);
    print_writers(r, place);
    print_command(r);
    shmem_global_exit(2);
}

void rnd_compare(struct rnd *r)
{
    for (int i = 0; i < RND_AREAS; i++) {
        const struct rnd_area *area = &r->areas[i];
        unsigned char *is = area->base;

        if (!area->live) continue;
        if (area->device) {
            is = malloc(area->nbytes);
            rnd_fetch(is, area->base, area->nbytes);
        }
        if (memcmp(is, area->model[r->me], area->nbytes) != 0) differ(r, i, is);
        if (area->device) free(is);
    }
}
