#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run a build or CTest, and print how far it is instead of each of its lines.

usage: progress.py WHAT LOG COMMAND...

WHAT is the word that begins each line of progress, such as "build". On a terminal, one line is
rewritten; elsewhere a line is printed every ten seconds. All output of COMMAND goes to LOG. Lines that
are neither progress nor a passed test are printed at once if COMMAND is ctest, and at the end if COMMAND
fails otherwise. The exit status is that of COMMAND.
"""
import os
import re
import subprocess
import sys
import time

NINJA = re.compile(r"^\[(\d+)/(\d+)\] ")
MAKE = re.compile(r"^\[ *(\d+)%\] ")
TEST = re.compile(r"^ *(\d+)/(\d+) Test +#\d+: .* (Passed|\*\*\*\w+|Not Run)")
START = re.compile(r"^ +Start +\d+: ")
INTERVAL = 10  # seconds between two lines of progress where the output is not a terminal


class Progress:
    """Prints the state of the command, and the lines that are worth reading."""

    def __init__(self, what):
        self.what, self.shown, self.last = what, "", time.monotonic()
        self.terminal = sys.stdout.isatty()

    def state(self, text):
        text = f"{self.what} {text}"
        if self.terminal:
            print(f"\r\033[K{text}", end="", flush=True)
        elif time.monotonic() - self.last >= INTERVAL and text != self.shown:
            print(text, flush=True)
            self.last = time.monotonic()
            self.shown = text

    def line(self, text):
        print(f"\r\033[K{text}" if self.terminal else text, flush=True)


def state_of(line):
    """What a line says of the progress, or None if it is no line of progress."""
    if found := NINJA.match(line) or TEST.match(line):
        return f"{found[1]} of {found[2]}"
    if found := MAKE.match(line):
        return f"{found[1]} %"
    return None


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    what, log_name, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    is_ctest = os.path.basename(command[0]) == "ctest"
    progress, kept, summary = Progress(what), [], False
    with open(log_name, "w", encoding="utf-8") as log, \
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace") as child:
        for line in child.stdout:
            log.write(line)
            line = line.rstrip("\n")
            state = state_of(line)
            if state:
                progress.state(state)
            if START.match(line) or (state and not "***" in line):
                continue
            summary = summary or "% tests passed" in line  # the caller prints CTest's summary
            if not is_ctest:
                kept.append(line)
            elif not summary:
                progress.line(line)
    if progress.terminal:
        print("\r\033[K", end="", flush=True)
    if child.returncode != 0 and not is_ctest:
        print("\n".join(kept))
    sys.exit(child.returncode if child.returncode >= 0 else 128 - child.returncode)


if __name__ == "__main__":
    main()
