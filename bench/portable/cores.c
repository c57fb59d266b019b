/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the hosts, cores and NUMA nodes of the PEs, and binds each PE to a core.
 */
#include "harness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cpu_set_t allowed_cores; /* cores that this process could use before it was bound */
static bool knows_allowed;

/* ---- binding ------------------------------------------------------------------- */

/* Binds this thread to the core with index `nth` among the allowed cores. Returns 0 or -errno. */
static int bind_to(int nth)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        cpu_set_t core_set;

        if (!CPU_ISSET(cpu, &allowed_cores) || nth-- > 0) continue;
        CPU_ZERO(&core_set);
        CPU_SET(cpu, &core_set);
        return sched_setaffinity(0, sizeof(core_set), &core_set) == 0 ? 0 : -errno;
    }
    return -EINVAL;
}

/* Returns the index of this PE among the PEs of its host. */
static int local_number(const struct bench_run *run, const struct bench_place *places)
{
    int n = 0;

    for (int pe = 0; pe < run->me; pe++)
        n += strcmp(places[pe].host, places[run->me].host) == 0;
    return n;
}

static int n_on_host_of(const struct bench_run *run, const struct bench_place *places,
                        int pe_of_host)
{
    int n = 0;

    for (int pe = 0; pe < run->n_pes; pe++)
        n += strcmp(places[pe].host, places[pe_of_host].host) == 0;
    return n;
}

int bench_cores_set(struct bench_run *run, const struct bench_options *options,
                    struct bench_machine *machine)
{
    int status = 0, local = n_on_host_of(run, machine->places, run->me);
    bool may_bind = options->bind != BENCH_BIND_OFF && !run->thread_multiple;

    if (!knows_allowed)
        status = sched_getaffinity(0, sizeof(allowed_cores), &allowed_cores) == 0 ? 0 : -errno;
    knows_allowed = status == 0;
    machine->cores = knows_allowed ? CPU_COUNT(&allowed_cores) : 1;
    run->crowded = bench_worst(local > machine->cores) != 0;
    run->polls = run->crowded ? BENCH_POLLS_CROWDED : BENCH_POLLS;
    machine->bound = may_bind && (options->bind == BENCH_BIND_ON || !run->crowded);
    if (machine->bound && status == 0)
        status = bind_to(local_number(run, machine->places) % machine->cores);
    return bench_worst(machine->bound && status != 0);
}

void bench_cores_restore(void)
{
    if (knows_allowed) (void)sched_setaffinity(0, sizeof(allowed_cores), &allowed_cores);
}

/* ---- places -------------------------------------------------------------------- */

/*
 * Returns the NUMA node of a core, or -1 if it is unknown. In sysfs, the directory of a core
 * contains an entry "node<N>", in which <N> is the number of the NUMA node.
 */
static int numa_of(int core)
{
    char path[96];

    for (int node = 0; core >= 0 && node < 1024; node++) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d", core, node);
        if (access(path, F_OK) == 0) return node;
    }
    return -1;
}

static int number_hosts(const struct bench_run *run, struct bench_machine *machine)
{
    int *host_of = calloc((size_t)run->n_pes, sizeof(*host_of));

    if (host_of == NULL) return -ENOMEM;
    machine->n_hosts = 0;
    for (int pe = 0; pe < run->n_pes; pe++) {
        int first = 0;

        while (strcmp(machine->places[first].host, machine->places[pe].host) != 0)
            first++;
        host_of[pe] = first < pe ? host_of[first] : machine->n_hosts++;
    }
    machine->n_local = n_on_host_of(run, machine->places, 0);
    bench_roles_set_hosts(run, host_of);
    free(host_of);
    return 0;
}

/*
 * The harness calls this function twice. The first call is before the PEs are bound. The second
 * call, after the PEs are bound, records their cores.
 */
int bench_find_places(struct bench_run *run, struct bench_machine *machine)
{
    size_t n = (size_t)run->n_pes;
    struct bench_place my_place = {.core = machine->bound ? sched_getcpu() : -1,
                                   .numa = numa_of(sched_getcpu()),
                                   .pid = (int32_t)getpid()};
    int status;

    if (machine->places == NULL) machine->places = calloc(n, sizeof(*machine->places));
    if (bench_worst(machine->places == NULL) != 0) return -ENOMEM;
    gethostname(my_place.host, sizeof(my_place.host) - 1);
    snprintf(my_place.domain, sizeof(my_place.domain), "%.63s", machine->domain);
    bench_gather(machine->places, &my_place, sizeof(my_place));
    status = number_hosts(run, machine);
    return bench_worst(status != 0) != 0 ? -ENOMEM : 0;
}
