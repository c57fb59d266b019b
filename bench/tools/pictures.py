# SPDX-License-Identifier: BSD-3-Clause
"""Which pictures the rows of one or more files make.

Rows of one metric (or of one group with pictures of its own) share a picture: by size, by what
else the bench sweeps, or, where there is a single size, beside each other as operations. Each
picture with a raw side has one of the ratios too. How pictures look is in gnuplot.py, and matrices
are in matrices.py.
"""
from results import short_bytes

MOST_CURVES = 6  # of the library in one picture: more cannot be told apart
METRICS = {"latency": "latency", "bandwidth": "bandwidth", "rate": "message rate",
           "share": "share", "overlap": "overlap"}
QUANTITIES = {"collectives": "time", "launch": "time", "overlap": "overlap"}
PARAMETERS = {"pairs": "pairs of PEs", "pes": "PEs", "threads": "threads", "flags": "flags",
              "stride": "stride (elements)", "spaces": "spaces"}
VARIANTS = ("thread_level", "kind", "context")


class Curve:
    """label: for the legend. points: [(x, y)]. style: number of its look; limit: the raw side."""

    def __init__(self, label, points, style, limit=False):
        self.label = label
        self.points = points
        self.style = style
        self.limit = limit


class Picture:
    """Curves over one axis.

    axis: 'bytes', 'count' or 'names' (then x is an index in names). level: a horizontal line, or
    None. log: whether y is logarithmic.
    """

    def __init__(self, name, title, axis, xlabel, ylabel):
        self.name = name
        self.title = title
        self.axis = axis
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.about = []
        self.one_size_of_job = True  # all points are of one number of PEs
        self.curves = []
        self.names = []
        self.level = None
        self.log = True


class Group:
    """Rows for one picture: (file label, row) in order, and what they have in common."""

    def __init__(self, name, subject, metric, axis, parameter=None):
        self.name = name
        self.subject = subject
        self.metric = metric
        self.axis = axis  # 'bytes', 'parameter' or 'operation'
        self.parameter = parameter
        self.entries = []

    def part(self, name, entries):
        group = Group(name, self.subject, self.metric, self.axis, self.parameter)
        group.entries = entries
        return group

    def x_of(self, row):
        if self.axis == "bytes":
            return row["bytes"]
        return row.get("value") if self.axis == "parameter" else operation(row)

    def key_of(self, entry):
        """What makes a curve."""
        label, row = entry
        if self.axis == "operation":
            return (label,)
        key = [label, row["bench"], row["bytes"] if self.axis == "parameter" else None]
        pes = row.get("pes") if self.axis == "bytes" else None  # goes with the parameter
        return tuple(key + [pes] + [row.get(name) for name in VARIANTS])

    def curves(self):
        """key -> [row] in the order of x."""
        found = {}
        for entry in self.entries:
            found.setdefault(self.key_of(entry), []).append(entry[1])
        return found


def operation(row):
    parts = [row["bench"]] + [str(row[name]) for name in ("kind", "context") if row.get(name)]
    return " ".join(parts)


def subject_of(row):
    """(name, title) of the pictures that a row belongs to."""
    group, bench, metric = str(row.get("group", "")), row["bench"], row["metric"]
    if group.startswith("coll"):
        subject = ("collectives", "collectives")
    elif group == "launch" or bench.startswith("launch"):
        subject = ("launch", "start and end of jobs")
    elif "overlap" in group or "overlap" in bench:
        subject = ("overlap", "overlap of communication with computing")
    else:
        return metric, METRICS.get(metric, metric)
    usual = ("share", "overlap") if subject[0] == "overlap" else ("latency",)
    if metric in usual:
        return subject
    return f"{subject[0]}-{metric}", f"{subject[1]}: {METRICS.get(metric, metric)}"


def groups_of(files):
    """[Group] of the rows of files, [(label, Report)]; rows of matrices are left out."""
    groups = {}

    def add(label, row, axis, suffix, parameter=None):
        name, subject = subject_of(row)
        if suffix == "-by-size" and name != "collectives":
            suffix = ""
        group = groups.setdefault((name, axis, parameter), Group(
            name + suffix, subject, row["metric"], axis, parameter))
        group.entries.append((label, row))
    for label, report in files:
        for row in report.rows.values():
            if row.get("from") is not None:
                continue
            parameter = row.get("parameter")
            if parameter is not None:
                add(label, row, "parameter", f"-by-{parameter}", parameter)
            if parameter in (None, "pes") and row.get("bytes"):
                add(label, row, "bytes", "-by-size")
    return list(groups.values())


def single_sizes(group):
    """(Group of curves with several points, Group of the rest) of rows by size."""
    curves = group.curves()
    many, single = [], []
    for entry in group.entries:
        sizes = {row["bytes"] for row in curves[group.key_of(entry)]}
        if entry[1].get("group") == "atomic":  # of two widths: those of 8 bytes beside each other
            single += [entry] if entry[1]["bytes"] == 8 else []
        else:
            (many if len(sizes) > 1 else single).append(entry)
    rest = Group("operations" if group.name == "latency" else f"operations-{group.name}",
                 f"{group.subject}, one size", group.metric, "operation")
    rest.entries = [(label, row) for label, row in single if row.get("parameter") is None]
    return group.part(group.name, many), rest


def split(group):
    """Groups of at most MOST_CURVES curves: by group of benches, by bench, then sizes that fit."""
    if len(group.curves()) <= MOST_CURVES:
        return [group]
    kinds = {}
    for label, row in group.entries:
        kinds.setdefault(str(row.get("group", "")), []).append((label, row))
    if len(kinds) > 1:
        return [part for kind, entries in kinds.items()
                for part in split(group.part(f"{group.name}-{slug(kind)}", entries))]
    parts = {}
    for label, row in group.entries:
        parts.setdefault(row["bench"], []).append((label, row))
    if len(parts) == 1:
        return [thinned(group)]
    return [part for bench, entries in parts.items()
            for part in split(group.part(f"{group.name}-{slug(bench)}", entries))]


