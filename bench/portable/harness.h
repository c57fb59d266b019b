/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The internal interface of the harness of steppe-bench: options, the plan (the list of rows),
 * measuring and output. Most files with benches include only bench_definition.h. Design:
 * docs/design/bench.md.
 */
#ifndef STEPPE_BENCH_HARNESS_H
#define STEPPE_BENCH_HARNESS_H

#include "bench_definition.h"

#include <stdio.h>

/* A row is called noisy if its 99th percentile is above this multiple of its median. */
#define BENCH_NOISY 2.0
#define BENCH_N_BLOCKS 10 /* minimum number of blocks of samples per side */
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
    const char *output; /* name of the output file, or NULL for standard output */
    size_t min_size, max_size;
    bool sizes_given;
    /*
     * Minimum number of samples per side. A row has fewer samples if the time limit ends it
     * earlier.
     */
    int iterations;
    int warmup;   /* number of samples at the start of a block that are not recorded */
    uint64_t ops; /* operations per sample; 0 means that measure.c chooses the number */
    /* Messages between two quiets in bandwidth benches. 0 means that plan.c chooses the number. */
    int window;
    int buffers; /* number of buffers that operations use in turn */
    /*
     * Precision at which the measurement of a row ends. The precision is half of the 95 %
     * confidence interval of the median, divided by the median.
     */
    double precision;
    double seconds; /* time limit for each side of a row, in seconds */
    int peer;       /* PE that is the peer of PE 0; -1 means n_pes / 2 */
    int kind;       /* memory kind of the spaces that benches create (enum bench_kind) */
    /*
     * Smallest and largest size of the teams for collectives, and the stride between the PEs of a
     * team. If the sizes are 0, there is only one team, which contains all PEs.
     */
    int min_pes, max_pes, pe_stride;
    /* Smallest and largest value of the option --values. Both are 0 if the option is not given. */
    long values_min, values_max;
    /* Arguments after the options: names of benches, names of groups, and patterns. */
    char **names;
    int n_names;
    int argc;
    char **argv;
};

/*
 * Parses the command line into *options. Returns 0. If an argument is wrong, returns -EINVAL with a
 * message in `reason` that contains the argument and the valid values.
 */
int bench_parse(int argc, char **argv, struct bench_options *options, char *reason, size_t len);
void bench_usage(FILE *out);

/* ---- parameter_value_lists.c ---------------------------------------------------------------- */

/* Appends a value to the list, unless the list is full or already ends with this value. */
void bench_values_add(struct bench_values *values, long value);

/* ---- bench_registry.c --------------------------------------------------------------- */

/*
 * Sets the table of benches. The table and all arrays in it end with NULL. The program must call
 * this function before the other functions of bench_registry.c.
 */
void bench_table_use(const struct bench_list *const *const *tables);

/*
 * Returns the bench with index i, or NULL after the last bench. `steppe-bench all` runs the benches
 * in the order of their indices.
 */
const struct bench *bench_at(int i);
/* Returns the bench with this name, or NULL if it does not exist. */
const struct bench *bench_find(const char *name);

/*
 * Returns whether `name` selects this bench. `name` can be the name or the group of a bench, "all",
 * or a pattern such as "put-*".
 */
bool bench_name_matches(const struct bench *bench, const char *name);
void bench_write_list(FILE *out);
void bench_write_man_items(FILE *out);

/* ---- benches/all_benches.c ------------------------------------------------------------ */

/* Lists of the portable benches, ended by NULL. */
extern const struct bench_list *const bench_lists[];

/* Declares the list bench_list_<name>. */
#define BENCH_LIST_DECLARE(name) extern const struct bench_list bench_list_##name;
/* Expands to an element of an array: the address of the list bench_list_<name>. */
#define BENCH_LIST_ADDRESS(name) &bench_list_##name,

/* ---- plan.c ---------------------------------------------------------------- */

/* One row to measure: a bench with a message size and a value of its parameter. */
struct bench_item {
    const struct bench *bench;
    size_t nbytes;
    long value;
    enum bench_cycle cycle;
};

struct bench_plan {
    struct bench_item *items;
    int n, room;
    int n_alone; /* number of rows that were left out because the job has only one PE */
};

