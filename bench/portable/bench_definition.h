/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface between the benches of steppe-bench and its harness (harness.h). A bench measures
 * one operation on one or two sides, with a loop function for each side. Steppe's side calls the
 * public API. The raw side does the same work on the same path without the library. Within a node
 * it uses loads and stores through shmem_ptr(). Between nodes it uses plain libfabric. For GPU
 * memory it uses the CUDA driver. A row is a bench with one message size and one value of its
 * parameter. The harness takes the samples of a row in blocks, and the blocks of the two sides
 * alternate. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_DEFINITION_H
#define STEPPE_BENCH_DEFINITION_H

#include "raw_ofi.h"

#include <sched.h>
#ifndef BENCH_MPI
#include <shmem.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Three programs are built from these source files. The macro BENCH_PORTABLE selects the program
 * for any OpenSHMEM library of version 1.4 or later. This program uses no header of Steppe. The
 * macro BENCH_MPI selects the program for MPI (mpi.c). If neither macro is defined, the program is
 * steppe-bench. BENCH_VERSION is the version of the OpenSHMEM library. Benches with teams, signals
 * or nonblocking atomics need OpenSHMEM 1.5. Benches with sessions need OpenSHMEM 1.6.
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

/*
 * Alignment of shared words in bytes. It is two cache lines, because many CPUs fetch adjacent lines
 * in pairs.
 */
#define BENCH_LINE 128
/* Maximum number of rounds of a dissemination barrier. A barrier of n PEs has log2(n) rounds. */
#define BENCH_ROUNDS 32
/* Number of polls of a flag after which a raw loop within a node calls sched_yield(). */
#define BENCH_POLLS 1000
/* Value that replaces BENCH_POLLS if any host of the job has more PEs than cores. */
#define BENCH_POLLS_CROWDED 50
#define BENCH_IDLE_NS 1000000000 /* time in ns that the bench idle-cpu sleeps per operation */
/*
 * Number of locks in the heap. The library keeps the state of each lock on one of the PEs. The
 * number is large, so that very probably some lock has its state on the peer.
 */
#define BENCH_LOCKS 64
#define BENCH_BLOCK_SAMPLES 1024 /* maximum number of samples of one block */
/* Maximum number of values of a parameter. Benches with the shape BENCH_EACH have no such limit. */
#define BENCH_VALUES 32
#define BENCH_DETAILS 3

/*
 * The quantity that a bench reports. LATENCY is the time per operation in ns. LONG is the time per
 * operation in us. BANDWIDTH is in MB/s, and RATE is in million messages per second. SHARE is CPU
 * time in percent of a core. OVERLAP is the percentage of a transfer's time that computation hides.
 * The loop of an overlap bench stores 100 minus this percentage in run->exposed.
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
 * The roles of the PEs in a row. A PE that measures takes samples of operations on its target PE.
 *   PAIR     PE 0 measures, and its peer (--peer) is the target
 *   BOTH     PE 0 and its peer measure, and each is the target of the other
 *   PAIRS    one PE of each pair measures; the parameter is the number of pairs
 *   ALL      every PE of the row's team measures (collectives)
 *   TO_ONE   every PE measures, and PE 0 is the target of all; on the fabric, PE 0 does not measure
 *   ONE_ALL  PE 0 measures, and all other PEs are its targets
 *   ALL_ALL  every PE measures, and all other PEs are its targets
 *   ALONE    PE 0 measures, and there is no target
 *   EACH     each ordered pair of PEs has a row, in which the first PE of the pair measures
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

/*
 * A cycle is one run of the library, from shmem_init() to shmem_finalize(). A run of the program
 * has up to two cycles. Each bench is measured in one of them (main.c).
 */
enum bench_cycle { BENCH_SINGLE, BENCH_MULTIPLE, BENCH_N_CYCLES };

/* The memory kind of a space. The values are those of shmem_device_type_t. */
enum bench_kind { BENCH_KIND_CPU, BENCH_KIND_GPU, BENCH_KIND_HBM, BENCH_KIND_FAM, BENCH_N_KINDS };

