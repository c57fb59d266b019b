/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares the measurements: collects what the output says about the machine, binds the PEs to
 * cores, allocates memory, and finds the paths between the PEs.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>

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

/* ---- the raw side ------------------------------------------------------------ */

/*
 * Loads the raw libfabric module if --raw is set and some PEs reach each other only over the
 * fabric. Returns 0, or -errno if loading fails. With --summary it returns 0 even if loading fails,
 * because the summary can be printed without the raw side.
 */
static int set_raw(struct bench_run *run, const struct bench_options *options,
                   struct bench_machine *machine)
{
    int status;

    if (!options->raw || (run->pair_path == BENCH_NODE && run->all_path == BENCH_NODE)) return 0;
    status = run->extras->raw_load(run, machine);
    if (status == 0 || options->summary) return 0;
    bench_say(run, "--raw: cannot measure the raw side: %s", machine->raw_note);
    return status;
}

int bench_place_bind_and_allocate(struct bench_run *run, const struct bench_options *options,
                                  size_t nbytes, bool with_source, struct bench_machine *machine)
{
    int status;

    run->options = options;
    bench_describe(machine);
    if (run->extras->describe_library != NULL) run->extras->describe_library(machine);
    status = bench_find_places(run, machine);
    if (status != 0) return status;
    if (bench_cores_set(run, options, machine) != 0) {
        bench_say(run, "a PE could not be bound to a core: run again with --bind=off");
        return -EINVAL;
    }
    status = bench_find_places(run, machine); /* again, because the PEs are now bound to cores */
    if (status == 0) status = bench_buffers_make(run, nbytes, with_source);
    if (status != 0) return status;
    find_paths(run);
    return set_raw(run, options, machine);
}

void bench_teardown(struct bench_run *run, struct bench_machine *machine)
{
    shmem_barrier_all();
    if (run->extras->raw_unload != NULL) run->extras->raw_unload(run);
    bench_buffers_free(run);
    free(machine->places);
    machine->places = NULL;
    bench_cores_restore();
}