/* Lists the rows that the options ask for, in the same order on all PEs. Returns 0 or -ENOMEM. */
int bench_plan_list_rows(struct bench_plan *plan, const struct bench_run *run,
                         const struct bench_options *options);
void bench_plan_free(struct bench_plan *plan);

/* Returns the sum of the time limits of all rows, in ns. */
double bench_plan_ns(const struct bench_plan *plan, const struct bench_options *options);
/* Returns whether some row uses GPU memory. */
bool bench_plan_wants_gpu(const struct bench_plan *plan, const struct bench_options *options);
/* Returns whether some row uses run->source. */
bool bench_plan_wants_source(const struct bench_plan *plan);

/*
 * Sets the message size, the window and the buffer sizes of *run for a row. Returns the number of
 * bytes that the row needs at run->remote.
 */
size_t bench_set_row_buffers(const struct bench_item *item, struct bench_run *run,
                             const struct bench_options *options);

/* ---- measure.c ----------------------------------------------------------- */

/* Statistics of the samples of one side. All times are in ns per operation. */
struct bench_stats {
    double best, p1, median, p99;
    double *blocks; /* median of the samples of each block */
    int n_blocks;
    /* Average, minimum and maximum of the mean times of the PEs. Valid if several PEs measure. */
    double pe_average, pe_fast, pe_slow;
    int slowest_pe;
};

struct bench_result {
    const struct bench *bench;
    size_t nbytes;
    int window;
    long value;
    int from_pe, to_pe; /* the two PEs of a row with the shape BENCH_EACH, otherwise -1 */
    int n_measuring;    /* number of PEs that measure in this row */
    int n_pes;          /* number of PEs that take part in this row */
    uint64_t n_ops;     /* number of operations per sample */
    int n_samples;      /* number of samples per side */
    /* Half of the 95 % confidence interval of Steppe's median, divided by the median. */
    double interval;
    bool has_raw;
    struct bench_stats side[BENCH_N_SIDES];
    double detail[BENCH_DETAILS];
    enum bench_cycle cycle;
    int kind;
    /* Name of the path to the peer's memory in a space, or NULL if no space is used. */
    const char *path;
    bool unverified;     /* whether --verify was given but this bench has no data to check */
    char disturbed[128]; /* description of other activity on the machine during the row, or empty */
    char skipped[BENCH_SKIP_TEXT]; /* reason why the row was skipped, or empty */
    char raw_note[96];             /* see bench_describe_raw() */
};

/*
 * Measures one row and sets *result on PE 0. The blocks of the two sides alternate. Collective over
 * all PEs. Returns 0. If the bench cannot be opened, returns -ENODEV on all PEs, with the reason in
 * result->skipped.
 */
int bench_measure(const struct bench_item *item, struct bench_run *run,
                  const struct bench_options *options, struct bench_result *result);
void bench_result_free(struct bench_result *result);

/* ---- roles.c --------------------------------------------------------------- */

/*
 * Sets the fields of *run that describe the role of this PE in the row. Creates the row's team.
 * Collective.
 */
void bench_take_role(const struct bench *bench, struct bench_run *run);
/* Destroys the team that bench_take_role() created. */
void bench_end_row_team(struct bench_run *run);

/* Returns whether PE pe takes samples in the row. */
bool bench_measures(const struct bench *bench, const struct bench_run *run, int pe);
/* Returns the peer of PE pe in the row, or -1 if it has no peer. */
int bench_peer_of(const struct bench *bench, const struct bench_run *run, int pe);

/* Forms the pairs of PEs according to --pairs. host_of[pe] is the number of the host of PE pe. */
void bench_roles_set_hosts(const struct bench_run *run, const int *host_of);

/* ---- sample_block_protocol.c --------------------------------------------------------------- */

/* Returns the loops of a side, or NULL if that side cannot be measured on the row's path. */
const struct bench_body *bench_body_of(const struct bench *bench, const struct bench_run *run,
                                       enum bench_side side);

/* Writes the reason why a row has no raw side, or the text "plain loop" (see bench.md), or "". */
void bench_describe_raw(const struct bench *bench, const struct bench_run *run, char *text,
                        size_t len);

