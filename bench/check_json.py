#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run steppe-bench with JSON output and check what it says: valid JSON, every bench there,
every number positive and in order. Speed is not judged. Benches on memory of GPUs may be
skipped, with a reason, where there is no GPU.

usage: check_json.py [--raw] [--gpu] [--timeout SECONDS] COMMAND [ARGUMENT...]
Exit status: 0 right, 2 wrong, 77 the command did not start.
"""
import argparse
import json
import math
import subprocess
import sys

BENCHES = {
    "put-latency": "ns",
    "get-latency": "ns",
    "put-bandwidth": "MB/s",
    "get-bandwidth": "MB/s",
    "p": "ns",
    "put-rate": "Mmsg/s",
    "batch-put-rate": "Mmsg/s",
    "batch-p": "ns",
    "get-rate": "Mmsg/s",
    "fetch-add": "ns",
    "lock": "ns",
    "flag": "ns",
    "flag-round-trip": "ns",
    "barrier": "ns",
    "passive-get": "ns",
    "passive-put": "ns",
    "passive-fetch-add": "ns",
    "passive-get-busy": "ns",
    "passive-fetch-add-busy": "ns",
    "idle-cpu": "%",
    "spaces-p": "ns",
    "spaces-put8": "ns",
    "spaces-p-own": "ns",
    "space-lookup": "ns",
    "space-lookup-turn": "ns",
    "space-lookup-same": "ns",
    "space-create": "us",
    "space-alloc": "ns",
    "device-fetch-add": "ns",
    "device-put-signal": "ns",
}
for pair in ("put-{}-host-gpu", "put-{}-gpu-gpu", "put-{}-gpu-heap", "put-{}-heap-gpu",
             "get-{}-gpu-host", "get-{}-gpu-gpu", "get-{}-gpu-heap", "get-{}-heap-gpu"):
    BENCHES["device-" + pair.format("latency")] = "ns"
    BENCHES["device-" + pair.format("bandwidth")] = "MB/s"
COMPARED = {"spaces-p", "spaces-put8", "spaces-p-own"}  # with few spaces alive
NO_RAW = {"idle-cpu"}
NO_RAW_ON_FABRIC = {"device-put-signal"}  # its raw side stores into the peer's memory
HEADING = ["library", "kernel", "cpu", "pair_path", "all_path", "pes", "cores", "bound", "gpu",
           "gpu_driver", "test_double"]


def positive(value):
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def check_side(where, side, rises):
    """Complaints about one side of a row; rises: larger is slower."""
    names = ["best", "median", "p99"]
    bad = [f"{where}: {name} is {side.get(name)!r}" for name in names if
           not positive(side.get(name))]
    if bad:
        return bad
    best, median, slow = (side[name] if rises else -side[name] for name in names)
    if not best <= median <= slow:
        bad.append(f"{where}: want best, median, p99 in order, not {side}")
    return bad


def check_skipped(row, where, want_gpu):
    if not str(row["skipped"]):
        return [f"{where}: skipped without a reason"]
    if want_gpu or not row["bench"].startswith("device-"):
        return [f"{where}: skipped: {row['skipped']}"]
    return []


def check_few(where, row, rises):
    bad = check_side(f"{where}, few", row.get("few", {}), rises)
    for key in ("few_ratio", "spaces"):
        if not positive(row.get(key)):
            bad.append(f"{where}: {key} is {row.get(key)!r}")
    return bad


def check_row(row, want_raw, want_gpu):
    name = row.get("bench")
    if name not in BENCHES:
        return [f"a bench called {name!r}, of which this check knows nothing"]
    where = f"{name} {row.get('bytes')} bytes"
    rises = BENCHES[name] in ("ns", "us", "%")
    if "skipped" in row:
        return check_skipped(row, where, want_gpu)
    bad = []
    if row.get("unit") != BENCHES[name]:
        bad.append(f"{where}: unit {row.get('unit')!r}, want {BENCHES[name]!r}")
    for key in ("bytes", "ops", "window", "samples"):
        if not positive(row.get(key)):
            bad.append(f"{where}: {key} is {row.get(key)!r}")
    bad += check_side(f"{where}, steppe", row.get("steppe", {}), rises)
    if name in COMPARED:
        bad += check_few(where, row, rises)
    if want_raw and name not in NO_RAW and ("raw" in row or name not in NO_RAW_ON_FABRIC):
        bad += check_side(f"{where}, raw", row.get("raw", {}), rises)
        if not positive(row.get("ratio")):
            bad.append(f"{where}: ratio is {row.get('ratio')!r}")
    return bad


def check(text, want_raw, want_gpu):
    try:
        report = json.loads(text)
    except ValueError as error:
        return [f"not JSON: {error}: {text[:200]!r}"]
    bad = [f"the heading lacks {key!r}" for key in HEADING if key not in report]
    rows = report.get("results", [])
    seen = {row.get("bench") for row in rows}
    bad += [f"no result for {name}" for name in BENCHES if name not in seen]
    for row in rows:
        bad += check_row(row, want_raw, want_gpu)
    return bad


def main():
    parser = argparse.ArgumentParser(description="run steppe-bench and check its JSON")
    parser.add_argument("--raw", action="store_true", help="every row must have a raw side")
    parser.add_argument("--gpu", action="store_true", help="no row may be skipped")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("what is to be run?")
    try:
        run = subprocess.run(options.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             timeout=options.timeout, check=False)
    except OSError as error:
        print(f"check_json: {options.command[0]}: {error}", file=sys.stderr)
        return 77
    except subprocess.TimeoutExpired:
        print(f"check_json: not done after {options.timeout:g} s", file=sys.stderr)
        return 2
    bad = check(run.stdout.decode(errors="replace"), options.raw, options.gpu)
    if run.returncode != 0:
        bad.append(f"exit status {run.returncode}")
    for line in bad:
        print(f"check_json: {line}", file=sys.stderr)
    return 2 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
