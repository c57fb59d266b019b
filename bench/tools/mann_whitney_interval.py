# SPDX-License-Identifier: BSD-3-Clause
"""By how much one sample is shifted against another: intervals from ranks.

The interval that belongs to the rank sum test of Wilcoxon, Mann and Whitney, by the exact
distribution of its statistic. It asks nothing of the shape of the noise, so that it keeps its
promise with outliers and with machines that know two speeds. Student's interval on trimmed means,
which is shorter where the noise is mild, was wrong 14 times as often as it said for the latter.
A bootstrap of ten values cannot say anything about the levels of 1 in 1000 and less that a file
of a hundred rows needs.
"""
import functools
import math


@functools.lru_cache(None)
def cumulative(n, m):
    """[P(U <= u)] for u from 0, of the Mann-Whitney statistic for samples of n and m values.

    Counted by the product of (1 - x^(m+i)) / (1 - x^i) for i from 1 to n; up to half of n*m, which
    is all that an interval asks for.
    """
    size = n * m // 2 + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, n + 1):
        for u in range(size - 1, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, size):
            counts[u] += counts[u - i]
    total = math.factorial(n + m) // math.factorial(n) // math.factorial(m)
    below, result = 0, []
    for count in counts:
        below += count
        result.append(below / total)
    return result


def reaches(n, m, level):
    """Whether samples of n and m values can show any shift at all at this level."""
    return n > 0 and m > 0 and cumulative(n, m)[0] <= level / 2


def least_runs(level):
    """The smallest n for which n and n values can."""
    n = 1
    while not reaches(n, n, level):
        n += 1
    return n


def shift(old, new, level):
    """(estimate, low, high) of what must be added to old to get new.

    The estimate is the median of all differences (Hodges and Lehmann). The interval holds the
    shift but for a chance of level; it is None, None where there are too few values for that.
    """
    differences = sorted(b - a for a in old for b in new)
    middle = len(differences) // 2
    estimate = differences[middle]
    if len(differences) % 2 == 0:
        estimate = (differences[middle - 1] + differences[middle]) / 2
    if not reaches(len(old), len(new), level):
        return estimate, None, None
    left_out = 0
    for chance in cumulative(len(old), len(new)):
        if chance > level / 2:
            break
        left_out += 1
    return estimate, differences[left_out - 1], differences[-left_out]
