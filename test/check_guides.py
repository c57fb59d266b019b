#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the commands of the guides as a reader would.

usage: check_guides.py <cmake> <build folder> <page.md>...

The build is installed in a temporary prefix, whose programs are found first. Each page gets a
folder. A block ```c that begins with a comment /* NAME.c ... is written to NAME.c. bash runs the
blocks ```sh one after the other, and each must succeed. After a block ```sh, a block ```console
has lines that the output must contain in this order; "..." stands for any text. Blocks ```text
are not checked: they show output, or commands that cannot be run here.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SOURCE = re.compile(r"/\* ([\w.-]+\.(?:c|h|cpp))\b")
LIMIT_S = 60


def expect(page, shown, output):
    """Are the lines of shown in the output, in their order?"""
    rest = output
    for line in filter(None, (line.strip() for line in shown.splitlines())):
        pattern = ".*?".join(re.escape(part) for part in line.split("..."))
        match = re.search(pattern, rest)
        if match is None:
            sys.exit(f"{page}: the output lacks the line \"{line}\" at its place; the output "
                     f"is\n{output}")
        rest = rest[match.end():]


def follow(page, environment):
    """Do what the page says. Returns the number of blocks that were run."""
    output, runs = "", 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            source = SOURCE.match(text)
            if kind == "c" and source is not None:
                pathlib.Path(folder, source[1]).write_text(text, encoding="utf-8")
            elif kind == "console":
                expect(page, text, output)
            elif kind == "sh":
                done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=folder, env=environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False)
                output, runs = done.stdout, runs + 1
                if done.returncode != 0:
                    sys.exit(f"{page}: exit status {done.returncode} of the "
                             f"commands\n{text}\nwith the output\n{output}")
    return runs


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([sys.argv[1], "--install", sys.argv[2], "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        environment = dict(os.environ, PATH=f"{prefix}/bin:{os.environ['PATH']}")
        for name in sys.argv[3:]:
            runs = follow(pathlib.Path(name), environment)
            print(f"{name}: {runs} blocks of commands ran")
            if runs == 0:
                sys.exit(f"{name}: the page has no block ```sh, so that nothing was tested")


if __name__ == "__main__":
    main()
