/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines the cores on which a process may run, and how long waits spin on them.
 * Design: docs/design/base.md.
 */
#include "base/base.h"

#include <sched.h>
#include <unistd.h>

#define SPIN_NS 2000   /* spin time; a flag between two cores takes a tenth of this time */
#define SPIN_CROWDED 2 /* polls if PEs share cores, because the awaited PE may need this core */

_Static_assert(STP_CORES_MAX == 8 * sizeof(cpu_set_t), "a set holds what the system's does");

void stp_cores_mine(struct stp_cores *cores)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bool known;
    cpu_set_t set;

    *cores = (struct stp_cores){{0}};
    CPU_ZERO(&set);
    known = sched_getaffinity(0, sizeof(set), &set) == 0; /* fails with more than 1024 cores */
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

/* Returns the least of three times of n pauses, because other processes may lengthen one. */
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

/* Returns the number of pauses that take ns; a pause takes 4 ns to 140 ns, by the processor. */
static int cores_relaxes(uint64_t ns)
{
    enum { TURNS = 64 };
    uint64_t took = cores_relax_ns(TURNS);
    uint64_t n = took > 0 ? ns * TURNS / took : TURNS;

    return n < 16 ? 16 : n > 4096 ? 4096 : (int)n;
}

/*
 * If each PE has a core, a spin covers the transfer of a flag between two cores many times over.
 * The spin is still short if an unknown other process uses the core of this PE or of its peer.
 */
void stp_wait_choose(int polls, bool enough_cores)
{
    if (polls >= 0)
        stp_wait_spin = polls;
    else
        stp_wait_spin = enough_cores ? cores_relaxes(SPIN_NS) : SPIN_CROWDED;
    if (!enough_cores) stp_yield_turns = STP_YIELD_CROWDED;
}
