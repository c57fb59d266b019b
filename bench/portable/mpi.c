/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program bench-mpi measures MPI counterparts of some benches of steppe-bench. It has the same
 * options, sizes, statistics and JSON output. One-sided transfers use one MPI window, which is
 * locked during the whole run. There is no raw side. `steppe-bench compare --ab` builds this
 * program with BENCH_MPI defined (docs/design/bench.md).
 */
#include "harness.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIN_SAMPLE_NS 10000.0
#define MAX_OPS (1u << 22)

static MPI_Win window; /* MPI window that contains run->remote */

/* ---- one-sided operations -------------------------------------------------------------- */

static void start_put(struct bench_run *run)
{
    int n = (int)run->nbytes;

    MPI_Put(run->local, n, MPI_BYTE, run->peer, 0, n, MPI_BYTE, window);
}

static void start_get(struct bench_run *run)
{
    int n = (int)run->nbytes;

    MPI_Get(run->local, n, MPI_BYTE, run->peer, 0, n, MPI_BYTE, window);
}

static void put(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            start_put(run);
        MPI_Win_flush(run->peer, window);
    }
}

static void get(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        for (int k = 0; k < run->window; k++)
            start_get(run);
        MPI_Win_flush(run->peer, window);
    }
}

static void put_rate(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        start_put(run);
    MPI_Win_flush(run->peer, window);
}

static void get_rate(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++)
        start_get(run);
    MPI_Win_flush(run->peer, window);
}

static void fetch_op(struct bench_run *run, uint64_t n_ops, MPI_Op op)
{
    int64_t result;

    for (uint64_t i = 0; i < n_ops; i++) {
        int64_t value = (int64_t)i;

        MPI_Fetch_and_op(&value, &result, MPI_INT64_T, run->peer, 0, op, window);
        MPI_Win_flush(run->peer, window);
    }
}

static void fetch_add(struct bench_run *run, uint64_t n_ops)
{
    fetch_op(run, n_ops, MPI_SUM);
}

static void swap(struct bench_run *run, uint64_t n_ops)
{
    fetch_op(run, n_ops, MPI_REPLACE);
}

static void add(struct bench_run *run, uint64_t n_ops)
{
    static const int64_t one = 1;

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Accumulate(&one, 1, MPI_INT64_T, run->peer, 0, 1, MPI_INT64_T, MPI_SUM, window);
    MPI_Win_flush(run->peer, window);
}

static void compare_swap(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        int64_t expected = (int64_t)i, next = expected + 1, result;

        MPI_Compare_and_swap(&next, &expected, &result, MPI_INT64_T, run->peer, 0, window);
        MPI_Win_flush(run->peer, window);
    }
}

/* ---- messages and collectives ------------------------------------------------------------ */

static void send(struct bench_run *run)
{
    MPI_Send(&run->token, 1, MPI_UINT64_T, run->peer, 0, MPI_COMM_WORLD);
}

static void receive(struct bench_run *run)
{
    MPI_Recv(&run->token, 1, MPI_UINT64_T, run->peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ping(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        send(run);
        receive(run);
    }
}

static void pong(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        receive(run);
        send(run);
    }
}

