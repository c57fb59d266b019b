#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check what the library exports against what its headers declare.

usage: check_exports.py <libsteppe.so> <include directory>

Every routine that a header declares is exported, nothing else is, each belongs to one version node,
and of each pair f and pf the first is weak, so that a tool may replace it. Needs nm.
"""
import pathlib
import re
import subprocess
import sys

OLD = "start_pes|_my_pe|_num_pes|shmalloc|shfree|shrealloc|shmemalign"
PROTOTYPE = re.compile(rf"\b(p?(?:shmemx?_\w+|{OLD}))\s*\([^;{{}}]*\)[^;{{}}()]*(?:\([^;]*\))*\s*;")
DATA = re.compile(r"^extern const struct \w+ \*const (shmemx_\w+);", re.M)
# Comments and preprocessor lines, continued ones whole: they declare nothing.
NOISE = re.compile(r"/\*[\s\S]*?\*/|^\s*#(?:.*\\\n)*.*$", re.M)


def declared(include):
    names = set()
    for header in include.rglob("*.h"):
        text = NOISE.sub("", header.read_text())
        names.update(DATA.findall(text))
        for statement in text.split(";"):
            match = PROTOTYPE.search(statement + ";")
            if match and match.group(1).startswith(("shmemx_impl_", "shmemx_dev_")):
                continue  # of inline functions
            if match and not statement.lstrip().startswith(("typedef", "return")):
                names.add(match.group(1))
    return names


def exported(library):
    """name@@node -> type letter of nm, for everything that the library defines but the nodes."""
    text = subprocess.run(["nm", "-D", "--defined-only", library],
                          check=True, capture_output=True, text=True).stdout
    rows = [line.split()[-2:] for line in text.splitlines()]
    return {name: kind for kind, name in rows if kind != "A"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    want, table = declared(pathlib.Path(sys.argv[2])), exported(sys.argv[1])
    faults = [f"in no version node: {name}" for name in sorted(table) if "@@STEPPE_" not in name]
    have = {name.split("@")[0]: kind for name, kind in table.items()}
    faults += [f"declared, not exported: {name}" for name in sorted(want - set(have))]
    faults += [f"exported, not declared: {name}" for name in sorted(set(have) - want)]
    for name in sorted(set(have) & want):
        twin = "p" + name
        if have[name] in "DR":
            continue  # data: tools have nothing to replace
        if twin in have and have[name] != "W":
            faults.append(f"not weak: {name}")
        if twin not in have and not (name.startswith("p") and name[1:] in have):
            faults.append(f"without a profiling twin: {name}")
    print("\n".join(faults + [f"{len(want)} declared, {len(have)} exported, {len(faults)} faults"]))
    sys.exit(1 if faults or len(want) < 100 else 0)


if __name__ == "__main__":
    main()
