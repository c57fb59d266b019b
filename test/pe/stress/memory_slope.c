/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that the memory of a process stays constant while the program repeats one step: init and
 * finalize, or the creation and destruction of a space, a team or a context. The first half of the
 * steps may fill caches. In the second half, nothing that pe_leaks.h counts may grow. Resident
 * memory is judged on one node only, because providers touch their completion queues entry by
 * entry, which takes more than 20000 steps (docs/design/testing.md).
 *
 * usage: memory_slope init|space|team|ctx STEPS [BYTES]
 *   BYTES is the highest slope that passes, in bytes per step (default 100).
 *   With PE_SHOW in the environment, each PE prints its samples and slopes.
 */
#include "pe_leaks.h"

#include "pe_data.h"

enum { SAMPLES = 64, SMALL = 64 * 1024 };

static void use_world(void)
{
    static long cell, sum;

    shmem_long_p(&cell, 1, (pe_me + 1) % pe_n);
    shmem_long_atomic_inc(&sum, (pe_me + 1) % pe_n);
    shmem_barrier_all();
}

static void step_init(void)
{
    shmem_init();
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    use_world();
    shmem_finalize();
}

/* Members send through the space and through a reduction on its team. */
static void step_space(void)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, SMALL);
    shmem_space_t space = SHMEM_SPACE_INVALID;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    long *block;

    PE_REQUIRE(shmem_space_create(&config, &space, &team) == 0, "shmem_space_create failed");
    block = shmem_space_malloc(space, 2 * sizeof(*block));
    PE_REQUIRE(block != NULL, "shmem_space_malloc of two longs returned NULL");
    shmem_long_p(block, 1, (pe_me + 1) % pe_n);
    shmem_long_sum_reduce(team, block + 1, block + 1, 1);
    shmem_space_free(space, block);
    shmem_team_destroy(team);
    PE_CHECK_EQ(shmem_space_destroy(space), 0);
}

static void step_team(void)
{
    static long cell, sum;
    shmem_team_t team = pe_split(SHMEM_TEAM_WORLD, 0, 1, pe_n);

    shmem_long_sum_reduce(team, &sum, &cell, 1);
    shmem_team_destroy(team);
}

static void step_ctx(void)
{
    static long cell;
    shmem_ctx_t ctx = pe_ctx(0);

    shmem_ctx_long_p(ctx, &cell, 1, (pe_me + 1) % pe_n);
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
}

static const struct {
    const char *name;
    void (*step)(void);
} ways[] = {{"init", step_init}, {"space", step_space}, {"team", step_team}, {"ctx", step_ctx}};

enum { HEAP, MEMFDS, MAPPED, RESIDENT, N_FACTS };

static const char *const fact_name[N_FACTS] = {"malloc", "memfds", "mapped memory",
                                               "resident memory"};
static struct pe_holdings samples[SAMPLES + 1];

static double fact_of(const struct pe_holdings *h, int fact)
{
    const long kib[N_FACTS] = {h->heap_kib, h->file_kib, h->virtual_kib, h->rss_kib};

    return 1024.0 * (double)kib[fact];
}

/* Returns the slope of a least-squares line through the samples of the second half. */
static double slope_of(int fact, double steps_per_sample)
{
    double middle = 0.75 * SAMPLES, covariance = 0, variance = 0;

    for (int i = SAMPLES / 2; i <= SAMPLES; i++) {
        covariance += (i - middle) * fact_of(&samples[i], fact);
        variance += (i - middle) * (i - middle);
    }
    return covariance / variance / steps_per_sample;
}

static void judge(const char *way, double steps, double limit)
{
    const struct pe_holdings *middle = &samples[SAMPLES / 2], *last = &samples[SAMPLES];

    pe_check_more(last->fds, middle->fds, 0, "descriptors", way);
    pe_check_more(last->maps, middle->maps, 4, "mappings", way);
    for (int fact = 0; fact < N_FACTS; fact++) {
        double slope = slope_of(fact, steps / SAMPLES);

        if (getenv("PE_SHOW") != NULL)
            fprintf(stderr, "pe %d: %s: %s: from %.0f to %.0f KiB, at last %.1f bytes per step\n",
                    pe_me, way, fact_name[fact], fact_of(&samples[0], fact) / 1024,
                    fact_of(last, fact) / 1024, slope);
        if (fact == RESIDENT && pe_rounds(8) != 8) continue;
        PE_CHECK(slope <= limit, "%s: %s grows by %.1f bytes per step, expected at most %.1f", way,
                 fact_name[fact], slope, limit);
    }
}

static void repeat(void (*step)(void), long steps)
{
    for (int i = 0; i <= SAMPLES; i++) {
        for (long k = i == 0 ? 0 : steps * (i - 1) / SAMPLES; k < steps * i / SAMPLES; k++)
            step();
        samples[i] = pe_holdings();
    }
}

int main(int argc, char **argv)
{
    size_t way = 0, n_ways = sizeof(ways) / sizeof(ways[0]);
    long steps = argc > 2 ? atol(argv[2]) : 0;
    double limit = argc > 3 ? atof(argv[3]) : 100;

    while (argc > 1 && way < n_ways && strcmp(argv[1], ways[way].name) != 0)
        way++;
    if (argc < 2 || way == n_ways || steps < SAMPLES) {
        fprintf(stderr, "usage: %s init|space|team|ctx STEPS [BYTES]\n", argv[0]);
        return PE_FAIL;
    }
    if (ways[way].step == step_init) repeat(step_init, steps);
    pe_test_begin();
    if (ways[way].step != step_init) repeat(ways[way].step, steps);
    judge(ways[way].name, (double)steps, limit);
    return pe_test_end();
}
