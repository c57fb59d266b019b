#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Let clang read library, commands, benchmark, examples and headers; warnings are errors.

usage: clang_syntax.py BUILD [JOBS]     JOBS: parallel runs of clang, default: all processors

Nothing is compiled. The options of each source come from BUILD/compile_commands.json, without
those that only gcc has. Each public header is read by itself, as C and as C++.
"""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("base", "src", "pmi", "spaces", "transport", "tools", "bench", "examples")
STRICT = ["-Wall", "-Wextra", "-Werror", "-Wno-error=unused-command-line-argument"]


def clang_for(source):
    cxx = source.endswith((".cpp", ".cc"))
    return ["clang++" if cxx else "clang", "-fsyntax-only", *STRICT]


def options_of(entry):
    """Returns the options of a compilation, without compiler, source, output and optimization."""
    words = shlex.split(entry["command"])
    start = next(i for i, word in enumerate(words) if word.startswith("-"))
    options = []
    skip = False
    for word in words[start:]:
        if skip or word in ("-c", entry["file"]) or word.startswith(("-O", "-g", "-f", "-m")):
            skip = False
        elif word == "-o":
            skip = True
        else:
            options.append(word)
    return options


def sources(build):
    """Yields the command of each source of FOLDERS, once for each set of its options."""
    seen = set()
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            name = os.path.relpath(entry["file"], ROOT)
            command = (*clang_for(name), *options_of(entry), entry["file"])
            if name.split(os.sep)[0] in FOLDERS and command not in seen:
                seen.add(command)
                yield entry["directory"], command


def headers():
    """Yields a command for each public header and language that may include it."""
    include = os.path.join(ROOT, "include")
    for name in sorted(os.listdir(include)):
        if not name.endswith(".h"):
            continue
        for language in ("c", "c++"):
            if name == "shmem_cxx.h" and language == "c":
                continue
            yield ROOT, ("clang", "-fsyntax-only", *STRICT, "-I" + include, "-x", language,
                         "-include", os.path.join(include, name), os.devnull)


def read(task):
    directory, command = task
    done = subprocess.run(command, cwd=directory, check=False, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    jobs = int(sys.argv[2]) if len(sys.argv) == 3 else os.cpu_count()
    tasks = [*sources(os.path.abspath(sys.argv[1])), *headers()]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(read, tasks))
    for status, said in results:
        if status != 0:
            sys.stderr.write(said)
    bad = sum(1 for status, _ in results if status != 0)
    print(f"== clang read {len(results)} sources and headers, {bad} of them with warnings")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
