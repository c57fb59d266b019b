/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: what their parts share. A strand is one random program, run by one thread of
 * every PE; all PEs generate the same list of operations, apply each to a model of the memory of
 * all PEs, and execute those that are theirs. Design: docs/design/testing.md.
 */
#ifndef STEPPE_TEST_RANDOM_H
#define STEPPE_TEST_RANDOM_H

#include <shmem.h>
#include <shmemx.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RND_MAX_PES = 64, /* sets of PEs are bits of a word */
    RND_STRANDS = 8,
    RND_AREAS = 32, /* of a strand with spaces of all kinds, else RND_FEW_AREAS */
    RND_FEW_AREAS = 20,
    RND_TEAMS = 24,
    RND_SLOTS = 6, /* contexts of a PE; 0 is the default one */
    RND_STREAMS = 2,
    RND_ALL_SLOTS = RND_SLOTS + RND_STREAMS, /* streams are slots, too */
    RND_SPACES = 4,
    RND_FEW_SPACES = 2,
    RND_OF_DEFAULT = RND_SPACES + 1, /* the default space, as rnd_access.of and slots name it */
    RND_LOCKS = 4,
    RND_TYPES = 40,
    RND_GLOBAL_BYTES = 160 * 1024 /* of globals a strand */
};

/* Operations that go through the table of a type, then the others. */
enum rnd_kind {
    RND_PUT,
    RND_PUT_NBI,
    RND_GET,
    RND_GET_NBI,
    RND_P,
    RND_G,
    RND_IPUT,
    RND_IGET,
    RND_IBPUT,
    RND_IBGET,
    RND_PUT_SIGNAL,
    RND_PUT_SIGNAL_NBI,
    RND_BROADCAST,
    RND_COLLECT,
    RND_FCOLLECT,
    RND_ALLTOALL,
    RND_ALLTOALLS,
    RND_MAX,
    RND_MIN,
    RND_SUM,
    RND_PROD,
    RND_AND,
    RND_OR,
    RND_XOR,
    RND_INSCAN,
    RND_EXSCAN,
    RND_A_FETCH,
    RND_A_SET,
    RND_A_SWAP,
    RND_A_CSWAP,
    RND_A_FINC,
    RND_A_INC,
    RND_A_FADD,
    RND_A_ADD,
    RND_A_FAND,
    RND_A_AND,
    RND_A_FOR,
    RND_A_OR,
    RND_A_FXOR,
    RND_A_XOR,
    RND_A_FETCH_NBI,
    RND_A_SWAP_NBI,
    RND_A_CSWAP_NBI,
    RND_A_FINC_NBI,
    RND_A_FADD_NBI,
    RND_A_FAND_NBI,
    RND_A_FOR_NBI,
    RND_A_FXOR_NBI,
    RND_WAIT,
    RND_TEST,
    RND_WAIT_ALL,
    RND_WAIT_ANY,
    RND_WAIT_SOME,
    RND_TEST_ALL,
    RND_TEST_ANY,
    RND_TEST_SOME,
    RND_S_PUT, /* on a stream */
    RND_S_PUT_NBI,
    RND_S_GET,
    RND_S_GET_NBI,
    RND_S_PUT_SIGNAL,
    RND_S_PUT_SIGNAL_NBI,
    RND_S_BROADCAST,
    RND_S_SUM,
    RND_N_CALLS,
    RND_STORE = RND_N_CALLS, /* this PE's CPU fills its own memory */
    RND_POKE,
    RND_PEEK, /* a store or load through shmem_ptr(), else put, get */
    RND_SIGNAL,
    RND_SIGNAL_WAIT,
    RND_FENCE,
    RND_QUIET,
    RND_PE_QUIET,
    RND_CTX_CREATE,
    RND_CTX_DESTROY,
    RND_SESSION,
    RND_TEAM_SYNC,
    RND_TEAM_SPLIT,
    RND_TEAM_2D,
    RND_TEAM_DESTROY,
    RND_BARRIER,
    RND_MALLOC,
    RND_REALLOC,
    RND_FREE,
    RND_SPACE_CREATE,
    RND_SPACE_MALLOC,
    RND_SPACE_FREE,
    RND_SPACE_DESTROY,
    RND_LOCKED_ADD,
    RND_SYNC,
    RND_S_SIGNAL,
    RND_S_WAIT,
    RND_S_FENCE, /* a quiet, in the stream alone */
    RND_S_QUIET, /* and the host waits for the stream */
    RND_S_SYNC,
    RND_S_BARRIER,
    RND_SPACE_REALLOC, /* with spaces of all kinds, as what follows */
    RND_SPACE_FENCE,
    RND_SPACE_QUIET,
    RND_N_KINDS
};

