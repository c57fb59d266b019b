# SPDX-License-Identifier: BSD-3-Clause
"""Pictures as scripts of gnuplot, each with its data, and gnuplot itself.

Made for print: each curve has a dash type and a point type of its own beside its colour, the raw
limit is a thin line without points in the same dashes.
"""
import math
import os
import shutil
import subprocess

from matrices import Matrix
from results import ToolError, short_bytes

PACKAGE = "gnuplot-nox"
COLOURS = ("#0060a8", "#c84800", "#00805a", "#a83278", "#000000", "#707070")
DASHES = ("solid", "(12,5)", "(2,4)", "(12,4,2,4)", "(12,4,2,4,2,4)", "(5,4)")
POINTS = (7, 4, 9, 10, 13, 6)
TERMINALS = {
    "svg": "svg size 660,{height} dynamic enhanced background '#ffffff' font 'Helvetica,13'",
    "png": "pngcairo size 1320,{double} enhanced background '#ffffff' font 'Helvetica,13' "
           "fontscale 1.6 linewidth 2 pointscale 1.7",
}


def quoted(text):
    """A string of gnuplot that it does not interpret."""
    return "'" + str(text).replace("'", "''").replace("\n", " ") + "'"


def number(value):
    return f"{value:.9g}"


def plain(value):
    """Without exponent: 100000, 0.01."""
    return f"{value:.10f}".rstrip("0").rstrip(".")


def tics(pairs):
    return "(" + ", ".join(f"{quoted(label)} {number(value)}" for label, value in pairs) + ")"


def byte_tics(low, high):
    """Powers of 8, or of 2 where the range is small."""
    step = 8 if high / low > 128 else 2
    values, value = [], 1
    while value <= high:
        if value >= low:
            values.append(value)
        value *= step
    return [(short_bytes(value), value) for value in values]


def decade_tics(low, high):
    """Powers of ten; with 2 and 5 times these where that are few."""
    digits = (1,) if high / low > 500 else (1, 2, 5)
    values = [digit * 10.0 ** power for power in range(math.floor(math.log10(low)) - 1,
                                                       math.ceil(math.log10(high)) + 1)
              for digit in digits]
    return [(plain(value), value) for value in values if low <= value <= high]


def count_tics(values):
    """The values themselves, but for those too near to the one before on a logarithmic axis."""
    wide = values[-1] / values[0] >= 8
    kept = values[:1]
    for value in values[1:]:
        if value / kept[-1] >= 1.3 if wide else value - kept[-1] >= (values[-1] - values[0]) / 16:
            kept.append(value)
    return [(f"{value:g}", value) for value in kept]


def turned(picture):
    """Degrees by which names are turned, so that they do not lie over each other."""
    return 90 if len(picture.names) > 9 else 35 if len(picture.names) > 4 else 0


def horizontal(picture):
    """Lines of a script for the axis from left to right."""
    xs = sorted({x for curve in picture.curves for x, _ in curve.points})
    if picture.axis == "names":
        angle = turned(picture)
        rotate = f" rotate by -{angle} left" if angle else ""
        labels = tics([(name, i) for i, name in enumerate(picture.names)])
        return [f"set xrange [-0.6:{len(picture.names) - 0.4}]",
                f"set xtics nomirror{rotate} {labels} noenhanced",
                f"set rmargin {10 if angle == 35 else 3}"]
    lines = []
    if picture.axis == "bytes":
        labels = byte_tics(xs[0], xs[-1])
    else:
        labels = count_tics(xs)
    if picture.axis == "bytes" or xs[-1] / xs[0] >= 8:
        lines += ["set logscale x 2", f"set xrange [{number(xs[0] / 1.3)}:{number(xs[-1] * 1.3)}]"]
    else:
        margin = (xs[-1] - xs[0]) / 20
        lines.append(f"set xrange [{number(xs[0] - margin)}:{number(xs[-1] + margin)}]")
    return lines + [f"set xtics nomirror offset 0,0.3 {tics(labels)}"]


def vertical(picture):
    ys = [y for curve in picture.curves for _, y in curve.points]
    if picture.level is not None:
        ys.append(picture.level)
    if not picture.log:
        low = 0.9 * min(ys) if picture.level is not None and min(ys) > 0.5 else 0
        return [f"set yrange [{number(low)}:{number(1.08 * max(ys) or 1)}]", "set ytics nomirror"]
    low, high = min(ys) / 1.25, max(ys) * 1.25
    return ["set logscale y 10", f"set yrange [{number(low)}:{number(high)}]",
            f"set ytics nomirror {tics(decade_tics(low, high))}"]


def look(curve, names):
    i = curve.style % len(COLOURS)
    if curve.limit and names:
        return f"with points pointtype 2 pointsize 0.9 linewidth 1.5 linecolor '{COLOURS[i]}'"
    line = f"linecolor '{COLOURS[i]}' dashtype {DASHES[i]}"
    if curve.limit:
        return f"with lines {line} linewidth 1"
    if names:
        return f"with points pointtype {POINTS[i]} pointsize 0.9 linecolor '{COLOURS[i]}'"
    return f"with linespoints {line} linewidth 2 pointtype {POINTS[i]} pointsize 0.7"


def common(name, about, title, terminal, height):
    form = TERMINALS[terminal].format(height=height, double=2 * height)
    heading = "\\n".join([title] + about)
    heading = heading.replace('"', "'")
    return ["# made by steppe-bench plot", f"set terminal {form}",
            f"set output {quoted(name + '.' + terminal)}", "set encoding utf8",
            f'set title "{heading}" noenhanced font \',11\'']


