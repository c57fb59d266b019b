#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job whose PEs are separated from each other by namespaces, or that has little room in
/dev/shm.

usage: apart.py [[--lives | --either] --say REGEX] HOW LAUNCHER -n N PROGRAM ...
  HOW: pids      a PID namespace for each PE
       files     a /dev/shm for each PE
       room=SIZE one /dev/shm of that size for all PEs
       left      one /dev/shm for all PEs, in which no file may remain

The job must end within 30 seconds and not by a signal. With --say, a line of its output matches
REGEX and its status is not 0, or 0 with --lives, or any with --either. Without --say its status is 0. Skipped (77)
when namespaces are not allowed.
"""
import argparse
import re
import subprocess
import sys

SKIP = 77


def mounted(size):
    option = f"-o size={size} " if size else ""
    return ["unshare", "--mount", "sh", "-c",
            f'mount -t tmpfs {option}none /dev/shm && exec "$@"', "sh"]


def prefixes(how):
    """What goes before the launcher, and before the program."""
    if how == "left":
        return ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev/shm || exit 1; \"$@\"; "
                "status=$?; ls /dev/shm | sed 's,.*,REMAINS: &,'; exit $status", "sh"], []
    if how == "pids":
        # A /dev/shm for the job: PEs that the launcher kills leave files there, all named 1.
        return mounted(""), ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if how == "files":
        return [], mounted("")
    return mounted(how.split("=")[1]), []


def possible(prefix):
    try:
        return subprocess.run(prefix + ["true"], stdin=subprocess.DEVNULL, timeout=20,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def judge(status, said, args):
    wrong = []
    if status == 124:
        wrong.append("the job did not end within 30 s")
    lives = args.lives or not args.say
    if lives != (status == 0) and not args.either:
        wrong.append(f"status {status}, expected {'0' if lives else 'a failure'}")
    if args.say and not said:
        wrong.append(f"no line matches {args.say}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("how")
    parser.add_argument("--say")
    parser.add_argument("--lives", action="store_true")
    parser.add_argument("--either", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    around, before = prefixes(args.how)
    if not possible(around) or not possible(before):
        print("skipped: this user cannot create namespaces here (root can)")
        return SKIP
    command = around + ["timeout", "-k", "5", "30"] + args.command[:3] + before + args.command[3:]
    job = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    said = re.search(args.say, job.stdout) if args.say else None
    wrong = judge(job.returncode, said, args)
    if args.how != "left" and re.search("KILLED BY SIGNAL|EXIT CODE: 1[0-9][0-9]|Segmentation|Bus error", job.stdout):
        wrong.append("a PE died of a signal")
    if "REMAINS: " in job.stdout:
        wrong.append("files remain in /dev/shm")
    print(f"{args.how}: status {job.returncode}" + (f", {said.group(0)}" if said else ""))
    if wrong:
        print("\n".join(sorted(set(job.stdout.splitlines()))))
        print("WRONG: " + ", ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
