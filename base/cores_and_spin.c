/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines on which cores a process may run, and how long its waits poll before they yield.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <sched.h>
#include <unistd.h>

#define SPIN_NS 2000   /* polling time in ns, ten times the time to transfer a flag between cores */
#define SPIN_CROWDED 2 /* few polls if PEs share cores, because the awaited PE may need this core */

_Static_assert(STP_CORES_MAX == 8 * sizeof(cpu_set_t), "a set holds what the system's does");

void stp_cores_mine(struct stp_cores *cores)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bool known;
    cpu_set_t set;

    *cores = (struct stp_cores){{0}};
    CPU_ZERO(&set);
    known = sched_getaffinity(0, sizeof(set), &set) == 0; /* fails if cores > 1024 */
    for (int i = 0; i < STP_CORES_MAX; i++)
        if (known ? CPU_ISSET(i, &set) : i < online) cores->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

void stp_cores_add(struct stp_cores *cores, const struct stp_cores *more)
{
    for (int i = 0; i < STP_CORES_MAX / 64; i++)
        cores->bits[i] |= more->bits[i];
}

int stp_cores_count(const struct stp_cores *cores)
{
    int n = 0;

    for (int i = 0; i < STP_CORES_MAX / 64; i++)
        n += __builtin_popcountll(cores->bits[i]);
    return n;
}

/*
 * Measures three times how long n pause instructions take, and returns the shortest time in ns.
 * Other processes may lengthen a single measurement.
 */
static uint64_t cores_relax_ns(int n)
{
    uint64_t least = UINT64_MAX;

    for (int try = 0; try < 3; try++) {
        uint64_t began = stp_now_ns(), took;

        for (int i = 0; i < n; i++)
            stp_cpu_relax();
        took = stp_now_ns() - began;
        if (took < least) least = took;
    }
    return least;
}

/* Returns how many pause instructions take ns nanoseconds in total. One takes 4 to 140 ns. */
static int cores_relaxes(uint64_t ns)
{
    enum { TURNS = 64 };
    uint64_t took = cores_relax_ns(TURNS);
    uint64_t n = took > 0 ? ns * TURNS / took : TURNS;

    return n < 16 ? 16 : n > 4096 ? 4096 : (int)n;
}

/*
 * If each PE has its own core, a wait polls long enough to receive a flag from another core without
 * yielding. The time is still short, because an unknown process may use the core of this PE or of
 * the PE that sends the flag.
 */
void stp_wait_choose(int polls, bool enough_cores)
{
    if (polls >= 0)
        stp_wait_spin = polls;
    else
        stp_wait_spin = enough_cores ? cores_relaxes(SPIN_NS) : SPIN_CROWDED;
    if (!enough_cores) stp_yield_turns = STP_YIELD_CROWDED;
}
