/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores. The program binds its PEs itself, whatever the launcher did, so that all implementations
 * have the same places: a core for each PE, or where there are too few, all of the cores for all.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "peer.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which PE of its host is pe? Sets *n_local to the number of PEs there. */
static int local_number(const struct peer_place *places, int n_pes, int pe, int *n_local)
{
    int local = 0;

    *n_local = 0;
    for (int i = 0; i < n_pes; i++)
        if (strcmp(places[i].host, places[pe].host) == 0) {
            if (i < pe) local++;
            (*n_local)++;
        }
    return local;
}

/* Let this thread run on these cores alone. */
static int bind_to(const int *cores, int n_cores)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = 0; i < n_cores; i++)
        CPU_SET((size_t)cores[i], &set);
    return sched_setaffinity(0, sizeof(set), &set);
}

/* Without a list of cores: all that this machine lets us have, or that the launcher left us. */
static int all_cores(bool widen, int *cores)
{
    cpu_set_t set;
    int n = 0;

    memset(&set, 0xff, sizeof(set));
    if (widen) (void)sched_setaffinity(0, sizeof(set), &set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
    for (int core = 0; core < CPU_SETSIZE && n < PEER_MAX_CORES; core++)
        if (CPU_ISSET((size_t)core, &set)) cores[n++] = core;
    return n;
}

/* The same answer on all PEs: yes if all say so. */
static bool all_agree(const struct peer_run *run, bool yes, char *votes)
{
    char mine = yes;

    peer_gather(&mine, 1, votes);
    return memchr(votes, 0, (size_t)run->n_pes) == NULL;
}

static int count_hosts(const struct peer_place *places, int n_pes)
{
    int n_hosts = 0, n_local;

    for (int pe = 0; pe < n_pes; pe++)
        if (local_number(places, n_pes, pe, &n_local) == 0) n_hosts++;
    return n_hosts;
}

void peer_bind(struct peer_run *run, const struct peer_options *options,
               struct peer_machine *machine)
{
    size_t n_pes = (size_t)run->n_pes;
    char *votes = malloc(n_pes);
    int *cores = malloc(PEER_MAX_CORES * sizeof(*cores));
    struct peer_place mine = {.core = -1};
    int local, n_cores = options->n_cores;
    bool fits;

    machine->places = calloc(n_pes, sizeof(*machine->places));
    if (machine->places == NULL || votes == NULL || cores == NULL) peer_abort();
    memcpy(cores, options->cores, sizeof(options->cores));
    (void)gethostname(mine.host, sizeof(mine.host) - 1);
    peer_gather(&mine, sizeof(mine), machine->places);
    if (n_cores == 0) n_cores = all_cores(options->bind, cores);
    machine->n_cores = n_cores;
    local = local_number(machine->places, run->n_pes, run->me, &machine->n_local);
    machine->n_hosts = count_hosts(machine->places, run->n_pes);
    fits = all_agree(run, machine->n_local <= n_cores, votes);
    run->polls = fits ? 1000 : 50;
    if (options->bind && !fits) (void)bind_to(cores, n_cores);
    if (options->bind && fits && bind_to(&cores[local], 1) == 0) mine.core = cores[local];
    machine->bound = all_agree(run, mine.core >= 0, votes);
    peer_gather(&mine, sizeof(mine), machine->places);
    free(votes);
    free(cores);
}