/* The kind of memory that a GPU bench uses for an operand. */
enum bench_memory { BENCH_ANY, BENCH_HOST, BENCH_HEAP, BENCH_GPU };

/* The direction of the transfers whose data --verify checks (verify.c). */
enum bench_moves { BENCH_MOVES_NOTHING, BENCH_PUTS, BENCH_GETS };

/* ---- words shared by the PEs --------------------------------------------- */

struct bench_word {
    uint64_t value;
} __attribute__((aligned(BENCH_LINE)));

/*
 * Flags and counters of one side (Steppe or raw). For the raw side on the fabric, the memory of the
 * raw module contains its own copy of this struct.
 */
struct bench_flags {
    struct bench_word counter; /* target of atomics and of one-way signals */
    struct bench_word turn;    /* flag of ping-pong benches */
    /* Number of the last block that PE 0 has ended. Target PEs wait until this number rises. */
    struct bench_word stop;
    struct bench_word round[BENCH_ROUNDS];
    /* Flags of the raw broadcast on the fabric, one for each of the first BENCH_ROUNDS roots. */
    struct bench_word root[BENCH_ROUNDS];
};

/* The command that PE 0 sends to all other PEs for each block of samples. */
struct bench_command {
    uint64_t n_ops, n_batches, n_warm;
    uint64_t number; /* number of the block; the first block has number 1 */
    uint64_t token;  /* value to which every PE sets run->token */
    int32_t side;
    int32_t last; /* true if the row has ended and no block follows */
};

/*
 * Data of each PE in the symmetric heap. PE 0 puts its commands into this struct on the other PEs.
 * Each PE that measures stores its samples in its own struct.
 */
struct bench_shared {
    struct bench_command command __attribute__((aligned(BENCH_LINE)));
    struct bench_word number; /* number of commands that PE 0 has sent */
    /* Counter on PE 0. Each other PE that measures increments this counter after each block. */
    struct bench_word done;
    /* Counter on PE 0. Each other PE increments this counter after each command. */
    struct bench_word acks;
    struct bench_flags side[BENCH_N_SIDES];
    long locks[BENCH_LOCKS];
    double samples[BENCH_BLOCK_SAMPLES] __attribute__((aligned(BENCH_LINE)));
};

/* ---- state of a row ---------------------------------------------------------- */

struct raw_cuda;
struct bench_options;
struct bench_extras;

struct bench_run {
    int me, n_pes;
    int pair_peer;   /* PE that is the peer of PE 0 (--peer) */
    int peer;        /* peer of this PE in this row, or -1 if it has no peer */
    bool measures;   /* whether this PE takes samples in this row */
    int n_measuring; /* number of PEs that take samples in this row */
    size_t nbytes;   /* size of a message in bytes */
    /* Bytes of one buffer. Collectives and strided transfers need more than nbytes. */
    size_t extent;
    int window;          /* number of messages per operation; 1 except in bandwidth benches */
    long value;          /* value of the bench's parameter in this row */
    uint64_t sample_ops; /* number of operations per sample in this block */
    /*
     * Number of calls so far of collectives that have a root. It must be equal on all members,
     * because each member computes the root of the next call from this number.
     */
    uint64_t n_calls;
    /*
     * Counter of ping-pongs and raw barriers. The PEs store the value of this counter in their
     * flags. At the start of a block it is equal on all PEs.
     */
    uint64_t token;
    const struct bench_options *options;
    const struct bench_extras *extras;

    /*
     * Buffers in symmetric memory: the destination of puts, the source of gets, and the result of
     * collectives.
     */
    char *remote;
    char *source; /* symmetric memory with the input of collectives, or NULL if no row needs it */
    /*
     * Buffers in local memory: the source of puts and the destination of gets. They are in private
     * memory, unless the bench needs another kind of memory.
     */
    char *local;
    /*
     * Offset of the buffer for the next operation. The fields remote, source and local each point
     * to one or more buffers of equal size. Operations use these buffers in turn (--buffers).
     */
    size_t offset;
    size_t step; /* bytes from one buffer to the next, or 0 if there is only one buffer */
    /*
     * Total size in bytes of the buffers at remote. The buffers at source and those at local have
     * the same total size.
     */
    size_t span;
    struct bench_shared *shared;

