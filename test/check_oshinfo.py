#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check oshinfo: its JSON parses and says what it must, also with hostile environment values.

usage: check_oshinfo.py <oshinfo>
"""
import json
import os
import subprocess
import sys

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
    check(status == 0 and all(name.encode() in out for name in SECTIONS), "--help")


check_all()
check_environment()
check_command_line()
print("\n".join(failures) or "oshinfo: all as it should be")
sys.exit(bool(failures))
