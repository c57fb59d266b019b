#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that libraries do not call public routines by their names, which a tool may replace.

usage: check_own_calls.py LIBRARY...

No relocation and no undefined symbol of a library may name a shmem or pshmem routine, because
the library calls its own routines directly. Needs readelf.
"""
import re
import subprocess
import sys

PUBLIC = re.compile(r"\bp?(?:shmemx?_\w+|start_pes|_my_pe|_num_pes|shmalloc|shfree|shrealloc"
                    r"|shmemalign)\b")


def readelf(option, library):
    return subprocess.run(["readelf", "-W", option, library], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def faults(library):
    found = [(line, "relocation") for line in readelf("--relocs", library)]
    found += [(line, "undefined") for line in readelf("--dyn-syms", library) if " UND " in line]
    if len(found) < 20:
        sys.exit(f"{library}: readelf found only {len(found)} relocations and undefined symbols")
    return [f"{library}: calls {PUBLIC.search(line).group(0)} by its public name ({what})"
            for line, what in found
            if PUBLIC.search(line)]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wrong = [fault for library in sys.argv[1:] for fault in faults(library)]
    print("\n".join(wrong + [f"{len(wrong)} public names reached from inside"]))
    sys.exit(1 if wrong else 0)


main()
