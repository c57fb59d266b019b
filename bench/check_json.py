#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run steppe-bench with JSON output and check this output.

The output must be valid JSON with a result for every bench of --list. All numbers must be positive
and in the right order. The script does not judge the speed. Benches may be skipped with a reason if
they use a kind of memory that the machine may lack.

usage: check_json.py [--raw] [--gpu] [--some] [--timeout SECONDS] COMMAND [ARGUMENT...]
Exit status: 0 if the output is right, 2 if it is wrong, 77 if the command did not start.
"""
import argparse
import json
import math
import subprocess
import sys

# Groups and benches without a raw side on any path, and benches without a raw side on the node.
NO_RAW_GROUPS = {"fan", "kinds", "lock", "memory", "overlap", "spaces", "strided", "threads"}
NO_RAW = {"idle-cpu", "wait-until-any", "wait-until-some", "collect", "fcollect", "alltoall",
          "alltoalls", "inscan", "exscan", "device-fetch-add", "device-put-signal"}
NO_RAW_ON_NODE = {"broadcast", "reduce"}
ATOMIC = {"passive-fetch-add", "passive-fetch-add-busy"}  # may lack a raw side, as the group atomic
# Some benches whose operations Steppe sends together over TCP, and some that it does not.
JOINED, ALONE = {"p", "put-rate", "atomic-add"}, {"g", "get-rate", "put-latency", "flag"}
HEADING = ["steppe_bench", "library", "date", "command", "host", "kernel", "cpu", "pair_path",
           "all_path", "pes", "cores", "bound", "gpu", "gpu_driver", "test_double", "raw_provider",
           "raw_fabric", "raw_domain", "options", "places", "disturbed"]
LOWER = ("ns", "us")  # units in which less is better; for %, see the row


def positive(value):
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def check_side(where, side, row):
    """Return a list of messages about wrong values of one side of a row."""
    if row["metric"] == "overlap":  # a percentage, which can be 0
        is_number = isinstance(side.get("median"), (int, float))
        return [] if is_number else [f"{where}: the median is missing"]
    names = ["best", "p1", "median", "p99"]
    problems = [f"{where}: {name} is {side.get(name)!r}" for name in names if
           not positive(side.get(name))]
    if problems:
        return problems
    values = [side[name] if row["better"] == "lower" else -side[name] for name in names]
    if values != sorted(values):
        problems.append(f"{where}: {', '.join(names)} must be in this order: {side}")
    if not side.get("blocks") or not all(positive(value) for value in side["blocks"]):
        problems.append(f"{where}: blocks are {side.get('blocks')!r}")
    if row["measuring"] > 1:
        minimum, mean, maximum = (side.get("pe_" + key) for key in ("min", "average", "max"))
        if not (positive(minimum) and minimum <= mean * 1.000001 and mean <= maximum * 1.000001):
            problems.append(f"{where}: over PEs {minimum!r}, {mean!r}, {maximum!r}")
    return problems


def check_skipped(row, where, want_gpu):
    if not str(row["skipped"]):
        return [f"{where}: the row is skipped without a reason"]
    may_lack = row["bench"].startswith("device-") or (
        row["bench"].startswith("space-kinds") and row["value"] != "cpu-cpu")
    if not may_lack or (want_gpu and "fam" not in str(row.get("value"))):
        return [f"{where}: skipped: {row['skipped']}"]
    return []


def wants_raw(row, report):
    path = report.get("all_path")
    if row["bench"] in ATOMIC or row["group"] == "atomic":
        return not row.get("raw_note", "").startswith("no raw side: ") and path != "mixed"
    if row["bench"] in NO_RAW or row["group"] in NO_RAW_GROUPS or path == "mixed":
        return False
    return path != "node" or row["bench"] not in NO_RAW_ON_NODE


def check_raw_path(report):
    """Check that the raw side over libfabric uses the path of the job."""
    return [f"{key} is {report.get(key)!r}, but raw_{key} is {report.get('raw_' + key)!r}"
            for key in ("provider", "fabric", "domain")
            if report.get("raw_provider") and report.get(key) != report.get("raw_" + key)]


def check_note(where, row, report):
    tcp = report["pair_path"] == "fabric" and report["provider"].split(";")[0] in ("tcp", "net")
    plain = row.get("raw_note") == "plain loop"
    if "raw" in row and tcp and row["bench"] in (ALONE if plain else JOINED):
        return [f"{where}: raw_note is {row.get('raw_note')!r}"]
    return []


def check_row(row, units, want_raw, want_gpu, report):
    name = row.get("bench")
    if name not in units:
        return [f"a bench called {name!r}, which --list does not print"]
    where = f"{name} {row.get('bytes')} bytes {row.get('value', '')}"
    if "skipped" in row:
        return check_skipped(row, where, want_gpu)
    problems = []
    if row.get("unit") != units[name]:
        problems.append(f"{where}: the unit is {row.get('unit')!r}, but must be {units[name]!r}")
    if row.get("better") != ("lower" if units[name] in LOWER or name == "idle-cpu" else "higher"):
        problems.append(f"{where}: {row.get('better')!r} is not the better direction of this unit")
    for key in ("bytes", "ops", "window", "samples", "pes", "measuring"):
        if not positive(row.get(key)):
            problems.append(f"{where}: {key} is {row.get(key)!r}")
    problems += check_side(f"{where}, steppe", row.get("steppe", {}), row)
    if want_raw and wants_raw(row, report):
        problems += check_side(f"{where}, raw", row.get("raw", {}), row)
        if not positive(row.get("ratio")):
            problems.append(f"{where}: ratio is {row.get('ratio')!r}")
    problems += check_note(where, row, report)
    return problems


def identity(row):
    keys = ("bench", "bytes", "value", "from", "to", "pes", "thread_level", "context", "kind")
    return tuple(str(row.get(key)) for key in keys)


def check(text, units, want_raw, want_gpu, want_all):
    try:
        report = json.loads(text)
    except ValueError as error:
        return [f"the output is not JSON: {error}: {text[:200]!r}"]
    problems = [f"the heading lacks {key!r}" for key in HEADING if key not in report]
    problems += check_raw_path(report)
    rows = report.get("results", [])
    measured = {row.get("bench") for row in rows}
    if want_all:
        problems += [f"no result for {name}" for name in units if name not in measured]
    identities = set()
    for row in rows:
        problems += check_row(row, units, want_raw, want_gpu, report)
        if identity(row) in identities:
            problems.append(f"two rows have the same identity {identity(row)}")
        identities.add(identity(row))
    return problems


def listed(command):
    """Return {bench: unit} for the benches that --list prints.

    The program is the word of the command that ends in steppe-bench.
    """
    program = next(word for word in command if word.endswith("steppe-bench"))
    text = subprocess.run([program, "--list"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          timeout=60, check=True).stdout.decode()
    return {words[1]: words[2] for words in (line.split() for line in text.splitlines())}


def main():
    parser = argparse.ArgumentParser(description="run steppe-bench and check its JSON")
    parser.add_argument("--raw", action="store_true", help="rows must have a raw side")
    parser.add_argument("--gpu", action="store_true", help="no row may be skipped")
    parser.add_argument("--some", action="store_true", help="benches may be missing")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("the command to run is missing")
    try:
        run = subprocess.run(options.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             timeout=options.timeout, check=False)
    except OSError as error:
        print(f"check_json: {options.command[0]}: {error}", file=sys.stderr)
        return 77
    except subprocess.TimeoutExpired:
        print(f"check_json: the command has not ended after {options.timeout:g} s (--timeout)",
              file=sys.stderr)
        return 2
    problems = check(run.stdout.decode(errors="replace"), listed(options.command), options.raw,
                options.gpu, not options.some)
    if run.returncode != 0:
        problems.append(f"the exit status is {run.returncode}")
    for line in problems:
        print(f"check_json: {line}", file=sys.stderr)
    return 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
