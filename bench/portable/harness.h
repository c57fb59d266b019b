/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of steppe-bench: options, the plan of rows, how a row is measured, what is written.
 * Benches see bench_definition.h alone. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_HARNESS_H
#define STEPPE_BENCH_HARNESS_H

#include "bench_definition.h"

#include <stdio.h>

#define BENCH_NOISY 2.0   /* p99 / median above it is called noisy */
#define BENCH_N_BLOCKS 10 /* a side, at least */
#define BENCH_SKIP_TEXT 256
#define BENCH_NAME_LEN 64

enum bench_format { BENCH_TEXT, BENCH_JSON };
enum bench_bind { BENCH_BIND_AUTO, BENCH_BIND_ON, BENCH_BIND_OFF };
enum bench_pairing { BENCH_PAIRS_AUTO, BENCH_PAIRS_WITHIN, BENCH_PAIRS_ACROSS };

/* ---- options.c ----------------------------------------------------------- */

struct bench_options {
    bool help, list, raw, summary, quick, verify;
    enum bench_format format;
    enum bench_bind bind;
    enum bench_pairing pairing;
    const char *output; /* file, NULL: standard output */
    size_t min_size, max_size;
    bool sizes_given;
    int iterations; /* samples a side, 0: automatic until bench_parse() is through */
    int warmup;     /* unrecorded samples at the start of each block */
    uint64_t ops;   /* operations a sample, 0: as many as the clock needs */
    int window;     /* messages between two quiets of a bandwidth bench, 0: automatic */
    int buffers;    /* that operations use in turn */
    double until;   /* half width of the interval of the median that is good enough, a share */
    double seconds; /* a side of a row may take */
    int peer;       /* -1: n_pes / 2 */
    int kind;       /* of the spaces that benches make: a shmem_device_type_t */
    int min_pes, max_pes, pe_stride; /* teams of collectives; 0: all PEs */
    long values_min, values_max;     /* --values, 0: those of the bench */
    char **names;                    /* benches asked for */
    int n_names;
    int argc;
    char **argv;
};

/*
 * Parse the command line. Returns 0, or -EINVAL with a message that names the argument and what
 * would be right in why.
 */
int bench_parse(int argc, char **argv, struct bench_options *options, char *why, size_t len);
void bench_usage(FILE *out);

/* ---- parameter_value_lists.c ---------------------------------------------------------------- */

void bench_values_add(struct bench_values *values, long value); /* unless it is the last one */

/* ---- bench_registry.c --------------------------------------------------------------- */

/* Lists of lists, each up to a NULL; before the others. */
void bench_table_use(const struct bench_list *const *const *all);

/* All benches in the order in which "all" runs them. */
const struct bench *bench_at(int i); /* NULL: there are fewer */
const struct bench *bench_find(const char *name);

/* Does name, of a bench, of a group or a pattern such as "atomic-*", mean this one? */
bool bench_name_matches(const struct bench *bench, const char *name);
void bench_write_list(FILE *out);
void bench_write_man_items(FILE *out);

/* ---- benches/all_benches.c ------------------------------------------------------------ */

extern const struct bench_list *const bench_lists[]; /* of this part, up to a NULL */

/* Of bench_list_<name>, for lists of lists. */
#define BENCH_LIST_DECLARE(name) extern const struct bench_list bench_list_##name;
#define BENCH_LIST_ADDRESS(name) &bench_list_##name,

/* ---- plan.c ---------------------------------------------------------------- */

struct bench_item {
    const struct bench *bench;
    size_t nbytes;
    long value;
    enum bench_cycle cycle;
};

struct bench_plan {
    struct bench_item *items;
    int n, room;
    int n_alone; /* rows left out because they need a second PE */
};

/* All PEs make the same plan from the same options. Returns 0, or -ENOMEM or -EINVAL. */
int bench_plan_list_rows(struct bench_plan *plan, const struct bench_run *run,
                         const struct bench_options *options);
void bench_plan_free(struct bench_plan *plan);

/* Nanoseconds that all rows may take. */
double bench_plan_ns(const struct bench_plan *plan, const struct bench_options *options);
bool bench_plan_wants_gpu(const struct bench_plan *plan, const struct bench_options *options);
bool bench_plan_wants_source(const struct bench_plan *plan);

/* Into *run: extent, buffers, window of a row. Returns the bytes of memory it needs. */
size_t bench_set_row_buffers(const struct bench_item *item, struct bench_run *run,
                             const struct bench_options *options);

/* ---- measure.c ----------------------------------------------------------- */

