/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface for the benches of steppe-bench. A bench is a file in benches/ with the rows of a
 * table and a loop body for each side. One side is Steppe's public API. The other is the raw limit
 * of the same path: loads and stores through shmem_ptr within a node, plain libfabric between
 * nodes, the CUDA driver for memory of GPUs. The harness (harness.h) does everything else. Design:
 * docs/design/bench.md.
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
 * These files build three programs: steppe-bench; with BENCH_PORTABLE, a program for any OpenSHMEM
 * from 1.4 on, without headers of Steppe; with BENCH_MPI, a program for MPI (mpi.c). Teams, signals
 * and nonblocking atomics need OpenSHMEM 1.5, and sessions need 1.6.
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

#define BENCH_LINE 128           /* bytes of two cache lines, because caches fetch lines in pairs */
#define BENCH_ROUNDS 32          /* limit on the rounds of a dissemination barrier (log2 of PEs) */
#define BENCH_POLLS 1000         /* polls of a raw wait on the node before each sched_yield() */
#define BENCH_POLLS_CROWDED 50   /* as BENCH_POLLS, if a host has more PEs than cores */
#define BENCH_IDLE_NS 1000000000 /* duration of an operation of the bench idle-cpu */
#define BENCH_LOCKS 64           /* enough locks that, for any PE, some lock has its state there */
#define BENCH_BLOCK_SAMPLES 1024 /* limit on the samples of one block */
#define BENCH_VALUES 32          /* limit on the values of a parameter, except pairs of PEs */
#define BENCH_DETAILS 3

/*
 * The unit in which samples are reported. LATENCY is ns per operation, LONG is us per operation,
 * BANDWIDTH is MB/s, RATE is million messages per second, and SHARE is percent of a core. OVERLAP
 * is the hidden percentage of a transfer; the loop itself computes run->exposed, the other part.
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
 * The roles of the PEs in a row.
 *   PAIR     PE 0 measures, and its peer (--peer) is the target
 *   BOTH     PE 0 and its peer measure, and each is the target of the other
 *   PAIRS    one PE of each pair measures; the parameter is the number of pairs
 *   ALL      every PE of the row's team measures (collectives)
 *   TO_ONE   every PE measures, and PE 0 is the target of all
 *   ONE_ALL  PE 0 measures, and all other PEs are its targets
 *   ALL_ALL  every PE measures, and all other PEs are its targets
 *   ALONE    PE 0 measures, and there is no target
 *   EACH     each ordered pair of PEs has its own row
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

/* Runs of the library (init to finalize) of which each bench uses one: see main.c. */
enum bench_cycle { BENCH_SINGLE, BENCH_MULTIPLE, BENCH_N_CYCLES };

/* Kinds of spaces, with the values of shmem_device_type_t. */
enum bench_kind { BENCH_KIND_CPU, BENCH_KIND_GPU, BENCH_KIND_HBM, BENCH_KIND_FAM, BENCH_N_KINDS };

/* Kinds of memory of an operand. */
enum bench_memory { BENCH_ANY, BENCH_HOST, BENCH_HEAP, BENCH_GPU };

/* Direction of the transfers that --verify checks: see verify.c. */
enum bench_moves { BENCH_MOVES_NOTHING, BENCH_PUTS, BENCH_GETS };

/* ---- words shared by the PEs --------------------------------------------- */

struct bench_word {
    uint64_t value;
} __attribute__((aligned(BENCH_LINE)));

/* Flags of one side. The raw side on the fabric has its own copy in the module's memory. */
struct bench_flags {
    struct bench_word counter; /* target word of atomics */
    struct bench_word turn;    /* flag of ping-pongs */
    struct bench_word stop;    /* number of the last block that is over, for PEs that serve */
    struct bench_word round[BENCH_ROUNDS];
    struct bench_word root[BENCH_ROUNDS]; /* flags of raw broadcasts on the fabric, one per root */
};

/* The command of PE 0 to the other PEs for one block of samples. */
struct bench_command {
    uint64_t n_ops, n_batches, n_warm;
    uint64_t number; /* number of the block, from 1 */
    uint64_t token;  /* value of run->token on PE 0 */
    int32_t side;
    int32_t last; /* whether the row has no further block */
};

/* Data in the symmetric heap of every PE that control a block and hold its samples. */
struct bench_shared {
    struct bench_command command __attribute__((aligned(BENCH_LINE)));
    struct bench_word number; /* number of the command, which rises */
    struct bench_word done;   /* on PE 0, number of PEs that have measured, over all blocks */
    struct bench_word acks;   /* on PE 0, number of acknowledgements of commands */
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
    int pair_peer;       /* PE with which PE 0 works (--peer) */
    int peer;            /* other PE of this PE's pair in this row, or -1 */
    bool measures;       /* whether this PE takes samples in this row */
    int n_measuring;     /* number of PEs that take samples in this row */
    size_t nbytes;       /* bytes of a message */
    size_t extent;       /* bytes of memory that an operation touches on either side */
    int window;          /* messages per operation, 1 except in bandwidth benches */
    long value;          /* value of the bench's parameter */
    uint64_t sample_ops; /* operations per sample in the present block */
    uint64_t n_calls;    /* number of calls of a collective with a root, equal on all members */
    uint64_t token;      /* number of ping-pongs and barriers, equal on all PEs of a block */
    const struct bench_options *options;
    const struct bench_extras *extras;

