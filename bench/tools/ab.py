# SPDX-License-Identifier: BSD-3-Clause
"""compare --ab: runs two programs in turn and collects their samples.

A side is an installation of Steppe. It can also be a compiler and a launcher of any OpenSHMEM or
MPI library, with which build_portable.py builds the portable part of steppe-bench.

The median of a run is one sample. Some conditions are fixed for a whole run, such as addresses, the
location of pages and the state of the machine. With one sample per run, the differences of these
conditions between runs are part of the measured noise. The samples are compared by
mann_whitney_interval, which does not assume a distribution of the noise. Ten runs are too few to
know the distribution, and often a run has one of two speeds. The method needs a minimum number of
runs, which grows with the number of rows. The check for this number is made after the first run.
"""
import os
import sys
import tempfile

import build_portable
import mann_whitney_interval
from options import mirrored, run_job
from result_file import Report, ToolError, describe, make_side, parse


def installed(prefix):
    """Return the command of the launcher and the path of steppe-bench, both in prefix/bin."""
    programs = [os.path.join(os.path.abspath(prefix), "bin", name)
                for name in ("oshrun", "steppe-bench")]
    for program in programs:
        if not os.access(program, os.X_OK):
            raise ToolError(f"{program} is not a program: {prefix} must be the prefix of an "
                            f"installation or a build folder")
    return programs[:1], programs[1]


def command(side, folder, pes, arguments):
    """Return the command line for one run of a side. A program to build goes to folder."""
    launcher, program = build_portable.build(side, folder) if "," in side else installed(side)
    return launcher + ["-n", str(pes), program, "--format", "json"] + arguments


def one_run(side, words):
    """Return the Report of one run.

    The results of a program of another library are used even if its exit status is not 0.
    """
    text = run_job(words, accept=(lambda text: text.rstrip().endswith("}")) if "," in side else None)
    return parse(text[max(0, text.find("{")):], f"output of {' '.join(words)}")


def check_runs(first, runs, family):
    """Raise ToolError if this number of runs is too small to show a change in any row."""
    level = family / max(1, len(first.rows))
    least = mann_whitney_interval.least_runs(level)
    if runs < least:
        raise ToolError(f"with {len(first.rows)} rows, {runs} runs of each program cannot "
                        f"distinguish a change from chance: use --runs {least} or more, or fewer rows")


def run(sides, pes, runs, arguments, family):
    """Return the Reports of the two sides, in which each run is a block.

    family: chance of a false alarm in all rows together.
    """
    reports = ([], [])
    turns = mirrored((0, 1), runs)
    with tempfile.TemporaryDirectory() as folder:
        commands = [command(side, os.path.join(folder, str(number)), pes, arguments)
                    for number, side in enumerate(sides)]
        for number, (_, side) in enumerate(turns):
            print(f"run {number + 1} of {len(turns)}: {sides[side]}", file=sys.stderr, flush=True)
            reports[side].append(one_run(sides[side], commands[side]))
            if number == 0:
                check_runs(reports[side][0], runs, family)
    return tuple(merge(name, found) for name, found in zip(sides, reports))


def merge(name, reports):
    """Merge the Reports of the runs into one Report, whose blocks are the medians of the runs."""
    first = reports[0]
    rows = {}
    for key in first.rows:
        found = [report.rows[key] for report in reports if key in report.rows]
        if len(found) == len(reports):
            rows[key] = merge_row(found)
        else:
            print(f"steppe-bench compare: {name}: {first.rows[key]['bench']} "
                  f"({describe(first.rows[key])}) is missing in some runs and is left out",
                  file=sys.stderr)
    heading = dict(first.heading, runs=len(reports))
    heading["disturbed"] = first_of_some(report.heading.get("disturbed") for report in reports)
    return Report(name, heading, rows, first.skipped)


def merge_row(found):
    row = dict(found[0], samples=len(found))
    for side in ("steppe", "raw"):
        if all(side in result for result in found):
            row[side] = make_side([result[side]["median"] for result in found], row["better"])
        else:
            row.pop(side, None)
    row.pop("ratio", None)
    if row.get("raw", {}).get("median", 0) > 0:
        row["ratio"] = row["steppe"]["median"] / row["raw"]["median"]
    row.pop("interval", None)
    row.pop("disturbed", None)
    disturbed = first_of_some(result.get("disturbed") for result in found)
    if disturbed:
        row["disturbed"] = disturbed
    return row


def first_of_some(texts):
    """Return a text such as 'in 2 of 10 runs: TEXT', or '' if all texts are empty.

    TEXT is the first text that is not empty.
    """
    texts = list(texts)
    present = [text for text in texts if text]
    return f"in {len(present)} of {len(texts)} runs: {present[0]}" if present else ""