/* Of samples, in ns an operation. */
struct bench_stats {
    double best, p1, median, p99;
    double *blocks; /* the median of each block */
    int n_blocks;
    double pe_average, pe_fast, pe_slow; /* over PEs, of the mean of each; n_measuring > 1 */
    int slowest_pe;
};

struct bench_result {
    const struct bench *bench;
    size_t nbytes;
    int window;
    long value;
    int from, to;    /* of a row of a matrix, else -1 */
    int n_measuring; /* PEs */
    int n_pes;       /* that take part */
    uint64_t n_ops;  /* a sample */
    int n_samples;   /* a side */
    double interval; /* half width of the 95 % interval of the median, as a share of it */
    bool has_raw;
    struct bench_stats side[BENCH_N_SIDES];
    double detail[BENCH_DETAILS];
    enum bench_cycle cycle;
    int kind;
    const char *path;              /* to the space's memory, NULL: of no interest */
    bool unverified;               /* --verify, and the bench has nothing to look at */
    char disturbed[128];           /* what else went on meanwhile, or empty */
    char skipped[BENCH_SKIP_TEXT]; /* why nothing was measured, or empty */
};

/*
 * Measure one row, samples of both sides in alternating blocks. Collective over all PEs; *result is
 * set on PE 0. Returns 0, or -errno on all PEs alike when what the bench needs is not there:
 * result->skipped says so.
 */
int bench_measure(const struct bench_item *item, struct bench_run *run,
                  const struct bench_options *options, struct bench_result *result);
void bench_result_free(struct bench_result *result);

/* ---- roles.c --------------------------------------------------------------- */

/* Into *run: who this PE is in the row. Collective: the row's team is made. */
void bench_take_role(const struct bench *bench, struct bench_run *run);
void bench_end_row_team(struct bench_run *run);

/* Does PE pe measure in the row? Is it somebody's target? */
bool bench_measures(const struct bench *bench, const struct bench_run *run, int pe);
int bench_peer_of(const struct bench *bench, const struct bench_run *run, int pe);

/* Pairs of PEs are as --pairs wants them. */
void bench_roles_set_hosts(const struct bench_run *run, const int *host_of);

/* ---- sample_block_protocol.c --------------------------------------------------------------- */

/* The body of a side, NULL where that side cannot be measured on this path. */
const struct bench_body *bench_body_of(const struct bench *bench, const struct bench_run *run,
                                       enum bench_side side);

/* PE 0: n_batches samples of a side after n_warm unrecorded ones, by all that measure. */
void bench_block_lead(const struct bench *bench, struct bench_run *run, enum bench_side side,
                      uint64_t n_ops, int n_warm, int n_batches);
void bench_row_tell_followers_over(struct bench_run *run);

/* All others: do as PE 0 says until it says that the row is over. */
void bench_block_follow(const struct bench *bench, struct bench_run *run);

/* ---- buffers.c, verify.c ------------------------------------------------------- */

/* Memory for the plan's rows; collective. 0, or -ENOMEM on all PEs after PE 0 has said why. */
int bench_buffers_make(struct bench_run *run, size_t nbytes, bool with_source);
void bench_buffers_free(struct bench_run *run);

void bench_verify_fill(const struct bench *bench, struct bench_run *run, uint64_t block);
void bench_verify_check(const struct bench *bench, struct bench_run *run, uint64_t block,
                        uint64_t n_ops);

/* ---- stats_clock.c ---------------------------------------------------------------- */

double bench_clock_cost_ns(void);

/* Sort n samples and read the order statistics off; n > 0. */
struct bench_stats bench_stats_of(double *samples, size_t n);

/* Half the 95 % interval of the median of n sorted samples, as a share of it; 1: too few. */
double bench_relative_interval(const double *sorted, size_t n);

/* A time an operation as the bench reports it: ns, MB/s, million messages a second. */
double bench_value(const struct bench_result *result, double ns);
double bench_pe_value(const struct bench_result *result, double ns);
const char *bench_unit(const struct bench *bench);
bool bench_more_is_better(const struct bench *bench);
bool bench_by_many(const struct bench *bench); /* several PEs measure, if the row has as many */

/* ---- machine_and_disturbance.c --------------------------------------------------------------- */

struct bench_place {
    char host[BENCH_NAME_LEN];
    char domain[BENCH_NAME_LEN]; /* of the library's fabric */
    int32_t core, numa;          /* -1: not bound, not known */
    int32_t pid;
};

struct bench_machine {
    char library[256];
    char libfabric[32];
    char kernel[256];
    char cpu[128];
    char governor[32];
    char date[32];
    char provider[64], domain[64]; /* of the library's fabric, empty when it uses none */
    int cores;                     /* this process may use */
    int n_local;                   /* PEs on the host of PE 0 */
    int n_hosts;
    bool bound;
    char raw_note[256]; /* why there is no raw side, or empty */
    double clock_ns;
    char gpu[128], driver[64];  /* of PE 0, empty where no bench asks for GPUs */
    bool test_double;           /* the driver is not a real one */
    struct bench_place *places; /* of every PE */
};