    char *remote; /* symmetric buffer, the destination of puts and source of gets */
    char *source; /* symmetric input of collectives, or NULL if no row needs it */
    char *local;  /* private buffer, or a buffer in the memory that the bench needs */
    size_t at;    /* offset of the next operation in remote, source and local */
    size_t step;  /* distance of two buffers, or 0 if there is only one */
    size_t span;  /* bytes of all buffers together */
    struct bench_shared *shared;

    /* The team of the row's collectives: PEs 0, stride, 2 * stride, ... */
    bench_team team;
    int team_me; /* rank of this PE in the team, or -1 */
    int team_size, team_stride;

    char *remote_there;                /* peer's remote as mapped here, or NULL off the node */
    struct bench_shared *shared_there; /* peer's shared as mapped here, or NULL off the node */
    struct bench_shared **shared_of;   /* shared of each PE as mapped here, or NULL */
    char **remote_of;                  /* remote of each PE as mapped here, or NULL */
    const struct raw_ofi *fabric;      /* raw libfabric module, or NULL if not loaded */
    size_t region;                     /* bytes of remote, local and each fabric region */
    enum bench_path pair_path, all_path;
    unsigned polls; /* polls of a raw wait on the node between two calls of sched_yield() */
    bool crowded;   /* whether some host has more PEs than cores */

    char *heap_remote, *host_local;     /* buffers to restore after a bench with other memory */
    int kind;                           /* kind of the spaces of the current bench */
    const char *space_path;             /* name of the path to the peer's space, or NULL */
    const struct raw_cuda *cuda;        /* raw CUDA driver, or NULL if not loaded */
    char *driver_local, *driver_remote; /* operands of the raw CUDA driver, in this process */

    double exposed; /* percentage not hidden in an overlap sample */
    /* times from which an overlap is computed: bench->details */
    double detail[BENCH_DETAILS];
    uint64_t n_commands, n_blocks, n_acks; /* counters of the protocol in sample_block_protocol.c */
    uint64_t n_done;
    bool thread_multiple;
};

/* Performs n_ops operations, which are complete on return. */
typedef void bench_loop(struct bench_run *run, uint64_t n_ops);

/*
 * The loops of a side. origin runs on PEs that measure, and target on PEs that are their targets.
 * If target is NULL, the targets wait and serve.
 */
struct bench_body {
    bench_loop *origin, *target;
};

struct bench;

/* Runs on a target instead of serving. Makes no call to the library until *word reaches value. */
typedef void bench_idle(const uint64_t *word, uint64_t value);

/*
 * Creates everything that the bench needs; collective over all PEs. Returns 0, or -errno on all PEs
 * with the reason in why on PE 0. The harness skips the row after an error.
 */
typedef int bench_open(struct bench_run *run, const struct bench *bench, char *why, size_t len);
typedef void bench_close(struct bench_run *run);

/* For --verify: fill writes the data to be moved before a block, and check checks them after it. */
typedef void bench_fill(struct bench_run *run, uint64_t block);
typedef void bench_check(struct bench_run *run, uint64_t block, uint64_t n_ops);

struct bench_values {
    int n;
    long at[BENCH_VALUES];
};

/* A parameter of a bench besides the size. The bench has one row for each value. */
struct bench_parameter {
    const char *name;         /* name in JSON and in the head of the column */
    const char *const *words; /* words by value, or NULL if values are plain numbers */
    void (*values)(const struct bench_run *run, const struct bench_options *options,
                   struct bench_values *values);
};

struct bench {
    const char *name, *group;
    const char *what; /* routines of one operation, for users */
    enum bench_metric metric;
    enum bench_shape shape;
    bool sized;         /* whether the bench sweeps sizes; otherwise the size is nbytes */
    bool windowed;      /* whether an operation is a window of messages */
    size_t nbytes;      /* size if sized is false; 0 means 8 */
    size_t min_size;    /* least size of a sweep and divisor of all sizes; 0 means 1 */
    size_t default_max; /* largest size if the user gives no sizes; 0 means no limit */
    const size_t *only; /* all sizes of the bench, ended by 0; NULL means any size */
    const struct bench_parameter *parameter;
    size_t (*extent)(const struct bench_run *run); /* returns run->extent; NULL means nbytes */
    bool per_pe;        /* whether the extent is nbytes for every PE of the job */
    bool in_source;     /* whether the bench reads run->source */
    int per_op;         /* divisor of the time of an operation, 2 for half; 0 means 1 */
    uint64_t min_ops;   /* least operations per sample, so that a final quiet weighs little */
    int n_samples;      /* fixed number of one-operation samples; 0 means as the user asks */
    bool cpu_time;      /* whether samples are the CPU time of the whole process */
    bool one_op;        /* whether a sample is one call of the loop, whatever n_ops is */
    bool own_pace;      /* whether operations synchronize, so that samples need no barrier */
    bool walks;         /* whether loops advance run->at (--buffers), as those with moves do */
    bool needs_atomics; /* whether the raw side needs atomics of the provider */
    enum bench_moves moves;
    bench_fill *fill;
    bench_check *check;
    const char *details[BENCH_DETAILS]; /* names in JSON of run->detail, in ns */
    enum bench_cycle cycle;             /* run of the library in which the bench is measured */
    bool in_spaces;                     /* whether the bench makes spaces of --kind */
    bool on_gpu;                        /* whether the bench is on GPUs, with CUDA as raw side */
    enum bench_memory local, remote;
    bench_open *open; /* NULL if the bench needs nothing */
    bench_close *close;
    bench_idle *idle; /* loop of the target in a Steppe block, or NULL to wait in the library */
    struct bench_body steppe, node, fabric, driver;
};

