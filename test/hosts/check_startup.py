#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the data which a job exchanges through its launcher grows with nodes, not with PEs.

usage: check_startup.py PROGRAM

Runs the program as jobs of several shapes, under PMI-1 and PMI-2, and counts what each PE
publishes and learns; SHMEM_DEBUG prints this. With several nodes a leader puts three keys, gets
two from every other node, and all leaders except PE 0 get one more. The other PEs put nothing
and get one key. All PEs fence twice. The bytes that a leader puts have a limit that hardly
depends on the number of its PEs.
"""
import collections
import re
import subprocess
import sys

LINE = re.compile(r"^steppe: pe (\d+) \(.*\): start: "
                  r"(?:(published|learned) stp1\.(\w+)\.(\d+), (\d+) bytes|(fence))$")
# Bytes of a leader's keys: what names and numbers vary by, and for each PE of the node the bytes
# in which the addresses of one node differ, ports of TCP.
HEAD, EACH = 700, 4


def launch(program, shape, pmi):
    hosts = ",".join(f"n{i}:{n}" for i, n in enumerate(shape))
    done = subprocess.run(
        ["timeout", "-k", "5", "60", "mpiexec.hydra", "-launcher", "fork", "-hosts", hosts, "-n",
         str(sum(shape)), "-genv", "SHMEM_DEBUG", "1", "-genv", "SHMEM_PMI", str(pmi), "-genv",
         "SHMEM_OFI_PROVIDER", "tcp", program],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if done.returncode != 0:
        sys.exit(f"check_startup.py: the job on {hosts} ended with status "
                 f"{done.returncode}\n{done.stdout}")
    counts = collections.defaultdict(collections.Counter)
    for line in done.stdout.splitlines():
        found = LINE.match(line)
        if found:
            pe = int(found[1])
            counts[pe][found[2] or "fence"] += 1
            if found[2] == "published":
                counts[pe]["bytes"] += int(found[5])
    return counts


def check(program, shape, pmi):
    counts = launch(program, shape, pmi)
    nodes, first, wrong = len(shape), 0, []
    for size in shape:
        for pe in range(first, first + size):
            lead, got = pe == first, counts[pe]
            if nodes == 1:
                puts, gets, fences = (1, 0, 1) if lead and size > 1 else (0, 1, 1)
            else:
                puts = 3 if lead else 0
                gets = 2 * (nodes - 1) + (pe != 0) if lead else 1
                fences = 2
            want = {"published": puts, "learned": gets, "fence": fences}
            wrong += [f"PE {pe}: {name} {got[name]} times, expected {n}" for name, n in want.items()
                      if got[name] != n]
            if got["bytes"] > (HEAD + EACH * size if lead else 0):
                wrong.append(f"PE {pe} publishes {got['bytes']} bytes, more than "
                             f"{HEAD + EACH * size if lead else 0}")
        first += size
    total = {name: sum(c[name] for c in counts.values()) for name in ("published", "learned",
                                                                     "bytes")}
    print(f"pmi{pmi} nodes {shape}: {total['published']} puts of {total['bytes']} bytes, "
          f"{total['learned']} gets" + "".join("\n  FAIL " + text for text in wrong))
    return not wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    shapes = [[4], [1, 1], [4, 4], [8, 1], [2, 2, 2, 2]]
    good = [check(sys.argv[1], shape, pmi) for shape in shapes for pmi in (1, 2)]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
