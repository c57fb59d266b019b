/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock, order statistics and units of steppe-bench.
 */
#include "bench.h"

#include <stdlib.h>
#include <time.h>

uint64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of all threads of the process. */
uint64_t bench_cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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

/* The smallest sample that at least this share of all samples does not exceed. */
static double quantile(const double *sorted, size_t n, unsigned percent)
{
    size_t rank = (n * percent + 99) / 100;

    return sorted[rank > 0 ? rank - 1 : 0];
}

struct bench_stats bench_stats_of(double *samples, size_t n)
{
    struct bench_stats stats;

    qsort(samples, n, sizeof(*samples), compare);
    stats.min = samples[0];
    stats.median = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
    stats.p99 = quantile(samples, n, 99);
    return stats;
}

double bench_value(const struct bench_result *result, double ns)
{
    double messages = result->bench->windowed ? result->window : 1;

    switch (result->bench->metric) {
    case BENCH_BANDWIDTH:
        return messages * (double)result->nbytes * 1e3 / ns; /* bytes a ns = 1000 MB/s */
    case BENCH_RATE:
        return messages * 1e3 / ns;
    case BENCH_LONG:
        return ns / 1e3;
    case BENCH_SHARE:
        return 100 * ns / BENCH_IDLE_NS;
    case BENCH_LATENCY:
        break;
    }
    return ns / result->bench->per_op;
}

const char *bench_unit(const struct bench *bench)
{
    static const char *const units[] = {[BENCH_LATENCY] = "ns",
                                        [BENCH_BANDWIDTH] = "MB/s",
                                        [BENCH_RATE] = "Mmsg/s",
                                        [BENCH_LONG] = "us",
                                        [BENCH_SHARE] = "%"};

    return units[bench->metric];
}
