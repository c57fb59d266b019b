/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The harness of steppe-bench. A bench is a row of bench_table[] and a loop body for each side:
 * Steppe's public API, and the raw limit of the same path (loads and stores through shmem_ptr on
 * the node, plain libfabric between nodes, the CUDA driver for memory of GPUs). Design:
 * docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_H
#define STEPPE_BENCH_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_LINE 128           /* two cache lines: neighbours are fetched in pairs */
#define BENCH_ROUNDS 32          /* of a dissemination barrier: log2 of any number of PEs */
#define BENCH_POLLS 1000         /* of a raw wait on the node before it lets others run, */
#define BENCH_POLLS_CROWDED 50   /* and where there are more PEs than cores */
#define BENCH_NOISY 2.0          /* p99 / median above it is called noisy */
#define BENCH_IDLE_NS 1000000000 /* an operation of the bench of idle cost */

enum bench_metric { BENCH_LATENCY, BENCH_BANDWIDTH, BENCH_RATE, BENCH_LONG, BENCH_SHARE };
/* BENCH_FEW: as BENCH_STEPPE, with fewer spaces alive. The first two have words of their own. */
enum bench_side { BENCH_STEPPE, BENCH_RAW, BENCH_FEW, BENCH_N_SIDES };
#define BENCH_N_FLAGS 2
enum bench_format { BENCH_TEXT, BENCH_CSV, BENCH_JSON };
enum bench_path { BENCH_NODE, BENCH_FABRIC, BENCH_MIXED };
enum bench_bind { BENCH_BIND_AUTO, BENCH_BIND_ON, BENCH_BIND_OFF };

/* ---- options.c ----------------------------------------------------------- */

struct bench_options {
    bool help, list, raw, raw_flush, summary, quick;
    enum bench_format format;
    enum bench_bind bind;
    const char *output;     /* file, NULL: standard output */
    const char *raw_module; /* file, NULL: beside the program */
    size_t min_size, max_size;
    bool sizes_given;
    int iterations;    /* samples a side, 0: automatic until bench_parse() is through */
    int warmup;        /* unrecorded samples at the start of each block */
    uint64_t ops;      /* operations a sample, 0: as many as the clock needs */
    int window;        /* messages between two quiets of a bandwidth bench, 0: automatic */
    int peer;          /* -1: n_pes / 2 */
    int kind;          /* of the spaces that benches make: a shmem_device_type_t */
    int n_few, n_many; /* spaces alive on the two sides of a comparison */
    char **names;      /* benches asked for */
    int n_names;
};

/*
 * Parse the command line. Returns 0, or -EINVAL with a message that names the argument and what
 * would be right in why.
 */
int bench_parse(int argc, char **argv, struct bench_options *options, char *why, size_t len);
void bench_usage(FILE *out);

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
};

#define BENCH_LOCKS 64 /* so many that some lock has its state on any given PE */

/* What the origin asks of the others for one block of samples. */
struct bench_command {
    uint64_t n_ops, n_batches, stop;
    uint64_t token; /* of PE 0 */
    int32_t side;
    int32_t last; /* no more blocks of this measurement */
};

/* In the symmetric heap of every PE. */
struct bench_shared {
    struct bench_command command __attribute__((aligned(BENCH_LINE)));
    struct bench_word number; /* of the command, rising */
    struct bench_word acks;   /* on PE 0 */
    struct bench_flags side[BENCH_N_FLAGS];
    long locks[BENCH_LOCKS];
};

/* ---- what a loop body sees ----------------------------------------------- */

struct raw_ofi;
struct raw_cuda;

struct bench_run {
    int me, n_pes;
    int peer;      /* the other PE of a pair */
    int pair_peer; /* the one PE 0 works with */
    size_t nbytes;
    size_t max_nbytes;
    int window;
    unsigned polls; /* of a raw wait on the node before it lets others run */
    bool crowded;   /* more PEs than cores on some host */
    uint64_t token; /* counts ping-pongs and barriers; equal on all that take part in a block */
    uint64_t n_commands, n_blocks, n_acks; /* so far: the protocol of measure.c */
    char *remote;                          /* symmetric: where puts go and gets come from */
    char *local;                           /* private, or of the memory a bench asks for */
    struct bench_shared *shared;

    char *remote_there;                /* the peer's remote as mapped here, NULL off the node */
    struct bench_shared *shared_there; /* likewise */
    struct bench_shared **shared_of;   /* of every PE; entries NULL off the node */
    const struct raw_ofi *fabric;      /* NULL: not loaded */
    bool raw_flush;                    /* raw put streams: plain writes, then a flush */
    enum bench_path pair_path, all_path;

