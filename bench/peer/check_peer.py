#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check bench/peer.sh: that it measures every bench and writes what it promises, that it says what
is wrong with its arguments, and that a peer which fails takes nobody along. Speed is not judged.

usage: check_peer.py <build folder> steppe|mistakes|failures|openmpi|mpi
Exit status: 0 right, 2 wrong, 77 what is to be compared with is not here.
"""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

PEER_SH = pathlib.Path(__file__).resolve().parent.parent / "peer.sh"
BENCHES = {
    "put-latency": "ns", "get-latency": "ns", "put-bandwidth": "MB/s", "get-bandwidth": "MB/s",
    "put-bibw": "MB/s", "p": "ns", "put-rate": "Mmsg/s", "get-rate": "Mmsg/s",
    "atomic-fetch-add": "ns", "atomic-add": "ns", "atomic-swap": "ns", "atomic-cswap": "ns", "lock": "ns",
    "flag-round-trip": "ns", "barrier": "ns", "sync": "ns", "malloc": "ns",
    "broadcast": "ns", "reduce": "ns", "fcollect": "ns", "collect": "ns", "alltoall": "ns"}
OPENMPI_RUN = "--oversubscribe --allow-run-as-root"
faults = []


def expect(holds, text):
    if not holds:
        faults.append(text)


def peer_sh(build, arguments, timeout=100):
    """Exit status and both outputs."""
    done = subprocess.run([str(PEER_SH), "--prefix", str(build)] + arguments,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=timeout, check=False)
    return done.returncode, done.stdout, done.stderr


def with_steppe(label, build, flags=""):
    return ["--with", f"{label}={build}/bin/oshcc{flags},{build}/bin/oshrun"]


# ---- what is written ----------------------------------------------------------------------------

def check_side(where, side, lower):
    numbers = [side.get(name) for name in ("best", "p1", "median", "p99")]
    expect(all(isinstance(number, (int, float)) and number > 0 for number in numbers),
           f"{where}: numbers {numbers}")
    ordered = numbers if lower else numbers[::-1]
    expect(ordered == sorted(ordered), f"{where}: best, p1, median, p99 not in order: {numbers}")
    expect(len(side.get("blocks", [])) == 10, f"{where}: blocks {side.get('blocks')}")
    if "pe_average" in side:
        expect(side["pe_min"] <= side["pe_average"] <= side["pe_max"],
               f"{where}: PEs: {side['pe_min']}, {side['pe_average']}, {side['pe_max']}")


def check_row(who, row, want_raw):
    where = f"{who}: {row['bench']} {row['bytes']}"
    expect("skipped" not in row, f"{where}: skipped: {row.get('skipped')}")
    if "steppe" not in row:
        return
    expect(row["unit"] == BENCHES[row["bench"]], f"{where}: unit {row['unit']}")
    expect((row["better"] == "lower") == (row["unit"] == "ns"), f"{where}: better {row['better']}")
    check_side(where, row["steppe"], row["better"] == "lower")
    if want_raw and row["group"] != "coll" and row["bench"] != "malloc":
        check_side(where + " raw", row.get("raw", {}), row["better"] == "lower")


def check_document(document, want_raw, missing=()):
    who = document["implementation"]
    expect(document.get("steppe_bench") == 2, f"{who}: not format version 2")
    for key in ("library", "date", "command", "kernel", "cpu", "pes", "peer", "local_pes", "cores",
                "bound", "clock_ns", "places", "pair_path", "disturbed", "options"):
        expect(key in document, f"{who}: the heading lacks {key}")
    seen = {row["bench"] for row in document["results"]}
    expect(seen == set(BENCHES) - set(missing), f"{who}: benches {sorted(seen)}")
    for row in document["results"]:
        check_row(who, row, want_raw)


def read_json(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


# ---- the tests ----------------------------------------------------------------------------------

def check_steppe(build, folder):
    """With itself as a peer: as it is, and by active sets; 3 PEs besides for the roots' turns."""
    prefix = folder / "out"
    status, out, told = peer_sh(build, ["--quick", "--no-mpi", "-o", str(prefix), "--build",
                                        str(folder / "programs")]
                                + with_steppe("itself", build)
                                + with_steppe("active sets", build, " -DPEER_ACTIVE_SETS=1"))
    expect(status == 0, f"exit status {status}: {told}")
    for name in ("steppe", "itself", "active-sets"):
        check_document(read_json(f"{prefix}-{name}.json"), want_raw=True)
    table = pathlib.Path(f"{prefix}.md").read_text(encoding="utf-8")
    expect("| flag-round-trip |" in table and "raw times met by itself" in table, table)
    expect("put-latency 8 B" in out, f"no such row in the table: {out}")
    check_csv(build)
    check_three(build)


