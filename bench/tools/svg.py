# SPDX-License-Identifier: BSD-3-Clause
"""Draws curves as SVG.

Each curve has its own colour, dash pattern and marker, so that curves can be distinguished in black
and white, too. The raw limit of a curve is a thin line without markers.
"""
import math
from html import escape

from result_file import short_bytes

WIDTH, LEFT, RIGHT, TOP, PLOT = 660, 74, 640, 58, 300  # pixels; PLOT: height of the axes
COLOURS = ("#0060a8", "#c84800", "#00805a", "#a83278", "#000000", "#707070")
DASHES = ("", "12 5", "2 4", "12 4 2 4", "12 4 2 4 2 4", "5 4")
MARKERS = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-4-4h8v8h-8z", "M0-5l5 9h-10z", "M0-5l5 5-5 5-5-5z",
           "M-5 0h10M0-5v10", "M-4-4l8 8M-4 4l8-8")


class Scale:
    """Axis. Converts values from low to high into coordinates from begin to end, in pixels."""

    def __init__(self, low, high, begin, end, log):
        self.log = log
        self.low, self.high = self.inner(low), self.inner(high)
        self.begin, self.end = begin, end

    def inner(self, value):
        return math.log(value) if self.log else value

    def pixel(self, value):
        share = (self.inner(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def spread(self, values, distance):
        """Return ascending values, without those less than `distance` pixels apart."""
        chosen = []
        for value in values:
            if not chosen or abs(self.pixel(value) - self.pixel(chosen[-1])) >= distance:
                chosen.append(value)
        return chosen


def plain(value):
    """Format a number without an exponent: 100000, 0.01."""
    return f"{value:.10f}".rstrip("0").rstrip(".")


def text(x, y, words, anchor="middle", attrs=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{attrs}>'
            f'{escape(str(words))}</text>')


def line(x1, y1, x2, y2, colour="#d8d8d8"):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{colour}" stroke-width="0.8"/>')


def document(title, about, height, parts):
    heading = [text(WIDTH / 2, 18, title, attrs=' font-weight="bold"')]
    heading += [text(WIDTH / 2, 34 + 14 * i, words, attrs=' font-size="11"')
                for i, words in enumerate(about)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="Helvetica, Arial, sans-serif" '
        'font-size="12">', f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
        *heading, *parts, "</svg>"]) + "\n"


def vertical(picture, top):
    """Return (Scale, [(value, label)]) of the vertical axis."""
    ys = [y for curve in picture.curves for _, y in curve.points]
    ys += [picture.level] if picture.level else []
    low, high = min(ys), max(ys)
    if not picture.linear and low > 0 and high >= 8 * low:
        scale = Scale(low / 1.25, high * 1.25, top + PLOT, top, True)
        digits = (1,) if high / low > 500 else (1, 2, 5)
        values = [digit * 10.0 ** power for digit in digits for power in range(-9, 16)]
        values = [value for value in sorted(values) if low / 1.25 <= value <= high * 1.25]
    else:
        high = 1.08 * high or 1
        scale = Scale(0, high, top + PLOT, top, False)
        power = 10.0 ** math.floor(math.log10(high))
        step = next(step * power for step in (0.1, 0.2, 0.5, 1, 2) if high / (step * power) <= 8)
        values = [i * step for i in range(9) if i * step <= high]
    return scale, [(value, plain(value)) for value in scale.spread(values, 14)]


def horizontal(picture):
    """Return (Scale, [(value, label)]) of the horizontal axis."""
    if picture.names:
        return (Scale(-0.6, len(picture.names) - 0.4, LEFT, RIGHT, False),
                list(enumerate(picture.names)))
    xs = sorted({x for curve in picture.curves for x, _ in curve.points})
    log = xs[-1] >= 8 * xs[0]
    margin = (xs[-1] - xs[0]) / 20 or 1
    scale = Scale(xs[0] / 1.2 if log else xs[0] - margin, xs[-1] * 1.2 if log else xs[-1] + margin,
                  LEFT, RIGHT, log)
    label = short_bytes if picture.xlabel == "bytes" else plain
    return scale, [(value, label(value)) for value in scale.spread(xs, 36)]


def draw_axes(picture, x, xticks, y, yticks, top):
    parts = [line(LEFT, y.pixel(value), RIGHT, y.pixel(value)) for value, _ in yticks]
    parts += [text(LEFT - 6, y.pixel(value) + 4, label, "end") for value, label in yticks]
    bottom, turned = top + PLOT, picture.names and len(picture.names) > 4
    for value, label in xticks:
        x_pixel = x.pixel(value)
        turn = f' transform="rotate(90 {x_pixel - 3:.1f} {bottom + 12})"' if turned else ""
        parts += [line(x_pixel, top, x_pixel, bottom),
                  text(x_pixel - 3, bottom + 12, label, "start", turn) if turned else
                  text(x_pixel, bottom + 16, label)]
    parts += [line(LEFT, top, LEFT, bottom, "#404040"), line(LEFT, bottom, RIGHT, bottom, "#404040"),
              text(16, top + PLOT / 2, picture.ylabel,
                   attrs=f' transform="rotate(-90 16 {top + PLOT / 2:.1f})"')]
    return parts


def draw_curve(curve, points, joined):
    """Draw a curve through points in pixels: a line, and a marker at each point.

    A raw limit has no markers if it has a line. If `joined` is false, the curve has no line.
    """
    look = f'stroke="{COLOURS[curve.style % 6]}"'
    dash = f' stroke-dasharray="{DASHES[curve.style % 6]}"' if DASHES[curve.style % 6] else ""
    parts = []
    if joined:
        through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{through}" fill="none" {look}{dash} '
                     f'stroke-width="{1 if curve.limit else 2}"/>')
    if not (joined and curve.limit):
        marker = MARKERS[5 if curve.limit else curve.style % 6]
        fill = "none" if curve.limit else COLOURS[curve.style % 6]
        parts += [f'<path d="{marker}" transform="translate({x:.1f} {y:.1f})" fill="{fill}" {look}/>'
                  for x, y in points]
    return parts


def curves(picture):
    """Return a Picture as SVG."""
    top = TOP + 14 * (len(picture.about) - 1)
    (x, xticks), (y, yticks) = horizontal(picture), vertical(picture, top)
    parts = draw_axes(picture, x, xticks, y, yticks, top)
    if picture.level:
        parts.append(line(LEFT, y.pixel(picture.level), RIGHT, y.pixel(picture.level), "#000000"))
    below = top + PLOT + 34
    if picture.names and len(picture.names) > 4:
        below += 6.5 * max(map(len, picture.names))
    parts.append(text((LEFT + RIGHT) / 2, below, picture.xlabel))
    for i, curve in enumerate(picture.curves):
        points = [(x.pixel(a), y.pixel(b)) for a, b in curve.points]
        parts += draw_curve(curve, points, not picture.names)
        corner = (LEFT + (i % 2) * 290, below + 22 + 18 * (i // 2))
        sample = [corner, (corner[0] + 44, corner[1])]
        if picture.names:
            sample = [(corner[0] + 22, corner[1])]
        parts += draw_curve(curve, sample, not picture.names)
        parts.append(text(corner[0] + 54, corner[1] + 4, curve.label, "start"))
    return document(picture.title, picture.about, below + 24 + 18 * ((len(picture.curves) + 1) // 2),
                    parts)
