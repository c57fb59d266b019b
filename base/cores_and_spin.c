/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cores a process may run on, and how long waits spin on them.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <sched.h>
#include <unistd.h>

#define SPIN_NS 2000   /* a flag between two cores takes a tenth */
#define SPIN_CROWDED 2 /* polls, where the one that is waited for may need this core */

_Static_assert(STP_CORES_MAX == 8 * sizeof(cpu_set_t), "a set holds what the system's does");

void stp_cores_mine(struct stp_cores *cores)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bool known;
    cpu_set_t set;

    *cores = (struct stp_cores){{0}};
    CPU_ZERO(&set);
    known = sched_getaffinity(0, sizeof(set), &set) == 0; /* not where there are more than 1024 */
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

/* The least of some tries: another process may have the core meanwhile. */
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

/* How many turns last so long; a turn lasts from 4 ns to 140 ns, by the processor. */
static int cores_relaxes(uint64_t ns)
{
    enum { TURNS = 64 };
    uint64_t took = cores_relax_ns(TURNS);
    uint64_t n = took > 0 ? ns * TURNS / took : TURNS;

    return n < 16 ? 16 : n > 4096 ? 4096 : (int)n;
}

/*
 * With a core each: long enough to cover a flag between two cores many times over, short enough
 * for what nobody has counted, another process on the core of this PE or of the one it waits for.
 */
void stp_wait_choose(int polls, bool enough_cores)
{
    if (polls >= 0)
        stp_wait_spin = polls;
    else
        stp_wait_spin = enough_cores ? cores_relaxes(SPIN_NS) : SPIN_CROWDED;
    if (!enough_cores) stp_yield_turns = STP_YIELD_CROWDED;
}
