#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that includes follow the layers of the source tree.

usage: check_includes.py <source root>

Each directory, and each group of files, may include what ARROWS names, and itself. FOREIGN names
the directories that may include headers of libfabric, CUDA, hwloc, MPI and Check. No two sources
of the library may have the same name, not even in different directories. Prints each offence;
status 1 if there is an offence. What a source calls is checked by check_layers.py.
"""
import pathlib
import re
import sys

BASE = ["include", "base", "spaces", "transport"]
# directory -> directories or files it may include, besides itself; longest match decides.
ARROWS = {
    "include": [],
    "base": [],
    "pmi": ["base"],
    "spaces": ["base"],
    "transport": ["base", "spaces"],
    "transport/ofi": ["base", "transport"],
    "src/core": BASE,
    "src/boot": BASE + ["src/core", "pmi"],
    "src/rma": BASE + ["src/core", "src/boot", "pmi"],
    "src/coll": BASE + ["src/core", "src/boot", "src/rma"],
    "src/team": BASE + ["src/core", "src/boot", "src/rma", "src/coll"],
    "src/space": BASE + ["src/core", "src/boot", "src/rma", "src/coll", "src/team"],
    "src/gpu": BASE + ["src/core", "src/boot", "src/rma", "src/coll", "src/team", "src/space",
                       "pmi"],
    "src/api": BASE + ["src/api/gen", "src/core", "src/boot", "src/rma", "src/coll", "src/gpu"],
    "src/diag": BASE + ["oshrun", "src/core", "src/boot", "src/rma", "src/coll"],
    "src/api/gen": [],  # lists of types
    "oshrun": ["base"],  # see FILES
    "src/json": [],  # apart: what writes reports has it
    "src/info": BASE + ["src/json", "src/core", "src/boot", "src/coll", "pmi"],
    "src": BASE + ["src/core", "src/boot", "src/rma", "src/coll", "src/team",
                   "src/space", "src/gpu", "src/diag", "src/info", "pmi"],
    "tools": ["include"],
    "bench": ["include", "bench/portable"],
    "bench/portable": ["include/shmem.h"],
    "examples": ["include"],
    "test": ["include", "src/api/gen", "test/gpu"],
    "test/gpu": ["include"],  # what kernels do, and their twins
    "test/fakecuda": ["include", "spaces", "test/gpu"],  # it is what spaces/cuda/cuda_api.h declares
    "test/provider": ["test/unit"],  # libfabric alone, and how tests are run
    "test/fuzz": ["include", "base", "pmi", "spaces", "transport", "transport/ofi", "oshrun"],
    "test/unit": ["include", "test/fakecuda", "src", "base", "src/boot", "src/coll", "src/api", "src/info",
                  "pmi", "spaces", "transport", "transport/ofi"],
}
# file -> its row of ARROWS, where that is not its directory's.
FILES = dict.fromkeys([f"src/diag/{name}" for name in (
    "addr2line.c", "hang_rows.c", "hang_rows.h", "oshrun_internal.h", "find_pes.c", "find_pes.h", "node_file.c", "oshrun_launcher_parent.c", "status.c",
    "tty_stdin_relay.c")], "oshrun")
# <system header> prefix -> the directories that may see it.
FOREIGN = {
    "rdma/": ["transport/ofi", "bench", "test", "test/provider", "test/unit"],
    "cuda": ["spaces"],
    "hwloc": ["spaces", "src/info"],
    "mpi": ["test", "bench/portable", "examples"],
    "check.h": ["test/unit", "test/provider"],
}
SEARCH = ["include", "src", "src/api", "bench", "test/pe", "."]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
LIBRARY = ("base", "spaces", "transport", "pmi", "src")
SUFFIXES = {".c", ".h", ".inc", ".cpp", ".cc", ".hpp", ".in"}


def layer(path):
    """The row of ARROWS for a path relative to the root, or None."""
    if path.as_posix() in FILES:
        return FILES[path.as_posix()]
    parts = path.parent.parts
    for length in range(len(parts), 0, -1):
        name = "/".join(parts[:length])
        if name in ARROWS:
            return name
    return None


def resolve(root, including, name):
    """Where #include "name" of a file leads, relative to the root, or None."""
    for base in [including.parent] + [root / directory for directory in SEARCH]:
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root)
    return None


def check_line(root, path, own, number, line):
    """The offence of one line, or None."""
    match = INCLUDE.match(line)
    if not match:
        return None
    style, name = match.groups()
    where = f"{path.relative_to(root)}:{number}"
    for prefix, allowed in FOREIGN.items():
        if style == "<" and name.startswith(prefix) and own not in allowed:
            return f"{where}: <{name}> may be included only by {', '.join(allowed)}"
    target = resolve(root, path, name)
    if target is None:
        return f'{where}: the file "{name}" does not exist' if style == '"' else None
    other = layer(target)
    if other not in (None, own) and not {other, target.as_posix()} & set(ARROWS[own]):
        return f"{where}: {own} must not include {other} ({name})"
    return None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    offences, n_files, named = [], 0, {}
    for top in sorted({name.split("/")[0] for name in ARROWS} - {"oshrun"}):
        for path in sorted((root / top).rglob("*")):
            own = layer(path.relative_to(root)) if path.suffix in SUFFIXES else None
            if own is None or not path.is_file():
                continue
            n_files += 1
            if top in LIBRARY and named.setdefault(path.name, path) != path:
                offences.append(f"{path.relative_to(root)} has the same file name as "
                                f"{named[path.name].relative_to(root)}")
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                offence = check_line(root, path, own, number, line)
                if offence:
                    offences.append(offence)
    print("\n".join(offences + [f"{n_files} files, {len(offences)} offences"]))
    sys.exit(1 if offences or n_files == 0 else 0)


if __name__ == "__main__":
    main()
