# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of rows from one PE to another: a heat map with the number in each cell."""
from pictures import slug
from results import short_bytes


class Matrix:
    """values: (from, to) -> median. labels: PE -> text. unit: of the values."""

    def __init__(self, name, title, unit, better):
        self.name = name
        self.title = title
        self.unit = unit
        self.better = better
        self.about = []
        self.values = {}
        self.labels = {}


def labels_of(report, pes):
    """PE numbers, with their hosts where there are several."""
    hosts = {place.get("pe"): place.get("host") for place in report.heading.get("places", [])}
    several = len(set(hosts.values())) > 1
    return {pe: f"{pe} {hosts[pe]}" if several and pe in hosts else str(pe) for pe in pes}


def matrices_of(files):
    """[(Matrix, file label)] of files, [(label, Report)]: one for each bench, size and file."""
    found = {}
    for label, report in files:
        for row in report.rows.values():
            if row.get("from") is None or row.get("to") is None:
                continue
            variant = tuple(row.get(key) for key in ("kind", "context", "parameter", "value"))
            key = (label, row["bench"], row.get("bytes"), variant)
            if key not in found:
                found[key] = (new_matrix(row, variant), report)
            found[key][0].values[row["from"], row["to"]] = row["steppe"]["median"]
    return [(named(matrix, key, list(found), report, len(files)), key[0])
            for key, (matrix, report) in found.items()]


def new_matrix(row, variant):
    words = [row["bench"]] + [str(part) for part in variant if part is not None]
    if row.get("bytes"):
        words.append(f"{short_bytes(row['bytes'])} bytes")
    return Matrix("", ", ".join(words), row["unit"], row["better"])


def named(matrix, key, keys, report, files):
    """The name has what tells this matrix from the others."""
    label, bench, size, variant = key
    words = [bench if bench.startswith("matrix") else f"matrix-{bench}"]
    words += [slug(part) for part in variant if part is not None]
    if len({other[2] for other in keys if other[1] == bench}) > 1:
        words.append(short_bytes(size or 0))
    if files > 1:
        words.append(slug(label))
    matrix.name = "-".join(words)
    pes = sorted({pe for pair in matrix.values for pe in pair})
    matrix.labels = labels_of(report, pes)
    return matrix
