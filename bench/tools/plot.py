# SPDX-License-Identifier: BSD-3-Clause
"""steppe-bench plot: draws a picture for each set of related rows, and a page with all pictures."""
import os
from html import escape

import svg
from options import parser
from result_file import ToolError, read, short_bytes, write_text

USAGE = "steppe-bench plot [OPTION...] FILE.json..."
DESCRIPTION = """Draw pictures of the results that steppe-bench --format json wrote.

The command draws all pictures for which there are numbers, as SVG, writes the page index.html with
all of them, and prints the names of these files. Rows that have the same group and metric share a
picture. Its horizontal axis is the size, or another parameter that was varied; rows with only one
size stand beside each other. A picture whose name begins with ratio- shows the ratios to the raw
limit. With several files, each picture has the curves of all files. Only Python is needed."""
MOST_CURVES = 6  # maximum per picture, without raw limits, so that curves can be distinguished
PARAMETERS = {"pairs": "pairs of PEs", "pes": "PEs", "stride": "stride (elements)"}
VARIANTS = ("thread_level", "kind", "context")


class Curve:
    """Curve of a picture.

    label: text in the legend. points: [(x, y)]. style: number of colour, dash pattern and marker.
    limit: whether the curve is a raw limit.
    """

    def __init__(self, label, points, style, limit=False):
        self.label, self.points, self.style, self.limit = label, points, style, limit


class Picture:
    """Picture of curves with a common horizontal axis.

    names: names of the positions on the horizontal axis, or None if x is a number. level: value of
    a horizontal line, or None. linear: whether the vertical axis must not be logarithmic.
    """

    def __init__(self, name, title, xlabel, ylabel):
        self.name, self.title, self.xlabel, self.ylabel = name, title, xlabel, ylabel
        self.about, self.curves = [], []
        self.names = self.level = None
        self.linear = False


# ---- which rows share a picture -----------------------------------------------------------------

def axes_of(row, sizes):
    """Return the horizontal axes of the pictures that show a row.

    The axis None has a position for each bench. sizes: number of sizes that the bench has.
    """
    axes = []
    if row.get("parameter") is not None:
        axes.append(row["parameter"])
    if row.get("parameter") in (None, "pes") and sizes > 1 and row.get("group") != "atomic":
        axes.append("bytes")
    one_size = row.get("parameter") is None and not axes
    if one_size and (row.get("group") != "atomic" or row["bytes"] == 8):
        axes.append(None)
    return axes


def groups_of(files):
    """Return {(group, metric, axis): [(label, row)]}. files: [(label, Report)]."""
    groups = {}
    for label, report in files:
        rows = [row for row in report.rows.values() if row.get("from") is None]
        sizes = {}
        for row in rows:
            sizes.setdefault(row["bench"], set()).add(row["bytes"])
        for row in rows:
            for axis in axes_of(row, len(sizes[row["bench"]])):
                key = (str(row.get("group", "")), row["metric"], axis)
                groups.setdefault(key, []).append((label, row))
    return groups


def key_of(entry, axis):
    """Return the key of the curve to which an entry belongs."""
    label, row = entry
    if axis is None:
        return (label,)
    return (label, row["bench"], row["bytes"] if axis != "bytes" else None,
            row.get("pes") if axis == "bytes" else None) + tuple(map(row.get, VARIANTS))


