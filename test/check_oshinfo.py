#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check oshinfo: its JSON parses and says what it must, also with hostile environment values.

usage: check_oshinfo.py <oshinfo>
"""
import json
import os
import subprocess
import sys
import tempfile

SECTIONS = ["version", "conduits", "providers", "topology", "memory", "environment"]
failures = []


def check(ok, text):
    if not ok:
        failures.append(text)


def run(*args, env=None):
    """Status, standard output and standard error of one run, all environment in bytes."""
    full = {**os.environb, **(env or {})}
    done = subprocess.run([sys.argv[1], *args], env=full, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def report(*args, env=None):
    status, out, err = run("--json", *args, env=env)
    check(status == 0, f"--json {args}: status {status}: {err!r}")
    return json.loads(out.decode("utf-8", errors="strict"))


def check_all():
    everything = report()
    check(list(everything) == SECTIONS, f"sections are {list(everything)}")
    check(everything["version"]["name"] == "Steppe", "no name in version")
    check(everything["topology"]["threads"] >= 1, "no processors")
    kinds = {kind["kind"]: kind for kind in everything["memory"]["kinds"]}
    check(set(kinds) == {"cpu", "gpu", "hbm", "fam"}, f"kinds are {sorted(kinds)}")
    check(kinds["cpu"]["usable"] is True, "host memory is not usable")
    providers = everything["providers"]
    if "offered" in providers:
        check(all(row["reason"] for row in providers["offered"]), "a provider without a reason")
        used = [row for row in providers["offered"] if row["used"]]
        check(bool(used) == providers["usable"], "usable without a provider, or the reverse")
    else:
        check(providers["why_not"], "no providers and no reason")


def check_environment():
    value = b'quote " backslash \\ tab \t bytes \xff\xc3\xa9\xed\xa0\x80 \xf0\x9f\x90\x8e'
    rows = report("environment", env={b"SHMEM_OFI_DOMAIN": value, b"SHMEM_SYMMETRIC_SIZE": b"3m"})
    check(list(rows) == ["environment"], "one section asked for, others given")
    variables = {row["name"]: row for row in rows["environment"]["variables"]}
    domain = variables["SHMEM_OFI_DOMAIN"]
    check(domain["set"] and "\u00e9" in domain["value"] and "\U0001f40e" in domain["value"],
          f"SHMEM_OFI_DOMAIN is {domain}")
    check(variables["SHMEM_SYMMETRIC_SIZE"]["set"], "SHMEM_SYMMETRIC_SIZE is not seen")
    check(not variables["SHMEM_NODE"]["set"] or b"SHMEM_NODE" in os.environb, "SHMEM_NODE is seen")
    check(all(row["help"] for row in variables.values()), "a variable without a meaning")


def check_command_line():
    check(list(report("memory", "version")) == ["version", "memory"], "two sections")
    status, out, _ = run("version")
    check(status == 0 and b"OpenSHMEM 1.6" in out, f"text of version: {out!r}")
    for wrong in (["--no-such-option"], ["no-such-section"], ["version", "no-such-section"], [""]):
        status, out, err = run(*wrong)
        check(status == 2 and not out and b"usage" in err, f"{wrong}: status {status}, {out!r}")
    status, out, _ = run("--help")
    check(status == 0 and all(name.encode() in out for name in SECTIONS + ["spaces"]), "--help")


def job(n, *args, env=None):
    """Output of oshinfo as a job of n PEs, by the oshrun beside it."""
    oshrun = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "oshrun")
    command = [oshrun, "-n", str(n), sys.argv[1], *args]
    done = subprocess.run(["timeout", "-k", "5", "60", *command], stdin=subprocess.DEVNULL,
                          env={**os.environb, **(env or {})}, capture_output=True)
    check(done.returncode == 0, f"{n} PEs, {args}: status {done.returncode}: {done.stderr!r}")
    check(not done.stderr, f"{n} PEs, {args}: noise: {done.stderr!r}")
    return done.stdout.decode("utf-8")


def spaces_by_kind(text, n):
    told = json.loads(text)
    check(list(told) == ["spaces"], f"spaces asked for, told are {list(told)}")
    check(told["spaces"]["pes"] == n, f"{told['spaces']['pes']} PEs instead of {n}")
    return {kind["kind"]: kind for kind in told["spaces"]["kinds"]}


def check_kind(kind, members, n, way):
    """Members are those given, they reach each other by way, and nobody else is reached."""
    name = kind["kind"]
    check(kind["members"] == len(members) and kind["usable"] == bool(members), f"{name}: {kind}")
    if len(members) < n:
        check(all(row["why"] for row in kind["without"]), f"{name}: no reason")
    if members:
        wanted = [[way if a in members and b in members else "none" for b in range(n)]
                  for a in range(n)]
        check(kind["paths"] == wanted, f"{name}: paths are {kind['paths']}")
        check({"rma", "atomics", "collectives"} <= set(kind["capabilities"]), f"{name}: {kind}")
        check(("world_access" in kind["capabilities"]) == (len(members) == n), f"{name}: {kind}")
        check(all(row["where"] for row in kind["parts"]), f"{name}: no place")


def check_spaces():
    fake = os.path.join(os.path.dirname(os.path.abspath(sys.argv[1])), "../lib/fakecuda")
    clean = {b"SHMEM_FAM_PATH": b"", b"SHMEM_GPU": b"off", b"SHMEM_NODE": b"on"}
    for n in (1, 3):
        kinds = spaces_by_kind(job(n, "--json", "--spaces", env=clean), n)
        check(list(kinds) == ["cpu", "gpu", "hbm", "fam"], f"kinds are {list(kinds)}")
        check_kind(kinds["cpu"], range(n), n, "load/store")
        for name in ("gpu", "hbm", "fam"):
            check_kind(kinds[name], [], n, "none")
    with tempfile.TemporaryDirectory() as folder:
        rich = {**clean, b"SHMEM_FAM_PATH": os.fsencode(folder), b"SHMEM_GPU": b"on",
                b"LD_LIBRARY_PATH": os.fsencode(fake), b"FAKECUDA_RANKS": b"0,2"}
        kinds = spaces_by_kind(job(3, "spaces", "--json", env=rich), 3)
        check_kind(kinds["fam"], range(3), 3, "load/store")
        if os.path.exists(os.path.join(fake, "libcuda.so.1")):
            check_kind(kinds["gpu"], [0, 2], 3, "device")
        text = job(3, "--spaces", env=rich)
        check(text.count("cpu\n") == 1, "more than one PE prints")
        check(max(map(len, text.splitlines())) <= 80, "lines longer than 80 columns")
        text = job(26, "--spaces", env=clean)
        check("by load/store to 0-25" in text, "paths of 26 PEs are not in ranges")
        check(not os.listdir(folder), f"left behind: {os.listdir(folder)}")
    status, out, _ = run("--json", "--spaces", env=clean)
    check(status == 0, f"without a launcher: status {status}")
    check_kind(spaces_by_kind(out, 1)["cpu"], [0], 1, "load/store")


check_all()
check_environment()
check_command_line()
check_spaces()
print("\n".join(failures) or "oshinfo: all as it should be")
sys.exit(bool(failures))
