#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check by the symbols of the objects that no floor of the library uses one above it.

usage: check_layers.py <nm> <object>...

An object stands on the floor of its folder; FLOORS has them from the lowest to the highest. What
an object leaves undefined must be defined on its own floor or below. Prints each offence with the
symbols; status 1 if there is any, if an object is on no floor, or if there is no object.
"""
import collections
import pathlib
import subprocess
import sys

# Longest match decides.
FLOORS = ["src/base", "pmi", "spaces/heap", "spaces", "spaces/cuda", "spaces/fam", "src/core",
          "src/boot", "src/rma", "src/coll", "src/team", "src/space", "src/api", "src/info", "src"]
# (folder and name of a source, floor above it that it may use): why.
ALLOWED = {
    ("spaces/kinds", "spaces/cuda"): "the table of kinds names each kind",
    ("spaces/kinds", "spaces/fam"): "the table of kinds names each kind",
}


def source_of(path):
    """<folder>/<name> of the source of an object, relative to the root of the sources."""
    parts = pathlib.PurePath(path).parts
    for i in range(len(parts) - 1, -1, -1):
        if parts[i].endswith(".dir"):
            return "/".join(parts[i + 1:]).split(".")[0]
    return None


def floor_of(source):
    """Number of its floor, or None."""
    folder = source.rpartition("/")[0] if source else ""
    while folder and folder not in FLOORS:
        folder = folder.rpartition("/")[0]
    return FLOORS.index(folder) if folder else None


def symbols(nm, path):
    """Sets of the global symbols that an object defines and leaves undefined."""
    lines = subprocess.run([nm, path], check=True, capture_output=True, text=True).stdout
    defined, undefined = set(), set()
    for line in lines.splitlines():
        *_, kind, name = line.split()
        if kind in "Uwv":
            undefined.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, undefined


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    nm, objects = sys.argv[1], sys.argv[2:]
    table = {source_of(path): symbols(nm, path) for path in objects}
    lost = [str(source) for source in table if floor_of(source) is None]
    home = {name: source for source, (defined, _) in table.items() for name in defined}
    upward, n_arrows = collections.defaultdict(list), 0
    for source, (_, undefined) in table.items():
        for name in sorted(undefined & home.keys()):
            target, n_arrows = home[name], n_arrows + 1
            if source in lost or target in lost or floor_of(target) <= floor_of(source):
                continue
            if (source, FLOORS[floor_of(target)]) not in ALLOWED:
                upward[source, target].append(name)
    for source in lost:
        print(f"{source}: its folder is no floor")
    for (source, target), names in sorted(upward.items()):
        print(f"{source}.c must not use {target}.c: {', '.join(names)}")
    print(f"{len(table)} objects, {n_arrows} symbols used, {len(upward)} arrows upward")
    sys.exit(1 if lost or upward or n_arrows == 0 else 0)


if __name__ == "__main__":
    main()