    char *heap_remote, *heap_remote_there,
        *host_local; /* what a bench with other memory replaces */
    int kind;        /* of the spaces of the current bench */
    int n_few, n_many;
    const char *space_path;             /* from PE 0 to its peer's part of a space, or NULL */
    const struct raw_cuda *cuda;        /* NULL: not loaded */
    char *driver_local, *driver_remote; /* operands of the raw driver, in this process */
};

/* Do n_ops operations, the last of them complete on return. */
typedef void bench_loop(struct bench_run *run, uint64_t n_ops);

/* origin runs on PE 0; target on the others that take part, NULL: they wait and serve. */
struct bench_body {
    bench_loop *origin, *target;
};

/* Memory of an operand. */
enum bench_memory { BENCH_ANY, BENCH_HOST, BENCH_HEAP, BENCH_GPU };

struct bench;

/* What a target does instead of serving: nothing of the library, until *word reaches value. */
typedef void bench_idle(const uint64_t *word, uint64_t value);

/*
 * Collective over all PEs: make what the bench needs. Returns 0, or -errno on all PEs alike with
 * the reason, on PE 0, in why: the row is skipped then.
 */
typedef int bench_open(struct bench_run *run, const struct bench *bench, char *why, size_t len);
typedef void bench_close(struct bench_run *run);

/* Before each block, on all PEs: bring about what this side is measured with. */
typedef void bench_stage(struct bench_run *run, int side);

struct bench {
    const char *name;
    const char *what; /* one operation, in routines */
    enum bench_metric metric;
    bool sized;       /* sweeps sizes; otherwise 8 bytes */
    bool windowed;    /* an operation is a window of messages */
    bool all_pes;     /* every PE takes part, else PE 0 and its peer */
    int per_op;       /* results counted per operation: 2 where half of it is meant */
    uint64_t min_ops; /* a sample: where a quiet at the end is to weigh little */
    size_t nbytes;    /* when not sized; 0: 8 */
    bool in_spaces;   /* its spaces are of --kind */
    bool on_gpu;      /* and of this bench always on GPUs */
    bool raw_driver;  /* on GPUs the raw side is the driver */
    bool alone;       /* PE 0 needs no other PE, nor does the raw side a path */
    enum bench_memory local, remote;
    bench_open *open; /* NULL: nothing needed */
    bench_close *close;
    bench_idle *idle;   /* how the target of a Steppe block passes the time; NULL: in a wait */
    bool cpu_time;      /* samples are CPU time of the whole process, not time */
    int n_samples;      /* fixed, of one operation each and without warm-up; 0: as asked */
    bench_stage *stage; /* not NULL: there is a side BENCH_FEW */
    struct bench_body steppe, node, fabric, driver;
};

extern const struct bench bench_table[];
extern const int bench_n_table;

const struct bench *bench_find(const char *name);

/* Does name, of a bench or of a group (all, spaces, device), mean this one? */
bool bench_is_called(const struct bench *bench, const char *name);

/* loops.c, loops_space.c, loops_device.c: Steppe's bodies */
bench_loop steppe_put, steppe_get, steppe_put_window, steppe_get_window, steppe_p, steppe_rate;
bench_loop steppe_fadd, steppe_lock, steppe_ping, steppe_pong, steppe_barrier;
bench_loop steppe_rest, steppe_get_rate;
bench_loop steppe_lookup, steppe_create, steppe_alloc;
bench_loop steppe_device_fadd, steppe_signal_ping, steppe_signal_pong;

/* loops_node.c, loops_fabric.c, loops_driver.c, loops_space.c: the raw bodies */
bench_loop node_put, node_get, node_put_window, node_get_window, node_p, node_rate, node_fadd;
bench_loop node_lock, node_ping, node_pong, node_barrier;
bench_loop fabric_put, fabric_get, fabric_put_window, fabric_get_window, fabric_p, fabric_rate;
bench_loop node_get_rate, fabric_get_rate;
bench_loop fabric_fadd, fabric_lock, fabric_ping, fabric_pong, fabric_barrier;
bench_loop driver_put, driver_get, driver_put_window, driver_get_window, driver_p, driver_fadd;
bench_loop driver_ping, driver_pong, driver_create;
bench_loop raw_lookup, raw_create, node_alloc, fabric_alloc;