/* What is put into a stream. */
static inline bool rnd_on_stream(enum rnd_kind kind)
{
    return (kind > RND_SYNC && kind <= RND_S_BARRIER) || (kind >= RND_S_PUT && kind <= RND_S_SUM);
}

static inline bool rnd_is_get(enum rnd_kind kind)
{
    return kind == RND_GET || kind == RND_GET_NBI || kind == RND_G || kind == RND_IGET ||
           kind == RND_IBGET || kind == RND_PEEK || kind == RND_S_GET || kind == RND_S_GET_NBI;
}

static inline bool rnd_is_put(enum rnd_kind kind)
{
    return (kind <= RND_PUT_SIGNAL_NBI && !rnd_is_get(kind)) || kind == RND_POKE ||
           kind == RND_S_PUT || kind == RND_S_PUT_NBI || kind == RND_S_PUT_SIGNAL ||
           kind == RND_S_PUT_SIGNAL_NBI;
}

static inline bool rnd_signals(enum rnd_kind kind)
{
    return kind == RND_PUT_SIGNAL || kind == RND_PUT_SIGNAL_NBI || kind == RND_SIGNAL ||
           kind == RND_S_PUT_SIGNAL || kind == RND_S_PUT_SIGNAL_NBI || kind == RND_S_SIGNAL;
}

/* Its source or dest is the caller's until a quiet. */
static inline bool rnd_is_nbi(enum rnd_kind kind)
{
    return kind == RND_GET_NBI || kind == RND_PUT_NBI || kind == RND_PUT_SIGNAL_NBI ||
           kind == RND_S_GET_NBI || kind == RND_S_PUT_NBI || kind == RND_S_PUT_SIGNAL_NBI;
}

/* ---- random numbers -------------------------------------------------------- */