def curves_script(picture, terminal):
    """The script of a Picture."""
    names = picture.axis == "names"
    shown = [curve for curve in picture.curves if curve.points]
    rows = (len(shown) + 2) // 2
    longest = max((len(name) for name in picture.names), default=0)
    height = 370 + 18 * rows + 14 * len(picture.about) + longest * {0: 0, 35: 4, 90: 7}[turned(picture)]
    lines = common(picture.name, picture.about, picture.title, terminal, height)
    lines += ["set border 3 linewidth 0.8 linecolor '#404040'",
              "set grid xtics ytics linetype 1 dashtype solid linewidth 0.5 linecolor '#d8d8d8'",
              "set key outside below center horizontal Left reverse noenhanced maxcols 2 samplen 4",
              f"set xlabel {quoted(picture.xlabel)} offset 0,0.9 noenhanced",
              f"set ylabel {quoted(picture.ylabel)} noenhanced"]
    lines += horizontal(picture) + vertical(picture)
    parts = []
    for i, curve in enumerate(shown):
        lines += [f"$data{i} << END"] + [f"{number(x)} {number(y)}" for x, y in curve.points]
        lines.append("END")
        parts.append(f"$data{i} using 1:2 {look(curve, names)} title {quoted(curve.label)}")
    if picture.level is not None:
        parts.append(f"{number(picture.level)} with lines linecolor '#000000' linewidth 1 "
                     "title 'raw limit'")
    return "\n".join(lines + ["plot " + ", \\\n     ".join(parts), "set output"]) + "\n"


def matrix_script(matrix, terminal):
    """The script of a Matrix: grey levels, dark is slow, the number in each cell."""
    pes = sorted(matrix.labels)
    places = {pe: i for i, pe in enumerate(pes)}
    height = 560 + 14 * len(matrix.about)
    lines = common(matrix.name, matrix.about, matrix.title, terminal, height)
    dark_is_high = "negative " if matrix.better == "lower" else ""
    step = (len(pes) + 15) // 16
    labels = tics([(matrix.labels[pe], places[pe]) for pe in pes[::step]])
    rotate = " rotate by -35 left" if max(len(text) for text in matrix.labels.values()) > 4 else ""
    low, high = min(matrix.values.values()), max(matrix.values.values())
    spread = (high - low) or high or 1
    lines += [f"set palette gray {dark_is_high}".rstrip(), "set size ratio 1", "unset key",
              f"set xrange [-0.5:{len(pes) - 0.5}]", f"set yrange [{len(pes) - 0.5}:-0.5]",
              f"set cbrange [{number(low - 0.1 * spread)}:{number(high + 0.1 * spread)}]",
              f"set xtics scale 0{rotate} {labels} noenhanced",
              f"set ytics scale 0 {labels} noenhanced",
              "set xlabel 'to PE'", "set ylabel 'from PE'",
              f"set cblabel {quoted(matrix.unit + ' (dark is slow)')} noenhanced"]
    cells = [(places[to], places[source], value) for (source, to), value in matrix.values.items()]
    lines += ["$cells << END"] + [f"{x} {y} {number(value)}" for x, y, value in cells] + ["END"]
    plots = ["$cells using 1:2:(0.5):(0.5):3 with boxxyerror fillstyle solid noborder "
             "linecolor palette"]
    missing = [(places[to], places[source]) for source in pes for to in pes
               if (source, to) not in matrix.values]
    if missing:
        lines += ["$missing << END"] + [f"{x} {y} -" for x, y in missing] + ["END"]
        plots.append("$missing using 1:2:3 with labels textcolor rgb '#000000'")
    if len(pes) <= 16:
        cell_labels(matrix, cells, lines, plots)
    return "\n".join(lines + ["plot " + ", \\\n     ".join(plots), "set output"]) + "\n"


def cell_labels(matrix, cells, lines, plots):
    """Add the number of each cell, white where the cell is dark."""
    middle = (min(matrix.values.values()) + max(matrix.values.values())) / 2
    size = 9 if len(matrix.labels) > 8 else 11
    for name, above in (("$high", True), ("$low", False)):
        chosen = [(x, y, value) for x, y, value in cells if (value > middle) == above]
        if not chosen:
            continue
        colour = "#ffffff" if above == (matrix.better == "lower") else "#000000"
        lines.append(f"{name} << END")
        lines += [f"{x} {y} {cell_text(value)}" for x, y, value in chosen] + ["END"]
        plots.append(f"{name} using 1:2:3 with labels font ',{size}' textcolor rgb '{colour}'")


def cell_text(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def script(picture, terminal):
    return (matrix_script if isinstance(picture, Matrix) else curves_script)(picture, terminal)


def find():
    """The path of gnuplot; ToolError says which package has it."""
    path = shutil.which("gnuplot")
    if not path:
        raise ToolError(f"gnuplot is not installed (Debian, Ubuntu: apt install {PACKAGE}); "
                        "--script writes scripts for a machine that has it")
    return path


def run(program, scripts, folder):
    """Run scripts in folder, by one process: most of a picture's time is its start."""
    text = "reset session\n".join(scripts)
    job = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, cwd=folder,
                           env=dict(os.environ, LC_ALL="C.UTF-8"))
    _, err = job.communicate(text.encode())
    if job.returncode != 0:
        raise ToolError(f"gnuplot: {err.decode(errors='replace').strip()}")