    /* The team of the row. Its members are the PEs 0, team_stride, 2 * team_stride, ... */
    bench_team team;
    int team_rank; /* rank of this PE in the team, or -1 if it is not a member */
    int team_size, team_stride;

    char *remote_ptr; /* result of shmem_ptr(remote, peer), or NULL if this PE has no peer */
    /* Result of shmem_ptr(shared, peer), or NULL if this PE has no peer. */
    struct bench_shared *shared_ptr;
    struct bench_shared **shared_of; /* result of shmem_ptr(shared, pe) for each PE */
    char **remote_of;                /* result of shmem_ptr(remote, pe) for each PE */
    /* Functions of the raw libfabric module, or NULL if it is not loaded. */
    const struct raw_ofi *fabric;
    /*
     * Size in bytes of the memory at remote, and also of the memory at local. The raw module's
     * memory contains two data regions, and each of them has this size, too.
     */
    size_t region;
    enum bench_path pair_path, all_path;
    unsigned polls; /* number of polls after which bench_spin_until() calls sched_yield() */
    bool crowded;   /* whether some host has more PEs than cores */

    /*
     * Buffers in the symmetric heap and in private memory. Some benches set remote and local to
     * other memory. After such a bench, bench_use_heap() sets remote and local to these addresses
     * again.
     */
    char *heap_remote, *host_local;
    int kind; /* memory kind of the spaces in this row (enum bench_kind) */
    /* Name of the path to the peer's memory in the space, or NULL if no space is used. */
    const char *space_path;
    const struct raw_cuda *cuda; /* functions of the raw CUDA driver, or NULL if it is not loaded */
    /*
     * Addresses between which the raw side copies with the CUDA driver. Both are valid in this
     * process.
     */
    char *driver_local, *driver_remote;

    /* Result of an overlap sample: the percentage of the transfer that computation did not hide. */
    double exposed;
    /* Medians of the times from which the overlap is computed. bench->details has their names. */
    double detail[BENCH_DETAILS];
    uint64_t n_commands, n_blocks, n_acks; /* counters of the protocol in sample_block_protocol.c */
    uint64_t n_done;
    bool thread_multiple;
};

/* A function that performs n_ops operations. All operations are complete when it returns. */
typedef void bench_loop(struct bench_run *run, uint64_t n_ops);

/*
 * The loops of one side of a bench. PEs that measure run the loop `origin`, and their targets run
 * the loop `target`. If `target` is NULL, the target PEs only serve operations of other PEs until
 * the block ends.
 */
struct bench_body {
    bench_loop *origin, *target;
};

struct bench;

/*
 * A function that a target PE runs during a block, instead of waiting in the library. It makes no
 * library call and returns when *word is at least `value`.
 */
typedef void bench_idle(const uint64_t *word, uint64_t value);

/*
 * Creates everything that the bench needs. Collective over all PEs. Returns 0 on success. If the
 * row must be skipped, returns a negative value on all PEs and writes the reason to `reason` on PE
 * 0.
 */
typedef int bench_open(struct bench_run *run, const struct bench *bench, char *reason, size_t len);
typedef void bench_close(struct bench_run *run);

/* For --verify: writes the data that the next block will move. */
typedef void bench_fill(struct bench_run *run, uint64_t block);
/* For --verify: checks the data that the last block has moved. */
typedef void bench_check(struct bench_run *run, uint64_t block, uint64_t n_ops);

struct bench_values {
    int n;
    long value[BENCH_VALUES];
};

/* A parameter of a bench, in addition to the message size. The bench has a row for each value. */
struct bench_parameter {
    const char *name; /* name of the parameter in the output */
    /* Texts to print for the values (indexed by value). NULL if values are printed as numbers. */
    const char *const *words;
    void (*values)(const struct bench_run *run, const struct bench_options *options,
                   struct bench_values *values);
};

