#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run clang-tidy over the sources of the library, with the checks of .clang-tidy.

usage: check_tidy.py <source root> <build folder> [FILE...]
  FILE...   only these, relative to the root; default: all of base, src, pmi, spaces, transport

Prints all findings except those in ALLOWED. Status 1 if there are any, or if clang-tidy no
longer finds something in ALLOWED; 77 without clang-tidy. The variable JOBS is the number of
parallel processes.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDERS = ("base/", "src/", "pmi/", "spaces/", "transport/")
FINDING = re.compile(r"^(\S+?):\d+:\d+: (?:error|warning): .*\[([\w.-]+)(?:,[^\]]*)?\]$")
# (name of the file, check without its first word): why it is none. The analyzer sees one file at a
# time, and takes functions of others for such as return anything and write nothing.
FILLED = "the function that is called fills it, or returns an error"
AGREED = "a null pointer is agreed to be wrong before"
ALLOWED = {
    ("map.c", "analyzer-core.NullDereference"): "there are names as soon as there is a node",
    ("pmi.c", "analyzer-core.uninitialized.Branch"): "what complains returns an error",
    ("pmi1_pmi2_framing.c", "analyzer-core.UndefinedBinaryOperatorResult"): "the kernel writes the family",
    ("pmi.c", "analyzer-core.CallAndMessage"): "a session of several PEs has a client",
    ("roots.c", "analyzer-core.NullDereference"): "it is mapped while its part is open",
    ("collect_alltoall.c", "analyzer-core.UndefinedBinaryOperatorResult"): "an offset is set for each PE",
    ("boot.c", "analyzer-core.uninitialized.Assign"): FILLED,
    ("boot.c", "analyzer-optin.portability.UnixAPI"): "there is at least one PE",
    ("ip_network_choice.c", "analyzer-core.CallAndMessage"): "each host has a first PE",
    ("ip_network_choice.c", "analyzer-core.uninitialized.Assign"): "one verdict for each address",
    ("device_handle.c", "analyzer-core.NullDereference"): AGREED,
    ("adopt.c", "analyzer-core.NullDereference"): AGREED,
    ("create.c", "analyzer-core.NullDereference"): AGREED,
    ("split.c", "analyzer-core.NullDereference"): AGREED,
    ("lock.c", "analyzer-core.NullDereference"): "the caller has found it",
    ("rma.c", "analyzer-core.DivideZero"): "a fragment has a row",
    ("scan.c", "branch-clone"): "three ways, the first and the last for different reasons",
    ("queue.c", "implicit-widening-of-multiplication-result"): "constants",
    ("domain_endpoint.c", "implicit-widening-of-multiplication-result"): "constants",
    ("create.c", "implicit-widening-of-multiplication-result"): "below two times five",
}


def commands_of(root, build):
    """file -> how it is compiled for the library; tests compile some of them once more."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = {}
    for entry in entries:
        name = os.path.relpath(entry["file"], root)
        in_tests = os.path.relpath(entry["directory"], build).split(os.sep)[0] == "test"
        if name.startswith(FOLDERS) and not in_tests:
            found.setdefault(name, entry)
    return found


def tidy(root, database, name):
    done = subprocess.run(["clang-tidy", "-p", database, "--quiet", name], cwd=root, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0 and not done.stdout:
        return [(name, None, f"{name}: clang-tidy ended with {done.returncode}: {done.stderr}")]
    return findings(done.stdout)


def findings(text):
    """(file, check, what was said) of each finding."""
    found = []
    for line in text.splitlines():
        match = FINDING.match(line)
        if match:
            check = match[2].split("-", 1)[1]
            found.append((os.path.basename(match[1]), check, line))
        elif found:
            found[-1] = (*found[-1][:2], found[-1][2] + "\n" + line)
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root, build = map(os.path.realpath, sys.argv[1:3])
    if shutil.which("clang-tidy") is None:
        print("there is no clang-tidy here: scripts/setup.sh --full")
        sys.exit(77)
    commands = commands_of(root, build)
    names = sys.argv[3:] or sorted(commands)
    unknown = [name for name in names if name not in commands]
    if unknown or not names:
        sys.exit(f"these files are not in compile_commands.json of the library: "
                 f"{' '.join(unknown)}")
    with tempfile.TemporaryDirectory() as database:
        with open(os.path.join(database, "compile_commands.json"), "w", encoding="utf-8") as out:
            json.dump([commands[name] for name in names], out)
        jobs = int(os.environ.get("JOBS") or os.cpu_count())
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            found = sum(pool.map(lambda name: tidy(root, database, name), names), [])
    said = {text for file, check, text in found if (file, check) not in ALLOWED}
    stale = set(ALLOWED) - {(file, check) for file, check, _ in found}
    if sys.argv[3:]:
        stale = set()
    lines = sorted(said) + [f"clang-tidy no longer finds {check} in {file}: remove this row of "
                            "ALLOWED"
                            for file, check in sorted(stale)]
    print("\n".join(lines + [f"{len(names)} files, {len(said)} findings"]))
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
