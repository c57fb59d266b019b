/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The internal interface of steppe-bench: options, the plan of rows, measuring and output. Benches
 * include bench_definition.h only. Design: docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_HARNESS_H
#define STEPPE_BENCH_HARNESS_H

#include "bench_definition.h"

#include <stdio.h>

#define BENCH_NOISY 2.0   /* p99 / median above which a row is called noisy */
#define BENCH_N_BLOCKS 10 /* least number of blocks per side */
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
    const char *output; /* output file, or NULL for standard output */
    size_t min_size, max_size;
    bool sizes_given;
    int iterations; /* samples per side; 0 until bench_parse() sets the default */
    int warmup;     /* unrecorded samples at the start of each block */
    uint64_t ops;   /* operations per sample; 0 means as many as the clock needs */
    int window;     /* messages between two quiets of a bandwidth bench; 0 means automatic */
    int buffers;    /* number of buffers that operations use in turn */
    double until;   /* half width of the median's interval, as a share, at which to stop */
    double seconds; /* limit on the seconds of each side of a row */
    int peer;       /* peer of PE 0; -1 means n_pes / 2 */
    int kind;       /* kind of the benches' spaces, a shmem_device_type_t */
    int min_pes, max_pes, pe_stride; /* teams of collectives; 0 means all PEs */
    long values_min, values_max;     /* range of --values; 0 means the values of the bench */
    char **names;                    /* names that the user gave */
    int n_names;
    int argc;
    char **argv;
};

/*
 * Parses the command line. Returns 0, or -EINVAL with a message in why that names the wrong
 * argument and the valid values.
 */
int bench_parse(int argc, char **argv, struct bench_options *options, char *why, size_t len);
void bench_usage(FILE *out);

/* ---- parameter_value_lists.c ---------------------------------------------------------------- */

/* Appends value unless it equals the last value or the list is full. */
void bench_values_add(struct bench_values *values, long value);

/* ---- bench_registry.c --------------------------------------------------------------- */

/* Sets the table of benches: arrays of lists, each ended by NULL. Must be called first. */
void bench_table_use(const struct bench_list *const *const *all);

/* Returns bench number i in the order in which "all" runs the benches, or NULL after the last. */
const struct bench *bench_at(int i);
const struct bench *bench_find(const char *name);

/* Returns whether name (a bench, a group, "all" or a pattern "atomic-*") covers this bench. */
bool bench_name_matches(const struct bench *bench, const char *name);
void bench_write_list(FILE *out);
void bench_write_man_items(FILE *out);

/* ---- benches/all_benches.c ------------------------------------------------------------ */

extern const struct bench_list *const bench_lists[]; /* lists of the portable benches, then NULL */

/* Declare bench_list_<name> and take its address, for arrays of lists. */
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
    int n_alone; /* number of rows left out because they need a second PE */
};

/* Lists the rows, the same on all PEs with the same options. Returns 0 or -ENOMEM. */
int bench_plan_list_rows(struct bench_plan *plan, const struct bench_run *run,
                         const struct bench_options *options);
void bench_plan_free(struct bench_plan *plan);

/* Returns the time limit of all rows together, in ns. */
double bench_plan_ns(const struct bench_plan *plan, const struct bench_options *options);
bool bench_plan_wants_gpu(const struct bench_plan *plan, const struct bench_options *options);
bool bench_plan_wants_source(const struct bench_plan *plan);

/* Sets the size, window and buffers of a row in *run. Returns the bytes that each buffer needs. */
size_t bench_set_row_buffers(const struct bench_item *item, struct bench_run *run,
                             const struct bench_options *options);

/* ---- measure.c ----------------------------------------------------------- */

/* Statistics of samples, in ns per operation. */
struct bench_stats {
    double best, p1, median, p99;
    double *blocks; /* median of each block */
    int n_blocks;
    double pe_average, pe_fast, pe_slow; /* statistics of the PEs' means, if n_measuring > 1 */
    int slowest_pe;
};

