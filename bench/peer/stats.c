/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock and order statistics.
 */
#include "peer.h"

#include <stdlib.h>
#include <time.h>

uint64_t peer_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double peer_clock_cost_ns(void)
{
    enum { READS = 10000 };
    uint64_t start = peer_now_ns();

    for (int i = 0; i < READS; i++)
        (void)peer_now_ns();
    return (double)(peer_now_ns() - start) / READS;
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

double peer_median(double *samples, size_t n)
{
    qsort(samples, n, sizeof(*samples), compare);
    return (samples[(n - 1) / 2] + samples[n / 2]) / 2;
}

void peer_order_stats(double *samples, size_t n, struct peer_stats *stats)
{
    stats->median = peer_median(samples, n);
    stats->best = samples[0];
    stats->p1 = quantile(samples, n, 1);
    stats->p99 = quantile(samples, n, 99);
}
