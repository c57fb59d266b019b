#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a job whose PEs, except the first, have the process numbers of killed processes.

usage: stale.py LAUNCHER -n N PROGRAM [ARGUMENT...]

libfabric's shm provider names the memory of an endpoint by its process, and takes old memory
with this name for memory in use. Each PE except the first therefore creates such files before it
starts. The job must end with status 0. If possible, the job has a /dev/shm of its own, because other
tests fail when they see files of processes that do not exist.
"""
import os
import struct
import subprocess
import sys

FILES = "STEPPE_STALE_FILES"  # in the environment of PEs: where they write what they left
PRIVATE = "STEPPE_STALE_PRIVATE"  # in the environment: /dev/shm is private
N_LEFT = 5
HEADER = struct.Struct("@BBHi")  # of shm's memory in 1.17: version, unused, flags, process


def become_pe(program):
    """Of the job: all but the first leave files behind before they begin."""
    if os.environ.get("PMI_RANK", "0") != "0":
        paths = [f"/dev/shm/{os.getpid()}:{os.getuid()}:{i}" for i in range(N_LEFT)]
        for path in paths:
            with open(path, "xb") as file:
                file.write(HEADER.pack(0, 0, 0, os.getpid()).ljust(1 << 16, b"\0"))
        with open(os.environ[FILES], "a", encoding="ascii") as file:
            file.writelines(path + "\n" for path in paths)
    os.execvp(program[0], program)


def main():
    if FILES in os.environ:
        become_pe(sys.argv[1:])
    wrap = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev/shm && exec \"$@\"", "sh"]
    if PRIVATE not in os.environ and subprocess.run([*wrap, "true"], capture_output=True,
                                                    check=False).returncode == 0:
        os.execvpe(wrap[0], [*wrap, sys.executable, *sys.argv], {**os.environ, PRIVATE: "1"})
    names = os.path.abspath(f"stale.{os.getpid()}")
    command = [*sys.argv[1:4], sys.executable, os.path.abspath(__file__), *sys.argv[4:]]
    status = subprocess.run(command, env={**os.environ, FILES: names}, check=False).returncode
    with open(names, encoding="ascii") as file:
        left = file.read().split()
    os.remove(names)
    for path in left:  # the provider removes some
        if os.path.exists(path):
            os.remove(path)
    if status != 0 or not left:
        sys.exit(f"stale.py: the job ended with status {status}, expected 0; {len(left)} stale "
                 "files were made")


main()
