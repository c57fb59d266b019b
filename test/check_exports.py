#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compare what the library exports with what its headers declare.

usage: check_exports.py <libsteppe.so> <include directory> <page with the table of routines>

Every routine that a header declares must be exported, and nothing else. Each symbol belongs to a
version node. Each routine f has a profiling twin pf, and f is weak, so that a tool can replace
it. The table of routines must have all extensions and all routines of the spaces
proposal, and no others. Needs nm.
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


def named_in_table(page):
    """Patterns of the names in the first column of the page's table of routines."""
    columns = [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| `")]
    names = [name for column in columns for name in re.findall(r"`(shmemx?_\w+)`", column)]
    return {name: re.compile(re.sub("TYPE|WHICH", r"\\w+?", name)) for name in names}


def table_faults(page, exports, include):
    """Routines that the table lacks, and names in it that no header has."""
    table = named_in_table(page)
    kept = re.compile(r"(shmemx_|shmem_space_|shmem_(team_)?get_space$)(?!view_v1)")
    ours = [name for name in sorted(exports) if kept.match(name)]
    faults = [f"{name} is exported, but not in the table of routines of {page.name}"
              for name in ours
              if not any(pattern.fullmatch(name) for pattern in table.values())]
    inline = "".join(header.read_text() for header in include.glob("shmemx_*.h"))
    by_macro = re.compile(r"shmemx_TYPE_(put|get)(_nbi)?_on_stream")
    return faults + [f"the table of routines of {page.name} has {name}, which no header declares"
                     for name, pattern in table.items()
                     if not any(pattern.fullmatch(n) for n in exports)
                     and name not in inline and not by_macro.fullmatch(name)]


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    want, table = declared(pathlib.Path(sys.argv[2])), exported(sys.argv[1])
    faults = [f"{name} is exported without a version node STEPPE_*"
              for name in sorted(table) if "@@STEPPE_" not in name]
    have = {name.split("@")[0]: kind for name, kind in table.items()}
    faults += [f"{name} is declared in a header, but not exported"
               for name in sorted(want - set(have))]
    faults += [f"{name} is exported, but no header declares it"
               for name in sorted(set(have) - want)]
    for name in sorted(set(have) & want):
        twin = "p" + name
        if have[name] in "DR":
            continue  # data: tools have nothing to replace
        if twin in have and have[name] != "W":
            faults.append(f"{name} has a profiling twin, but is not weak")
        if twin not in have and not (name.startswith("p") and name[1:] in have):
            faults.append(f"{name} has no profiling twin p{name}")
    faults += table_faults(pathlib.Path(sys.argv[3]), set(have), pathlib.Path(sys.argv[2]))
    print("\n".join(faults + [f"{len(want)} declared, {len(have)} exported, {len(faults)} faults"]))
    sys.exit(1 if faults or len(want) < 100 else 0)


if __name__ == "__main__":
    main()
