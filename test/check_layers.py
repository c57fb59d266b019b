#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check by the symbols of the objects that no layer of a program or library uses a layer above it.

usage: check_layers.py library|fabric|bench <nm> <object>...

The tables below list the layers from the lowest to the highest. In the library and in
steppe-bench the folder of an object determines its layer, in the fabric module its name. A
symbol that an object does not define must be defined in the same layer or below. Files that need
each other, directly or through others, form a circle: all its files must be in one folder, and
there may be nine at most. Prints each offence with the symbols or files. Status 1 if there is an
offence, or no object.
"""
import collections
import functools
import pathlib
import subprocess
import sys

# Folders, each on a floor of its own, so that no two of them need each other.
LIBRARY = ["base", "src/json", "pmi", "spaces/heap", "spaces", "spaces/cuda", "spaces/fam", "src/core",
           "src/boot", "src/rma", "src/coll", "src/team", "src/space", "src/gpu", "src/diag", "src/api",
           "src/info", "src/info/doctor", "src"]
BENCH = ["portable", "portable/benches", "steppe"]
# Files of transport/ofi; the long one is the engine, in which completions, messages and dead peers
# come to each other.
FABRIC = [
    ["rlimit_error_text", "yield", "ofi_global_state", "self_amo_by_cpu", "provider_table", "netif_select"], ["provider_report", "provider_select"], ["fd_exhaustion_detect"],
    ["liveness_socket_and_notices"],
    ["address"], ["region_mr"], ["tcp_socket_sleep", "packed", "write_cqdata", "local_mr", "dev_shm_check"],
    ["queued_op_region_check"],
    ["request", "lost_op_by_order", "post_and_cq_poll", "am", "am_ack_delay", "batch", "die_if_amo_lost", "peer_failure", "progress_thread"], ["ofi_atomic"],
    ["forbid_provider_cuda_calls"], ["domain_endpoint"], ["endpoint_sharing"], ["ofi_quiet_and_fence"], ["ofi_rma"], ["ofi_signal"], ["region"], ["provider_self_test"],
    ["open"]]
CIRCLE_MAX = 9


def folder_of(source):
    return source.rpartition("/")[0]


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


def floor_of_folder(floors, source):
    """Number of its floor, or None."""
    folder = folder_of(source)
    return floors.index(folder) if folder in floors else None


FLOOR_OF = {"library": functools.partial(floor_of_folder, LIBRARY),
            "bench": functools.partial(floor_of_folder, BENCH),
            "fabric": functools.partial(floor_in_module, FABRIC)}


def symbols_of(nm, objects):
    """source -> sets of the global symbols that it defines and leaves undefined."""
    table = {source_of(path) or path: (set(), set()) for path in objects}
    lines = subprocess.run([nm, "-A", *objects], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        path, _, rest = line.partition(":")
        *_, kind, name = rest.split()
        defined, undefined = table[source_of(path) or path]
        if kind in "Uwv":
            undefined.add(name)
        elif kind.isupper():
            defined.add(name)
    return table


def arrows_of(nm, objects):
    """source -> source that it uses -> the symbols, for all sources."""
    table = symbols_of(nm, objects)
    home = {name: source for source, (defined, _) in table.items() for name in defined}
    arrows = {source: collections.defaultdict(set) for source in table}
    for source, (_, undefined) in table.items():
        for name in undefined & home.keys():
            arrows[source][home[name]].add(name)
    return arrows


def reached_from(arrows, source):
    """All sources that it uses, directly or through others."""
    seen, todo = set(), [source]
    while todo:
        new = arrows[todo.pop()].keys() - seen
        seen |= new
        todo += new
    return seen


def circles(arrows):
    """Sets of sources that need each other."""
    reached = {source: reached_from(arrows, source) for source in arrows}
    return {frozenset(other for other in reached[source] if source in reached[other])
            for source in arrows if source in reached[source]}


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in FLOOR_OF:
        sys.exit(__doc__)
    arrows = arrows_of(sys.argv[2], sys.argv[3:])
    floors = {source: FLOOR_OF[sys.argv[1]](source) for source in arrows}
    offences = [f"{source}.c is in no layer: add it to the tables of check_layers.py"
                for source, floor in floors.items() if floor is None]
    n_arrows = 0
    for source, used in sorted(arrows.items()):
        n_arrows += sum(map(len, used.values()))
        for target, names in sorted(used.items()):
            if None not in (floors[source], floors[target]) and floors[target] > floors[source]:
                offences.append(f"{source}.c must not use {target}.c, which is in a higher layer: "
                                f"{', '.join(sorted(names))}")
    for circle in circles(arrows):
        if len(circle) > CIRCLE_MAX or len(set(map(folder_of, circle))) > 1:
            offences.append(f"{len(circle)} files need each other (at most {CIRCLE_MAX}, in one "
                            f"folder): {', '.join(sorted(circle))}")
    print("\n".join(offences + [f"{len(arrows)} objects, {n_arrows} symbols used, "
                                f"{len(offences)} offences"]))
    sys.exit(1 if offences or n_arrows == 0 else 0)


if __name__ == "__main__":
    main()
