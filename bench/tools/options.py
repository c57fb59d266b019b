# SPDX-License-Identifier: BSD-3-Clause
"""Functions for command lines and jobs that several tools use."""
import argparse
import os
import subprocess
import sys

from result_file import ToolError


def parser(tool, usage, description):
    """Return an argument parser whose messages begin with the name of the tool."""
    return argparse.ArgumentParser(
        prog=f"steppe-bench {tool}", usage=usage, description=description, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter)


def positive(text):
    """Parse a positive number of the command line."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number, 1 or more")
    return number


def percent(text):
    """Parse a percentage. '5%' and '5' are 0.05."""
    try:
        share = float(text[:-1] if text.endswith("%") else text) / 100
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be a percentage, such as 5%")
    if not 0 <= share < 100:
        raise argparse.ArgumentTypeError(f"{text!r} must be at least 0% and less than 10000%")
    return share


def counts(text):
    """Parse a list of counts. '1:64' is 1, 2, 4 ... 64. '1,2,6' and '8' are lists."""
    try:
        if ":" in text:
            first, last = (int(part) for part in text.split(":"))
            numbers = [first]
            while 0 < numbers[-1] < last:
                numbers.append(min(2 * numbers[-1], last))
        else:
            numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or numbers != sorted(set(numbers)):
        raise argparse.ArgumentTypeError(
            f"{text!r} must be FIRST:LAST or a rising list of counts such as 1,2,4")
    return numbers


def installed_program():
    """Return the path of the steppe-bench that runs this tool. oshrun is in the same folder."""
    program = os.environ.get("STEPPE_BENCH_PROGRAM", "")
    if not program:
        raise ToolError("STEPPE_BENCH_PROGRAM is not set: run this program as a "
                        "command of steppe-bench")
    return program


def run_job(command, accept=None):
    """Run a job to its end and return its standard output.

    The standard input of the job is a pipe that stays open and empty, because some launchers fail
    if their standard input ends before the job. If the exit status is not 0, raises ToolError with
    the last lines of standard error, unless accept() returns true for the output.
    """
    reading, writing = os.pipe()
    try:
        job = subprocess.Popen(command, stdin=reading, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    except OSError as error:
        raise ToolError(f"{command[0]}: {error.strerror}")
    else:
        try:
            out, err = job.communicate()
        except BaseException:
            job.terminate()
            job.wait()
            raise
    finally:
        os.close(reading)
        os.close(writing)
    if job.returncode != 0 and accept is not None and accept(out.decode(errors="replace")):
        print(f"{command[0]}: the exit status is {job.returncode}, but the results are complete "
              f"and are used", file=sys.stderr)
    elif job.returncode != 0:
        last_lines = err.decode(errors="replace").strip().splitlines()[-5:]
        raise ToolError("\n".join([f"{' '.join(command)}: exit status {job.returncode}"] +
                                  last_lines))
    return out.decode(errors="replace")


def mirrored(sides, runs):
    """Return [(run, side)] for the runs of two sides in turn, in the order AB BA AB ..."""
    return [(run, side) for run in range(runs)
            for side in (sides if run % 2 == 0 else sides[::-1])]