/* The rows of one file of benches/. */
struct bench_list {
    const struct bench *rows;
    int n;
};
#define BENCH_LIST(name, table)                                                                    \
    const struct bench_list name = {table, (int)(sizeof(table) / sizeof((table)[0]))}

/* ---- for loops ------------------------------------------------------------ */

/* Returns the offset of the buffer after offset at, or at if there is only one buffer. */
static inline size_t bench_next(const struct bench_run *run, size_t at)
{
    at += run->step;
    return at < run->span ? at : at - run->span;
}

/* Pauses the processor between two loads of a polling loop. */
static inline void bench_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Polls *word with loads until it reaches value. Yields the core after every `polls` loads. */
static inline void bench_spin_until(const uint64_t *word, uint64_t value, unsigned polls)
{
    for (unsigned n = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; n++) {
        bench_pause();
        if (n % polls == 0) sched_yield();
    }
}

/* Makes the compiler assume that memory has changed, so that it keeps every turn of a raw loop. */
static inline void bench_touch(void)
{
    __asm__ __volatile__("" ::: "memory");
}

/* Makes earlier stores visible before later operations, as quiet does and memcpy does not. */
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

/* Returns the PE of the job that has this number in the row's team. */
static inline int bench_team_pe(const struct bench_run *run, int number)
{
    return number * run->team_stride;
}

/* Perform n_ops barriers over all PEs. */
bench_loop bench_node_barrier, bench_fabric_barrier;

/* Perform n_ops barriers over the row's team only. */
bench_loop bench_node_team_barrier, bench_fabric_team_barrier;

/* Loops that several files of benches/ use. Each is defined in the file of its bench. */
bench_loop bench_put, bench_node_put, bench_fabric_put;
bench_loop bench_get, bench_node_get, bench_fabric_get;
bench_loop bench_put_window, bench_node_put_window, bench_fabric_put_window;
bench_loop bench_get_window, bench_node_get_window, bench_fabric_get_window;
bench_loop bench_put_rate, bench_node_put_rate, bench_fabric_put_stream;
bench_loop bench_p, bench_node_p, bench_fabric_p;
bench_loop bench_fetch_add, bench_node_fetch_add, bench_fabric_fetch_add;

/* Start and stop a session with SHMEM_CTX_SESSION_BATCH on the default context (OpenSHMEM 1.6). */
bench_open bench_session_open;
bench_close bench_session_close;

/* Parameters that several benches have. */
extern const struct bench_parameter bench_pairs, bench_pes;

/* Lists min, min * factor, ... up to max. If given, --values sets min and max, and factor is 2. */
void bench_stepping(const struct bench_options *options, long factor, long min, long max,
                    struct bench_values *values);

/* ---- the harness, as benches call it ---------------------------------------- */

uint64_t bench_now_ns(void);

/* Sorts n samples and returns their median; n > 0. */
double bench_median_of(double *samples, size_t n);
uint64_t bench_cpu_ns(void);

/* Returns when all PEs of the row's team have called this function. */
void bench_team_sync(struct bench_run *run);

/* Gathers nbytes from each PE into all on every PE, in the order of PEs; collective. */
void bench_gather(void *all, const void *mine, size_t nbytes);

/* Returns the largest status of all PEs, each 0 or positive; collective. */
int bench_worst(int status);

/* Prints one line, after "steppe-bench: ", to standard error. Does nothing on PEs other than 0. */
void bench_say(const struct bench_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints one line with the number of this PE, and ends the job. */
void bench_die(const struct bench_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Serves the raw fabric until PE 0 announces the end of the block by bench_fabric_tell_stop(). */
void bench_fabric_serve(struct bench_run *run, uint64_t stop);
void bench_fabric_tell_stop(struct bench_run *run, uint64_t stop, int pe);
void bench_fabric_poll(struct bench_run *run);

/* Writes the --verify pattern: bytes that PE pe sends in a block, from the given place on. */
void bench_pattern_write(char *to, size_t nbytes, size_t place, int pe, uint64_t block);
/* Ends the job if the bytes differ from this pattern; the message calls the transfer what. */
void bench_pattern_check(const struct bench_run *run, const char *what, const char *at,
                         size_t nbytes, size_t place, int pe, uint64_t block);

#endif /* STEPPE_BENCH_DEFINITION_H */
