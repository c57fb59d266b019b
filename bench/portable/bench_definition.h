/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a bench of steppe-bench is written with. A bench is a file in benches/: rows of a table and
 * a loop body for each side: Steppe's public API, and the raw limit of the same path (loads and
 * stores through shmem_ptr on the node, plain libfabric between nodes, the CUDA driver for memory
 * of GPUs). The harness (harness.h) does the rest. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_DEFINITION_H
#define STEPPE_BENCH_DEFINITION_H

#include <sched.h>
#ifndef BENCH_MPI
#include <shmem.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The programs that these files make: steppe-bench; with BENCH_PORTABLE a program for any
 * OpenSHMEM of 1.4 or later, which includes nothing of Steppe; with BENCH_MPI one for MPI (mpi.c).
 * Teams, signals and nonblocking atomics exist from OpenSHMEM 1.5 on, sessions from 1.6 on.
 */
#ifdef BENCH_MPI
#define BENCH_VERSION 0
#else
#define BENCH_VERSION (100 * SHMEM_MAJOR_VERSION + SHMEM_MINOR_VERSION)
#endif
#define BENCH_TEAMS (BENCH_VERSION >= 105)
#define BENCH_SESSIONS (BENCH_VERSION >= 106)

#if BENCH_TEAMS
typedef shmem_team_t bench_team;
#else
typedef int bench_team;
#endif

#define BENCH_LINE 128           /* two cache lines: neighbours are fetched in pairs */
#define BENCH_ROUNDS 32          /* of a dissemination barrier: log2 of any number of PEs */
#define BENCH_POLLS 1000         /* of a raw wait on the node before it lets others run, */
#define BENCH_POLLS_CROWDED 50   /* and where there are more PEs than cores */
#define BENCH_IDLE_NS 1000000000 /* an operation of the bench of idle cost */
#define BENCH_LOCKS 64           /* so many that some lock has its state on any given PE */
#define BENCH_BLOCK_SAMPLES 1024 /* of one block, at most */
#define BENCH_VALUES 32          /* of a parameter, at most; of pairs of PEs as many as there are */
#define BENCH_DETAILS 3

/*
 * What a sample becomes. LATENCY: ns an operation; LONG: the same in us; BANDWIDTH: MB/s; RATE:
 * million messages a second; SHARE: of a core, in percent; OVERLAP: percent of the transfer that
 * is hidden, which the loop finds itself (run->exposed: what is not).
 */
enum bench_metric {
    BENCH_LATENCY,
    BENCH_BANDWIDTH,
    BENCH_RATE,
    BENCH_LONG,
    BENCH_SHARE,
    BENCH_OVERLAP
};

enum bench_side { BENCH_STEPPE, BENCH_RAW, BENCH_N_SIDES };

enum bench_path { BENCH_NODE, BENCH_FABRIC, BENCH_MIXED };

/*
 * Which PEs do what.
 *   PAIR     PE 0 measures, its peer (--peer) is the target
 *   BOTH     PE 0 and its peer measure, each is the other's target
 *   PAIRS    the parameter says how many pairs: one PE of each measures
 *   ALL      every PE of the row's team measures (collectives)
 *   TO_ONE   every PE measures, PE 0 is everybody's target
 *   ONE_ALL  PE 0 measures, all others are its targets
 *   ALL_ALL  every PE measures, all others are its targets
 *   ALONE    PE 0 measures, nobody is a target
 *   EACH     a row for each ordered pair of PEs
 */
enum bench_shape {
    BENCH_PAIR,
    BENCH_BOTH,
    BENCH_PAIRS,
    BENCH_ALL,
    BENCH_TO_ONE,
    BENCH_ONE_ALL,
    BENCH_ALL_ALL,
    BENCH_ALONE,
    BENCH_EACH
};

/* Runs of the library that a bench can ask for: see main.c. */
enum bench_cycle { BENCH_SINGLE, BENCH_MULTIPLE, BENCH_N_CYCLES };

/* Kinds of spaces: the values of shmem_device_type_t. */
enum bench_kind { BENCH_KIND_CPU, BENCH_KIND_GPU, BENCH_KIND_HBM, BENCH_KIND_FAM, BENCH_N_KINDS };