def check_csv(build):
    """Two runs, beside a library whose alltoall does something else."""
    status, out, told = peer_sh(build, ["--quick", "--no-mpi", "--runs", "2", "--format", "csv",
                                        "--sizes", "8,4K", "p", "put-latency", "fcollect",
                                        "alltoall"]
                                + with_steppe("odd", build,
                                              " -Dshmem_alltoallmem=shmem_fcollectmem"))
    rows = list(csv.DictReader(io.StringIO(out)))
    expect(status == 0 and len(rows) == 14, f"CSV: status {status}, {len(rows)} rows: {told}")
    for row in rows:
        if row["implementation"] == "odd" and row["bench"] == "alltoall":
            expect("2 runs: wrong result" in row["skipped"], f"wrong alltoall: {row}")
        else:
            expect(float(row["median"] or 0) > 0, f"CSV: {row}")
            expect(row["bench"] == "alltoall" or float(row["steppe_ratio"] or 0) > 0,
                   f"CSV: {row}")


def check_three(build):
    status, out, told = peer_sh(build, ["--quick", "--no-mpi", "-n", "3", "--format", "json",
                                        "--no-bind", "coll", "sync"]
                                + with_steppe("a", build, " -DPEER_ACTIVE_SETS=1"))
    expect(status == 0, f"3 PEs: exit status {status}: {told}")
    for document in json.loads(out)["implementations"]:
        expect(document["pes"] == 3 and not document["bound"], f"3 PEs: {document['pes']}")
        for row in document["results"]:
            check_row("3 PEs", row, want_raw=True)


MISTAKES = [
    (["--with", "/usr/bin/cc"], "want [LABEL=]COMPILER,LAUNCHER"),
    (["--with", "x=/no/such/oshcc,/no/such/oshrun"], "x: /no/such/oshcc is no program"),
    (["--env-peer", "A=1 B"], "'B': want NAME=VALUE"),
    (["-n", "0"], "want a number above 0"),
    (["--runs", "x"], "want a number above 0"),
    (["--format", "xml"], "invalid choice"),
    (["--sizes", "7"], "want up to 32 multiples of 8"),
    (["--samples", "3"], "want a number from 10 to 256"),
    (["--cores", "a"], "want numbers of cores"),
    (["no-such-bench"], "no bench no-such-bench"),
    (["--mpi", "mpicc"], "want [LABEL=]COMPILER,LAUNCHER"),
]


def check_mistakes(build, _):
    for arguments, want in MISTAKES:
        status, out, told = peer_sh(build, ["--no-mpi"] * ("--mpi" not in arguments) + arguments)
        expect(status == 2, f"{arguments}: exit status {status}, want 2: {out}")
        expect(want in told, f"{arguments}: {told!r} does not say {want!r}")
    status, _, told = peer_sh(build / "nowhere", ["--no-mpi"])
    expect(status == 2 and "build or install Steppe" in told, f"--prefix: {status}: {told}")
    status, _, told = peer_sh(build, with_steppe("a", build) + with_steppe("a", build))
    expect(status == 2 and "are called a" in told, f"labels: {status}: {told}")
    status, out, _ = peer_sh(build, ["--list"])
    expect(status == 0 and all(name in out for name in BENCHES), f"--list: {status}: {out}")


def write_launcher(path, build, crash, hang):
    """An oshrun whose job dies in one row, and is silent from another one on."""
    script = (f"exec {sys.executable} {pathlib.Path(__file__).resolve()} {build} launch "
              f"{crash} {hang} \"$@\"\n")
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return str(path)


