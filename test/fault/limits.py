#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job under limits that are too low, or nearly so.

usage: limits.py --limit n=8,16,24 [--only|--fine] --say REGEX COMMAND...
  COMMAND is LAUNCHER -n N PROGRAM ...
  --only: status 0 is wrong; --fine: any other status is wrong

For each value, the PEs run with `ulimit -<letter> <value>`. The job must end with status 0, or
with another status and a line that matches REGEX, in which VALUE stands for the value. It must
end after at most --within seconds (20), without a PE that died of a signal, without remaining
processes, and without a new file in /dev/shm whose name contains "steppe".
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
        wrong.append("status 0, but the limit must make the job fail")
    if job.returncode != 0 and args.fine:
        wrong.append(f"status {job.returncode}, but the job must succeed under this limit")
    elif job.returncode != 0 and not said:
        wrong.append(f"no line matches {args.say}")
    if re.search("KILLED BY SIGNAL|EXIT CODE: 1[0-9][0-9]|Segmentation", job.stdout):
        wrong.append("a PE died of a signal")
    if took > args.within:
        wrong.append(f"the job took more than {args.within:g} s")
    if marked(mark):
        wrong.append("processes of the job remain")
    left = {file for file in set(os.listdir("/dev/shm")) - before if "steppe" in file}
    if left:
        wrong.append("files remain in /dev/shm: " + " ".join(left))
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