/* Memory of an operand. */
enum bench_memory { BENCH_ANY, BENCH_HOST, BENCH_HEAP, BENCH_GPU };

/* Which bytes --verify finds where: see verify.c. */
enum bench_moves { BENCH_MOVES_NOTHING, BENCH_PUTS, BENCH_GETS };

/* ---- words shared by the PEs --------------------------------------------- */

struct bench_word {
    uint64_t value;
} __attribute__((aligned(BENCH_LINE)));

/* Flags of one side. On the fabric the raw side has its own copy in the module's memory. */
struct bench_flags {
    struct bench_word counter; /* fetch-add */
    struct bench_word turn;    /* ping-pong */
    struct bench_word stop;    /* of blocks whose target only serves */
    struct bench_word round[BENCH_ROUNDS];
    struct bench_word root[BENCH_ROUNDS]; /* of raw broadcasts on the fabric: one word a writer */
};

/* What PE 0 asks of the others for one block of samples. */
struct bench_command {
    uint64_t n_ops, n_batches, n_warm;
    uint64_t number; /* of the block, from 1 */
    uint64_t token;  /* of PE 0 */
    int32_t side;
    int32_t last; /* no more blocks of this measurement */
};

/* In the symmetric heap of every PE. */
struct bench_shared {
    struct bench_command command __attribute__((aligned(BENCH_LINE)));
    struct bench_word number; /* of the command, rising */
    struct bench_word done;   /* on PE 0: PEs that have measured their half of a block */
    struct bench_word acks;   /* on PE 0 */
    struct bench_flags side[BENCH_N_SIDES];
    long locks[BENCH_LOCKS];
    double samples[BENCH_BLOCK_SAMPLES] __attribute__((aligned(BENCH_LINE)));
};

/* ---- what a loop body sees ----------------------------------------------- */

struct raw_ofi;
struct raw_cuda;
struct bench_options;
struct bench_extras;

struct bench_run {
    int me, n_pes;
    int pair_peer;       /* the PE that PE 0 works with (--peer) */
    int peer;            /* the other PE of this one's pair in this row, -1: none */
    bool measures;       /* this PE takes samples in this row */
    int n_measuring;     /* PEs that do */
    size_t nbytes;       /* a message */
    size_t extent;       /* bytes of memory an operation touches on either side */
    int window;          /* messages an operation, 1 but for bandwidth */
    long value;          /* of the bench's parameter */
    uint64_t sample_ops; /* operations a sample of the present block */
    uint64_t n_calls;    /* of a collective with a root; equal on all that take part */
    uint64_t token; /* counts ping-pongs and barriers; equal on all that take part in a block */
    const struct bench_options *options;
    const struct bench_extras *extras;

    char *remote; /* symmetric: where puts go and gets come from */
    char *source; /* symmetric: what collectives read; NULL when none is asked for */
    char *local;  /* private, or of the memory a bench asks for */
    size_t at;    /* where in these the next operation works: see bench_next() */
    size_t step;  /* from one buffer to the next, 0: there is one */
    size_t span;  /* of all buffers */
    struct bench_shared *shared;

    /* The team of the row's collectives: PEs 0, stride, 2 * stride, ... */
    bench_team team;
    int team_me; /* -1: not in it */
    int team_size, team_stride;

    char *remote_there;                /* the peer's remote as mapped here, NULL off the node */
    struct bench_shared *shared_there; /* likewise */
    struct bench_shared **shared_of;   /* of every PE; entries NULL off the node */
    char **remote_of;                  /* likewise */
    const struct raw_ofi *fabric;      /* NULL: not loaded */
    size_t region;                     /* bytes of remote, and of local; of fabric->memory too */
    enum bench_path pair_path, all_path;
    unsigned polls; /* of a raw wait on the node before it lets others run */
    bool crowded;   /* more PEs than cores on some host */

    char *heap_remote, *host_local;     /* what a bench with other memory replaces */
    int kind;                           /* of the spaces of the current bench */
    const char *space_path;             /* from PE 0 to its peer's part of a space, or NULL */
    const struct raw_cuda *cuda;        /* NULL: not loaded */
    char *driver_local, *driver_remote; /* operands of the raw driver, in this process */

