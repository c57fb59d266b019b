#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check by the symbols of the objects that no floor of a library uses one above it.

usage: check_layers.py library|fabric <nm> <object>...

In the library an object stands on the floor of its folder, in the fabric module on that of its name;
the tables below have them from the lowest to the highest. What an object leaves undefined must be
defined on its own floor or below. Prints each offence with the symbols; status 1 if there is any, if
an object is on no floor, or if there is no object.
"""
import collections
import functools
import pathlib
import subprocess
import sys

# Longest match decides.
FLOORS = ["base", "src/json", "pmi", "spaces/heap", "spaces", "spaces/cuda", "spaces/fam", "src/core",
          "src/boot", "src/rma", "src/coll", "src/team", "src/space", "src/gpu", "src/diag",
          "src/api", "src/info", "src"]
# Folders that must not be in the library.
APART = ["transport"]
# Files of transport/ofi; the long one is the engine, in which completions, messages and dead peers
# come to each other.
FABRIC = [
    ["limit", "yield", "state", "self", "providers", "interface"], ["advice", "choose"], ["descriptors"],
    ["liveness"],
    ["address"], ["extent"], ["sockets", "packed", "word", "local", "shm"],
    ["request", "turn", "complete", "am", "owed", "batch", "lost", "health", "progress"], ["atomic"],
    ["cuda"], ["domain"], ["endpoint"], ["context"], ["rma"], ["signal"], ["region"], ["probe"],
    ["open"]]
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


def floor_in_module(floors, source):
    """Number of its floor, or None; sources of other folders have their names without them."""
    name = source.rpartition("/")[2] if source.startswith("__/") else source
    return next((i for i, names in enumerate(floors) if name in names), None)


def floor_in_library(source):
    """Number of its floor, or None."""
    folder = source.rpartition("/")[0] if source else ""
    if any(folder == top or folder.startswith(top + "/") for top in APART):
        return None
    while folder and folder not in FLOORS:
        folder = folder.rpartition("/")[0]
    return FLOORS.index(folder) if folder else None


FLOOR_OF = {"library": floor_in_library, "fabric": functools.partial(floor_in_module, FABRIC)}


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
    if len(sys.argv) < 4 or sys.argv[1] not in FLOOR_OF:
        sys.exit(__doc__)
    nm, objects = sys.argv[2], sys.argv[3:]
    floor_of = FLOOR_OF[sys.argv[1]]
    table = {source_of(path): symbols(nm, path) for path in objects}
    floors = {source: floor_of(source or "") for source in table}
    home = {name: source for source, (defined, _) in table.items() for name in defined}
    upward, n_arrows = collections.defaultdict(list), 0
    for source, (_, undefined) in table.items():
        for name in sorted(undefined & home.keys()):
            target, n_arrows = home[name], n_arrows + 1
            if None in (floors[source], floors[target]) or floors[target] <= floors[source]:
                continue
            if (source, target.rpartition("/")[0]) not in ALLOWED:
                upward[source, target].append(name)
    lost = [str(source) for source, floor in floors.items() if floor is None]
    for source in lost:
        print(f"{source}.c is on no floor")
    for (source, target), names in sorted(upward.items()):
        print(f"{source}.c must not use {target}.c: {', '.join(names)}")
    print(f"{len(table)} objects, {n_arrows} symbols used, {len(upward)} arrows upward")
    sys.exit(1 if lost or upward or n_arrows == 0 else 0)


if __name__ == "__main__":
    main()