def launch(build, crash, hang, arguments):
    """What such a launcher does."""
    # pylint: disable=consider-using-with
    job = subprocess.Popen([str(build / "bin" / "oshrun")] + arguments, stdin=sys.stdin,
                           stdout=subprocess.PIPE, universal_newlines=True)
    for line in job.stdout:
        print(line, end="", flush=True)
        if f'"start": {crash}}}' in line:
            job.terminate()
            job.wait()
            print("peer-bench: Segmentation fault", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if f'"start": {hang}}}' in line:
            job.terminate()
            job.wait()
            signal.pause()
    return job.wait()


def check_failures(build, folder):
    """Rows 1 and 3 of 5 of one peer; one that starts nothing; one that does not compile."""
    bad = write_launcher(folder / "oshrun", build, 1, 3)
    prefix = folder / "out"
    status, out, told = peer_sh(
        build, ["--quick", "--no-mpi", "--timeout", "3", "-o", str(prefix), "--with",
                f"bad={build}/bin/oshcc,{bad}", "--with", f"dead={build}/bin/oshcc,/bin/false",
                "--with", "broken=/bin/false,/bin/true",
                "p", "put-rate", "atomic-fetch-add", "atomic-add", "barrier"])
    expect(status == 1, f"exit status {status}, want 1: {told}")
    for name, want in (("bad", 5), ("dead", 0), ("broken", 0), ("steppe", 5)):
        rows = read_json(f"{prefix}-{name}.json")["results"]
        measured = [row["bench"] for row in rows if "steppe" in row]
        if name == "bad":
            expect(measured == ["p", "atomic-fetch-add", "barrier"], f"bad: measured {measured}")
            reasons = [row["skipped"] for row in rows if "skipped" in row]
            expect("Segmentation fault" in reasons[0], f"bad: {reasons}")
            expect("no answer in 3 s" in reasons[1], f"bad: {reasons}")
        else:
            expect(len(measured) == want, f"{name}: measured {measured}")
    expect("broken: no results: does not build" in out, out)
    expect("dead: no results: exit status 1" in out, out)


def openmpi_compiler():
    """Open MPI's oshcc, if it compiles."""
    for name in ("oshcc.openmpi", "oshcc", "shmemcc"):
        path = shutil.which(name)
        if not path:
            continue
        told = subprocess.run([path, "--showme:version"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if re.search(rb"Open (MPI|SHMEM) ", told.stdout) and compiles(path, "shmem.h"):
            return path
    return None


def compiles(compiler, header):
    done = subprocess.run([compiler, "-fsyntax-only", "-x", "c", "-"],
                          input=f"#include <{header}>\n".encode(), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def check_openmpi(build, folder):
    compiler, launcher = openmpi_compiler(), shutil.which("oshrun")
    if not compiler or not launcher:
        skip("no Open MPI with OpenSHMEM and its headers (Debian: libopenmpi-dev)")
    prefix = folder / "out"
    status, _, told = peer_sh(build, ["--quick", "--no-mpi", "-o", str(prefix), "--with",
                                      f"Open MPI={compiler},{launcher} {OPENMPI_RUN}"])
    expect(status == 0, f"exit status {status}: {told}")
    check_document(read_json(f"{prefix}-open-mpi.json"), want_raw=False)
    check_document(read_json(f"{prefix}-steppe.json"), want_raw=True)


def check_mpi(build, folder):
    compiler, launcher = shutil.which("mpicc.mpich"), shutil.which("mpiexec.mpich")
    if not compiler or not launcher or not compiles(compiler, "mpi.h"):
        skip("no MPICH with its headers (Debian: libmpich-dev)")
    prefix = folder / "out"
    status, _, told = peer_sh(build, ["--quick", "-o", str(prefix), "--mpi",
                                      f"MPICH={compiler},{launcher}"])
    expect(status == 0, f"exit status {status}: {told}")
    check_document(read_json(f"{prefix}-mpich.json"), want_raw=False,
                   missing=("p", "lock", "sync", "malloc", "collect"))


CHECKS = {"steppe": check_steppe, "mistakes": check_mistakes, "failures": check_failures,
          "openmpi": check_openmpi, "mpi": check_mpi}


def main():
    if len(sys.argv) > 5 and sys.argv[2] == "launch":
        return launch(pathlib.Path(sys.argv[1]), *sys.argv[3:5], sys.argv[5:])
    if len(sys.argv) != 3 or sys.argv[2] not in CHECKS:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="check-peer-") as folder:
        CHECKS[sys.argv[2]](pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
    for fault in faults:
        print(f"check_peer: {fault}", file=sys.stderr)
    return 2 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