static inline uint64_t rnd_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t rnd_next(uint64_t *state)
{
    return rnd_mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

/* A number in [0, n), n above 0. */
static inline size_t rnd_below(uint64_t *state, size_t n)
{
    return (size_t)((rnd_next(state) >> 16) % n);
}

/* True once in n times. */
static inline bool rnd_one_in(uint64_t *state, size_t n)
{
    return rnd_below(state, n) == 0;
}

/* ---- types (types.c) ------------------------------------------------------- */

/* Arguments of one call, whatever its kind. */
struct rnd_call {
    shmem_ctx_t ctx;
    bool plain; /* the form without a context */
    void *dest, *result;
    const void *source;
    size_t n, bsize;
    ptrdiff_t dst, sst;
    int pe, cmp, sig_op, root;
    uint64_t value, cond;
    uint64_t *sig;
    shmem_team_t team;
    const int *status;
    size_t *indices;
    void *stream;
    bool vector;
    long long rc; /* what a collective, wait or test returned */
};

struct rnd_type {
    const char *name; /* as in routines: "int", "mem", "64" */
    size_t size;
    bool is_signed, is_real;                       /* real: float, double, long double, complex */
    void (*call[RND_N_CALLS])(struct rnd_call *c); /* NULL: no such routine */
    /* acc[i] = acc[i] op source[i], kind is that of the reduction */
    void (*reduce_order)(int kind, void *acc, const void *source, size_t n);
    void (*reduce_sum)(int kind, void *acc, const void *source, size_t n);
    void (*reduce_bit)(int kind, void *acc, const void *source, size_t n);
    /* values that no order of summing or multiplying rounds */
    void (*fill)(void *dest, size_t n, uint64_t seed, bool product);
};

extern struct rnd_type rnd_types[RND_TYPES];
extern int rnd_n_types;

void rnd_types_init(void);
/* A random type that has kind; -1: none. */
int rnd_type_draw(uint64_t *rng, int kind);
/* long double leaves bytes of its 16 unused: make them 0. */
void rnd_type_settle(const struct rnd_type *type, void *values, size_t n);
int rnd_type_named(const char *name);
/* Do bits a compare so with b, in the type? */
bool rnd_type_compare(const struct rnd_type *type, uint64_t a, int cmp, uint64_t b);

/* ---- operations ------------------------------------------------------------ */

struct rnd_place {
    int area; /* -1: none */
    size_t at;
};

struct rnd_op {
    enum rnd_kind kind;
    unsigned phase;
    int type, slot;
    int pe;       /* who does it; -1: the members of team */
    int to;       /* world number of the PE that it is done to */
    int team;     /* of a collective */
    uint64_t set; /* its members, for reports */
    int members;
    bool plain;                         /* form without context */
    bool discard;                       /* what it fetches depends on others */
    struct rnd_place dest, source, sig; /* dest of an atomic is its word, source its result */
    size_t n, bsize;
    ptrdiff_t dst, sst;
    uint64_t value, cond;
    int arg; /* signal operator, comparison, root, kind of sync, number of what is made */
    int arg2;
};

/* ---- memory (memory.c) ------------------------------------------------------ */

enum rnd_how { RND_READ, RND_WRITE, RND_MERGE };

/*
 * One use of a range in a phase. NOW: over when the call returns. Sent: over at quiet of slot;
 * ordered: fence of slot orders it, which in a stream is a quiet that nobody waits for. MERGE: in
 * any order with uses of the same family.
 */
struct rnd_access {
    int pe; /* who; -1: any of who, at any time of a collective */
    uint64_t who;
    int slot;
    enum rnd_how how;
    bool sent, ordered;
    bool in_order;     /* of a stream: over for what follows there */
    bool amo, fetched; /* an atomic; one that has returned the old value */
    int family;
    int of; /* the space, from 1, whose quiet ends it; 0: none does */
};

struct rnd_claim {
    size_t lo, hi;
    struct rnd_access by;
    unsigned fences, quiets; /* of the slot before it */
    unsigned of_fences, of_quiets;
    uint64_t known; /* PEs that know that it is over */
};

struct rnd_claims {
    struct rnd_claim *v;
    size_t n, room;
};

enum rnd_where { RND_HEAP, RND_GLOBAL, RND_SPACE, RND_MALLOCED, RND_STACK };

/*
 * What is destroyed is retired: its entry is not used for anything else in the same phase, since
 * operations are executed when the whole phase has been generated.
 */
struct rnd_area {
    bool live, retired;
    enum rnd_where where;
    bool fixed;            /* there from the beginning to the end */
    int space;             /* of RND_SPACE */
    bool whole;            /* a buffer of the program, which goes with its space */
    bool device;           /* the CPU may not touch it */
    size_t nbytes, lo, hi; /* operations stay in [lo, hi) */
    unsigned char *base;   /* of this PE */
    unsigned char *model[RND_MAX_PES];
    struct rnd_claims claims[RND_MAX_PES];
};

struct rnd_team {
    bool live, retired, fixed;
    int n, members[RND_MAX_PES];
    uint64_t set;
    int space; /* it descends from, -1: the default one */
    shmem_team_t handle;
};

struct rnd_slot {
    bool live, retired, fixed, dirty;
    int team;
    long options;
    int bound; /* to objects of this space alone; 0: to none */
    unsigned fences, quiets;
    unsigned of_fences[RND_OF_DEFAULT + 1], of_quiets[RND_OF_DEFAULT + 1];
};

/* What spaces are made of. Without spaces of all kinds: host, pinned host and GPU memory. */
enum rnd_memory {
    RND_HOST,
    RND_PINNED,
    RND_GPU,
    RND_FEW_MEMORIES,
    RND_HBM = RND_FEW_MEMORIES,
    RND_FAM,
    RND_PRIVATE,    /* the program's, as it is */
    RND_DESCRIPTOR, /* the program's, of a memfd */
    RND_N_MEMORIES
};

struct rnd_space {
    bool live, retired;
    enum rnd_memory memory;
    size_t max_size; /* 0: it does not grow */
    size_t room;     /* of its blocks together; 0: nobody counts */
    int n_fillers;   /* blocks that nobody uses, which leave no room in what it has */
    size_t nbytes;   /* of the program's memory; 0: it is the library's */
    int area;        /* of the program's memory, which is one; -1: it is a heap */
    shmem_space_t handle;
    void *fillers[2];
    unsigned char *memory_at; /* the program's, of this PE */
    size_t memory_bytes;
    int fd;
};

/* The state of a strand. All but handles, bases and ctx is the same on all PEs. */
struct rnd {
    int me, n_pes, strand;
    bool threads; /* there are other strands */
    bool gpu;     /* there are streams and GPU spaces */
    bool all;     /* there are spaces of all kinds, contexts of one, and routines for these */
    bool has[RND_N_MEMORIES];
    int n_areas, n_spaces;
    bool host;  /* while set, places are where the CPU may touch them */
    int within; /* not 0: places are in this space */
    uint64_t seed, rng;
    unsigned phase;
    struct rnd_area areas[RND_AREAS];
    struct rnd_team teams[RND_TEAMS]; /* 0: all PEs */
    struct rnd_slot slots[RND_MAX_PES][RND_ALL_SLOTS];
    shmem_ctx_t ctx[RND_SLOTS]; /* mine */
    struct rnd_space spaces[RND_SPACES];
    struct rnd_op *log; /* of the phases since the last comparison and some before */
    size_t n_log, log_room, phase_start, compared;
    int weights[RND_N_KINDS];
    size_t bytes_left;    /* of this phase */
    struct rnd_place hot; /* what a PE has just waited for */
    int hot_pe;           /* -1: nothing */
    size_t hot_n;
    struct { /* many of a kind in a row: by one PE, or by one team with one root */
        bool on;
        int pe, slot, team, root;
    } burst;
    struct rnd_sync *sync;
    uint64_t scratch[512]; /* results nobody looks at */
    size_t n_scratch;
    long *locks;
    uint64_t n_done;          /* operations of this PE */
    const struct rnd_op *now; /* what this PE is doing, for the watchdog */
};

static inline uint64_t rnd_bit(int pe)
{
    return UINT64_C(1) << pe;
}

static inline bool rnd_is_member(const struct rnd_team *team, int pe)
{
    return (team->set >> pe & 1) != 0;
}

/* Symmetric areas may be reached by others. */
static inline bool rnd_is_symmetric(const struct rnd_area *area)
{
    return area->where <= RND_SPACE;
}

static inline void *rnd_mine(const struct rnd *r, struct rnd_place p)
{
    return p.area < 0 ? NULL : r->areas[p.area].base + p.at;
}

static inline unsigned char *rnd_model(const struct rnd *r, struct rnd_place p, int pe)
{
    return r->areas[p.area].model[pe] + p.at;
}

/* Take the free area number, with a model of nbytes on every PE. Returns -1 when none is free. */
int rnd_area_take(struct rnd *r, enum rnd_where where, size_t nbytes);
void rnd_area_drop(struct rnd *r, int area);
void rnd_area_resize(struct rnd *r, int area, size_t nbytes);
/* Fixed areas of a strand: heap, globals, malloc, stack. */
void rnd_memory_init(struct rnd *r, void *globals, void *stack, size_t stack_bytes);
/* Moves the stack area of a strand to memory that is valid until its phases have ended. */
void rnd_memory_move_stack(struct rnd *r, unsigned char *stack);
void rnd_memory_fini(struct rnd *r);

/* The use that forbids access to nbytes at place on pe, and whether fence or quiet would help. */
enum rnd_verdict { RND_OPEN, RND_NEEDS_FENCE, RND_NEEDS_QUIET, RND_TAKEN };
enum rnd_verdict rnd_judge(const struct rnd *r, struct rnd_place place, size_t nbytes, int pe,
                           const struct rnd_access *access, const struct rnd_claim **why);
void rnd_claim(struct rnd *r, struct rnd_place place, size_t nbytes, int pe,
               const struct rnd_access *access);
/* Is it over for its own PE? */
bool rnd_is_over(const struct rnd *r, const struct rnd_claim *claim);
/* What is over for PEs in from is known to those in to. */
void rnd_spread(struct rnd *r, uint64_t from, uint64_t to);
/* What pe sent to PE to by slot before its last fence is known there, by a word of the space of. */
void rnd_spread_fenced(struct rnd *r, int pe, int slot, int to, int of);
/* A new phase: no claims; what was retired may be used anew. */
void rnd_memory_next(struct rnd *r);
/* May every use of the area be ended by a barrier? */
bool rnd_area_quiet(const struct rnd *r, int area, bool default_ends);
/* The number of an area's space in rnd_access.of. */
int rnd_of(const struct rnd *r, int area);

/* ---- the model (model.c) ---------------------------------------------------- */

/* Apply op to the memory of all PEs. */
void rnd_apply(struct rnd *r, const struct rnd_op *op);
/* Elements that a member contributes to collect. */
size_t rnd_collect_nelems(const struct rnd_op *op, int rank);
/* Bytes at dest that op may write on PE pe; 0: nothing there. */
size_t rnd_dest_span(const struct rnd_op *op, int pe);
/* What STORE puts into memory. */
void rnd_store_bytes(const struct rnd_op *op, int pe, unsigned char *dest);

/* ---- generating (generate*.c) ------------------------------------------------ */

/* Append op, apply it, note what it ends. */
void rnd_emit(struct rnd *r, struct rnd_op *op);
/* Generate the operations of one phase. */
void rnd_generate(struct rnd *r);
/* All that is under way ends; then a sync of a random kind. */
void rnd_generate_end(struct rnd *r, bool quiets);

/*
 * Find nbytes, aligned, of a random area where access is allowed on PE pe; may emit a fence or
 * quiet. local: any area will do, else symmetric ones. Nothing is claimed.
 */
bool rnd_find(struct rnd *r, int pe, size_t nbytes, size_t align, bool local,
              const struct rnd_access *access, struct rnd_place *place);
/* The same range on all members of team, as dest (access.pe < 0) or as each one's source. */
bool rnd_find_all(struct rnd *r, const struct rnd_team *team, size_t nbytes, size_t align,
                  struct rnd_access access, struct rnd_place *place);
bool rnd_overlap(struct rnd_place a, size_t a_bytes, struct rnd_place b, size_t b_bytes);
/* A size with a bias to the edges, at most max, which the phase can still afford. */
size_t rnd_draw_bytes(struct rnd *r, size_t max);
/* A PE and one of its contexts. */
int rnd_draw_pe(struct rnd *r);
int rnd_draw_slot(struct rnd *r, int pe);
int rnd_draw_member(struct rnd *r, const struct rnd_team *team);
int rnd_draw_team(struct rnd *r);
struct rnd_op rnd_op_new(struct rnd *r, enum rnd_kind kind, int pe, int slot);

/* Each tries to emit one random operation, or a few that belong together. */
bool rnd_generate_rma(struct rnd *r, enum rnd_kind kind);
bool rnd_generate_strided(struct rnd *r, enum rnd_kind kind);
bool rnd_generate_amo(struct rnd *r, enum rnd_kind kind);
bool rnd_generate_signal(struct rnd *r, enum rnd_kind kind);
bool rnd_generate_flag(struct rnd *r);
bool rnd_generate_store(struct rnd *r);
bool rnd_generate_locked(struct rnd *r);
bool rnd_generate_coll(struct rnd *r, enum rnd_kind kind);
bool rnd_generate_team(struct rnd *r, enum rnd_kind kind);
bool rnd_generate_ctx(struct rnd *r, enum rnd_kind kind);
bool rnd_generate_memory(struct rnd *r, enum rnd_kind kind);
void rnd_retire_slot(struct rnd *r, int pe, int slot);
void rnd_retire_area(struct rnd *r, int area);
/* A team of all PEs, of a space; -1: there is no room for one. */
int rnd_take_world(struct rnd *r, int space);
void rnd_destroy_team(struct rnd *r, int number);
/* Every PE fills what a routine left undefined, from byte from on. */
void rnd_emit_contents(struct rnd *r, int area, size_t from);
/* area: -1: any that lies there. */
bool rnd_free_block(struct rnd *r, enum rnd_where where, int area);

/* ---- generating spaces (generate_space.c) ---------------------------------------- */

bool rnd_create_space(struct rnd *r);
bool rnd_destroy_space(struct rnd *r);
/* Has the space room for a block of nbytes more? */
bool rnd_space_has_room(const struct rnd *r, int space, size_t nbytes);
/* fence or quiet of what a slot did in one space, if it is live. */
bool rnd_emit_of(struct rnd *r, enum rnd_kind kind, int pe, int slot, int of);
bool rnd_generate_of(struct rnd *r, enum rnd_kind kind);
/* The space that a new context of pe is bound to; 0: none. */
int rnd_draw_bound(struct rnd *r);

/* ---- executing (execute*.c, sync.c) ------------------------------------------- */

/* Do op if this PE takes part. */
void rnd_execute(struct rnd *r, const struct rnd_op *op);
void rnd_execute_make(struct rnd *r, const struct rnd_op *op); /* teams, contexts, memory */
void rnd_execute_space(struct rnd *r, const struct rnd_op *op);
void rnd_must(struct rnd *r, const struct rnd_op *op, int rc); /* be 0 */
/* The handle is that of the model's team: numbers and size. */
void rnd_check_team(struct rnd *r, const struct rnd_op *op, int number);
void rnd_check_block(struct rnd *r, const struct rnd_op *op, size_t align);
shmem_space_t rnd_space_of(const struct rnd *r, int of);
/* Which kinds all PEs have, as bits; said where one is missing. */
unsigned rnd_memories(void);
/* What is left at the end of a program. */
void rnd_spaces_end(struct rnd *r);
int rnd_rank(const struct rnd_team *team, int pe);
shmem_ctx_t rnd_ctx(const struct rnd *r, int slot);

struct rnd_sync *rnd_sync_init(const struct rnd *r);
void rnd_sync_fini(struct rnd_sync *sync);
int rnd_sync_draw(struct rnd *r);
/* Does this kind of sync complete the default context itself? */
bool rnd_sync_quiets(int kind);
void rnd_sync_run(struct rnd *r, const struct rnd_op *op);
const char *rnd_sync_name(int kind);

/* ---- GPUs (stream.c) ------------------------------------------------------------ */

/* The driver, the device's context for this thread, streams. False: there is none. */
bool rnd_gpu_init(void);
void rnd_gpu_fini(void);
void *rnd_stream(int slot);
void rnd_execute_stream(struct rnd *r, const struct rnd_op *op);
/* Bytes of this PE's memory of any kind, by the library. */
void rnd_fetch(void *to, const void *mine, size_t nbytes);
void rnd_fill(void *mine, const void *from, size_t nbytes);

/* ---- generating on streams (generate_stream.c) ---------------------------------- */

int rnd_draw_stream(struct rnd *r);
bool rnd_generate_stream(struct rnd *r, enum rnd_kind kind);
/* The host of pe waits for one of its streams. */
void rnd_emit_stream_quiet(struct rnd *r, int pe, int slot);
/* A stream of the target waits for the signal of sent, then mostly passes its data on. */
void rnd_emit_stream_wait(struct rnd *r, const struct rnd_op *sent, uint64_t old, bool once);
/* A comparison that holds now and did not before. */
int rnd_draw_cmp(struct rnd *r, const struct rnd_type *type, uint64_t old, uint64_t now);
/* Find and claim both ranges of a transfer. */
bool rnd_place_both(struct rnd *r, struct rnd_op *op, size_t remote_bytes, size_t local_bytes);

/* ---- reporting (report.c) ------------------------------------------------------ */

void rnd_op_text(const struct rnd *r, const struct rnd_op *op, char *text, size_t size);
/* The memory of this PE is that of the model; otherwise says where not, and ends the job. */
void rnd_compare(struct rnd *r);
/* A routine returned what it must not. Ends the job. */
_Noreturn void __attribute__((format(printf, 3, 4)))
rnd_fail(const struct rnd *r, const struct rnd_op *op, const char *fmt, ...);
extern char rnd_command[1000]; /* how to run this again, without seed */

#endif