static void barrier(struct bench_run *run, uint64_t n_ops)
{
    (void)run;
    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast(struct bench_run *run, uint64_t n_ops)
{
    for (uint64_t i = 0; i < n_ops; i++) {
        int root = (int)(++run->n_calls % (uint64_t)run->n_pes);

        MPI_Bcast(run->source, (int)run->nbytes, MPI_BYTE, root, MPI_COMM_WORLD);
    }
}

static void reduce(struct bench_run *run, uint64_t n_ops)
{
    int n = (int)(run->nbytes / sizeof(double));

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Allreduce(run->source, run->local, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void fcollect(struct bench_run *run, uint64_t n_ops)
{
    int n = (int)run->nbytes;

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Allgather(run->source, n, MPI_BYTE, run->local, n, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall(struct bench_run *run, uint64_t n_ops)
{
    int n = (int)run->nbytes;

    for (uint64_t i = 0; i < n_ops; i++)
        MPI_Alltoall(run->source, n, MPI_BYTE, run->local, n, MPI_BYTE, MPI_COMM_WORLD);
}

/* ---- rows ------------------------------------------------------------------------------------ */
/* The benches have the same names and groups as the benches for OpenSHMEM. */

#define RMA(bench, routines, loop)                                                                 \
    .name = bench, .group = "rma", .description = routines " + MPI_Win_flush", .sized = true,      \
    .steppe = {loop, NULL}
#define STREAM .metric = BENCH_BANDWIDTH, .windowed = true
#define RATE(bench, routine, loop)                                                                 \
    .name = bench, .group = "rma",                                                                 \
    .description = routine " of 8 bytes, with one MPI_Win_flush per sample", .metric = BENCH_RATE, \
    .min_ops = 1000, .steppe = {loop, NULL}
#define ATOMIC(bench, routine, loop)                                                               \
    .name = bench, .group = "atomic", .description = routine, .steppe = {loop, NULL}
#define ALL(bench, routine, loop)                                                                  \
    .name = bench, .group = "collective", .description = routine, .shape = BENCH_ALL,              \
    .per_pe = true, .default_max = (size_t)1 << 20, .parameter = &bench_pes,                       \
    .steppe = {loop, NULL}

static const struct bench rows[] = {
    {RMA("put-latency", "MPI_Put", put)},
    {RMA("get-latency", "MPI_Get", get)},
    {RMA("put-bandwidth", "a window of MPI_Put", put), STREAM},
    {RMA("get-bandwidth", "a window of MPI_Get", get), STREAM},
    {RMA("put-bibw", "a window of MPI_Put in both directions at once", put), STREAM,
     .shape = BENCH_BOTH},
    {RATE("put-rate", "MPI_Put", put_rate)},
    {RATE("get-rate", "MPI_Get", get_rate)},
    {ATOMIC("atomic-add", "MPI_Accumulate", add), .min_ops = 1000},
    {ATOMIC("atomic-fetch-add", "MPI_Fetch_and_op with MPI_SUM", fetch_add)},
    {ATOMIC("atomic-swap", "MPI_Fetch_and_op with MPI_REPLACE", swap)},
    {ATOMIC("atomic-cswap", "MPI_Compare_and_swap", compare_swap)},
    {.name = "flag-round-trip",
     .group = "signal",
     .description = "an 8-byte message to the peer and back by MPI_Send + MPI_Recv",
     .steppe = {ping, pong}},
    {.name = "barrier",
     .group = "collective",
     .description = "MPI_Barrier",
     .shape = BENCH_ALL,
     .steppe = {barrier, NULL}},
    {ALL("broadcast", "MPI_Bcast", broadcast), .sized = true},
    {ALL("reduce", "MPI_Allreduce of doubles", reduce), .sized = true, .min_size = sizeof(double)},
    {ALL("fcollect", "MPI_Allgather", fcollect), .sized = true},
    {ALL("alltoall", "MPI_Alltoall", alltoall), .sized = true},
};
static BENCH_LIST(bench_list_mpi, rows);
static const struct bench_list *const lists[] = {&bench_list_mpi, NULL};

/* ---- measuring ----------------------------------------------------------------------------- */

static void take_role(const struct bench *bench, struct bench_run *run)
{
    bool pair = run->me == 0 || run->me == run->pair_peer;

    run->measures =
        bench->shape == BENCH_ALL || run->me == 0 || (bench->shape == BENCH_BOTH && pair);
    run->n_measuring = bench->shape == BENCH_ALL ? run->n_pes : bench->shape == BENCH_BOTH ? 2 : 1;
    run->peer = !pair ? -1 : run->me == 0 ? run->pair_peer : 0;
}

/*
 * Takes one sample. Returns the time per operation of the slowest process, in ns. The returned
 * value is the same on all processes.
 */
static double sample(const struct bench *bench, struct bench_run *run, uint64_t n_ops)
{
    bench_loop *loop = run->measures ? bench->steppe.origin : bench->steppe.target;
    double my_ns = 0, slowest;
    uint64_t start_ns;

    MPI_Barrier(MPI_COMM_WORLD);
    start_ns = bench_now_ns();
    if (loop != NULL && (run->measures || run->peer >= 0)) loop(run, n_ops);
    if (run->measures) my_ns = (double)(bench_now_ns() - start_ns) / (double)n_ops;
    MPI_Allreduce(&my_ns, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static uint64_t calibrate(const struct bench *bench, struct bench_run *run,
                          const struct bench_options *options)
{
    uint64_t n_ops = bench->min_ops > 0 ? bench->min_ops : 1;

    if (options->ops > 0) return options->ops;
    while (n_ops < MAX_OPS && sample(bench, run, n_ops) * (double)n_ops < MIN_SAMPLE_NS)
        n_ops *= 2;
    return n_ops;
}

/*
 * Takes the samples of a row in BENCH_N_BLOCKS blocks. Takes options->iterations samples, or fewer
 * if this number of samples would exceed the time limit.
 */
static void measure(struct bench_run *run, const struct bench_options *options,
                    struct bench_result *result)
{
    const struct bench *bench = result->bench;
    struct bench_stats *stats = &result->side[BENCH_STEPPE];
    double *samples, ns, *blocks = calloc(BENCH_N_BLOCKS, sizeof(*blocks));
    int n = options->iterations / BENCH_N_BLOCKS;

    result->n_ops = calibrate(bench, run, options);
    ns = sample(bench, run, result->n_ops) * (double)result->n_ops;
    if (n * ns * BENCH_N_BLOCKS > options->seconds * 1e9)
        n = (int)(options->seconds * 1e9 / ns / BENCH_N_BLOCKS);
    if (n < 1) n = 1;
    samples = calloc((size_t)n * BENCH_N_BLOCKS, sizeof(*samples));
    if (samples == NULL || blocks == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int k = 0; k < BENCH_N_BLOCKS; k++) {
        for (int i = 0; i < n; i++)
            samples[k * n + i] = sample(bench, run, result->n_ops);
        blocks[k] = bench_median_of(samples + k * n, (size_t)n);
    }
    result->n_samples = n * BENCH_N_BLOCKS;
    *stats = bench_stats_of(samples, (size_t)result->n_samples);
    stats->pe_average = stats->pe_fast = stats->pe_slow = stats->median;
    stats->blocks = blocks;
    stats->n_blocks = BENCH_N_BLOCKS;
    result->interval = bench_relative_interval(samples, (size_t)result->n_samples);
    free(samples);
}

static void measure_rows(struct bench_run *run, const struct bench_plan *plan,
                         struct bench_output *out)
{
    for (int i = 0; i < plan->n; i++) {
        const struct bench_item *item = &plan->items[i];
        struct bench_result result = {.bench = item->bench,
                                      .nbytes = item->nbytes,
                                      .value = item->value,
                                      .from_pe = -1,
                                      .to_pe = -1};

        (void)bench_set_row_buffers(item, run, run->options);
        take_role(item->bench, run);
        result.window = run->window;
        result.n_measuring = run->n_measuring;
        result.n_pes = item->bench->shape == BENCH_ALL ? run->n_pes : 2;
        measure(run, run->options, &result);
        if (run->me == 0) bench_output_row(out, run, &result);
        free(result.side[BENCH_STEPPE].blocks);
    }
}

/* ---- the program --------------------------------------------------------------------------- */

static void describe(const struct bench_run *run, struct bench_machine *machine)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    struct bench_place my_place = {.core = -1, .numa = -1};
    time_t now = time(NULL);
    int length;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    for (char *c = version; *c != '\0'; c++)
        if (*c == '\t') *c = ' ';
    snprintf(machine->library, sizeof(machine->library), "%.200s", version);
    strftime(machine->date, sizeof(machine->date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    machine->clock_ns = bench_clock_cost_ns();
    machine->places = calloc((size_t)run->n_pes, sizeof(*machine->places));
    if (machine->places == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    gethostname(my_place.host, sizeof(my_place.host) - 1);
    MPI_Allgather(&my_place, sizeof(my_place), MPI_BYTE, machine->places, sizeof(my_place),
                  MPI_BYTE, MPI_COMM_WORLD);
    for (int pe = 0; pe < run->n_pes; pe++)
        machine->n_local += strcmp(machine->places[pe].host, machine->places[0].host) == 0;
}

static void make_memory(struct bench_run *run, const struct bench_plan *plan)
{
    size_t max_bytes = 4096;

    for (int i = 0; i < plan->n; i++) {
        size_t nbytes = bench_set_row_buffers(&plan->items[i], run, run->options);

        if (nbytes > max_bytes) max_bytes = nbytes;
    }
    MPI_Win_allocate((MPI_Aint)max_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &run->remote, &window);
    run->source = calloc(1, max_bytes);
    run->local = calloc(1, max_bytes);
    if (run->source == NULL || run->local == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(run->remote, 0, max_bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
}

int main(int argc, char **argv)
{
    static struct bench_options options;
    static struct bench_machine machine;
    const struct bench_list *const *const tables[] = {lists, NULL};
    struct bench_run run = {.options = &options};
    struct bench_plan plan = {0};
    struct bench_output out = {.file = stdout};
    char reason[512];

    bench_table_use(tables);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.me);
    MPI_Comm_size(MPI_COMM_WORLD, &run.n_pes);
    run.pair_peer = run.n_pes / 2;
    if (bench_parse(argc, argv, &options, reason, sizeof(reason)) != 0) {
        if (run.me == 0) fprintf(stderr, "bench-mpi: %s\n", reason);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (bench_plan_list_rows(&plan, &run, &options) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    describe(&run, &machine);
    make_memory(&run, &plan);
    out.format = options.format;
    if (run.me == 0) bench_output_begin(&out, &run, &options, &machine);
    measure_rows(&run, &plan, &out);
    if (run.me == 0) bench_output_end(&out, "");
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
