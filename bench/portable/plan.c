/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which rows are measured and how much memory each row needs. All PEs make the same plan.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Maximum total size in bytes of the buffers that a row uses with --verify. If VERIFY_BUFFERS
 * buffers would be larger, the row uses fewer buffers.
 */
#define VERIFY_BYTES ((size_t)4 << 20)
/*
 * Number of buffers that a row uses with --verify. With only one buffer, a later put could hide
 * that an earlier put was lost.
 */
#define VERIFY_BUFFERS 64
#define WINDOW 64
#define WINDOW_BYTES ((size_t)16 << 20)

/* ---- adding rows ------------------------------------------------------------------ */

static int plan_add(struct bench_plan *plan, const struct bench_item *item)
{
    if (plan->n == plan->room) {
        int room = plan->room > 0 ? 2 * plan->room : 256;
        struct bench_item *items = realloc(plan->items, (size_t)room * sizeof(*items));

        if (items == NULL) return -ENOMEM;
        plan->items = items;
        plan->room = room;
    }
    plan->items[plan->n++] = *item;
    return 0;
}

/* Adds a row for each value of the bench's parameter, or one row if the bench has no parameter. */
static int add_values(struct bench_plan *plan, struct bench_item item, const struct bench_run *run,
                      const struct bench_options *options)
{
    struct bench_values values = {.n = 1};
    int status = 0;

    if (item.bench->shape == BENCH_EACH) {
        for (int from_pe = 0; from_pe < run->n_pes && status == 0; from_pe++)
            for (int to_pe = 0; to_pe < run->n_pes && status == 0; to_pe++) {
                if (from_pe == to_pe) continue;
                item.value = (long)from_pe * run->n_pes + to_pe;
                status = plan_add(plan, &item);
            }
        return status;
    }
    if (item.bench->parameter != NULL) item.bench->parameter->values(run, options, &values);
    for (int i = 0; i < values.n && status == 0; i++) {
        item.value = values.value[i];
        status = plan_add(plan, &item);
    }
    return status;
}

static int add_size(struct bench_plan *plan, const struct bench *bench, size_t nbytes,
                    const struct bench_run *run, const struct bench_options *options)
{
    struct bench_item item = {.bench = bench, .nbytes = nbytes, .cycle = bench->cycle};

    return add_values(plan, item, run, options);
}

/*
 * Returns the largest message size of a bench. If a buffer holds a message for each PE, the message
 * size is limited so that the buffer has at most 64 MiB. This limit does not apply if the user
 * gives the sizes.
 */
static size_t max_of(const struct bench *bench, const struct bench_run *run,
                     const struct bench_options *options)
{
    size_t max = options->max_size, limit;

    if (options->sizes_given) return max;
    if (bench->default_max > 0 && max > bench->default_max) max = bench->default_max;
    limit = ((size_t)64 << 20) / (size_t)run->n_pes;
    return bench->per_pe && max > limit ? limit : max;
}

static int add_bench(struct bench_plan *plan, const struct bench *bench,
                     const struct bench_run *run, const struct bench_options *options)
{
    static const size_t quick_sizes[] = {8, 4096, 65536};
    size_t unit = bench->min_size > 0 ? bench->min_size : 1, max = max_of(bench, run, options);
    bool is_quick = options->quick && !options->sizes_given;
    int status = 0;

    if (!bench->sized)
        return add_size(plan, bench, bench->nbytes > 0 ? bench->nbytes : 8, run, options);
    for (int i = 0; bench->sizes != NULL && bench->sizes[i] != 0 && status == 0; i++)
        status = add_size(plan, bench, bench->sizes[i], run, options);
    for (size_t i = 0; bench->sizes == NULL && is_quick && i < 3 && status == 0; i++)
        if (quick_sizes[i] <= max && quick_sizes[i] % unit == 0)
            status = add_size(plan, bench, quick_sizes[i], run, options);
    for (size_t n = options->min_size; bench->sizes == NULL && !is_quick && n <= max && status == 0;
         n *= 2)
        if (n % unit == 0) status = add_size(plan, bench, n, run, options);
    return status;
}

static int add_summary(struct bench_plan *plan, const struct bench_run *run,
                       const struct bench_options *options)
{
    static const struct {
        const char *name;
        size_t nbytes;
    } rows[] = {
        {"p", 8},
        {"put-latency", 8},
        {"get-latency", 8},
        {"atomic-fetch-add", 8},
        {"flag", 8},
        {"barrier", 8},
        {"put-rate", 8},
        {"get-rate", 8},
        {"passive-get", 8},
        {"passive-fetch-add", 8},
        {"idle-cpu", 8},
        {"put-bandwidth", (size_t)4 << 10},
        {"put-bandwidth", (size_t)64 << 10},
        {"put-bandwidth", (size_t)1 << 20},
        {"get-bandwidth", (size_t)4 << 10},
        {"get-bandwidth", (size_t)64 << 10},
        {"get-bandwidth", (size_t)1 << 20},
        {"reduce", 8},
        {"fcollect", 8},
    };
    int status = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && status == 0; i++) {
        const struct bench *bench = bench_find(rows[i].name);

        if (bench != NULL) status = add_size(plan, bench, rows[i].nbytes, run, options);
    }
    return status;
}

/* Returns false if the bench needs two PEs and the job has only one. */
static bool can_run(const struct bench *bench, const struct bench_run *run)
{
    return run->n_pes > 1 || bench->shape == BENCH_ALL || bench->shape == BENCH_ALONE;
}

