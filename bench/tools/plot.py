# SPDX-License-Identifier: BSD-3-Clause
"""steppe-bench plot: all pictures that there are numbers for, by gnuplot."""
import os

import gnuplot
import matrices
import pictures
from options import parser
from results import ToolError, read, write_text

USAGE = "steppe-bench plot [OPTION...] FILE.json..."
DESCRIPTION = """Draw what steppe-bench --format json wrote.

One command makes all pictures for which there are numbers, and prints their names: latency,
bandwidth and rates by size, by pairs, threads and whatever else was swept; operations of one size;
collectives; overlap; matrices from PE to PE; start-up; and ratio-..., the ratio to the raw limit.
Several files give the same pictures with the curves of each.

Needs gnuplot (Debian, Ubuntu: package gnuplot-nox), except for --script."""


def parse_arguments(arguments):
    options = parser("plot", USAGE, DESCRIPTION)
    options.add_argument("files", nargs="+", metavar="FILE.json")
    options.add_argument("-o", metavar="DIR", default=".",
                         help="folder for the pictures, made if missing (default: this one)")
    options.add_argument("--svg", action="store_true", help="write SVG (default)")
    options.add_argument("--png", action="store_true", help="write PNG, besides with --svg")
    options.add_argument("--label", action="append", default=[], metavar="TEXT",
                         help="name of a file in legends, once for each file (default: library "
                              "and path)")
    options.add_argument("--script", action="store_true",
                         help="write scripts of gnuplot with their data instead of pictures")
    chosen = options.parse_args(arguments)
    if chosen.label and len(chosen.label) != len(chosen.files):
        options.error(f"{len(chosen.label)} labels for {len(chosen.files)} files")
    if len(set(chosen.label)) < len(chosen.label):
        options.error("two files have one label")
    return chosen


def path_of(heading):
    """'node', 'tcp', or 'node, tcp' for what the PEs reach each other by."""
    path = heading.get("all_path") or heading.get("pair_path") or ""
    provider = heading.get("provider") or ""
    if path == "fabric" and provider:
        return provider
    return f"{path}, {provider}" if path == "mixed" and provider else path


def about(heading, with_pes):
    """The small line under a title."""
    library = str(heading.get("library", "")).split(" (")[0]
    parts = [library if "://" not in library else "", path_of(heading)]
    if heading.get("pes") and with_pes:
        parts.append(f"{heading['pes']} PEs")
    if heading.get("hosts", 1) > 1:
        parts.append(f"{heading['hosts']} hosts")
    parts.append(heading.get("cpu"))
    if heading.get("test_double"):
        parts.append("test double of a GPU")
    return ", ".join(str(part) for part in parts if part)


def labels_of(reports, given):
    if given:
        return given
    labels = [" ".join(str(part) for part in (report.heading.get("library"),
                                              path_of(report.heading)) if part)
              for report in reports]
    if len(set(labels)) == len(labels) and all(labels):
        return labels
    names = [os.path.splitext(os.path.basename(report.name))[0] for report in reports]
    if len(set(names)) == len(names):
        return names
    return [report.name for report in reports]


def named(label, line, files):
    return f"{label}: {line}" if len(files) > 1 else line


def all_pictures(files):
    """Every picture of files, [(label, Report)], with the lines about the files set."""
    found = pictures.pictures_of(files)
    for picture in found:
        picture.about = [named(label, about(report.heading, picture.one_size_of_job), files)
                         for label, report in files]
    for matrix, name in matrices.matrices_of(files):
        matrix.about = [named(label, about(report.heading, True), files)
                        for label, report in files if label == name]
        found.append(matrix)
    return found


def main(arguments):
    options = parse_arguments(arguments)
    reports = [read(path) for path in options.files]
    labels = labels_of(reports, options.label)
    if len(set(labels)) < len(labels):
        raise ToolError(f"{reports[0].name}: given twice; --label tells them apart")
    found = all_pictures(list(zip(labels, reports)))
    if not found:
        raise ToolError(f"{', '.join(options.files)}: no numbers for any picture")
    program = None if options.script else gnuplot.find()
    try:
        os.makedirs(options.o, exist_ok=True)
    except OSError as error:
        raise ToolError(f"{options.o}: {error.strerror}")
    formats = [name for name in ("svg", "png") if getattr(options, name)] or ["svg"]
    scripts = {f"{picture.name}.{form}": gnuplot.script(picture, form)
               for picture in found for form in formats}
    if options.script:
        scripts = {f"{name}.gp": text for name, text in scripts.items()}
        for name, text in scripts.items():
            write_text(os.path.join(options.o, name), text)
    else:
        gnuplot.run(program, scripts.values(), options.o)
    print("\n".join(os.path.join(options.o, name) for name in scripts))
    return 0