/* Everything of *machine that needs no path; collective. */
void bench_describe(struct bench_machine *machine);

/* Where PEs are; collective. Sets n_local and n_hosts. 0 or -ENOMEM on all. */
int bench_find_places(struct bench_run *run, struct bench_machine *machine);

struct bench_disturbance {
    uint64_t ns, busy_ns, steal_ns, own_ns;
    double core_ns; /* a fixed piece of work on the core, the least of three */
};

/* What this host did so far; what else it did since, in words, empty when nothing to speak of. */
void bench_disturbance_begin(const struct bench_machine *machine, struct bench_disturbance *begun);
void bench_disturbance_end(const struct bench_machine *machine,
                           const struct bench_disturbance *begun, char *text, size_t len);

/* ---- setup.c, cores.c ------------------------------------------------------------ */

/*
 * Prepare memory, binding, paths and the raw side; collective. Returns 0, or -errno on all PEs
 * alike after PE 0 has said why.
 */
int bench_place_bind_and_allocate(struct bench_run *run, const struct bench_options *options,
                                  size_t nbytes, bool with_source, struct bench_machine *machine);
void bench_teardown(struct bench_run *run, struct bench_machine *machine);

/* Each step is collective; worst status of all PEs. */
int bench_cores_set(struct bench_run *run, const struct bench_options *options,
                    struct bench_machine *machine);
void bench_cores_restore(void);

/* ---- main.c -------------------------------------------------------------------------- */

/* What differs between steppe-bench and a program for any OpenSHMEM; NULL: no such function. */
struct bench_extras {
    const struct bench_list *const *const *lists; /* of benches: as of bench_table_use() */

    /*
     * Runs a command that is not a measurement. Returns its exit status, or -1 for a measurement.
     */
    int (*command)(int argc, char **argv);

    /* Fills in the library's provider, domain and libfabric. */
    void (*describe_library)(struct bench_machine *machine);

    /* Load the driver and name the GPU in the heading, where there is one; collective. */
    void (*describe_gpu)(struct bench_run *run, struct bench_machine *machine);

    /*
     * Load the module, open the machine's provider and connect all PEs; collective; never NULL.
     * Returns 0, or -errno with machine->raw_note set. unload: and the driver of GPUs.
     */
    int (*raw_load)(struct bench_run *run, struct bench_machine *machine);
    void (*raw_unload)(struct bench_run *run);
};

/* All of the program. Returns its exit status. */
int bench_main(int argc, char **argv, const struct bench_extras *extras);

/* ---- output.c: what PE 0 writes ----------------------------------------------- */

struct bench_output {
    FILE *file;
    enum bench_format format;
    bool summary;
    const struct bench *section; /* whose heading was printed last */
    enum bench_cycle cycle;      /* and of which run of the library */
    int n_rows;
};

void bench_output_begin(struct bench_output *out, const struct bench_run *run,
                        const struct bench_options *options, const struct bench_machine *machine);
void bench_output_row(struct bench_output *out, const struct bench_run *run,
                      const struct bench_result *result);
void bench_output_end(struct bench_output *out, const char *disturbed);

/* Words and numbers that all formats share. */
const char *bench_path_name(enum bench_path path);
double bench_noise_of(const struct bench_stats *stats);
bool bench_is_noisy(const struct bench_result *result);
double bench_median_in_unit(const struct bench_result *result, enum bench_side side);
double bench_ratio(const struct bench_result *result);
bool bench_has_kind(const struct bench_result *result);
/* Least and most over PEs of what each by itself has: times, or rates. */
double bench_pe_min(const struct bench_result *result, enum bench_side side);
double bench_pe_max(const struct bench_result *result, enum bench_side side);
void bench_parameter_text(const struct bench_result *result, char *text, size_t len);
const char *bench_kind_name(int kind);

void bench_json_begin(struct bench_output *out, const struct bench_run *run,
                      const struct bench_options *options, const struct bench_machine *machine);
void bench_json_row(struct bench_output *out, const struct bench_result *result);
void bench_json_end(struct bench_output *out, const char *disturbed);
void bench_text_begin(FILE *file, const struct bench_run *run, const struct bench_options *options,
                      const struct bench_machine *machine);
void bench_text_row(struct bench_output *out, const struct bench_result *result);
void bench_summary_row(struct bench_output *out, const struct bench_result *result);

#endif /* STEPPE_BENCH_HARNESS_H */