def thinned(group):
    """As many curves as fit, evenly chosen, first and last among them, the same of each file."""
    keys = list(dict.fromkeys(key[1:] for key in group.curves()))
    files = len({label for label, _ in group.entries})
    room = max(2, MOST_CURVES // files)
    kept = {keys[round(i * (len(keys) - 1) / (room - 1))] for i in range(room)}
    part = group.part(group.name, [entry for entry in group.entries
                                   if group.key_of(entry)[1:] in kept])
    if len(kept) < len(keys):
        part.subject += f" ({len(kept)} of {len(keys)} curves)"
    return part


def slug(text):
    """A text as part of a file name."""
    return "-".join("".join(c if c.isalnum() else " " for c in str(text)).split()) or "x"


def unit_of(group):
    """(unit, function of a row and a value in its unit)."""
    values = [row["steppe"]["median"] * (1e3 if row["unit"] == "us" else 1)
              for _, row in group.entries if row["unit"] in ("ns", "us")]
    if len(values) < len(group.entries):
        return group.entries[0][1]["unit"], lambda row, value: value
    if max(values) < 1e4:
        return "ns", lambda row, value: value * (1e3 if row["unit"] == "us" else 1)
    if max(values) < 1e7:
        return "µs", lambda row, value: value / (1e3 if row["unit"] == "ns" else 1)
    return "ms", lambda row, value: value / (1e6 if row["unit"] == "ns" else 1e3)


def label_of(key, keys, axis, files):
    """What tells a curve of this key from the others of the picture."""
    words = []
    for i, part in enumerate(key):
        varies = len({other[i] for other in keys}) > 1
        if part is None or not (varies and (i > 0 or files > 1)):
            continue
        if axis != "operation" and i == 2:
            part = f"{short_bytes(part)} bytes"
        elif i == 3:
            part = f"{part} PEs"
        words.append(str(part))
    return ", ".join(words[1:] + words[:1] if files > 1 else words)


def axis_of(group):
    """(axis, xlabel, names) of a picture."""
    if group.axis == "bytes":
        return "bytes", "bytes", []
    values = [group.x_of(row) for _, row in group.entries]
    if all(isinstance(value, (int, float)) and value > 0 for value in values):
        return "count", PARAMETERS.get(group.parameter, str(group.parameter)), []
    label = "" if group.axis == "operation" else str(group.parameter)
    return "names", label, list(dict.fromkeys(str(value) for value in values))


def title_of(group):
    benches = {row["bench"] for _, row in group.entries}
    sizes = {row.get("bytes") for _, row in group.entries}
    words = [group.subject]
    if len(benches) == 1 and benches != {group.subject}:
        words.append(next(iter(benches)))
    if group.axis == "parameter" and len(sizes) == 1 and next(iter(sizes)):
        words.append(f"{short_bytes(next(iter(sizes)))} bytes")
    return ": ".join([words[0], ", ".join(words[1:])] if words[1:] else words)


def draw(group, files):
    """[Picture] of a Group: the values, and the ratios to raw if there are any."""
    axis, xlabel, names = axis_of(group)
    unit, convert = unit_of(group)
    ylabel = f"{QUANTITIES.get(group.name.split('-')[0], METRICS.get(group.metric))} ({unit})"
    values = Picture(group.name, title_of(group), axis, xlabel, ylabel)
    good = "lower" if group.entries[0][1]["better"] == "lower" else "higher"
    ratios = Picture(f"ratio-{group.name}", title_of(group), axis, xlabel,
                     f"library / raw limit ({good} is better)")
    ratios.level, values.names, ratios.names = 1, names, names
    ratios.one_size_of_job = values.one_size_of_job = len(
        {row.get("pes") for _, row in group.entries}) == 1
    curves = group.curves()
    for style, (key, rows) in enumerate(curves.items()):
        label = label_of(key, list(curves), group.axis, files)
        whole = label or ("library" if group.axis == "operation" else key[1])

        def points(side, rows=rows):
            found = [(names.index(str(group.x_of(row))) if axis == "names" else group.x_of(row),
                      convert(row, row[side]["median"])) for row in rows if side in row]
            return sorted(found)
        own, raw = points("steppe"), points("raw")
        values.curves.append(Curve(whole, own, style))
        if raw:
            limit = f"{label}, raw limit" if label else "raw limit"
            values.curves.append(Curve(limit, raw, style, True))
            limits = dict(raw)
            ratios.curves.append(Curve(whole, [
                (x, y / limits[x]) for x, y in own if limits.get(x)], style))
    finish(values, group.metric in ("share", "overlap"))
    finish(ratios, False)
    return [picture for picture in (values, ratios) if worth_it(picture)]


def finish(picture, linear):
    """Settle the vertical axis: logarithmic where the values span a range that asks for it."""
    values = [y for curve in picture.curves for _, y in curve.points] or [0]
    picture.log = not linear and min(values) > 0 and max(values) >= 8 * min(values)


def worth_it(picture):
    """Whether any curve has two points, or there are several operations to show."""
    return any(len({x for x, _ in curve.points}) > 1 for curve in picture.curves)


def pictures_of(files):
    """[Picture] of all rows of files, [(label, Report)], but those of matrices."""
    groups = []
    for group in groups_of(files):
        if group.axis == "bytes":
            groups += single_sizes(group)
        else:
            groups.append(group)
    found = []
    for group in groups:
        if group.entries:
            for part in split(group):
                found += draw(part, len(files))
    return found
