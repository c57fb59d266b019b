#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that docs/design/concurrency.md names each lock, start of a thread and fork handler.

usage: check_concurrency.py <source root>

A lock is a declared pthread_mutex_t or pthread_rwlock_t: its row has `structure.member`, or the
name of a variable, and the file. So has a thread, with the function that it runs, and a handler of
pthread_atfork or pthread_once. Locks whose row names what is no longer there are faults too.
"""
import pathlib
import re
import sys

PAGE = "docs/design/concurrency.md"
FOLDERS = ("src", "spaces", "transport", "pmi")
LOCK = re.compile(r"^(?P<indent>\s*)(?:static )?pthread_(?:mutex|rwlock)_t (?P<name>\w+)\b")
# What starts a thread, up to the function that it runs.
START = re.compile(r"\b(?:pthread_create\([^,]+, [^,]+|stp_thread_create\([^,()]+|(?:stp_)?thread_start\([^,]+, \"[^\"]*\")"
                   r",\s*(\w+)[,)]")
HANDLERS = re.compile(r"\bpthread_(?:atfork|once)\(([^()]*)\)")
PASSED_ON = {"main"}  # the parameter of stp_thread_create(), whose callers are looked at


def owner(lines, at):
    """Structure, or variable of an unnamed structure, that the member on line `at` belongs to."""
    begin = at
    while not re.match(r"(static )?(struct|union)\b.*\{$", lines[begin]):
        begin -= 1
    name = re.match(r"(?:static )?struct (\w+) \{$", lines[begin])
    while name is None and not lines[at].startswith("}"):
        at += 1
    return (name or re.match(r"\} (\w+)", lines[at]))[1]


def locks(path, lines):
    for at, line in enumerate(lines):
        if match := LOCK.match(line):
            name = match["name"]
            yield name if not match["indent"] else f"{owner(lines, at)}.{name}"


def functions(text):
    yield from (name for name in START.findall(text) if name not in PASSED_ON)
    for handlers in HANDLERS.findall(text):
        yield from (name for name in re.split(r",\s*", handlers) if re.fullmatch(r"\w+", name)
                    and name != "NULL")


def found(root):
    """Sets of (file, name): locks, and functions of threads and handlers."""
    all_locks, all_functions = set(), set()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            name, text = path.relative_to(root).as_posix(), path.read_text()
            all_locks |= {(name, lock) for lock in locks(name, text.splitlines())}
            all_functions |= {(name, function) for function in functions(text)}
    return all_locks, all_functions


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    page = (root / PAGE).read_text()
    rows = [re.findall(r"`([^`]+)`", line) for line in page.splitlines() if line.startswith("|")]
    all_locks, all_functions = found(root)
    faults = [f"{path}: {name} has no row" for path, name in sorted(all_locks | all_functions)
              if not any(path in row and name in row for row in rows)]
    section = page.partition("\n## Locks\n")[2].partition("\n### ")[0]
    for lock, path in re.findall(r"^\| `([\w.]+)` \| `([\w./]+)` \|", section, re.M):
        if (path, lock) not in all_locks:
            faults.append(f"the row of {lock}, {path}: there is no such lock")
    print("\n".join(faults + [f"{len(all_locks)} locks, {len(all_functions)} functions of threads and "
                              f"handlers, {len(faults)} faults"]))
    sys.exit(1 if faults or len(all_locks) < 10 or len(all_functions) < 5 else 0)


main()