struct bench {
    const char *name, *group;
    const char *description; /* routines that one operation calls, as text for users */
    enum bench_metric metric;
    enum bench_shape shape;
    /* Whether the bench has a row for each message size. If false, its only size is nbytes. */
    bool sized;
    bool windowed; /* whether one operation is a window of several messages */
    /* Message size if the field sized is false. 0 means 8 bytes. */
    size_t nbytes;
    /* Smallest message size. All other sizes are multiples of this size. 0 means 1 byte. */
    size_t min_size;
    /* Largest message size, unless the user gives the sizes. 0 means no limit. */
    size_t default_max;
    /* Fixed list of the bench's message sizes, ended by 0. NULL if the bench has no such list. */
    const size_t *sizes;
    const struct bench_parameter *parameter;
    /*
     * Returns the size of one buffer in bytes (run->extent). If this pointer is NULL, a buffer has
     * run->nbytes bytes, or run->nbytes bytes for each PE if per_pe is true.
     */
    size_t (*extent)(const struct bench_run *run);
    bool per_pe;    /* whether a buffer holds a message for each PE of the job */
    bool in_source; /* whether the bench uses run->source */
    /* Divisor of an operation's time. The divisor 2 gives half of a round trip. 0 means 1. */
    int per_op;
    /*
     * Minimum number of operations per sample. It is high if each sample ends with one quiet, so
     * that the quiet adds little to the time per operation.
     */
    uint64_t min_ops;
    /* Fixed number of samples, each of one operation. 0 means that the options set the number. */
    int n_samples;
    bool cpu_time; /* whether samples are the CPU time of the process instead of the elapsed time */
    /* Whether one call of the loop performs the whole sample. The loop then ignores n_ops. */
    bool one_op;
    /* Whether operations synchronize the PEs. Samples then need no barrier before them. */
    bool own_pace;
    /*
     * Whether the loops advance run->offset from buffer to buffer, so that the bench can use
     * several buffers (--buffers). Benches that set the field moves need not set this field.
     */
    bool walks;
    /* Atomic that the raw side on the fabric needs, and whether the atomic returns a value. */
    enum raw_ofi_op atomic;
    bool fetches;
    /*
     * Largest message size for which the library can send several of the bench's transfers in one
     * message (docs/design/messages.md). The raw loop on the fabric sends each of them alone.
     */
    size_t joined_up_to;
    enum bench_moves moves;
    bench_fill *fill;
    bench_check *check;
    const char *details[BENCH_DETAILS]; /* names of the times in run->detail, for the JSON output */
    enum bench_cycle cycle; /* cycle (run of the library) in which the bench is measured */
    bool in_spaces;         /* whether the bench creates spaces of the kind that --kind names */
    /* Whether the bench uses GPU memory. The raw side of such a bench uses the CUDA driver. */
    bool on_gpu;
    enum bench_memory local, remote;
    bench_open *open; /* function that prepares the bench, or NULL */
    bench_close *close;
    /*
     * Function that target PEs run during blocks of Steppe's side. If it is NULL, the target PEs
     * wait in the library.
     */
    bench_idle *idle;
    struct bench_body steppe, node, fabric, driver;
};

/* Largest put that Steppe joins with other puts, and with its signal, in one message. */
#define BENCH_JOINED_PUT ((size_t)16384)
#define BENCH_JOINED_SIGNAL ((size_t)768)

/* The benches that one source file defines. */
struct bench_list {
    const struct bench *rows;
    int n;
};
#define BENCH_LIST(name, table)                                                                    \
    const struct bench_list name = {table, (int)(sizeof(table) / sizeof((table)[0]))}

/* ---- loops over PEs ------------------------------------------------------- */

/*
 * Returns the offset of the buffer that follows the buffer at `offset`. The last buffer is followed
 * by the first one.
 */
static inline size_t bench_next(const struct bench_run *run, size_t offset)
{
    offset += run->step;
    return offset < run->span ? offset : offset - run->span;
}

/* Executes the CPU's instruction for polling loops, such as pause on x86. */
static inline void bench_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Polls *word until it is at least `value`. Calls sched_yield() after every `polls` loads. */
static inline void bench_spin_until(const uint64_t *word, uint64_t value, unsigned polls)
{
    for (unsigned n = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) < value; n++) {
        bench_pause();
        if (n % polls == 0) sched_yield();
    }
}

