# SPDX-License-Identifier: BSD-3-Clause
"""steppe-bench compare: finds the rows that became slower or faster between two files of results.

Rows are matched by their identity (result_file.py). Normally the compared value is the ratio to the
raw limit, block by block, because the machine is hardly ever in the same state during two runs.
With --absolute, the values themselves are compared. The comparison uses logarithms, so that a
factor of 2 and a factor of 1/2 are changes of the same size. mann_whitney_interval.py computes the
confidence interval of the change. The 5 % chance of a false alarm is divided among the rows
(Bonferroni), so that with a probability of 95 % all intervals of a file contain the true change.

Some conditions are the same for all blocks of a run, such as the location of the memory. The
intervals do not include the noise of these conditions, so the threshold must cover it. With --ab,
the noise is part of the samples.
"""
import math
import sys

import ab
import mann_whitney_interval
import format_comparison
from options import parser, percent, positive
from result_file import IDENTITY, ToolError, median, read, write

FAMILY = 0.05  # chance of a false alarm in the whole file
OTHER_STATE = 0.10  # raw medians that differ by more are marked
COMPARED_HEADING = ("library", "libfabric", "host", "cpu", "governor", "pair_path", "all_path",
                    "provider", "domain", "gpu", "pes", "peer", "cores", "bound", "options")

USAGE = """steppe-bench compare [OPTION...] OLD.json NEW.json
       steppe-bench compare --ab A B [OPTION...] [-- ARGUMENTS of steppe-bench]"""
DESCRIPTION = """Compare two files that steppe-bench --format json wrote, row by row, or two builds.

A row is worse or better if the whole 95 % confidence interval of its change lies beyond the
threshold. The 95 % apply to all rows together. Every other row is called equal, and is marked if
its change is beyond the threshold without being certain. The compared value of a row is its ratio
to the raw limit.

With --ab, two sides are run in turn, in the order A B B A. Each run gives one sample of each row,
which is the median of that row, or its ratio to the raw limit if the ARGUMENTS contain --raw. A
side is the prefix of an installation, a build folder, COMPILER,LAUNCHER of any OpenSHMEM, or
mpi:COMPILER,LAUNCHER of an MPI.

The exit status is 0 if no row is worse, 1 if a row is worse, and 2 if the usage is wrong or no row
can be compared."""


class Change:
    """Change of one row.

    verdict: worse, better, equal or 'not compared'. reason: why the row was not compared.
    old, new: medians of the compared values. change: new / old - 1. low, high: ends of the
    confidence interval of change. notes: list of texts.
    """

    def __init__(self, row, notes):
        self.row = row
        self.notes = notes
        self.verdict = "not compared"
        self.reason = ""
        self.relative = False
        self.old = self.new = self.change = self.low = self.high = None


def samples(row, absolute):
    """Return (values, None), or (None, reason) if the row cannot be compared."""
    steppe = row["steppe"].get("blocks", [])
    values = steppe
    if not absolute:
        raw = row["raw"].get("blocks", [])
        if min(raw, default=1) <= 0:
            return None, "a raw value of 0"
        values = [a / b for a, b in zip(steppe, raw)]  # alternating blocks are pairs
    if not values:
        return None, "no \"blocks\""
    if min(values) <= 0:
        return None, "a value of 0"
    return values, None


def notes_of(old, new):
    """Return notes on conditions that make the numbers of the two rows less reliable."""
    notes = []
    if "raw" in old and "raw" in new and min(old["raw"]["median"], new["raw"]["median"]) > 0:
        factor = new["raw"]["median"] / old["raw"]["median"]
        if max(factor, 1 / factor) > 1 + OTHER_STATE:
            notes.append(f"another machine state: raw {format_comparison.percent(factor - 1)}")
    for name, row in (("old", old), ("new", new)):
        if row.get("disturbed"):
            notes.append(f"{name} disturbed: {row['disturbed']}")
        if any(row.get(side, {}).get("noisy") for side in ("steppe", "raw")):
            notes.append(f"{name} noisy")
    return notes


def prepare(old, new, mode):
    """Return the Change of a row, and the samples of the old and the new row.

    Both samples are None if the row cannot be compared. `mode` is "ratio", "absolute" or "either".
    """
    change = Change(new, notes_of(old, new))
    both_raw = "raw" in old and "raw" in new
    if mode == "ratio" and not both_raw:
        change.reason = "no raw side"
    elif old.get("unit") != new.get("unit") or old["better"] != new["better"]:
        change.reason = f"units differ: {old.get('unit')}, {new.get('unit')}"
    if change.reason:
        return change, None, None
    change.relative = both_raw and mode != "absolute"
    values = []
    for row in (old, new):
        found, reason = samples(row, not change.relative)
        change.reason = change.reason or reason or ""
        values.append(found)
    return (change, None, None) if change.reason else (change, values[0], values[1])