    double exposed;                        /* of an overlap: percent of a sample not hidden */
    double detail[BENCH_DETAILS];          /* what an overlap is made of: see bench->details */
    uint64_t n_commands, n_blocks, n_acks; /* so far: the protocol of sample_block_protocol.c */
    uint64_t n_done;
    bool thread_multiple;
};

/* Do n_ops operations, the last of them complete on return. */
typedef void bench_loop(struct bench_run *run, uint64_t n_ops);

/* origin runs on PEs that measure; target on their targets, NULL: these wait and serve. */
struct bench_body {
    bench_loop *origin, *target;
};

struct bench;

/* What a target does instead of serving: nothing of the library, until *word reaches value. */
typedef void bench_idle(const uint64_t *word, uint64_t value);

/*
 * Collective over all PEs: make what the bench needs. Returns 0, or -errno on all PEs alike with
 * the reason, on PE 0, in why: the row is skipped then.
 */
typedef int bench_open(struct bench_run *run, const struct bench *bench, char *why, size_t len);
typedef void bench_close(struct bench_run *run);

/* --verify: before a block write what is to be moved, after it look whether it was. */
typedef void bench_fill(struct bench_run *run, uint64_t block);
typedef void bench_check(struct bench_run *run, uint64_t block, uint64_t n_ops);

struct bench_values {
    int n;
    long at[BENCH_VALUES];
};

/* What a bench sweeps besides sizes: one row a value. */
struct bench_parameter {
    const char *name;         /* in JSON, and the head of its column */
    const char *const *words; /* a value is the number of a word; NULL: numbers */
    void (*values)(const struct bench_run *run, const struct bench_options *options,
                   struct bench_values *values);
};

struct bench {
    const char *name, *group;
    const char *what; /* one operation, in routines */
    enum bench_metric metric;
    enum bench_shape shape;
    bool sized;         /* sweeps sizes; otherwise nbytes */
    bool windowed;      /* an operation is a window of messages */
    size_t nbytes;      /* when not sized; 0: 8 */
    size_t min_size;    /* of a sweep, 0: no bound; sizes are multiples of it */
    size_t default_max; /* of a sweep when no sizes are given, 0: no bound of its own */
    const size_t *only; /* the sizes there are, up to a 0; NULL: any */
    const struct bench_parameter *parameter;
    size_t (*extent)(const struct bench_run *run); /* NULL: nbytes, of a collective in .per_pe */
    bool per_pe;        /* the extent is nbytes for every PE of the job */
    bool in_source;     /* works on run->source */
    int per_op;         /* results counted per operation: 2 where half of it is meant; 0: 1 */
    uint64_t min_ops;   /* a sample: where a quiet at the end is to weigh little */
    int n_samples;      /* fixed, of one operation each and without warm-up; 0: as asked */
    bool cpu_time;      /* samples are CPU time of the whole process, not time */
    bool one_op;        /* a sample is one call of the loop, which may do many things */
    bool own_pace;      /* of several that measure: no barrier before samples, they keep together */
    bool walks;         /* works from run->at on, as those that move bytes do: --buffers */
    bool needs_atomics; /* the raw side, of the provider */
    enum bench_moves moves;
    bench_fill *fill;
    bench_check *check;
    const char *details[BENCH_DETAILS]; /* in JSON: names of run->detail, ns */
    enum bench_cycle cycle;             /* the run of the library in which it is measured */
    bool in_spaces;                     /* its spaces are of --kind */
    bool on_gpu;                        /* always on GPUs, where the raw side is the driver */
    enum bench_memory local, remote;
    bench_open *open; /* NULL: nothing needed */
    bench_close *close;
    bench_idle *idle; /* how the target of a Steppe block passes the time; NULL: in a wait */
    struct bench_body steppe, node, fabric, driver;
};

/* The rows that one file of benches/ has. */
struct bench_list {
    const struct bench *rows;
    int n;
};
#define BENCH_LIST(name, table)                                                                    \
    const struct bench_list name = {table, (int)(sizeof(table) / sizeof((table)[0]))}