/*
 * Makes the compiler assume that all memory has changed. Otherwise the compiler could remove copies
 * from a raw loop, because a later copy overwrites the data of an earlier one.
 */
static inline void bench_touch(void)
{
    __asm__ __volatile__("" ::: "memory");
}

/*
 * Orders earlier stores before later loads and stores, as shmem_quiet() does. The raw side on the
 * node calls this function, because memcpy() does not order its stores.
 */
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

/* Returns the PE number of the member that has rank `number` in the row's team. */
static inline int bench_team_pe(const struct bench_run *run, int number)
{
    return number * run->team_stride;
}

/* Perform n_ops raw barriers over all PEs. */
bench_loop bench_node_barrier, bench_fabric_barrier;

/* Perform n_ops raw barriers over the members of the row's team. */
bench_loop bench_node_team_barrier, bench_fabric_team_barrier;

/* Loops that several files of benches/ use. Each loop is defined in one of these files. */
bench_loop bench_put, bench_node_put, bench_fabric_put;
bench_loop bench_get, bench_node_get, bench_fabric_get;
bench_loop bench_put_window, bench_node_put_window, bench_fabric_put_window;
bench_loop bench_get_window, bench_node_get_window, bench_fabric_get_window;
bench_loop bench_put_rate, bench_node_put_rate, bench_fabric_put_stream;
bench_loop bench_p, bench_node_p, bench_fabric_p;
bench_loop bench_fetch_add, bench_node_fetch_add, bench_fabric_fetch_add;

/* Starts a session with SHMEM_CTX_SESSION_BATCH on the default context (OpenSHMEM 1.6). */
bench_open bench_session_open;
/* Stops the session on the default context. */
bench_close bench_session_close;

/* Parameters of several benches: the number of pairs, and the number of PEs in the row's team. */
extern const struct bench_parameter bench_pairs, bench_pes;

/*
 * Fills *values with min, min * factor, and so on, up to max. If the user gives --values, its range
 * replaces min and max, and the factor is 2.
 */
void bench_stepping(const struct bench_options *options, long factor, long min, long max,
                    struct bench_values *values);

/* ---- interface of the harness for benches ----------------------------------- */

uint64_t bench_now_ns(void);

/* Sorts the n samples and returns their median. n must not be 0. */
double bench_median_of(double *samples, size_t n);
uint64_t bench_cpu_ns(void);

/* Waits until all PEs of the row's team have called this function. */
void bench_team_sync(struct bench_run *run);

/* Copies nbytes of `source` from each PE to `dest` on every PE, in PE order. Collective. */
void bench_gather(void *dest, const void *source, size_t nbytes);

/* Returns the largest `status` of all PEs. Each status is 0 or positive. Collective. */
int bench_worst(int status);

/* Prints a message with the prefix "steppe-bench: " to standard error, but only on PE 0. */
void bench_say(const struct bench_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints a message that contains the number of this PE, and ends the job. */
void bench_die(const struct bench_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));

/* Serves operations of peers on the raw fabric until PE 0 has ended block number `stop`. */
void bench_fabric_serve(struct bench_run *run, uint64_t stop);
/* Notifies PE pe on the raw fabric that the block with number `stop` has ended. */
void bench_fabric_tell_stop(struct bench_run *run, uint64_t stop, int pe);
/* Polls the raw libfabric module once. */
void bench_fabric_poll(struct bench_run *run);

/*
 * For --verify: writes nbytes bytes of a pattern to the address `dest`. Each byte of the pattern
 * depends on its offset, on the PE that sends it, and on the number of the block. The first byte
 * has the offset `first_offset`.
 */
void bench_pattern_write(char *dest, size_t nbytes, size_t first_offset, int pe, uint64_t block);
/*
 * Compares nbytes bytes at address `data` with the pattern that bench_pattern_write() writes. If a
 * byte differs, ends the job with a message. The message contains the text `description`, which
 * describes the transfer.
 */
void bench_pattern_check(const struct bench_run *run, const char *description, const char *data,
                         size_t nbytes, size_t first_offset, int pe, uint64_t block);

#endif /* STEPPE_BENCH_DEFINITION_H */
