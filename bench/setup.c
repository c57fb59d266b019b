/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What steppe-bench needs before it measures: memory, cores, the paths between the PEs, and a
 * description of the machine for the heading.
 */
#include "harness.h"
#include "raw_cuda.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

int bench_worst(int status)
{
    int *word = shmem_malloc(2 * sizeof(*word));
    int worst;

    if (word == NULL) {
        fprintf(stderr, "steppe-bench: the symmetric heap has not even %zu bytes free\n",
                2 * sizeof(*word));
        shmem_global_exit(1);
    }
    word[0] = status;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &word[1], &word[0], 1);
    worst = word[1];
    shmem_free(word);
    return worst;
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

/* ---- PEs that make no call ---------------------------------------------------- */

bool bench_serves_idle(void)
{
    static const char *const off[] = {"0", "off", "no", "false", "n", "f"};
    const char *value = getenv("SHMEM_OFI_PROGRESS_THREAD");

    for (size_t i = 0; value != NULL && i < sizeof(off) / sizeof(off[0]); i++)
        if (strcasecmp(value, off[i]) == 0) return false;
    return true;
}

/* The first word between PE 0 and its peer, which computes: it has to get a connection first. */
static void first_contact(const struct bench_run *run, struct bench_machine *machine)
{
    static uint64_t word, done; /* symmetric */
    static bool asked;
    struct timespec until_it_computes = {.tv_nsec = 20000000};
    int other = run->me == 0 ? run->pair_peer : 0;
    uint64_t start;

    if (asked) return; /* in an earlier run of the library */
    asked = true;
    if (run->n_pes == 1 || (run->me != 0 && run->me != run->pair_peer) || !bench_serves_idle() ||
        shmem_ptr(&word, other) != NULL)
        return;
    if (run->me != 0) {
        bench_compute(&done, 1);
        return;
    }
    nanosleep(&until_it_computes, NULL);
    start = bench_now_ns();
    (void)shmem_uint64_g(&word, other);
    machine->first_us = (double)(bench_now_ns() - start) / 1e3;
    shmem_uint64_p(&done, 1, other);
    shmem_quiet();
}

/* ---- raw ------------------------------------------------------------------- */

/* Load raw libfabric where some PEs have no other path. A summary does without when it must. */
static int set_raw(struct bench_run *run, const struct bench_options *options,
                   struct bench_machine *machine)
{
    int status;

    if (!options->raw || (run->pair_path == BENCH_NODE && run->all_path == BENCH_NODE)) return 0;
    status = bench_raw_load(run, options, machine);
    if (status == 0 || options->summary) return 0;
    bench_say(run, "--raw: %s", machine->raw_note);
    return status;
}

int bench_setup(struct bench_run *run, const struct bench_options *options, size_t nbytes,
                bool with_source, struct bench_machine *machine)
{
    int status;

    run->raw_flush = options->raw_flush;
    run->options = options;
    run->team = SHMEM_TEAM_WORLD;
    first_contact(run, machine);
    bench_describe(run, machine);
    status = bench_find_places(run, machine);
    if (status != 0) return status;
    if (bench_cores_set(run, options, machine) != 0) {
        bench_say(run, "a PE could not be bound to a core: use --bind=off");
        return -EINVAL;
    }
    status = bench_find_places(run, machine); /* now with cores */
    if (status == 0) status = bench_buffers_make(run, options, nbytes, with_source);
    if (status != 0) return status;
    find_paths(run);
    return set_raw(run, options, machine);
}

void bench_teardown(struct bench_run *run, struct bench_machine *machine)
{
    shmem_barrier_all();
    bench_raw_unload(run);
    raw_cuda_close();
    run->cuda = NULL;
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
