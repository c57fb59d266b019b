#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check the examples.

usage: check_examples.py SOURCE         the texts
       check_examples.py SOURCE BIN     the programs; BIN is the folder of oshcc and oshrun

Texts: a learning example has at most 80 lines, examples/README.md lists each program once, and
README.md and docs/guide/first-program.md contain examples/hello.c from its first #include on.
Programs: examples/Makefile builds all programs in a copy of the folder. The learning examples
run with 3 PEs and must exit with 0 and print nothing to stderr, except for stream_ring, which
needs a GPU.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LONGEST = 80
NEEDS_GPU = ("stream_ring",)  # the library prints why the space cannot be created
HELLO_PAGES = ("README.md", "docs/guide/first-program.md")


def check_texts(root):
    folder, wrong = root / "examples", []
    programs = sorted([*folder.glob("*.c"), *folder.glob("*.cpp")])
    for path in programs:
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > LONGEST:
            wrong.append(f"examples/{path.name}: {length} lines, but a learning example has at "
                         f"most {LONGEST}")
    listed = re.findall(r"^\| \[([\w./]+)\]\(\1\) \|", (folder / "README.md").read_text(encoding="utf-8"), flags=re.M)
    expected = [path.name for path in programs] + [
        f"apps/{path.name}" for path in (folder / "apps").glob("*.c") if "int main(" in path.read_text(encoding="utf-8")]
    wrong += [f"examples/README.md: {name} is listed {listed.count(name)} times instead of once"
              for name in sorted(set(expected) | set(listed)) if (listed.count(name), expected.count(name)) != (1, 1)]
    hello = (folder / "hello.c").read_text(encoding="utf-8")
    hello = hello[hello.index("#include"):]
    wrong += [f"{page}: its program differs from examples/hello.c" for page in HELLO_PAGES
              if hello not in (root / page).read_text(encoding="utf-8")]
    return wrong


def check_programs(root, binaries):
    """Build all programs by the Makefile, and run the learning examples."""
    env = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "examples"
        shutil.copytree(root / "examples", copy)
        done = subprocess.run(["make", "-C", copy, "CFLAGS=-O2 -Wall -Wextra -Werror", "all", "apps"], env=env,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return [f"make all apps: exit status {done.returncode}\n{done.stdout}{done.stderr}"]
        programs = re.search(r"^EXAMPLES = (.*?[^\\])$", (copy / "Makefile").read_text(encoding="utf-8"),
                             flags=re.M | re.S)[1].replace("\\", "").split()
        for name in programs:
            done = subprocess.run(["oshrun", "-n", "3", copy / name], env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False, timeout=60)
            if done.returncode != 0 or (done.stderr and name not in NEEDS_GPU):
                wrong.append(f"{name}: exit status {done.returncode}, expected 0 and no "
                             f"stderr\n{done.stdout}{done.stderr}")
    print(f"{len(programs)} programs run")
    return wrong


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    wrong = check_texts(root) if len(sys.argv) == 2 else check_programs(root, os.path.abspath(sys.argv[2]))
    print("\n".join(wrong + [f"{len(wrong)} faults"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