struct bench_result {
    const struct bench *bench;
    size_t nbytes;
    int window;
    long value;
    int from, to;    /* PEs of a row of a matrix, else -1 */
    int n_measuring; /* number of PEs that measure */
    int n_pes;       /* number of PEs that take part */
    uint64_t n_ops;  /* operations per sample */
    int n_samples;   /* samples per side */
    double interval; /* half width of the 95 % interval of the median, as a share of the median */
    bool has_raw;
    struct bench_stats side[BENCH_N_SIDES];
    double detail[BENCH_DETAILS];
    enum bench_cycle cycle;
    int kind;
    const char *path;              /* path to the space's memory, or NULL without a space */
    bool unverified;               /* whether --verify has nothing to check in this bench */
    char disturbed[128];           /* other activity on the machine meanwhile, or empty */
    char skipped[BENCH_SKIP_TEXT]; /* reason why nothing was measured, or empty */
};

/*
 * Measures one row, in alternating blocks of both sides. Collective over all PEs; sets *result on
 * PE 0. Returns 0, or -errno on all PEs if the bench cannot be opened, with the reason in
 * result->skipped.
 */
int bench_measure(const struct bench_item *item, struct bench_run *run,
                  const struct bench_options *options, struct bench_result *result);
void bench_result_free(struct bench_result *result);

/* ---- roles.c --------------------------------------------------------------- */

/* Sets the role of this PE in the row in *run. Collective, because all PEs make the row's team. */
void bench_take_role(const struct bench *bench, struct bench_run *run);
void bench_end_row_team(struct bench_run *run);

/* Return whether PE pe takes samples in the row, and the peer of PE pe or -1. */
bool bench_measures(const struct bench *bench, const struct bench_run *run, int pe);
int bench_peer_of(const struct bench *bench, const struct bench_run *run, int pe);

/* Pairs the PEs as --pairs asks. host_of has the number of each PE's host. */
void bench_roles_set_hosts(const struct bench_run *run, const int *host_of);

/* ---- sample_block_protocol.c --------------------------------------------------------------- */

/* Returns the body of a side, or NULL if the side cannot be measured on the row's path. */
const struct bench_body *bench_body_of(const struct bench *bench, const struct bench_run *run,
                                       enum bench_side side);

/* Runs a block from PE 0, with n_warm unrecorded and n_batches recorded samples per PE. */
void bench_block_lead(const struct bench *bench, struct bench_run *run, enum bench_side side,
                      uint64_t n_ops, int n_warm, int n_batches);
void bench_row_tell_followers_over(struct bench_run *run);

/* Executes the commands of PE 0, on all other PEs, until PE 0 ends the row. */
void bench_block_follow(const struct bench *bench, struct bench_run *run);

/* ---- buffers.c, verify.c ------------------------------------------------------- */

/* Allocates buffers; collective. Returns 0, or -ENOMEM on all PEs after PE 0 has reported why. */
int bench_buffers_make(struct bench_run *run, size_t nbytes, bool with_source);
void bench_buffers_free(struct bench_run *run);

void bench_verify_fill(const struct bench *bench, struct bench_run *run, uint64_t block);
void bench_verify_check(const struct bench *bench, struct bench_run *run, uint64_t block,
                        uint64_t n_ops);

/* ---- stats_clock.c ---------------------------------------------------------------- */

double bench_clock_cost_ns(void);

/* Sorts n samples and returns their order statistics; n > 0. */
struct bench_stats bench_stats_of(double *samples, size_t n);

/* Returns half the 95 % interval of the median of n sorted samples as a share, or 1 for too few. */
double bench_relative_interval(const double *sorted, size_t n);

/* Return a time per operation in the unit of the bench, over all PEs and for one PE alone. */
double bench_value(const struct bench_result *result, double ns);
double bench_pe_value(const struct bench_result *result, double ns);
const char *bench_unit(const struct bench *bench);
bool bench_more_is_better(const struct bench *bench);
/* Returns whether several PEs can measure in a row of the bench. */
bool bench_by_many(const struct bench *bench);

/* ---- machine_and_disturbance.c --------------------------------------------------------------- */

struct bench_place {
    char host[BENCH_NAME_LEN];
    char domain[BENCH_NAME_LEN]; /* domain of the library's fabric */
    int32_t core, numa;          /* core, -1 if not bound; NUMA node, -1 if unknown */
    int32_t pid;
};

