#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that the pages on conformance name tests that exist and that CTest runs.

usage: check_conformance.py <source directory>

A rule is a table row of three columns that begins with its kind and number: R1, R2... in
docs/reference/conformance.md; P1..., S1... and W1... in docs/reference/conformance-spaces.md. Each kind is numbered
from 1 without a gap, R up to RULES. The last column names tests as `file:name`: a function of a
test program (T(name) in a template), a function of a script, or a case that a script tries. The
text between tables does so too. A row without a test has a reason after "Not testable:", "Not
done:" or "**Undefined:**". A file is anywhere under test/. Its program, or the script itself,
must be in test/**/CMakeLists.txt or test/**/*.cmake. Whether a test really proves its rule is
not checked.
"""
import pathlib
import re
import sys

RULES = 272  # of the standard

PAGES = {"docs/reference/conformance.md": "R", "docs/reference/conformance-spaces.md": "PSW"}
ROW = re.compile(r"^\| ([PRSW])(\d+) \|(.*)\|(.*)\|$")
TEST = re.compile(r"`([\w./]+\.(?:c|cpp|h|sh|py)):([\w.]+)`")
LIKE_TEST = re.compile(r"`([^`\s]+\.[a-z]+:[^`\s]*)`")
TRIES = "good|bad|told|ends|differs|job|lost|expect"
REASONS = ("Not testable:", "Not done:", "**Undefined:**")


def find(root, name):
    """
    The file with this name, or this path's end: under test/pe, else under test/unit, else anywhere
    under test/. None when there is none, an error text when there are several.
    """
    for directory in ("pe", "unit", "."):
        found = [path for path in sorted((root / "test" / directory).rglob(pathlib.Path(name).name))
                 if path.is_file() and str(path).endswith("/" + name)]
        if found:
            break
    if len(found) > 1:
        return f"`{name}` is ambiguous: {len(found)} files under test/ have this name"
    return found[0] if found else None


def has(path, name):
    text = path.read_text()
    if path.suffix == ".py":
        return re.search(rf"^\s*def {name}\(", text, re.M)
    if path.suffix == ".sh":
        return re.search(rf"^\s*(\[.*\] && )?({TRIES})\s+(.*\s)?{name}(\s|$)", text, re.M) or \
            re.search(rf"^{name}\(\)", text, re.M)
    return re.search(rf"^(static )?\w[\w \*]*\b{name}\([^;]*\)\s*\{{", text, re.M) or \
        re.search(rf"^(static )?\w[\w \*]*\bT\({name}\)\([^;]*\)\s*\{{", text, re.M) or \
        re.search(rf"^(START_)?TEST\w*\({name}\b", text, re.M)


def declared(path, cmake):
    """A program by its name, a template or a header by the programs that include it."""
    program = re.sub(r"^(run_|test_)|\..*$", "", path.name)
    if path.name.endswith(".h"):
        users = [user for user in path.parent.rglob("*.c") if path.name in user.read_text()]
        return any(declared(user, cmake) for user in users)
    if path.name in cmake:
        return True
    return re.search(rf"steppe_\w+\((?:[\w.]+\s+){{0,2}}{program}\b|NAME {program}\b", cmake) or \
        re.search(rf"foreach\(name[^)]*\b{program}\b", cmake) or \
        re.search(rf"\w\((?:test_|pe_)?{program}\s[^)]*\b{re.escape(path.name)}", cmake)


def read_rows(page, kinds, errors):
    """Yield kind, number and proof of each row; numbers count up from 1."""
    count = dict.fromkeys(kinds, 0)
    for line in page.read_text().splitlines():
        match = ROW.match(line)
        if not match:
            if re.match(r"^\| [PRSW]\d", line):
                errors.append(f"{page.name}: a rule must be a row of three columns: {line}")
            continue
        kind, number = match.group(1), int(match.group(2))
        if kind not in count:
            errors.append(f"{page.name} must not have rules of the kind {kind}: {kind}{number}")
            continue
        if number != count[kind] + 1:
            errors.append(f"{page.name}: {kind}{number} follows {kind}{count[kind]}: the numbers "
                          "have a gap")
        count[kind] = number
        if not match.group(3).strip():
            errors.append(f"{page.name}: the second column of {kind}{number} is empty")
        yield kind, number, match.group(4)


def check_tests(root, tests, cmake, errors):
    undeclared = set()
    for name, check in sorted(tests):
        path = find(root, name)
        if path is None:
            errors.append(f"the pages name the test file {name}, which does not exist under test/")
        elif isinstance(path, str):
            errors.append(path)
        elif not has(path, check):
            errors.append(f"the pages name the test {name}:{check}, but the file has no {check}")
        elif not declared(path, cmake):
            undeclared.add(name)
    errors += [f"the pages name {name}, but no CMake file declares it to CTest"
               for name in sorted(undeclared)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    files = [root / "test/CMakeLists.txt", *(root / "test").rglob("*/CMakeLists.txt"),
             *(root / "test").rglob("*.cmake")]
    cmake = "\n".join(path.read_text() for path in files)
    count = dict.fromkeys("RPSW", 0)
    tests, errors = set(), []
    for page, kinds in PAGES.items():
        text = (root / page).read_text()
        tests.update(TEST.findall(text))
        errors += [f"{page}: `{name}` has the form of a test, but not a known file type"
                   for name in LIKE_TEST.findall(text)
                   if not TEST.fullmatch(f"`{name}`") and "file:name" not in name]
        for kind, number, proof in read_rows(root / page, kinds, errors):
            count[kind] = number
            if not TEST.search(proof) and not any(reason in proof for reason in REASONS):
                errors.append(f"{kind}{number} has neither a test nor a reason")
    if count["R"] != RULES:
        errors.append(f"docs/reference/conformance.md ends with R{count['R']}, expected R{RULES}")
    if min(count.values()) == 0:
        errors.append(f"a kind of rules has no rows: {count}")
    check_tests(root, tests, cmake, errors)
    for error in errors:
        print(error, file=sys.stderr)
    print(f"{count['R']} rules of the standard, {count['P']} sentences, {count['S']} decisions, "
          f"{count['W']} lines of the wiki, {len(tests)} checks")
    sys.exit(2 if errors else 0)


main()