static void drop_rows(struct bench_plan *plan, const struct bench_run *run)
{
    int n_kept = 0;

    for (int i = 0; i < plan->n; i++)
        if (can_run(plan->items[i].bench, run)) plan->items[n_kept++] = plan->items[i];
    plan->n_alone = plan->n - n_kept;
    plan->n = n_kept;
}

/*
 * Sorts the rows by cycle, so that the rows with SHMEM_THREAD_MULTIPLE come last. Returns 0 or
 * -ENOMEM.
 */
static int sort_cycles(struct bench_plan *plan)
{
    struct bench_item *sorted = malloc((size_t)plan->n * sizeof(*sorted) + 1);
    int n = 0;

    if (sorted == NULL) return -ENOMEM;
    for (int cycle = 0; cycle < BENCH_N_CYCLES; cycle++)
        for (int i = 0; i < plan->n; i++)
            if ((int)plan->items[i].cycle == cycle) sorted[n++] = plan->items[i];
    free(plan->items);
    plan->items = sorted;
    plan->room = plan->n;
    return 0;
}

static bool is_planned(const struct bench_plan *plan, const struct bench *bench)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->items[i].bench == bench) return true;
    return false;
}

int bench_plan_list_rows(struct bench_plan *plan, const struct bench_run *run,
                         const struct bench_options *options)
{
    const struct bench *bench;
    int status = options->summary ? add_summary(plan, run, options) : 0;

    for (int i = 0; i < options->n_names; i++)
        for (int k = 0; (bench = bench_at(k)) != NULL && status == 0; k++)
            if (bench_name_matches(bench, options->names[i]) && !is_planned(plan, bench))
                status = add_bench(plan, bench, run, options);
    if (status != 0) return status;
    drop_rows(plan, run);
    return sort_cycles(plan);
}

void bench_plan_free(struct bench_plan *plan)
{
    free(plan->items);
    *plan = (struct bench_plan){0};
}

/* ---- requirements of a plan ------------------------------------------------------- */

/*
 * Returns the time limit of a row in ns. The factor 1.2 adds the time of the trials that precede
 * the measurement.
 */
static double row_ns(const struct bench_item *item, const struct bench_options *options)
{
    int sides = 1 + options->raw;

    if (item->bench->n_samples > 0) return 1e9 * item->bench->n_samples;
    return 1.2e9 * options->seconds * sides;
}

double bench_plan_ns(const struct bench_plan *plan, const struct bench_options *options)
{
    double ns = 0;

    for (int i = 0; i < plan->n; i++)
        ns += row_ns(&plan->items[i], options);
    return ns;
}

bool bench_plan_wants_gpu(const struct bench_plan *plan, const struct bench_options *options)
{
    for (int i = 0; i < plan->n; i++) {
        const struct bench *bench = plan->items[i].bench;

        if (bench->on_gpu || (bench->in_spaces && options->kind == BENCH_KIND_GPU)) return true;
    }
    return false;
}

bool bench_plan_wants_source(const struct bench_plan *plan)
{
    for (int i = 0; i < plan->n; i++)
        if (plan->items[i].bench->in_source) return true;
    return false;
}

/* ---- shape of a row ------------------------------------------------------------------ */

/*
 * Returns the number of messages between two quiets. The default is 64, or fewer if 64 messages
 * would have more than 16 MiB.
 */
static int window_of(const struct bench *bench, size_t nbytes, const struct bench_options *options)
{
    size_t window = WINDOW_BYTES / nbytes;

    if (!bench->windowed) return 1;
    if (options->window > 0) return options->window;
    return window > WINDOW ? WINDOW : window < 1 ? 1 : (int)window;
}

static size_t extent_of(const struct bench *bench, const struct bench_run *run)
{
    size_t extent = bench->extent != NULL ? bench->extent(run)
                    : bench->per_pe       ? run->nbytes * (size_t)run->n_pes
                                          : run->nbytes;

    if (extent < BENCH_LINE) return BENCH_LINE;
    return (extent + BENCH_LINE - 1) & ~(size_t)(BENCH_LINE - 1);
}

/* Returns whether the bench can use several buffers (--buffers). */
static bool walks(const struct bench *bench)
{
    return bench->walks || (bench->moves != BENCH_MOVES_NOTHING && !bench->one_op);
}

static size_t n_buffers_of(const struct bench *bench, size_t extent, int window,
                           const struct bench_options *options)
{
    if (options->verify && bench->moves != BENCH_MOVES_NOTHING && walks(bench) &&
        options->buffers == 1)
        return VERIFY_BUFFERS * extent <= VERIFY_BYTES ? VERIFY_BUFFERS : (size_t)window;
    return (size_t)options->buffers;
}

size_t bench_set_row_buffers(const struct bench_item *item, struct bench_run *run,
                             const struct bench_options *options)
{
    size_t n;

    run->nbytes = item->nbytes;
    run->value = item->value;
    run->extent = extent_of(item->bench, run);
    run->window = window_of(item->bench, item->nbytes, options);
    n = n_buffers_of(item->bench, run->extent, run->window, options);
    run->span = n * run->extent;
    run->step = n > 1 ? run->extent : 0;
    if (item->bench->in_spaces) return BENCH_LINE; /* the bench allocates its own memory */
    return run->span;
}
