#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job in a control group with little memory.

usage: cgroup.py MIB inner|outer [--lives] REGEX COMMAND...
  The group, or the one around it, has a limit of MIB. The job must end within 40 seconds with a line
  that matches REGEX and a status other than 0; with 0 when it lives. Skipped where no group can be
  made.
"""
import errno
import os
import re
import subprocess
import sys
import time

SKIP = 77
ROOT = "/sys/fs/cgroup"


def own(controller):
    """Path of this process's group, None where there is no such version or controller."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        for line in file:
            number, names, path = line.rstrip("\n").split(":", 2)
            if (controller in names.split(",")) if controller else number == "0":
                return path
    return None


def candidates():
    """Folder to make groups in, and the file of the limit: version 1, then 2."""
    path = own("memory")
    if path:
        yield ROOT + "/memory" + path, "memory.limit_in_bytes"
    path = own("")
    if path and os.path.exists(ROOT + path + "/memory.max"):
        yield ROOT + path, "memory.max"


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def make(folder, limit_file, nbytes, outer):
    """Two groups, one in the other, or None."""
    groups = [f"{folder}/steppe-{os.getpid()}"]
    groups.append(groups[0] + "/inner")
    made = []
    try:
        for group in groups:
            os.mkdir(group)
            made.append(group)
            if limit_file == "memory.max" and group == groups[0]:
                write(group + "/cgroup.subtree_control", "+memory")
        write(f"{groups[0 if outer else 1]}/{limit_file}", str(nbytes))
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
    print(f"status {job.returncode}, {said.group(0) if said else 'nothing said'}")
    if said and (job.returncode == 0) == lives and "KILLED BY SIGNAL" not in job.stdout:
        return 0
    print(job.stdout)
    return 1


def main():
    mib, where, args = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    lives = args[0] == "--lives"
    args = args[lives:]
    for folder, limit_file in candidates():
        groups = make(folder, limit_file, mib << 20, where == "outer")
        if groups is None:
            continue
        try:
            return run(groups, lives, args[0], args[1:])
        finally:
            remove(groups)
    print("no control group with a limit of memory can be made here")
    return SKIP


if __name__ == "__main__":
    sys.exit(main())
