#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that docs/conformance-spaces.md names tests that exist and run.

usage: check_conformance.py <source directory>

Rules are table rows that begin with P<n> or S<n>; both count up from 1 without a gap. Each names
tests as `file:name` (a function of a test program, or a case that a script tries), or says
"Not testable:" with a reason. The file's program is declared to CTest in test/CMakeLists.txt.
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| ([PS])(\d+) \|(.*)\|(.*)\|$")
TEST = re.compile(r"`([\w.]+):([\w.]+)`")


def find(root, name):
    for directory in ("test/pe", "test/unit", "test"):
        path = root / directory / name
        if path.is_file():
            return path
    return None


def has(path, name):
    """A function definition in C, a check's word at the start of a script's line or argument."""
    text = path.read_text()
    if path.suffix == ".c":
        return re.search(rf"^(static )?\w[\w \*]*\b{name}\([^;]*\)\s*\{{", text, re.M) or \
            re.search(rf"^START_TEST\({name}\)", text, re.M)
    tries = "good|bad|told|ends|differs|job|lost"
    return re.search(rf"^\s*({tries})\s+(.*\s)?{name}(\s|$)", text, re.M)


def declared(path, cmake):
    program = re.sub(r"^(run_|test_)", "", path.stem)
    return re.search(rf"steppe_\w+\((?:\w+\s+)?{program}\b|NAME {program}\b", cmake) or \
        re.search(rf"foreach\(name[^)]*\b{program}\b", cmake)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    cmake = (root / "test/CMakeLists.txt").read_text()
    page = root / "docs/conformance-spaces.md"
    count = {"P": 0, "S": 0}
    tests = set()
    errors = []
    undeclared = set()
    for line in page.read_text().splitlines():
        match = ROW.match(line)
        if not match:
            if re.match(r"^\| [PS]\d", line):
                errors.append(f"not a row of three columns: {line}")
            continue
        kind, number, proof = match.group(1), int(match.group(2)), match.group(4)
        count[kind] += 1
        if number != count[kind]:
            errors.append(f"{kind}{number} follows {kind}{count[kind] - 1}")
            count[kind] = number
        named = TEST.findall(proof)
        if not named and "Not testable:" not in proof:
            errors.append(f"{kind}{number} has neither a test nor a reason")
        tests.update(named)
    for name, check in sorted(tests):
        path = find(root, name)
        if path is None:
            errors.append(f"there is no test file {name}")
        elif not has(path, check):
            errors.append(f"{name} has no {check}")
        elif not declared(path, cmake):
            undeclared.add(name)
    errors += [f"{name} is not declared in test/CMakeLists.txt" for name in sorted(undeclared)]
    if min(count.values()) == 0:
        errors.append("there are no rules")
    for error in errors:
        print(error, file=sys.stderr)
    print(f"{count['P']} sentences, {count['S']} decisions, {len(tests)} checks")
    sys.exit(2 if errors else 0)


main()
