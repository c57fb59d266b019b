# SPDX-License-Identifier: BSD-3-Clause
"""Formats the result of compare as text or as JSON."""
import json

from result_file import describe

VERDICTS = ("worse", "better", "equal", "not compared")
NUMBERS = ("old", "new", "change", "low", "high")


class Outcome:
    """Result of a comparison. runs: number of runs of each side with --ab, otherwise 0."""

    def __init__(self, old, new, changes, only_old, only_new, headings, threshold, runs):
        self.old = old
        self.new = new
        self.changes = changes
        self.only_old = only_old
        self.only_new = only_new
        self.headings = headings
        self.threshold = threshold
        self.runs = runs

    def count(self, verdict):
        return sum(change.verdict == verdict for change in self.changes)


def percent(share):
    return f"{100 * share:+.1f} %"


def value(change, number):
    if number is None:
        return ""
    return f"{number:.4g} x raw" if change.relative else f"{number:.4g} {change.row.get('unit')}"


def columns(lines):
    """Return lines with left-aligned columns. All lines have the same number of fields."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  " + "  ".join(field.ljust(width) for field, width in zip(line, widths)).rstrip()
            for line in lines]


def change_lines(changes):
    lines = [("bench", "row", "old", "new", "change", "95 % interval", "")]
    for change in changes:
        interval = ""
        if change.low is not None:
            interval = f"{percent(change.low)} to {percent(change.high)}"
        moved = "" if change.change is None else percent(change.change)
        lines.append((change.row["bench"], describe(change.row), value(change, change.old),
                      value(change, change.new), moved, interval, "; ".join(change.notes)))
    return columns(lines)


def section(title, lines):
    return [title] + lines + [""] if lines else []


def section_of_changes(title, changes):
    return section(f"{title} ({len(changes)}):", change_lines(changes)) if changes else []


def only_lines(rows):
    lines = []
    for row, reason in rows:
        lines.append((row["bench"], describe(row),
                      f"skipped in the other file: {reason}" if reason else ""))
    return columns(lines) if lines else []


def not_compared_lines(changes):
    """Return one line for each reason, with the benches and the number of rows of each bench."""
    counts = {}
    for change in changes:
        if change.verdict == "not compared":
            benches = counts.setdefault(change.reason, {})
            benches[change.row["bench"]] = benches.get(change.row["bench"], 0) + 1
    return [f"  {reason}: " + ", ".join(f"{bench} ({count})" for bench, count in benches.items())
            for reason, benches in counts.items()]


def sources(outcome):
    lines = []
    for name, report in (("old", outcome.old), ("new", outcome.new)):
        about = [str(report.heading[key]) for key in ("library", "host", "date")
                 if report.heading.get(key)]
        lines.append(f"{name}: {report.name}: {', '.join(about)}")
        if report.heading.get("disturbed"):
            lines.append(f"{name}: disturbed: {report.heading['disturbed']}")
    lines += [f"differs: {key}: {old} / {new}" for key, old, new in outcome.headings]
    if outcome.runs:
        lines.append(f"{outcome.runs} runs of each, in turn; a run is one sample")
    return lines + [""]


def as_text(outcome, _):
    by_verdict = {verdict: [change for change in outcome.changes if change.verdict == verdict]
          for verdict in VERDICTS}
    lines = sources(outcome)
    lines += section_of_changes("worse", by_verdict["worse"])
    lines += section_of_changes("better", by_verdict["better"])
    lines += section_of_changes("equal, but marked",
                                [change for change in by_verdict["equal"] if change.notes])
    lines += section("not compared (rows):", not_compared_lines(outcome.changes))
    lines += section(f"only in {outcome.old.name}:", only_lines(outcome.only_old))
    lines += section(f"only in {outcome.new.name}:", only_lines(outcome.only_new))
    found = ", ".join(f"{len(by_verdict[verdict])} {verdict}" for verdict in VERDICTS
                      if by_verdict[verdict])
    lines.append(f"{found}; threshold {100 * outcome.threshold:g} %, the chance of any false "
                 f"alarm in all rows is at most 5 %")
    return "\n".join(lines) + "\n"


def as_json(outcome, identity):
    def named(row):
        return {key: row[key] for key in identity if key in row}
    rows = []
    for change in outcome.changes:
        row = named(change.row)
        row.update({"verdict": change.verdict, "notes": change.notes})
        if change.reason:
            row["reason"] = change.reason
        if change.low is not None:
            row.update({name: getattr(change, name) for name in NUMBERS})
            row["compared"] = "ratio" if change.relative else "value"
        rows.append(row)

    def only(found):
        return [dict(named(row), reason=reason) for row, reason in found]
    content = {"old": outcome.old.name, "new": outcome.new.name, "runs": outcome.runs,
               "threshold": outcome.threshold,
               "counts": {verdict: outcome.count(verdict) for verdict in VERDICTS},
               "differs": {key: [old, new] for key, old, new in outcome.headings},
               "rows": rows, "only_old": only(outcome.only_old), "only_new": only(outcome.only_new)}
    return json.dumps(content, indent=1) + "\n"


FORMATS = {"text": as_text, "json": as_json}
