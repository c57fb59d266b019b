#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job twice and search its output for its secrets.

usage: secrets.py RECORDER LAUNCHER [ARGUMENT...]

RECORDER is the library of getrandom.c. The two jobs must draw different numbers. No line that
SHMEM_DEBUG=1 prints may contain a drawn number, its upper half, or the range of keys made from
it, in decimal or hexadecimal. Traffic between PEs is not searched.
"""
import os
import re
import subprocess
import sys
import tempfile

MASK = 2 ** 64 - 1
REGION_BITS = range(4, 17)


def forms(drawn):
    """All that would give a secret away, as text."""
    numbers = {drawn, drawn >> 32}
    for bits in REGION_BITS:
        low = (1 << bits) - 1
        base = drawn & MASK >> 1 & ~low
        numbers |= {base, base | 1, base | 2, base >> bits}
    return {form for number in numbers if number > 2 ** 16
            for form in (str(number), f"{number:x}", f"{number:X}")}


def run(recorder, command):
    """(numbers drawn, output) of one job."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "drawn")
        env = dict(os.environ, LD_PRELOAD=recorder, STEPPE_GETRANDOM_TEST=path, SHMEM_DEBUG="1")
        job = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        if job.returncode != 0:
            sys.exit(job.stdout + f"secrets.py: the job ended with status {job.returncode}, "
                                  "expected 0")
        if not os.path.exists(path):
            sys.exit("secrets.py: the job drew no random number, so that it has no secret keys")
        with open(path, encoding="ascii") as file:
            return {int(line, 16) for line in file}, job.stdout


def main():
    recorder, command = sys.argv[1], sys.argv[2:]
    jobs = [run(recorder, command), run(recorder, command)]
    if jobs[0][0] & jobs[1][0]:
        sys.exit("secrets.py: two jobs drew the same random number")
    for drawn, output in jobs:
        words = set(re.findall(r"(?:0x)?([0-9a-fA-F]+)", output))
        if "steppe: " not in output or "fabric: " not in output:
            sys.exit("secrets.py: SHMEM_DEBUG=1 printed no line about the fabric:\n" + output)
        told = words & set().union(*[forms(number) for number in drawn])
        if told:
            sys.exit(output + "secrets.py: the output contains secrets: " + " ".join(sorted(told)))
        print(f"{len(drawn)} numbers drawn, {len(output.splitlines())} lines hold none of them")


if __name__ == "__main__":
    main()
