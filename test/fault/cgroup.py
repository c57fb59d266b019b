#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job in a control group with little memory or few cores.

usage: cgroup.py MIB|cores=N inner|outer [--lives] REGEX COMMAND...

The group of the job (inner), or the group around it (outer), has a limit of MIB mebibytes or the
time of N cores. The job must end within 40 seconds, not by a signal, with a line that matches
REGEX and a status other than 0, or 0 with --lives. Skipped (77) when no group can be created.
"""
import errno
import os
import re
import subprocess
import sys
import time

SKIP = 77
ROOT = "/sys/fs/cgroup"
PERIOD_US = 100000  # of quotas of time, where nobody has set another


def own(controller):
    """Path of this process's group, None where there is no such version or controller."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        for line in file:
            number, names, path = line.rstrip("\n").split(":", 2)
            if (controller in names.split(",")) if controller else number == "0":
                return path
    return None


def candidates(controller, limit):
    """Folder to make groups in, the file of the limit, and what to write: version 1, then 2."""
    path = own(controller)
    if path:
        file = {"memory": "memory.limit_in_bytes", "cpu": "cpu.cfs_quota_us"}[controller]
        yield f"{ROOT}/{controller}{path}", file, str(limit)
    path = own("")
    if path and os.path.exists(f"{ROOT}{path}/{controller}.max"):
        text = f"{limit} {PERIOD_US}" if controller == "cpu" else str(limit)
        yield ROOT + path, controller + ".max", text


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def make(folder, limit_file, limit, outer):
    """Two groups, one in the other, or None."""
    groups = [f"{folder}/steppe-{os.getpid()}"]
    groups.append(groups[0] + "/inner")
    made = []
    try:
        for group in groups:
            os.mkdir(group)
            made.append(group)
            if limit_file.endswith(".max") and group == groups[0]:
                write(group + "/cgroup.subtree_control", "+" + limit_file.split(".", 1)[0])
        write(f"{groups[0 if outer else 1]}/{limit_file}", limit)
        return made
    except OSError:
        remove(made)
        return None


def remove(groups):
    """What the launcher has killed takes a moment to be gone, and the group is busy till then."""
    until = time.monotonic() + 10
    for group in reversed(groups):
        while True:
            try:
                os.rmdir(group)
                break
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > until:
                    raise
                time.sleep(0.02)


def run(groups, lives, regex, command):
    inside = ["sh", "-c", f'echo $$ > {groups[1]}/cgroup.procs && exec timeout -k 5 40 "$@"', "sh"]
    job = subprocess.run(inside + command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    said = re.search(regex, job.stdout)
    print(f"status {job.returncode}, {said.group(0) if said else 'no line matches ' + regex}")
    if said and (job.returncode == 0) == lives and "KILLED BY SIGNAL" not in job.stdout:
        return 0
    print(job.stdout)
    return 1


def main():
    what, where, args = sys.argv[1], sys.argv[2], sys.argv[3:]
    if what.startswith("cores="):
        controller, limit = "cpu", int(what[6:]) * PERIOD_US
    else:
        controller, limit = "memory", int(what) << 20
    lives = args[0] == "--lives"
    args = args[lives:]
    for folder, limit_file, text in candidates(controller, limit):
        groups = make(folder, limit_file, text, where == "outer")
        if groups is None:
            continue
        try:
            return run(groups, lives, args[0], args[1:])
        finally:
            remove(groups)
    print(f"skipped: no control group with a limit of {controller} can be created here")
    return SKIP


if __name__ == "__main__":
    sys.exit(main())
