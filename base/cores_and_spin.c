/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines the set of cores on which a thread may run, and the number of times that a wait polls
 * before it yields. Design: docs/design/base.md.
 */
#include "base/base.h"

#include <sched.h>
#include <unistd.h>

/*
 * Time in ns for which a wait polls before it yields, if each PE has its own core. A flag moves
 * from one core to another in about a tenth of this time.
 */
#define SPIN_NS 2000
/*
 * Number of polls before a wait yields if PEs share cores. The number is small, because the PE that
 * must act next may need this core.
 */
#define SPIN_CROWDED 2

_Static_assert(STP_CORES_MAX == 8 * sizeof(cpu_set_t),
               "struct stp_cores and cpu_set_t must hold the same number of cores");

void stp_cores_mine(struct stp_cores *cores)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bool known;
    cpu_set_t set;

    *cores = (struct stp_cores){{0}};
    CPU_ZERO(&set);
    known = sched_getaffinity(0, sizeof(set), &set) == 0; /* fails if there are > 1024 cores */
    for (int i = 0; i < STP_CORES_MAX; i++)
        if (known ? CPU_ISSET(i, &set) : i < online) cores->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

void stp_cores_add(struct stp_cores *cores, const struct stp_cores *added)
{
    for (int i = 0; i < STP_CORES_MAX / 64; i++)
        cores->bits[i] |= added->bits[i];
}

int stp_cores_count(const struct stp_cores *cores)
{
    int n = 0;

    for (int i = 0; i < STP_CORES_MAX / 64; i++)
        n += __builtin_popcountll(cores->bits[i]);
    return n;
}

/*
 * Measures how long n pause instructions take. Other processes can lengthen a measurement.
 * Therefore the function measures three times and returns the shortest time in ns.
 */
static uint64_t cores_relax_ns(int n)
{
    uint64_t shortest = UINT64_MAX;

    for (int try = 0; try < 3; try++) {
        uint64_t start = stp_now_ns(), elapsed;

        for (int i = 0; i < n; i++)
            stp_cpu_relax();
        elapsed = stp_now_ns() - start;
        if (elapsed < shortest) shortest = elapsed;
    }
    return shortest;
}

/*
 * Returns the number of pause instructions that take ns nanoseconds together. The time of one pause
 * is between 4 and 140 ns, depending on the processor.
 */
static int cores_relaxes(uint64_t ns)
{
    enum { TURNS = 64 };
    uint64_t elapsed = cores_relax_ns(TURNS);
    uint64_t n = elapsed > 0 ? ns * TURNS / elapsed : TURNS;

    return n < 16 ? 16 : n > 4096 ? 4096 : (int)n;
}

/*
 * If each PE has its own core, a wait polls for SPIN_NS. This time is long enough for a flag to
 * arrive from another core. It is still short, because an unknown process may need the core of this
 * PE or the core of the PE that sends the flag.
 */
void stp_wait_choose(int polls, bool enough_cores)
{
    if (polls >= 0)
        stp_wait_spin = polls;
    else
        stp_wait_spin = enough_cores ? cores_relaxes(SPIN_NS) : SPIN_CROWDED;
    if (!enough_cores) stp_yield_turns = STP_YIELD_CROWDED;
}
