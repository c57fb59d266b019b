#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that a test run leaves nothing in /dev/shm.

usage: check_dev_shm.py before|after <state file>

"before" notes what lies there; "after" fails when something new lies there that no living
process holds: neither open nor mapped, nor, by the name that libfabric's shm provider gives its
files (<pid>:<uid>:<n>), owned by one.
"""
import os
import pathlib
import re
import sys

SHM = pathlib.Path("/dev/shm")
OFI_NAME = re.compile(r"^(\d+):\d+")


def names():
    return {entry.name for entry in SHM.iterdir()} if SHM.is_dir() else set()


def held_names():
    """Names that some process has open or mapped, as far as we may look."""
    held = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            for link in (process / "fd").iterdir():
                held.add(os.path.basename(os.readlink(link)))
            for line in (process / "maps").read_text().splitlines():
                if str(SHM) in line:
                    held.add(os.path.basename(line.split(maxsplit=5)[-1]))
        except OSError:
            continue
    return held


def owner_lives(name):
    match = OFI_NAME.match(name)
    return bool(match) and pathlib.Path("/proc", match.group(1)).exists()


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("before", "after"):
        sys.exit(__doc__)
    state = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "before":
        state.write_text("\n".join(sorted(names())))
        return
    new = names() - set(state.read_text().splitlines())
    left = sorted(name for name in new - held_names() if not owner_lives(name))
    for name in left:
        print(f"left behind: {SHM / name}")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
