#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job under limits that are too low, or nearly so.

usage: limits.py --limit n=8,16,24 [--only|--fine] --say REGEX COMMAND...
  For each value in turn, the PEs run with `ulimit -<letter> <value>`; COMMAND is LAUNCHER -n N
  PROGRAM ... Each time the job must end with status 0, or with another one and a line that matches
  REGEX, where VALUE stands for the value; after at most --within seconds, with none of its
  processes left, and no new file in /dev/shm. --only: status 0 does not do; --fine: nothing else.
"""
import argparse
import os
import re
import subprocess
import sys
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", required=True)
    parser.add_argument("--say", default="a line that nobody writes")
    parser.add_argument("--only", action="store_true")
    parser.add_argument("--fine", action="store_true")
    parser.add_argument("--within", type=float, default=20)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args()


def marked(mark):
    """Processes that have the mark in their environment."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if name.isdigit() and mark.encode() in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            pass
    return found


def run(command, letter, value, args):
    """What is wrong with this job, as a list of words."""
    mark = f"STEPPE_LIMITS_TEST={os.getpid()}.{value}"
    name, text = mark.split("=")
    before = set(os.listdir("/dev/shm"))
    limited = command[:3] + ["bash", "-c", f'ulimit -{letter} {value} && exec "$@"', "bash"]
    begin = time.monotonic()
    job = subprocess.run(["timeout", "-k", "5", str(args.within + 5)] + limited + command[3:],
                         env=dict(os.environ, **{name: text}), stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    took = time.monotonic() - begin
    while marked(mark) and time.monotonic() - begin < args.within:  # they were told to end
        time.sleep(0.1)
    wrong = []
    said = re.search(args.say.replace("VALUE", str(value)), job.stdout)
    if job.returncode == 0 and args.only:
        wrong.append("status 0")
    if job.returncode != 0 and args.fine:
        wrong.append("not status 0")
    elif job.returncode != 0 and not said:
        wrong.append("no line says why")
    if re.search("KILLED BY SIGNAL|EXIT CODE: 1[0-9][0-9]|Segmentation", job.stdout):
        wrong.append("a signal")
    if took > args.within:
        wrong.append("too long")
    if marked(mark):
        wrong.append("processes left")
    left = {file for file in set(os.listdir("/dev/shm")) - before if "steppe" in file}
    if left:
        wrong.append("files left: " + " ".join(left))
    print(f"ulimit -{letter} {value}: status {job.returncode}, {took:.1f} s"
          + (f", {said.group(0)}" if said else ""))
    if wrong:
        print("\n".join(sorted(set(job.stdout.splitlines()))))
        print("WRONG: " + ", ".join(wrong))
    return wrong


def main():
    args = parse()
    letter, values = args.limit.split("=")
    return 1 if any([run(args.command, letter, value, args) for value in values.split(",")]) else 0


if __name__ == "__main__":
    sys.exit(main())
