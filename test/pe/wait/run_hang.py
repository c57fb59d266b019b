#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run pe_hang and check what the library reports about long waits.

usage: run_hang.py <oshrun> -n <number of PEs> <pe_hang> CASE...

Each case in which PEs wait too long must print its lines once, in the order of the cases, and nothing
else. With SHMEM_HANG_REPORT=0 (case "off" first) nothing may be printed. The job must end with
status 0. With SHMEM_NODE=off each PE is a node, and each node that reports prints its own lines.
"""
import os
import re
import subprocess
import sys

oshrun, n, program, cases = sys.argv[1], int(sys.argv[3]), sys.argv[4], sys.argv[5:]
flat = os.environ.get("SHMEM_NODE") == "off"
last = n - 1
FOR = r"waiting for \d s in"
FAR = r"(?:; nothing has arrived from PE \d+)?"  # joined with the line before


def pes(first, end):
    """As the table has a range."""
    return f"{first}" if first == end else f"{first}, {end}" if first + 1 == end else f"{first}-{end}"


def header(of_node=""):
    return (r"a wait has lasted for [1-9] s \(SHMEM_HANG_REPORT sets this time\); "
            rf"the job goes on; state of the PEs{of_node}:")


def world(routine, what, who):
    return rf"PE {who}: {FOR} {routine}, {what} of SHMEM_TEAM_WORLD"


SYNC = r"sync \d+"
every_other = [pe for pe in range(0, n, 2) if pe != last]
TABLES = {
    "init": [r"shmem_init has waited for 1 s \(SHMEM_HANG_REPORT sets this time\) because not all PEs "
             "have come to .*; the job goes on; oshrun --status prints the missing PEs .*"],
    "barrier": [header(), world("shmem_barrier_all", SYNC, pes(0, last - 1)),
                f"missing in this collective: PE {last}", f"PE {last}: in the program"],
    "wait": [header(), rf"PE 0: {FOR} shmem_int_wait_until, until hang_flag \(now 0\) is >= 7",
             world("shmem_long_sum_reduce", r"collective \d+", pes(1, last - 1)),
             f"missing in this collective: PE 0, {last}", f"PE {last}: in the program"],
    "lock": [header(),
             f"PE {pes(0, last - 1)}: {FOR} shmem_set_lock, lock hang_lock, held by PE {last}",
             f"PE {last}: in the program"],
    "team": [header(), f"PE {', '.join(map(str, every_other))}: {FOR} "
             r"shmem_team_sync, sync \d+ of the team of PE 0-\d+, stride 2",
             f"missing in this collective: PE {last}",
             rf"PE 1: {FOR} shmem_signal_wait_until, until heap\+0x[0-9a-f]+ \(now 0\) is != 0",
             f"PE {last}: in the program"],
    "stop": [header(), world("shmem_sync_all", SYNC, pes(0, last - 1)), f"missing in this collective: PE {last}",
             f"PE {last}: stopped by a signal or debugger"],
    "time": [],
    "finalize": [header(), world("shmem_finalize", "the last sync", pes(0, last - 1)),
                 f"missing in this collective: PE {last}", f"PE {last}: in the program"],
}
TABLES["thread"] = TABLES["frozen"] = TABLES["barrier"]
QUIET = (rf"PE 0: {FOR} shmem_quiet, for replies from other PEs; "
         f"nothing has arrived from PE {last}")


def of_world(routine, what, first=0):
    """The first two nodes report a wait of the world; of a sync also the one that waits for the last PE."""
    return {pe: [world(routine, what, pe) + FAR] for pe in range(first, 2)}


# By PE, what it reports of its own wait.
FLAT = {
    "barrier": {**of_world("shmem_barrier_all", SYNC),
                0: [world("shmem_barrier_all", SYNC, 0) + f"; nothing has arrived from PE {last}"]},
    "wait": {**of_world("shmem_long_sum_reduce", r"collective \d+", 1),
             0: [rf"PE 0: {FOR} shmem_int_wait_until, until hang_flag \(now 0\) is >= 7"]},
    "lock": {pe: [rf"PE {pe}: {FOR} shmem_set_lock, lock hang_lock, queued after PE \d+"]
             for pe in range(last)},
    "quiet": {**of_world("shmem_sync_all", SYNC), 0: [QUIET]},
    "stop": of_world("shmem_sync_all", SYNC),
    "first": {1: [world("shmem_sync_all", SYNC, 1) + "; nothing has arrived from PE 0"]},
    "finalize": of_world("shmem_finalize", "the last sync"),
    "time": {},
}


def expected_lines():
    """Patterns of all lines, by PE where each reports by itself, else under None."""
    found = {}
    for case in cases if cases[0] != "off" else []:
        for pe, lines in FLAT[case].items() if flat else [(None, TABLES[case])]:
            found.setdefault(pe, []).extend([header(" of this node"), *lines] if flat else lines)
    if "init" in cases and not flat:
        found["other"] = [rf"{n} PEs, started by process \d+ on host \S+",
                          f"  PE {pes(0, last - 1)}: waiting in shmem_init",
                          rf"    missing in shmem_init: PE {last} \(process \d+\)"]
    return found


def said_lines(text):
    """What was said, by the same keys; lines of oshrun and the programs under "other"."""
    found = {}
    for line in re.sub(r"\n[^\n]*(nothing has arrived from PE )", r"; \1", text).splitlines():
        match = re.fullmatch(r"steppe: pe (\d+) \([^)]*\): +(.*)", line)
        key = "other" if match is None else int(match[1]) if flat else None
        found.setdefault(key, []).append(line if match is None else match[2])
    return found


env = dict(os.environ, SHMEM_HANG_REPORT="0" if cases[0] == "off" else "1")
run = subprocess.run([oshrun, "-n", str(n), program, *cases], env=env, text=True,
                     capture_output=True, check=False)
expected, said = expected_lines(), said_lines(run.stderr)
bad = run.returncode != 0 or run.stdout or expected.keys() != said.keys() or not all(
    len(said[pe]) == len(lines) and all(map(re.fullmatch, lines, said[pe]))
    for pe, lines in expected.items())
if bad:
    print(f"status {run.returncode} (0 is expected); expected lines:", expected, "printed:", run.stderr, sep="\n")
sys.exit(1 if bad else 0)