/*
 * Runs one block of samples. Only PE 0 calls this function. The function sends the command to all
 * other PEs. Each PE that measures takes n_warm samples that are discarded, and then n_batches
 * samples that are recorded.
 */
void bench_block_lead(const struct bench *bench, struct bench_run *run, enum bench_side side,
                      uint64_t n_ops, int n_warm, int n_batches);
/* Notifies all other PEs that the row has ended. Only PE 0 calls this function. */
void bench_row_tell_followers_over(struct bench_run *run);

/* Executes the commands of PE 0 until PE 0 ends the row. All PEs except PE 0 call this function. */
void bench_block_follow(const struct bench *bench, struct bench_run *run);

/* ---- buffers.c, verify.c ------------------------------------------------------- */

/*
 * Allocates the memory to which the fields remote and local of *run point, each with nbytes bytes.
 * If with_source is true, also allocates source. Collective. Returns 0. If memory is missing on any
 * PE, PE 0 prints the reason, and the function returns -ENOMEM on all PEs.
 */
int bench_buffers_make(struct bench_run *run, size_t nbytes, bool with_source);
void bench_buffers_free(struct bench_run *run);

/* For --verify: writes the data that a block will move. */
void bench_verify_fill(const struct bench *bench, struct bench_run *run, uint64_t block);
/* For --verify: checks the data that a block has moved. Ends the job if a byte is wrong. */
void bench_verify_check(const struct bench *bench, struct bench_run *run, uint64_t block,
                        uint64_t n_ops);

/* ---- stats_clock.c ---------------------------------------------------------------- */

/* Returns the time in ns that reading the clock takes. */
double bench_clock_cost_ns(void);

/* Sorts the n samples and returns their median and other order statistics. n must not be 0. */
struct bench_stats bench_stats_of(double *samples, size_t n);

/*
 * Returns half of the 95 % confidence interval of the median, divided by the median. Returns 1 if n
 * is too small for an interval. The samples must be sorted.
 */
double bench_relative_interval(const double *sorted, size_t n);

/*
 * Converts a time per operation to the unit of the bench. If the unit is a rate or a bandwidth, the
 * value is the sum over all PEs that measure.
 */
double bench_value(const struct bench_result *result, double ns);
/* Converts the time per operation of one PE to the unit of the bench. */
double bench_pe_value(const struct bench_result *result, double ns);
const char *bench_unit(const struct bench *bench);
bool bench_more_is_better(const struct bench *bench);
/* Returns whether several PEs can measure in a row of the bench. */
bool bench_by_many(const struct bench *bench);

/* ---- machine_and_disturbance.c --------------------------------------------------------------- */

struct bench_place {
    char host[BENCH_NAME_LEN];
    char domain[BENCH_NAME_LEN]; /* libfabric domain that the library uses on this PE */
    /* Core of the PE, or -1 if it is not bound. NUMA node of the PE, or -1 if unknown. */
    int32_t core, numa;
    int32_t pid;
};

struct bench_machine {
    char library[256];
    char libfabric[32];
    char kernel[256];
    char cpu[128];
    char governor[32];
    char date[32];
    /* Libfabric provider, fabric and domain that the library uses, or empty. */
    char provider[64], fabric[64], domain[64];
    int cores;   /* number of cores on which this process may run */
    int n_local; /* number of PEs on the host of PE 0 */
    int n_hosts;
    bool bound;
    char raw_note[256]; /* reason why there is no raw side, or empty */
    double clock_ns;
    /* Name of the GPU of PE 0, and version of its CUDA driver. Empty if no bench uses GPUs. */
    char gpu[128], driver[64];
    bool test_double;           /* whether the driver is a test double; its times have no meaning */
    struct bench_place *places; /* place of every PE: its host, core and NUMA node */
};

/* Fills in the fields of *machine that describe the library, the system and the clock. */
void bench_describe(struct bench_machine *machine);

/* Gathers all PEs' places and counts the hosts. Collective. Returns 0, or -ENOMEM on all PEs. */
int bench_find_places(struct bench_run *run, struct bench_machine *machine);

