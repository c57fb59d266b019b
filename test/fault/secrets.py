#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job twice and look for its secrets where they must not be.

usage: secrets.py RECORDER LAUNCHER [ARGUMENT...]
  RECORDER is the library of getrandom.c. The two jobs must draw different numbers, and nothing
  that SHMEM_DEBUG=1 prints may hold a number drawn, the upper half of it, or the range of keys
  made of it, decimal or hexadecimal.
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
            sys.exit(job.stdout + f"status {job.returncode}")
        if not os.path.exists(path):
            sys.exit("the job drew no numbers: it has no keys of its own")
        with open(path, encoding="ascii") as file:
            return {int(line, 16) for line in file}, job.stdout


def main():
    recorder, command = sys.argv[1], sys.argv[2:]
    jobs = [run(recorder, command), run(recorder, command)]
    if jobs[0][0] & jobs[1][0]:
        sys.exit("two jobs drew the same number")
    for drawn, output in jobs:
        words = set(re.findall(r"(?:0x)?([0-9a-fA-F]+)", output))
        if "steppe: " not in output or "fabric: " not in output:
            sys.exit("nothing was logged:\n" + output)
        told = words & set().union(*[forms(number) for number in drawn])
        if told:
            sys.exit(output + "secrets in the log: " + " ".join(sorted(told)))
        print(f"{len(drawn)} numbers drawn, {len(output.splitlines())} lines hold none of them")


if __name__ == "__main__":
    main()
