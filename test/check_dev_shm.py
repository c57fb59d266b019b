#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that a test run leaves nothing in /dev/shm.

usage: check_dev_shm.py before|after <state file>

"before" records the names in /dev/shm. "after" fails when there is a new name that no living
process holds. A process holds a file that it has open or mapped, or whose name begins with its
process number, as files of libfabric's shm provider do (<pid>:<uid>:<n>). Files of other users'
processes may look unheld, because their /proc entries cannot be read.
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
        print(f"{SHM / name} was left behind: no process has it open or mapped")
    sys.exit(1 if left else 0)


if __name__ == "__main__":
    main()
