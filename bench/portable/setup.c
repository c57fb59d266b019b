/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What steppe-bench needs before it measures: memory, cores, the paths between the PEs, and a
 * description of the machine for the heading.
 */
#include "harness.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void bench_gather(void *all, const void *mine, size_t nbytes)
{
    size_t n = (size_t)shmem_n_pes();
    char *board = shmem_malloc(n * nbytes);

    if (board == NULL) {
        fprintf(stderr, "steppe-bench: the symmetric heap has not even %zu bytes free\n",
                n * nbytes);
        shmem_global_exit(1);
        abort();
    }
    for (int pe = 0; pe < (int)n; pe++)
        shmem_putmem(board + (size_t)shmem_my_pe() * nbytes, mine, nbytes, pe);
    shmem_barrier_all();
    memcpy(all, board, n * nbytes);
    shmem_free(board);
}

int bench_worst(int status)
{
    int n_pes = shmem_n_pes(), *all = malloc((size_t)n_pes * sizeof(*all));

    if (all == NULL) abort();
    bench_gather(all, &status, sizeof(status));
    for (int pe = 0; pe < n_pes; pe++)
        if (all[pe] > status) status = all[pe];
    free(all);
    return status;
}

/* ---- paths ----------------------------------------------------------------- */

static void find_paths(struct bench_run *run)
{
    int n_reached = 0;
    bool some_unreached, some_reached, pair_apart;

    for (int pe = 0; pe < run->n_pes; pe++) {
        run->shared_of[pe] = shmem_ptr(run->shared, pe);
        run->remote_of[pe] = shmem_ptr(run->remote, pe);
        if (pe != run->me && run->shared_of[pe] != NULL) n_reached++;
    }
    some_unreached = bench_worst(n_reached < run->n_pes - 1) != 0;
    some_reached = bench_worst(n_reached > 0) != 0;
    run->all_path = !some_unreached ? BENCH_NODE : some_reached ? BENCH_MIXED : BENCH_FABRIC;
    pair_apart = run->n_pes > 1 && run->me == 0 && run->remote_of[run->pair_peer] == NULL;
    run->pair_path = bench_worst(pair_apart) != 0 ? BENCH_FABRIC : BENCH_NODE;
}

/* ---- raw ------------------------------------------------------------------- */

/* Load raw libfabric where some PEs have no other path. A summary does without when it must. */
static int set_raw(struct bench_run *run, const struct bench_options *options,
                   struct bench_machine *machine)
{
    int status;

    if (!options->raw || (run->pair_path == BENCH_NODE && run->all_path == BENCH_NODE)) return 0;
    status = bench_raw_load(run, machine);
    if (status == 0 || options->summary) return 0;
    bench_say(run, "--raw: %s", machine->raw_note);
    return status;
}

int bench_setup(struct bench_run *run, const struct bench_options *options, size_t nbytes,
                bool with_source, struct bench_machine *machine)
{
    int status;

    run->options = options;
    bench_describe(machine);
    status = bench_find_places(run, machine);
    if (status != 0) return status;
    if (bench_cores_set(run, options, machine) != 0) {
        bench_say(run, "a PE could not be bound to a core: use --bind=off");
        return -EINVAL;
    }
    status = bench_find_places(run, machine); /* now with cores */
    if (status == 0) status = bench_buffers_make(run, nbytes, with_source);
    if (status != 0) return status;
    find_paths(run);
    return set_raw(run, options, machine);
}

void bench_teardown(struct bench_run *run, struct bench_machine *machine)
{
    shmem_barrier_all();
    bench_raw_unload(run);
    bench_buffers_free(run);
    free(machine->places);
    machine->places = NULL;
    bench_cores_restore();
}

/* ---- errors ---------------------------------------------------------------- */

void bench_say(const struct bench_run *run, const char *fmt, ...)
{
    va_list args;

    if (run->me != 0) return;
    va_start(args, fmt);
    fputs("steppe-bench: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

void bench_die(const struct bench_run *run, const char *fmt, ...)
{
    char line[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    fprintf(stderr, "steppe-bench: pe %d: %s\n", run->me, line);
    shmem_global_exit(1);
    abort();
}
