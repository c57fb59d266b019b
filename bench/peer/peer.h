/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The harness of peer-bench: benches that run with any OpenSHMEM implementation, and counterparts
 * of them for MPI. It knows neither: what it needs from one it asks through the functions under
 * "the library". C11 and POSIX. README.md says how numbers are made.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEER_LINE 128 /* two cache lines: neighbours are fetched in pairs */
#define PEER_MAX_SAMPLES 256
#define PEER_MAX_SIZES 32
#define PEER_MAX_CORES 1024
#define PEER_NAME 64
#define PEER_BOARD (PEER_MAX_SAMPLES * sizeof(double)) /* bytes a PE can show to all others */
#define PEER_COLL_LIMIT ((size_t)32 << 20)             /* of a collective, all PEs together */
#define PEER_N_BLOCKS 10                               /* of samples, a side */
#define PEER_NOISY 2.0                                 /* p99 / median above it is called noisy */

enum peer_metric { PEER_LATENCY, PEER_BANDWIDTH, PEER_RATE };
enum peer_side { PEER_LIBRARY, PEER_RAW, PEER_N_SIDES };

/* ---- options.c ----------------------------------------------------------- */

struct peer_options {
    bool list, plan, quick, raw, bind;
    int n_pes; /* for the plan only */
    int n_samples, warmup;
    size_t sizes[PEER_MAX_SIZES];
    int n_sizes;
    int cores[PEER_MAX_CORES]; /* that PEs are bound to, in turn */
    int n_cores;
    const char *skip; /* numbers of rows: 3,5-7 */
    char **names;     /* of benches; none: all */
    int n_names;
};

/* Returns 0, or -1 after a line on standard error. */
int peer_parse(int argc, char **argv, struct peer_options *options);
bool peer_is_skipped(const struct peer_options *options, int row);

/* ---- benches ------------------------------------------------------------- */

struct peer_run {
    int me, n_pes;
    int other;   /* PE of the pair that this one works with, -1: not of the pair */
    int partner; /* the PE that PE 0 works with */
    size_t nbytes;
    int window;
    unsigned polls;         /* of a raw wait before it lets others run */
    long token;             /* of ping-pongs: equal on both PEs of the pair */
    uint64_t n_calls;       /* of collectives so far: equal on all PEs */
    bool raw_pair, raw_all; /* can loads and stores reach the pair's memory, everybody's? */
    size_t max_nbytes;      /* of put and get */
    size_t max_coll;        /* of a collective, all PEs together */
    char *local;            /* private, max_nbytes */
    char *source, *dest;    /* what others reach, each of the larger of both */
};

/* Do n_ops operations, the last of them complete on return. */
typedef void peer_loop(struct peer_run *run, uint64_t n_ops);

/* Do one operation on data that tell; is the outcome right on this PE? */
typedef bool peer_check(struct peer_run *run);

struct peer_bench {
    const char *name, *group;
    const char *what; /* one operation */
    enum peer_metric metric;
    bool sized;       /* by the sizes asked for; otherwise 8 bytes */
    bool windowed;    /* an operation is a window of messages */
    bool all_pes;     /* every PE measures, else PE 0 */
    bool blocks;      /* a collective with a block of nbytes for each PE */
    int messages;     /* that count in a message's time: 2 where both PEs send; 0: 1 */
    int per_op;       /* parts of an operation of which one is meant; 0: 1 */
    uint64_t min_ops; /* a sample: where a quiet at the end is to weigh little */
    peer_loop *origin, *target, *raw_origin, *raw_target;
    peer_check *is_right; /* tried before the row is measured; NULL: not checked */
};

/* Ends with NULL; each table ends with a row without a name. */
extern const struct peer_bench *const peer_tables[];

/* Times are of one operation, in ns. */
struct peer_stats {
    double best, p1, median, p99;
    double blocks[PEER_N_BLOCKS];      /* their medians */
    double pe_average, pe_min, pe_max; /* of the medians of the PEs that measure */
    int slowest_pe;
};

struct peer_result {
    const struct peer_bench *bench;
    int row;
    size_t nbytes;
    int window, n_samples, n_measuring, n_pes;
    uint64_t n_ops;
    bool has_raw;
    bool wrong; /* and therefore not measured */
    struct peer_stats side[PEER_N_SIDES];
};

/* ---- the library: shmem.c or mpi.c ------------------------------------------ */

extern const char peer_program[];
extern const bool peer_has_paths; /* raw_pair and raw_all tell something */

void peer_begin(struct peer_run *run);
void peer_library_name(char *name, size_t len);
/* Buffers, after PEs were bound; collective. Returns 0, or -1 on all PEs. */
int peer_memory(struct peer_run *run);
void peer_finish(struct peer_run *run);
_Noreturn void peer_abort(void);
void peer_barrier(void);
/* From PE 0 to all others; at most PEER_BOARD bytes. */
void peer_share(void *data, size_t nbytes);
/* mine of every PE, one behind the other, to all PEs; at most PEER_BOARD bytes each. */
void peer_gather(const void *mine, size_t nbytes, void *all);

/* raw.c */
peer_loop raw_put, raw_get, raw_put_window, raw_get_window, raw_p, raw_rate, raw_get_rate;
peer_loop raw_fetch_add, raw_swap, raw_compare_swap, raw_lock, raw_ping, raw_pong, raw_barrier;

/* ---- measure.c, stats.c, place.c, output.c ---------------------------------- */

/* Collective; *result is complete on PE 0. */
void peer_measure(struct peer_run *run, const struct peer_options *options,
                  struct peer_result *result);

uint64_t peer_now_ns(void);
double peer_clock_cost_ns(void);
/* Sorts samples; n > 0. */
double peer_median(double *samples, size_t n);
void peer_order_stats(double *samples, size_t n, struct peer_stats *stats);

struct peer_place {
    char host[PEER_NAME];
    int core; /* -1: not bound */
};

struct peer_machine {
    struct peer_place *places; /* of all PEs */
    int n_hosts, n_local, n_cores;
    bool bound;
};

/* Bind this PE to a core if all hosts have enough of them; collective. */
void peer_bind(struct peer_run *run, const struct peer_options *options,
               struct peer_machine *machine);

double peer_value(const struct peer_result *result, double ns);
void peer_write_heading(const struct peer_run *run, const struct peer_options *options,
                        const struct peer_machine *machine);
void peer_write_plan(const struct peer_bench *bench, int row, size_t nbytes);
void peer_write_start(int row);
void peer_write_row(const struct peer_result *result);
void peer_write_end(void);

#endif /* PEER_H */
