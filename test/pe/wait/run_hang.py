#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run pe_hang and look at what is told of its waits.

usage: run_hang.py <oshrun> -n <number of PEs> <pe_hang> CASE...

Each case in which PEs wait too long has its lines once, in the order of the cases, and nothing else
is said; with SHMEM_HANG_REPORT=0 nothing at all (case "off" first). The job always ends well.
"""
import os
import re
import subprocess
import sys

oshrun, n, program, cases = sys.argv[1], int(sys.argv[3]), sys.argv[4], sys.argv[5:]
last = n - 1


def pes(first, end):
    """As the table has a range."""
    return f"{first}" if first == end else f"{first}, {end}" if first + 1 == end else f"{first}-{end}"


SYNC = r"sync \d+ of the world"
ANYWHERE = r"(?:(?:sync|collective) \d+ of the [^:]*|shmem_\w+|a call that needs answers)"


def computing(who, what=ANYWHERE, seconds=r"\d+"):
    """PEs that show no wait."""
    return rf"in the program, last seen {seconds} s ago in {what}: {who}"


every_other = [pe for pe in range(0, n, 2) if pe != last]
TABLES = {
    "init": [rf"shmem_init has waited for 1 s so far .*: 1 of the {n} PEs of this host have not "
             r"come; processes that may be theirs: \d+", r"late: \d+"],
    "barrier": [rf"in shmem_barrier_all, sync \d+ of the world: {pes(0, last - 1)}",
                f"have not come: {last}", computing(last, SYNC, "[0-9]")],
    "wait": [r"in shmem_int_wait_until: hang_flag is 0, to be >= 7: 0",
             rf"in shmem_long_sum_reduce, collective \d+ of the world: {pes(1, last - 1)}",
             f"have not come: 0, {last}", computing(last, "shmem_int_wait_until")],
    "lock": [f"in shmem_set_lock: lock hang_lock, held by pe {last}: {pes(0, last - 1)}",
             computing(last)],
    "team": [rf"in shmem_team_sync, sync \d+ of the team of pes 0-\d+ by 2: "
             + ", ".join(map(str, every_other)),
             f"have not come: {last}",
             r"in shmem_signal_wait_until: heap\+0x[0-9a-f]+ is 0, to be != 0: 1",
             computing(last)],
    "stop": [rf"in shmem_sync_all, sync \d+ of the world: {pes(0, last - 1)}",
             f"have not come: {last}", f"stopped: {last}"],
    "frozen": [rf"in shmem_barrier_all, sync \d+ of the world: {pes(0, last - 1)}",
               f"have not come: {last}", computing(last, SYNC, "[0-9]")],
    "time": [],
    "finalize": [f"in shmem_finalize, the end of the world: {pes(0, last - 1)}",
                 f"have not come: {last}", computing(last)],
}

# Each PE is a node, and one tells for all: nothing is known of a PE that is stopped, or that computes
# without a thread to serve others. Without PE 0, which decides who tells, each tells what it knows.
if os.environ.get("SHMEM_NODE") == "off":
    unknown = f"not known, their nodes do not answer: {last}"
    far = r"(?:; nothing has come from: \d+)?"
    TABLES["quiet"] = [f"in a quiet, answers of other PEs: 0; nothing has come from: {last}",
                       rf"in shmem_sync_all, sync \d+ of the world: {pes(1, last - 1)}{far}",
                       f"have not come: 0", unknown]
    TABLES["stop"] = [rf"in shmem_sync_all, sync \d+ of the world: {pes(0, last - 1)}{far}", unknown]
    if os.environ.get("SHMEM_OFI_PROGRESS_THREAD") == "off":
        TABLES["barrier"] = [rf"in shmem_barrier_all, sync \d+ of the world: {pes(0, last - 1)}{far}",
                             unknown]
ALONE = [(pe, [rf"in shmem_sync_all, sync \d+ of the world: {pe}; nothing has come from: \d+"])
         for pe in range(1, n)]

TABLES["thread"] = TABLES["barrier"]

env = dict(os.environ, SHMEM_HANG_REPORT="0" if cases[0] == "off" else "1")
run = subprocess.run([oshrun, "-n", str(n), program, *cases], env=env, text=True,
                     capture_output=True)
if cases == ["first"]:
    said = re.sub(r"\n[^\n]*(nothing has come from: )", r"; \1", run.stderr).splitlines()
    bad = run.returncode != 0
    for pe, lines in ALONE:
        mine = [line for line in said if line.startswith(f"steppe: pe {pe} ")]
        lines = ["a wait lasts for [1-9] s so far .*; pe 0 does not answer, so each node tells; "
                 "the PEs of this node are", *lines]
        bad = bad or len(mine) != len(lines) or not all(
            re.fullmatch(r"steppe: pe \d+ \([^)]*\): +" + pattern, line)
            for pattern, line in zip(lines, mine))
        said = [line for line in said if line not in mine]
    if bad or said:
        print(f"status {run.returncode}; said:", run.stderr, sep="\n")
    sys.exit(1 if bad or said else 0)
expected = []
for case in cases if cases[0] != "off" else []:
    if case == "init":
        expected += TABLES[case]
    elif TABLES[case]:
        expected += ["a wait lasts for [1-9] s so far .*; the PEs are", *TABLES[case]]
said = [re.sub(r"^steppe: pe \d+ \([^)]*\): +", "", line) for line in
        re.sub(r"\n[^\n]*(nothing has come from: )", r"; \1", run.stderr).splitlines()]
bad = run.returncode != 0 or run.stdout or len(said) != len(expected) or not all(
    re.fullmatch(pattern, line) for pattern, line in zip(expected, said))
if cases[0] == "init" and not bad:
    bad = said[0].rpartition(" ")[2] != said[1].rpartition(" ")[2]
if bad:
    print(f"status {run.returncode}; expected:", *expected, "said:", run.stderr, sep="\n")
sys.exit(1 if bad else 0)