def split(name, axis, entries):
    """Split entries into pictures with at most MOST_CURVES curves. Return [(name, entries)].

    Each bench gets its own picture. If a bench has too many curves, some curves are left out.
    """
    keys = list(dict.fromkeys(key_of(entry, axis)[1:] for entry in entries))
    limit = max(2, MOST_CURVES // len({label for label, _ in entries}))
    if len(keys) <= limit:
        return [(name, entries)]
    benches = dict.fromkeys(row["bench"] for _, row in entries)
    if len(benches) > 1:
        return [part for bench in benches for part in split(
            f"{name}-{bench}", axis, [entry for entry in entries if entry[1]["bench"] == bench])]
    chosen_keys = {keys[round(i * (len(keys) - 1) / (limit - 1))] for i in range(limit)}
    return [(name, [entry for entry in entries if key_of(entry, axis)[1:] in chosen_keys])]


# ---- a picture ------------------------------------------------------------------------------------

def unit_of(entries):
    """Return the unit of a picture, and a function that converts a value of a row to this unit.

    All times of a picture have the same unit.
    """
    times = [row["steppe"]["median"] * (1e3 if row["unit"] == "us" else 1)
             for _, row in entries if row["unit"] in ("ns", "us")]
    if len(times) < len(entries):
        return entries[0][1]["unit"], lambda row, value: value
    unit, factor = next((unit, factor) for unit, factor in (("ns", 1), ("µs", 1e3), ("ms", 1e6))
                        if max(times) < 1e4 * factor or unit == "ms")
    return unit, lambda row, value: value * (1e3 if row["unit"] == "us" else 1) / factor


def label_of(key, keys, axis):
    """Return the label of a curve: the parts of its key that other curves do not share."""
    if axis is None:
        return key[0] if len(keys) > 1 else "library"
    words = [f"{short_bytes(part)} bytes" if i == 2 else f"{part} PEs" if i == 3 else str(part)
             for i, part in enumerate(key)
             if part is not None and len({other[i] for other in keys}) > 1]
    return ", ".join(words) or key[1]


def x_of(row, axis):
    if axis is None:
        return " ".join([row["bench"]] + [str(row[name]) for name in VARIANTS[1:] if row.get(name)])
    return row["bytes"] if axis == "bytes" else row["value"]


def add_curves(values, ratios, entries, axis, convert):
    found = {}
    for entry in entries:
        found.setdefault(key_of(entry, axis), []).append(entry[1])
    for style, (key, rows) in enumerate(found.items()):
        label = label_of(key, list(found), axis)
        sides = {side: sorted(
            (values.names.index(str(x_of(row, axis))) if values.names else x_of(row, axis),
             convert(row, row[side]["median"])) for row in rows if side in row)
            for side in ("steppe", "raw")}
        values.curves.append(Curve(label, sides["steppe"], style))
        limits = {x: y for x, y in sides["raw"] if y > 0}
        if limits:
            values.curves.append(Curve(f"{label}, raw limit", sides["raw"], style, True))
            ratios.curves.append(Curve(label, [(x, y / limits[x]) for x, y in sides["steppe"]
                                               if x in limits], style))


def draw(name, entries, axis):
    """Return a list of Pictures: one of the values, and one of the ratios to raw if there are any.

    Pictures in which no curve has two different x are left out.
    """
    unit, convert = unit_of(entries)
    first = entries[0][1]
    xlabel = "" if axis is None else PARAMETERS.get(axis, axis)
    benches = list(dict.fromkeys(row["bench"] for _, row in entries))
    title = name.replace("-", " ") if len(benches) > 1 else benches[0]
    values = Picture(name, title, xlabel, f"{first['metric']} ({unit})")
    ratios = Picture(f"ratio-{name}", title, xlabel,
                     f"library / raw limit ({first['better']} is better)")
    ratios.level = 1
    places = [x_of(row, axis) for _, row in entries]
    if not all(isinstance(place, (int, float)) and place > 0 for place in places):
        values.names = ratios.names = list(dict.fromkeys(map(str, places)))
    values.linear = first["metric"] in ("share", "overlap")
    add_curves(values, ratios, entries, axis, convert)
    return [picture for picture in (values, ratios)
            if any(len({x for x, _ in curve.points}) > 1 for curve in picture.curves)]


def pictures_of(files):
    """Return all Pictures. files: [(label, Report)]."""
    found = []
    for (group, metric, axis), entries in groups_of(files).items():
        suffix = {"bytes": "", None: "-operations"}.get(axis, f"-by-{axis}")
        name = f"{group}-{metric}{suffix}".strip("-")
        for part, chosen in split(name, axis, entries):
            found += draw(part, chosen, axis)
    for picture in found:
        picture.name = "-".join("".join(c if c.isalnum() else " " for c in picture.name).split())
        picture.about = [(f"{label}: " if len(files) > 1 else "") + about(report.heading)
                         for label, report in files]
    return found


# ---- the command --------------------------------------------------------------------------------

def path_of(heading):
    """Return the path between the PEs: 'node', 'mixed', or the provider."""
    path = heading.get("all_path") or heading.get("pair_path") or ""
    return heading.get("provider") if path == "fabric" and heading.get("provider") else path


def about(heading):
    """Return the line under a title."""
    parts = [str(heading.get("library", "")).split(" (")[0], path_of(heading),
             f"{heading['pes']} PEs" if heading.get("pes") else "",
             f"{heading['hosts']} hosts" if heading.get("hosts", 1) > 1 else "",
             heading.get("cpu"), "test double of a GPU" if heading.get("test_double") else ""]
    return ", ".join(str(part) for part in parts if part)


def labels_of(reports, user_labels):
    """Return a different label for each file."""
    names = [os.path.splitext(os.path.basename(report.name))[0] for report in reports]
    labels = [f"{report.heading.get('library', '')} {path_of(report.heading)}" for report in reports]
    for choice in (user_labels, labels, names):
        if len(set(choice)) == len(reports):
            return choice
    raise ToolError(f"{reports[0].name}: the files have the same name in the legend: give each "
                    f"file another --label")


def page_of(files, pictures):
    """Return an HTML page that contains all pictures and refers to no other file."""
    title = ", ".join(label for label, _ in files)
    return "\n".join(['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
                      f"<title>{escape(title)}</title></head>",
                      '<body style="font-family: sans-serif">', f"<h1>{escape(title)}</h1>",
                      *(f"<p>{escape(label)}: {escape(about(report.heading))}, "
                        f"{escape(str(report.heading.get('date', '')))}</p>"
                        for label, report in files),
                      *(f'<div id="{picture.name}">{svg.curves(picture)}</div>' for picture in pictures),
                      "</body></html>"]) + "\n"


def main(arguments):
    options = parser("plot", USAGE, DESCRIPTION)
    options.add_argument("files", nargs="+", metavar="FILE.json")
    options.add_argument("-o", metavar="DIR", default=".",
                         help="folder for the files, created if missing (default: current folder)")
    options.add_argument("--label", action="append", default=[], metavar="TEXT",
                         help="name of a file in legends; give one for each file (default: library "
                              "and path)")
    chosen = options.parse_args(arguments)
    if chosen.label and len(chosen.label) != len(chosen.files):
        options.error(f"give one --label for each file: here are {len(chosen.label)} labels "
                      f"for {len(chosen.files)} files")
    reports = [read(path) for path in chosen.files]
    files = list(zip(labels_of(reports, chosen.label), reports))
    found = pictures_of(files)
    if not found:
        raise ToolError(f"{', '.join(chosen.files)}: no row has numbers that can be drawn")
    try:
        os.makedirs(chosen.o, exist_ok=True)
    except OSError as error:
        raise ToolError(f"{chosen.o}: {error.strerror}")
    written = {f"{picture.name}.svg": svg.curves(picture) for picture in found}
    written["index.html"] = page_of(files, found)
    for name, text in written.items():
        write_text(os.path.join(chosen.o, name), text)
        print(os.path.join(chosen.o, name))
    return 0