struct bench_machine {
    char library[256];
    char libfabric[32];
    char kernel[256];
    char cpu[128];
    char governor[32];
    char date[32];
    char provider[64], domain[64]; /* provider and domain of the library's fabric, or empty */
    int cores;                     /* number of cores that this process may use */
    int n_local;                   /* number of PEs on the host of PE 0 */
    int n_hosts;
    bool bound;
    char raw_note[256]; /* reason why there is no raw side, or empty */
    double clock_ns;
    char gpu[128], driver[64];  /* GPU of PE 0 and its driver, empty if no bench needs GPUs */
    bool test_double;           /* whether the driver is a test double */
    struct bench_place *places; /* place of every PE */
};

/* Describes the library, the system and the clock in *machine. */
void bench_describe(struct bench_machine *machine);

/* Gathers the places of all PEs and counts hosts; collective. Returns 0, or -ENOMEM on all PEs. */
int bench_find_places(struct bench_run *run, struct bench_machine *machine);

struct bench_disturbance {
    uint64_t ns, busy_ns, steal_ns, own_ns;
    double core_ns; /* least of ten times of a fixed piece of work on the core */
};

/* Record this host's activity, and put other activity since then into text (empty if little). */
void bench_disturbance_begin(const struct bench_machine *machine, struct bench_disturbance *begun);
void bench_disturbance_end(const struct bench_machine *machine,
                           const struct bench_disturbance *begun, char *text, size_t len);

/* ---- setup.c, cores.c ------------------------------------------------------------ */

/*
 * Prepares memory, binding, paths and the raw side; collective. Returns 0, or -errno on all PEs
 * after PE 0 has reported the reason.
 */
int bench_place_bind_and_allocate(struct bench_run *run, const struct bench_options *options,
                                  size_t nbytes, bool with_source, struct bench_machine *machine);
void bench_teardown(struct bench_run *run, struct bench_machine *machine);

/* Binds this PE to a core, as --bind asks; collective. Returns 0, or 1 on all PEs if a PE fails. */
int bench_cores_set(struct bench_run *run, const struct bench_options *options,
                    struct bench_machine *machine);
void bench_cores_restore(void);

/* ---- main.c -------------------------------------------------------------------------- */

/* Functions specific to steppe-bench. NULL means that a program does not have the function. */
struct bench_extras {
    const struct bench_list *const *const *lists; /* table for bench_table_use() */

    /*
     * Runs a command that is not a measurement. Returns its exit status, or -1 for a measurement.
     */
    int (*command)(int argc, char **argv);

    /* Fills in the library's provider, domain and libfabric. */
    void (*describe_library)(struct bench_machine *machine);

    /* Loads the driver and fills in the GPU of the heading, if there is a GPU; collective. */
    void (*describe_gpu)(struct bench_run *run, struct bench_machine *machine);

    /*
     * Loads the module, opens the provider and connects all PEs; collective; never NULL. Returns 0,
     * or -errno with the reason in machine->raw_note. raw_unload also closes the GPU driver.
     */
    int (*raw_load)(struct bench_run *run, struct bench_machine *machine);
    void (*raw_unload)(struct bench_run *run);
};

/* Runs the whole program. Returns its exit status. */
int bench_main(int argc, char **argv, const struct bench_extras *extras);

/* ---- output.c: what PE 0 writes ----------------------------------------------- */

struct bench_output {
    FILE *file;
    enum bench_format format;
    bool summary;
    const struct bench *section; /* bench whose heading was printed last */
    enum bench_cycle cycle;      /* run of the library of that heading */
    int n_rows;
};

void bench_output_begin(struct bench_output *out, const struct bench_run *run,
                        const struct bench_options *options, const struct bench_machine *machine);
void bench_output_row(struct bench_output *out, const struct bench_run *run,
                      const struct bench_result *result);
void bench_output_end(struct bench_output *out, const char *disturbed);

/* Names and numbers of results that all formats share. */
const char *bench_path_name(enum bench_path path);
double bench_noise_of(const struct bench_stats *stats);
bool bench_is_noisy(const struct bench_result *result);
double bench_median_in_unit(const struct bench_result *result, enum bench_side side);
double bench_ratio(const struct bench_result *result);
bool bench_has_kind(const struct bench_result *result);
/* Return the least and the greatest value of a single PE, a time or a rate. */
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