/* ---- for loops ------------------------------------------------------------ */

/* The buffer after the one at offset at: the same one, or another with --buffers. */
static inline size_t bench_next(const struct bench_run *run, size_t at)
{
    at += run->step;
    return at < run->span ? at : at - run->span;
}

/* What a polling loop does between two loads. */
static inline void bench_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Wait by plain loads until *word reaches value; give the core up after every few polls. */
static inline void bench_spin_until(const uint64_t *word, uint64_t value, unsigned polls)
{
    for (unsigned n = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; n++) {
        bench_pause();
        if (n % polls == 0) sched_yield();
    }
}

/* Memory may have changed: keeps a raw loop from being folded into one turn. */
static inline void bench_touch(void)
{
    __asm__ __volatile__("" ::: "memory");
}

/* What quiet promises beyond memcpy: the stores are seen before anything done later. */
static inline void bench_full_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline uint64_t *bench_counter(struct bench_shared *shared, enum bench_side side)
{
    return &shared->side[side].counter.value;
}

static inline uint64_t *bench_turn(struct bench_shared *shared, enum bench_side side)
{
    return &shared->side[side].turn.value;
}

/* The PE of the job that has this number in the row's team. */
static inline int bench_team_pe(const struct bench_run *run, int number)
{
    return number * run->team_stride;
}

/* Barriers over all PEs, one after another. */
bench_loop bench_node_barrier, bench_fabric_barrier;

/* Barriers over the row's team alone. */
bench_loop bench_node_team_barrier, bench_fabric_team_barrier;

/* Loops that several files of benches/ use, each in the file of its bench. */
bench_loop bench_put, bench_node_put, bench_fabric_put;
bench_loop bench_get, bench_node_get, bench_fabric_get;
bench_loop bench_put_window, bench_node_put_window, bench_fabric_put_window;
bench_loop bench_get_window, bench_node_get_window, bench_fabric_get_window;
bench_loop bench_put_rate, bench_node_put_rate, bench_fabric_put_stream;
bench_loop bench_p, bench_node_p, bench_fabric_p;
bench_loop bench_fetch_add, bench_node_fetch_add, bench_fabric_fetch_add;

/* The default context in a session with SHMEM_CTX_SESSION_BATCH; OpenSHMEM 1.6. */
bench_open bench_session_open;
bench_close bench_session_close;

/* Parameters that several benches have. */
extern const struct bench_parameter bench_pairs, bench_pes;

/* Values from min to max, each factor times the last; those of --values, doubling, if given. */
void bench_stepping(const struct bench_options *options, long factor, long min, long max,
                    struct bench_values *values);

/* ---- the harness, as benches call it ---------------------------------------- */

uint64_t bench_now_ns(void);

/* Sorts n samples, n > 0. */
double bench_median_of(double *samples, size_t n);
uint64_t bench_cpu_ns(void);

/* Waits until all PEs of the row's team have come. */
void bench_team_sync(struct bench_run *run);

/* Copies nbytes of each PE to all, which has room for those of all PEs; collective. */
void bench_gather(void *all, const void *mine, size_t nbytes);

/* The largest status (0 or positive) of any PE; collective. */
int bench_worst(int status);

/* Standard error, PE 0 only, one line behind "steppe-bench: ". */
void bench_say(const struct bench_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* On any PE, with its number; the job ends. */
void bench_die(const struct bench_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Serve the raw fabric until PE 0 announces the end of the block; announce it to PE pe. */
void bench_fabric_serve(struct bench_run *run, uint64_t stop);
void bench_fabric_tell_stop(struct bench_run *run, uint64_t stop, int pe);
void bench_fabric_poll(struct bench_run *run);

/* --verify: the bytes that PE pe has to give in a block, from the given place on. */
void bench_pattern_write(char *to, size_t nbytes, size_t place, int pe, uint64_t block);
/* Ends the job when they are not these; what names the memory. */
void bench_pattern_check(const struct bench_run *run, const char *what, const char *at,
                         size_t nbytes, size_t place, int pe, uint64_t block);

#endif /* STEPPE_BENCH_DEFINITION_H */