/* spaces.c, loops_space.c, loops_device.c: what benches need, and give back */
bench_open bench_spaces_open, bench_own_open, bench_create_open, bench_alloc_open;
bench_open bench_lookup_random_open, bench_lookup_turn_open, bench_lookup_same_open;
bench_open bench_device_open;
bench_open bench_passive_open, bench_session_open;
bench_close bench_spaces_close, bench_device_close, bench_session_close;
bench_idle bench_sleep, bench_compute;
bench_stage bench_spaces_stage;

/*
 * Can every PE have spaces of run->kind? Asked once a kind. Collective; 0, or -errno on all PEs
 * with the reason, on PE 0, in why. Loads the raw driver for GPUs.
 */
int bench_kind_check(struct bench_run *run, char *why, size_t len);

/* Serve the raw fabric until PE 0 announces the end of the block; announce it to PE pe. */
void fabric_serve(struct bench_run *run, uint64_t stop);
void fabric_stop(struct bench_run *run, uint64_t stop, int pe);
void fabric_poll(struct bench_run *run);

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

/* ---- measure.c ----------------------------------------------------------- */

/* Nanoseconds an operation. */
struct bench_stats {
    double min, median, p99;
};

struct bench_result {
    const struct bench *bench;
    size_t nbytes;
    int window;
    uint64_t n_ops; /* a sample */
    int n_samples;  /* a side */
    bool has_raw, has_few;
    struct bench_stats side[BENCH_N_SIDES];
    int kind, n_few, n_many;
    const char *path;  /* to the space's memory, NULL: of no interest */
    char skipped[256]; /* why nothing was measured, or empty */
};

/*
 * Measure one bench at one size, samples of both sides in alternating blocks. Collective over all
 * PEs; *result is set on PE 0. Returns 0, or -errno on all PEs alike when what the bench needs is
 * not there: result->skipped says so.
 */
int bench_measure(const struct bench *bench, size_t nbytes, struct bench_run *run,
                  const struct bench_options *options, struct bench_result *result);

uint64_t bench_now_ns(void);
uint64_t bench_cpu_ns(void);
double bench_clock_cost_ns(void);

/* Sort n samples and read the order statistics off; n > 0. */
struct bench_stats bench_stats_of(double *samples, size_t n);

/* A time an operation as the bench reports it: ns, MB/s, million messages a second. */
double bench_value(const struct bench_result *result, double ns);
const char *bench_unit(const struct bench *bench);

/* ---- setup.c ------------------------------------------------------------- */

struct bench_machine {
    char library[256];
    char kernel[256];
    char cpu[128];
    char provider[64], domain[64]; /* of the library's fabric, empty when it uses none */
    int cores;                     /* this process may use */
    int n_local;                   /* PEs on the host of PE 0 */
    bool bound;
    double first_us;    /* the first get of PE 0 from its peer, which computes; 0: not measured */
    char raw_note[256]; /* why there is no raw side, or empty */
    double clock_ns;
    char gpu[128], driver[64]; /* of PE 0, empty where no bench asks for GPUs */
    bool test_double;          /* the driver is not a real one */
};

/*
 * Prepare memory, binding, paths and the raw side; collective. Returns 0, or -errno on all PEs
 * alike after PE 0 has said why.
 */
int bench_setup(struct bench_run *run, const struct bench_options *options,
                struct bench_machine *machine);
void bench_teardown(struct bench_run *run);

/* Load the driver and name the GPU in the heading, where there is one; collective. */
void bench_describe_gpu(struct bench_run *run, struct bench_machine *machine);

/* Are PEs on the fabric served while they make no call? */
bool bench_serves_idle(void);

/* The largest status (0 or positive) of any PE; collective. */
int bench_worst(int status);

/*
 * raw_load.c: load the module, open the machine's provider and connect all PEs; collective.
 * Returns 0, or -errno with machine->raw_note set.
 */
int bench_raw_load(struct bench_run *run, const struct bench_options *options,
                   struct bench_machine *machine);
void bench_raw_unload(struct bench_run *run);

/* ---- output.c ------------------------------------------------------------ */

struct bench_output {
    FILE *file;
    enum bench_format format;
    bool summary;
    const struct bench *section; /* whose heading was printed last */
    int n_rows;
};

void bench_output_begin(struct bench_output *out, const struct bench_run *run,
                        const struct bench_options *options, const struct bench_machine *machine);
void bench_output_row(struct bench_output *out, const struct bench_result *result);
void bench_output_end(struct bench_output *out);

/* Standard error, PE 0 only, one line behind "steppe-bench: ". */
void bench_say(const struct bench_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* STEPPE_BENCH_H */
