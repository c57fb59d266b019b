/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provides the clock, the order statistics and the units of steppe-bench.
 */
#include "harness.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* Returns the CPU time that all threads of this process have used, in ns. */
uint64_t bench_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_clock_cost_ns(void)
{
    enum { READS = 10000 };
    uint64_t start = bench_now_ns();

    for (int i = 0; i < READS; i++)
        (void)bench_now_ns();
    return (double)(bench_now_ns() - start) / READS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Returns a percentile of n sorted samples by the nearest-rank method. */
static double quantile(const double *sorted, size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;

    return sorted[rank > 0 ? rank - 1 : 0];
}

double bench_median_of(double *samples, size_t n)
{
    qsort(samples, n, sizeof(*samples), compare);
    return (samples[(n - 1) / 2] + samples[n / 2]) / 2;
}

struct bench_stats bench_stats_of(double *samples, size_t n)
{
    struct bench_stats stats = {.median = bench_median_of(samples, n), .slowest_pe = -1};

    stats.best = samples[0];
    stats.p1 = quantile(samples, n, 1);
    stats.p99 = quantile(samples, n, 99);
    return stats;
}

/*
 * The ends of the interval are two of the sorted samples. The ranks of these samples are 1.96
 * standard deviations below and above the rank of the median. The standard deviation is that of a
 * binomial distribution. If the samples are independent, the interval contains the true median in
 * 95 % of all cases, for every distribution of the samples.
 */
double bench_relative_interval(const double *sorted, size_t n)
{
    double half_width = 0.98 * sqrt((double)n), middle = (double)(n - 1) / 2;
    size_t low, high;
    double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;

    if (middle - half_width < 0 || median <= 0) return 1;
    low = (size_t)floor(middle - half_width);
    high = (size_t)ceil(middle + half_width);
    return (sorted[high < n ? high : n - 1] - sorted[low]) / 2 / median;
}

/* Returns the number of messages in one operation, summed over all PEs that measure. */
static double messages_of(const struct bench_result *result)
{
    double messages = result->bench->windowed ? result->window : 1;

    return messages * (result->n_measuring > 1 ? result->n_measuring : 1);
}

double bench_value(const struct bench_result *result, double ns)
{
    switch (result->bench->metric) {
    case BENCH_BANDWIDTH: /* 1 byte per ns is 1000 MB/s */
        return messages_of(result) * (double)result->nbytes * 1e3 / ns;
    case BENCH_RATE:
        return messages_of(result) * 1e3 / ns;
    case BENCH_LONG:
        return ns / 1e3;
    case BENCH_SHARE:
        return 100 * ns / BENCH_IDLE_NS;
    case BENCH_OVERLAP:
        return 100 - ns;
    case BENCH_LATENCY:
        break;
    }
    return ns / (result->bench->per_op > 0 ? result->bench->per_op : 1);
}

/* Converts a time per operation of one PE to the unit of the bench. */
double bench_pe_value(const struct bench_result *result, double ns)
{
    struct bench_result single = *result;

    single.n_measuring = 1;
    return bench_value(&single, ns);
}

const char *bench_unit(const struct bench *bench)
{
    static const char *const units[] = {
        [BENCH_LATENCY] = "ns", [BENCH_BANDWIDTH] = "MB/s", [BENCH_RATE] = "Mmsg/s",
        [BENCH_LONG] = "us",    [BENCH_SHARE] = "%",        [BENCH_OVERLAP] = "%"};

    return units[bench->metric];
}

bool bench_more_is_better(const struct bench *bench)
{
    return bench->metric == BENCH_BANDWIDTH || bench->metric == BENCH_RATE ||
           bench->metric == BENCH_OVERLAP;
}

bool bench_by_many(const struct bench *bench)
{
    return bench->shape != BENCH_PAIR && bench->shape != BENCH_ONE_ALL &&
           bench->shape != BENCH_ALONE && bench->shape != BENCH_EACH;
}