/* CPU times of this host and the speed of this core, both read at one moment. */
struct bench_disturbance {
    uint64_t ns, busy_ns, steal_ns, own_ns;
    double core_ns; /* shortest time of ten runs of a fixed computation on this core */
};

/* Stores this host's CPU times and core speed at the start of a measurement in *start. */
void bench_disturbance_begin(const struct bench_machine *machine, struct bench_disturbance *start);
/*
 * Compares the present times and speed with *start. If other activity on this host has disturbed
 * the measurement since then, writes a description of this activity to `text`. Otherwise writes "".
 */
void bench_disturbance_end(const struct bench_machine *machine,
                           const struct bench_disturbance *start, char *text, size_t len);

/* ---- setup.c, cores.c ------------------------------------------------------------ */

/*
 * Binds the PEs to cores, allocates memory, finds the paths between the PEs and loads the raw side.
 * Collective. Returns 0, or -errno on all PEs. PE 0 prints a message for most errors.
 */
int bench_place_bind_and_allocate(struct bench_run *run, const struct bench_options *options,
                                  size_t nbytes, bool with_source, struct bench_machine *machine);
/* Undoes bench_place_bind_and_allocate(). Collective. */
void bench_teardown(struct bench_run *run, struct bench_machine *machine);

/* Binds this PE to a core, depending on --bind. Collective. Returns 0, or 1 if any PE failed. */
int bench_cores_set(struct bench_run *run, const struct bench_options *options,
                    struct bench_machine *machine);
/* Allows this thread to run on all cores that were allowed before bench_cores_set(). */
void bench_cores_restore(void);

/* ---- main.c -------------------------------------------------------------------------- */

/*
 * The functions and data in which the programs differ. A pointer to a function is NULL if the
 * program does not have this function.
 */
struct bench_extras {
    const struct bench_list *const *const *lists; /* argument for bench_table_use() */

    /*
     * Runs the command in the arguments, for example `compare`. Returns the exit status of the
     * command, or -1 if the arguments contain no command.
     */
    int (*command)(int argc, char **argv);

    /* Fills in provider, fabric and domain that the library uses, and the version of libfabric. */
    void (*describe_library)(struct bench_machine *machine);

    /*
     * Loads the CUDA driver, and fills in the name of the GPU and the version of the driver. If any
     * PE has no GPU, the function leaves these fields empty. Collective.
     */
    void (*describe_gpu)(struct bench_run *run, struct bench_machine *machine);

    /*
     * Loads the raw libfabric module, opens the provider and connects all PEs. This pointer is
     * never NULL. Collective. Returns 0, or -errno with the reason in machine->raw_note.
     */
    int (*raw_load)(struct bench_run *run, struct bench_machine *machine);
    /* Closes the raw libfabric module and the CUDA driver. */
    void (*raw_unload)(struct bench_run *run);
};

/* Runs the whole program and returns its exit status. */
int bench_main(int argc, char **argv, const struct bench_extras *extras);

/* ---- output.c: what PE 0 writes ----------------------------------------------- */

struct bench_output {
    FILE *file;
    enum bench_format format;
    bool summary;
    const struct bench *section; /* bench whose table is being printed */
    enum bench_cycle cycle;      /* cycle whose rows are in this table */
    int n_rows;
};

void bench_output_begin(struct bench_output *out, const struct bench_run *run,
                        const struct bench_options *options, const struct bench_machine *machine);
void bench_output_row(struct bench_output *out, const struct bench_run *run,
                      const struct bench_result *result);
void bench_output_end(struct bench_output *out, const char *disturbed);

/* The following functions return names and numbers of a result. All output formats use them. */
const char *bench_path_name(enum bench_path path);
double bench_noise_of(const struct bench_stats *stats);
bool bench_is_noisy(const struct bench_result *result);
double bench_median_in_unit(const struct bench_result *result, enum bench_side side);
double bench_ratio(const struct bench_result *result);
bool bench_has_kind(const struct bench_result *result);
/* Returns the smallest of the values of the PEs that measured, in the unit of the bench. */
double bench_pe_min(const struct bench_result *result, enum bench_side side);
/* Returns the largest of the values of the PEs that measured, in the unit of the bench. */
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
