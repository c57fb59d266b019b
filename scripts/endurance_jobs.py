#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that end early or that cannot start, job after job, for scripts/endurance.sh.

usage: endurance_jobs.py endings|launches --build FOLDER --pes N [--seed S] [--seconds S]
                         [--jobs N]
  endings        one PE or all PEs end before shmem_finalize while operations are in progress
                 (test/pe/stress/endings.c)
  launches       the program, its folder, a library or a host does not exist
  --build FOLDER has the programs
  --seed S       the seed of the first job (default: 1); the next job has the next seed
  --seconds S    jobs begin for so many seconds (default: 0)
  --jobs N       at least so many jobs begin (default: 1)

The seed alone determines the command of a job. The environment selects the path. A job fails the
run if it does not end within 60 s, if it leaves a process or a name in /dev/shm, or if it has
status 0 after an error. After _exit(0) and quick_exit(0) any status passes. The exit status is 0
if all jobs passed, and 1 after the first one that did not. If the user is root, the jobs have a
/dev/shm of their own. Otherwise the files of other jobs that end meanwhile may be reported.
"""
import argparse
import ctypes
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

from endurance import adopt, end, end_rest, ended, family, stacks, with_parent
from full_matrix import ROOT

sys.path.append(os.path.join(ROOT, "test"))
import check_dev_shm  # pylint: disable=wrong-import-position

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
LIMIT_S = 60
SETTLE_S = 10  # that the kernel may take to remove killed processes and their files

ENDS = ["_exit-0", "quick_exit-0", "_exit-3", "exit-3", "return-5", "abort", "kill", "segv",
        "global_exit"]
LEAVES = ["exit-0", "return-0"]  # the PE finalizes in an exit handler
ANY_STATUS = ["_exit-0", "quick_exit-0"]
OTHERS = ["barrier", "wait", "reduce", "calls", "create", "compute"]


# ---- what is run --------------------------------------------------------------------------------

def ending(args, draw, _folder):
    """The command of a job that ends early, and what is known of its status."""
    way = draw.choice(ENDS + LEAVES)
    others = "finalize" if way in LEAVES else draw.choice(OTHERS)
    pe = -1 if draw.random() < 0.15 else draw.randrange(args.pes)
    thread = not way.startswith("return") and draw.random() < 0.25
    words = [way, others, pe, draw.randrange(6), int(draw.random() < 0.25), int(thread)]
    expected = "0" if way in LEAVES else "any" if way in ANY_STATUS else "not 0"
    return ["-n", str(args.pes), program(args)] + [str(word) for word in words], expected


def program(args):
    return os.path.join(args.build, "bin", "pe_endings")


def write_program(folder, name, content, mode=0o755):
    path = os.path.join(folder, name)
    with open(path, "wb") as out:
        out.write(content)
    os.chmod(path, mode)
    return path


def lacks_library(args, folder):
    """A copy of the program that needs a library which does not exist."""
    with open(program(args), "rb") as original:
        content = original.read()
    return write_program(folder, "lacks_library",
                         content.replace(b"libsteppe.so.1", b"libmissing.so1"))


def launch(args, draw, folder):
    """The command of a job that cannot start."""
    pes, good = ["-n", str(args.pes)], [program(args), "return-0", "finalize", "-1"]
    missing = os.path.join(folder, "missing")
    lines = {
        "name": pes + ["missing_program"],
        "path": pes + [missing],
        "mode": pes + [write_program(folder, "mode", b"#!/bin/sh\nexit 0\n", 0o644)],
        "interpreter": pes + [write_program(folder, "interpreter", b"#!/missing\n")],
        "library": pes + [lacks_library(args, folder)],
        "folder": pes + ["-wdir", missing] + good,
        "host": pes + ["-hosts", "missing.invalid"] + good,
        "other host": pes + ["-hosts", "localhost,missing.invalid"] + good,
    }
    return lines[draw.choice(sorted(lines))], "not 0"


JOBS = {"endings": ending, "launches": launch}


# ---- one job ------------------------------------------------------------------------------------

def run(command, out):
    """Run it to its end. Returns its exit status, or None after the time limit, and stacks."""
    # pylint: disable=consider-using-with, subprocess-popen-preexec-fn
    job = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                           preexec_fn=with_parent)
    if ended(job, LIMIT_S):
        return job.returncode, ""
    where = stacks(family())
    end(job)
    return None, where


def settled(left):
    """What left() returns when it has become empty, or after SETTLE_S."""
    stop = time.monotonic() + SETTLE_S
    while (found := left()) and time.monotonic() < stop:
        time.sleep(0.05)
    return found


def reap():
    """Take the statuses of processes that lost their parents."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            continue
    except ChildProcessError:
        pass


def names_left(before):
    new = check_dev_shm.names() - before
    held = check_dev_shm.held_names() if new else set()
    return [name for name in new - held if not check_dev_shm.owner_lives(name)]


def faults(status, expected, before):
    """What is wrong with a job that has ended."""
    if status is None:
        return [f"the job did not end within {LIMIT_S} s"]
    found = []
    if expected != "any" and (status == 0) != (expected == "0"):
        found.append(f"the job has status {status}, expected {expected}")
    if processes := settled(family):
        found.append(f"processes are left: {stacks(processes)}")
        end_rest()
    reap()
    if names := settled(lambda: names_left(before)):
        found.append(f"names are left in /dev/shm: {' '.join(names)}")
    return found


def run_job(args, seed, folder):
    """Returns whether the job passed."""
    command, expected = JOBS[args.kind](args, random.Random(seed), folder)
    command = [os.path.join(args.build, "bin", "oshrun")] + command
    before = check_dev_shm.names()
    print(f"{args.kind}: seed {seed}", flush=True)
    with open(os.path.join(folder, "output"), "w+b") as out:
        status, where = run(command, out)
        wrong = faults(status, expected, before)
        if not wrong:
            return True
        out.seek(0)
        text = out.read().decode(errors="replace")
    print("\n".join([shlex.join(command)] + wrong + ["---- output", text, "---- stacks", where]),
          flush=True)
    return False


def own_dev_shm():
    """Mount an empty /dev/shm that only this process and its children see. Needs root."""
    libc = ctypes.CDLL(None)
    if os.geteuid() == 0 and libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
        libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", ctypes.c_ulong(0), None)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].replace("usage: ", "", 1))
    parser.add_argument("kind", choices=sorted(JOBS))
    parser.add_argument("--build", required=True)
    parser.add_argument("--pes", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    stop, seed = time.monotonic() + args.seconds, args.seed

    adopt()
    own_dev_shm()
    with tempfile.TemporaryDirectory() as folder:
        while run_job(args, seed, folder):
            seed += 1
            if time.monotonic() >= stop and seed >= args.seed + args.jobs:
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