def judge(change, old, new, level, threshold):
    """Set the fields of the Change from the samples.

    level: chance of a false alarm for this row.
    """
    logs = [[math.log(value) for value in values] for values in (old, new)]
    estimate, low, high = mann_whitney_interval.shift(logs[0], logs[1], level)
    change.old, change.new = median(old), median(new)
    change.change = math.exp(estimate) - 1
    if low is None:
        change.reason = f"too few blocks of samples: {len(old)} and {len(new)}"
        return
    change.low, change.high = math.exp(low) - 1, math.exp(high) - 1
    beyond = math.log(1 + threshold)
    rises, falls = low > beyond, high < -beyond
    lower_is_better = change.row["better"] == "lower"
    change.verdict = "equal"
    if rises or falls:
        change.verdict = "worse" if rises == lower_is_better else "better"
    elif abs(estimate) > beyond:
        change.notes.append("not certain: the interval is too wide")


def compare(old, new, threshold, mode):
    """Return a list with the Change of each row that both Reports have, in the order of new.

    threshold: smallest change that counts; 0.05 means 5 %. mode: 'ratio' compares the ratios to
    raw, 'absolute' compares the values, and 'either' compares the ratios of rows that have a raw
    side and the values of the other rows.
    """
    common_keys = [key for key in new.rows if key in old.rows]
    if not common_keys:
        raise ToolError(f"{old.name} and {new.name} have no rows in common")
    prepared = [prepare(old.rows[key], new.rows[key], mode) for key in common_keys]
    level = FAMILY / max(1, sum(values is not None for _, values, _ in prepared))
    for change, old_values, new_values in prepared:
        if old_values is not None:
            judge(change, old_values, new_values, level, threshold)
    changes = [change for change, _, _ in prepared]
    if all(change.verdict == "not compared" for change in changes):
        advice = "; --absolute compares the values" if changes[0].reason == "no raw side" else ""
        raise ToolError(f"no row of {old.name} and {new.name} can be compared: "
                        f"{changes[0].reason}{advice}")
    return changes


def only_in(report, other):
    """Return the rows that only report has, each with the reason why other skipped it, or ''."""
    rows = []
    for key, row in report.rows.items():
        if key not in other.rows:
            rows.append((row, other.why_skipped(row)))
    return rows


def different_headings(old, new):
    """Return [(key, old value, new value)] for the keys of the heading that differ.

    Only keys in COMPARED_HEADING are considered. They can explain changes of the rows.
    """
    return [(key, old.heading.get(key), new.heading.get(key)) for key in COMPARED_HEADING
            if old.heading.get(key) != new.heading.get(key)]


def parse_arguments(arguments):
    bench_arguments = []
    if "--" in arguments:
        position = arguments.index("--")
        arguments, bench_arguments = arguments[:position], arguments[position + 1:]
    options = parser("compare", USAGE, DESCRIPTION)
    options.add_argument("files", nargs="*", metavar="FILE",
                         help="the two files, OLD.json and NEW.json")
    options.add_argument("--threshold", type=percent, default=0.05, metavar="P%",
                         help="smallest change that counts (default: 5%%)")
    options.add_argument("--absolute", action="store_true",
                         help="compare the values of all rows instead of their ratios")
    options.add_argument("--format", choices=("text", "json"), default="text")
    options.add_argument("--ab", nargs=2, metavar=("A", "B"),
                         help="run two programs in turn; A is the old program; each program is the "
                              "prefix of an installation, or COMPILER,LAUNCHER, or "
                              "mpi:COMPILER,LAUNCHER")
    options.add_argument("-n", type=positive, default=2, metavar="N",
                         help="with --ab, the number of PEs (default: 2)")
    options.add_argument("--runs", type=positive, default=10, metavar="N",
                         help="with --ab, the number of runs of each program (default: 10)")
    options.add_argument("--save", nargs=2, metavar=("FILE_A", "FILE_B"),
                         help="with --ab, write the medians of all runs for a later compare")
    chosen = options.parse_args(arguments)
    if chosen.ab and chosen.files:
        options.error(f"--ab takes no files: remove {chosen.files[0]}")
    if not chosen.ab and len(chosen.files) != 2:
        options.error(f"give two files, OLD.json and NEW.json; here are {len(chosen.files)}")
    if not chosen.ab and (bench_arguments or chosen.save):
        options.error("--save and arguments after -- can be used only with --ab")
    return chosen, bench_arguments


def main(arguments):
    options, bench_arguments = parse_arguments(arguments)
    if options.ab:
        old, new = ab.run(options.ab, options.n, options.runs, bench_arguments, FAMILY)
        for report, path in zip((old, new), options.save or ()):
            write(report, path)
        mode = "absolute" if options.absolute else "either"
    else:
        old, new = (read(path) for path in options.files)
        mode = "absolute" if options.absolute else "ratio"
    changes = compare(old, new, options.threshold, mode)
    outcome = format_comparison.Outcome(old, new, changes, only_in(old, new), only_in(new, old),
                            different_headings(old, new), options.threshold, options.runs
                            if options.ab else 0)
    sys.stdout.write(format_comparison.FORMATS[options.format](outcome, IDENTITY))
    return 1 if outcome.count("worse") else 0
