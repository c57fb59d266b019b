#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print the slowest tests of a run of CTest, the sum of the times of all of its tests, and the end
of the output of each test that failed: CI may show no more than the end of a log.

usage: slowest.py JUNIT.XML [COUNT]     COUNT: number of tests to print, default 25
"""

import sys
import xml.etree.ElementTree

LINES = 30  # of the output of a test that failed


def print_failed(cases):
    for case in cases:
        if case.find("failure") is None:
            continue
        print(f"== failed: {case.get('name')}")
        for line in (case.findtext("system-out") or "").splitlines()[-LINES:]:
            print(f"    {line}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    times = sorted(((float(case.get("time")), case.get("name")) for case in cases), reverse=True)
    count = int(sys.argv[2]) if len(sys.argv) == 3 else 25
    print(f"== the {min(count, len(times))} slowest of {len(times)} tests, which took "
          f"{sum(time for time, _ in times):.0f} s one by one")
    for time, name in times[:count]:
        print(f"{time:8.1f} s  {name}")
    print_failed(cases)


if __name__ == "__main__":
    main()
