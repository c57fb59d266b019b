#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that PEs count the cores that they have together, however they are bound.

usage: cores.py MPIEXEC PROGRAM

Starts two PEs bound to the same core, to two cores, and one of them to both cores, on the path
that the environment selects. SHMEM_DEBUG=1 prints the numbers of PEs and cores that each PE
finds. Skipped (77) on one core.
"""
import os
import re
import subprocess
import sys

SKIP = 77


def found(mpiexec, program, first, second):
    """What PEs with these sets of cores find, as a set of pairs: PEs, cores."""
    command = [mpiexec, "-n", "1", "taskset", "-c", first, program,
               ":", "-n", "1", "taskset", "-c", second, program]
    job = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
                         env=dict(os.environ, SHMEM_DEBUG="1"))
    lines = re.findall(r"PEs of this host: (\d+), cores: (\d+)", job.stdout)
    if job.returncode != 0 or len(lines) != 2:
        print(job.stdout)
    return {(int(n_pes), int(n_cores)) for n_pes, n_cores in lines}


def main():
    mpiexec, program = sys.argv[1:]
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("skipped: this process may use one core only, two are needed")
        return SKIP
    one, other = str(cores[0]), str(cores[1])
    bad = 0
    for first, second, want in ((one, one, 1), (one, other, 2), (one, one + "," + other, 2)):
        got = found(mpiexec, program, first, second)
        print(f"PE 0 on core {first}, PE 1 on {second}: (PEs, cores) found {got}, "
              f"expected {(2, want)}")
        bad += got != {(2, want)}
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
