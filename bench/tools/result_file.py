# SPDX-License-Identifier: BSD-3-Clause
"""Reads, checks and writes results of steppe-bench in JSON, and defines the identity of a row.

docs/design/bench.md describes the format. Skipped rows have no numbers and are in a separate list.
"""
import json

FORMAT = 2
IDENTITY = ("bench", "bytes", "parameter", "value", "from", "to", "pes", "thread_level", "kind",
            "context")


class ToolError(Exception):
    """Error with a message for the user. It ends the tool with status 2."""


class Report:
    """One file of results.

    name:    name of the file in messages. heading: the JSON object without its rows.
    rows:    {identity: row}, in the order of the file. skipped: list of rows without numbers.
    """

    def __init__(self, name, heading, rows, skipped):
        self.name = name
        self.heading = heading
        self.rows = rows
        self.skipped = skipped

    def why_skipped(self, row):
        """Return the reason why this file has no numbers for a row of another file, or ''."""
        for other in self.skipped:
            if (other.get("bench"), other.get("bytes")) == (row.get("bench"), row.get("bytes")):
                return str(other["skipped"])
        return ""


def read(path):
    """Return the Report in a file. Raise ToolError with the path if the file is not valid."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}")
    except UnicodeDecodeError:
        raise ToolError(f"{path}: this file is not JSON, because it is not text in UTF-8")
    return parse(text, path)


def parse(text, name):
    """Return the Report in a text. name: name of the report in messages."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ToolError(f"{name}: this is not JSON: {error}" if text.strip() else
                        f"{name}: this file is empty")
    if not isinstance(content, dict) or not isinstance(content.get("results"), list):
        raise ToolError(f"{name}: this JSON is not from steppe-bench: it has no list \"results\"")
    if "steppe_bench" not in content:
        raise ToolError(f"{name}: the key \"steppe_bench\" is missing: another program "
                        f"has written this file, or a steppe-bench before format version {FORMAT}")
    if content["steppe_bench"] != FORMAT:
        raise ToolError(f"{name}: the file has format version {content['steppe_bench']!r}; this "
                        f"program reads version {FORMAT}")
    rows, skipped = {}, []
    for number, row in enumerate(content["results"]):
        check_row(row, f"{name}: row {number + 1}")
        if "skipped" in row:
            skipped.append(row)
        else:
            rows[unused(identity(row), rows)] = row
    heading = {key: value for key, value in content.items() if key != "results"}
    return Report(name, heading, rows, skipped)


def check_row(row, where):
    if not isinstance(row, dict) or not isinstance(row.get("bench"), str):
        raise ToolError(f"{where}: the key \"bench\" is missing")
    if "skipped" in row:
        return
    where = f"{where} ({row['bench']})"
    for key in ("metric", "unit"):
        if not isinstance(row.get(key), str):
            raise ToolError(f"{where}: the key \"{key}\" is missing or not a text")
    if not is_number(row.get("bytes")):
        raise ToolError(f"{where}: the key \"bytes\" is missing or not a number")
    for name in ("steppe", "raw"):
        side = row.get(name)
        if side is None and name == "raw":
            continue
        if not isinstance(side, dict) or not is_number(side.get("median")):
            raise ToolError(f"{where}: \"{name}\" has no number \"median\"")
        blocks = side.get("blocks", [])
        if not isinstance(blocks, list) or not all(is_number(value) for value in blocks):
            raise ToolError(f"{where}: \"blocks\" in \"{name}\" is not a list of numbers")
    if row.get("better") not in ("lower", "higher"):
        raise ToolError(f"{where}: \"better\" is {row.get('better')!r}, but must be lower or "
                        f"higher")


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def identity(row):
    """Return the identity of a row. Rows with equal identities are compared."""
    return tuple(row.get(key) for key in IDENTITY)


def unused(key, rows):
    """Return a key that rows does not contain yet.

    The result is key itself, or key with a number if the file has several rows of one identity.
    """
    number = 1
    unique = key
    while unique in rows:
        number += 1
        unique = key + (number,)
    return unique


def write(report, path):
    """Write a Report to a file, in the format of steppe-bench."""
    content = dict(report.heading)
    content["results"] = list(report.rows.values()) + report.skipped
    write_text(path, json.dumps(content, indent=1) + "\n")


def write_text(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}")


def short_bytes(count):
    """Format a size with a suffix: 8, 4K, 2M."""
    for factor, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if count >= factor and count % factor == 0:
            return f"{count // factor}{letter}"
    return str(count)


def describe(row):
    """Describe a row without the name of its bench, for example '8 bytes, pairs 4, 0 to 1'."""
    parts = []
    if row.get("bytes"):
        parts.append(f"{short_bytes(row['bytes'])} bytes")
    if row.get("parameter") is not None:
        parts.append(f"{row['parameter']} {row.get('value')}")
    if row.get("from") is not None:
        parts.append(f"{row['from']} to {row.get('to')}")
    if row.get("pes") is not None and row.get("parameter") != "pes":
        parts.append(f"{row['pes']} PEs")
    if row.get("thread_level") not in (None, "single"):
        parts.append(f"threads {row['thread_level']}")
    parts += [f"{key} {row[key]}" for key in ("kind", "context") if row.get(key) is not None]
    return ", ".join(parts)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def make_side(values, better):
    """Return the JSON object of a side ("steppe" or "raw"). Each of the values is a block."""
    fast_first = sorted(values, reverse=better == "higher")
    last = len(values) - 1
    middle = median(values)
    slow = fast_first[round(0.99 * last)]
    noise = 1
    if middle > 0 and slow > 0:
        noise = middle / slow if better == "higher" else slow / middle
    return {"median": middle, "p1": fast_first[round(0.01 * last)], "p99": slow,
            "best": fast_first[0], "noise": noise, "noisy": noise > 2, "blocks": list(values)}
