#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests steppe-bench compare, plot and launch with synthetic results and fake programs.

usage: test_tools.py [unittest arguments]
"""
import contextlib
import io
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import main  # noqa: E402
import options  # noqa: E402
import mann_whitney_interval  # noqa: E402
from result_file import ToolError  # noqa: E402


def call(*arguments):
    """Call main.py with these arguments. Return (status, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main.main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), err.getvalue()


def side(values):
    middle = sorted(values)[len(values) // 2]
    return {"median": middle, "p1": min(values), "p99": max(values), "best": min(values),
            "noise": 1.1, "noisy": False, "blocks": values}


def row(bench, steppe, raw=None, **more):
    """Return a row with these blocks. A number stands for ten equal blocks."""
    def blocks(values):
        return values if isinstance(values, list) else [values] * 10
    result = {"bench": bench, "group": "rma", "metric": "latency", "unit": "ns", "better": "lower",
            "bytes": 8, "pes": 2, "thread_level": "single", "steppe": side(blocks(steppe))}
    if raw is not None:
        result["raw"] = side(blocks(raw))
        result["ratio"] = result["steppe"]["median"] / result["raw"]["median"]
    result.update(more)
    return result


def report(rows, **heading):
    content = {"steppe_bench": 2, "library": "Steppe 0.1.0", "host": "a", "date": "2026-11-22",
               "all_path": "node", "provider": "", "pes": 4, "disturbed": "", "results": rows}
    content.update(heading)
    return content


class Folder(unittest.TestCase):
    """Base of tests that have their own folder."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def save(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def program(self, name, text):
        path = self.save(name, text)
        os.chmod(path, 0o755)
        return path

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read().split("\n")[:-1]


class Ranks(unittest.TestCase):
    def test_distribution(self):
        """Compares the distribution with a count of all orders and a published value."""
        for n, m in ((1, 1), (2, 3), (4, 3), (4, 4)):
            counts = {}
            orders = list(itertools.combinations(range(n + m), n))
            for first in orders:
                u = sum(1 for a in first for b in range(n + m) if b not in first and b < a)
                counts[u] = counts.get(u, 0) + 1
            expected, below = [], 0
            for u in range(n * m // 2 + 1):
                below += counts.get(u, 0)
                expected.append(below / len(orders))
            self.assertEqual(mann_whitney_interval.cumulative(n, m), expected)
        critical = max(u for u, p in enumerate(mann_whitney_interval.cumulative(10, 10)) if p <= 0.025)
        self.assertEqual(critical, 23)

    def test_interval(self):
        """The interval misses the shift as often as its level states, for any noise."""
        noise = random.Random(1)
        kinds = (lambda: noise.gauss(0, 1), lambda: noise.choice((0, 9)) + noise.gauss(0, 0.1),
                 lambda: noise.gauss(0, 1) + (noise.random() < 0.2) * 30)
        for kind in kinds:
            outside = 0
            for _ in range(400):
                old, new = ([kind() for _ in range(10)] for _ in range(2))
                _, low, high = mann_whitney_interval.shift(old, [value + 5 for value in new], 0.05)
                outside += not low <= 5 <= high
            self.assertTrue(7 < outside < 32, outside)  # 20 expected

    def test_few(self):
        self.assertEqual(mann_whitney_interval.shift([1, 2, 3], [2, 3, 4], 0.05), (1, None, None))
        self.assertEqual(mann_whitney_interval.least_runs(0.05), 4)
        self.assertEqual(mann_whitney_interval.least_runs(0.05 / 100), 8)


class Compare(Folder):
    def noisy(self, seed, factor=1.0, state=1.0, count=40):
        """Return rows with noise of 3 % on both sides. `state` is a common factor of both sides."""
        noise = random.Random(seed)
        rows = []
        for i in range(count):
            raw = [100 * state * noise.gauss(1, 0.03) for _ in range(10)]
            own = [1.2 * factor * value * noise.gauss(1, 0.03) for value in raw]
            rows.append(row(f"bench-{i}", own, raw))
        return rows

    def compare(self, old, new, *more):
        old, new = (content if isinstance(content, dict) else report(content)
                    for content in (old, new))
        return call("compare", self.save("old.json", old), self.save("new.json", new), *more)

    def judged(self, old, new, *more):
        """Call compare. Return (status, {bench: row of the JSON output})."""
        status, out, err = self.compare(old, new, "--format", "json", *more)
        self.assertEqual(err, "")
        return status, {found["bench"]: found for found in json.loads(out)["rows"]}

    def test_equal_is_equal(self):
        for seed in range(8):
            status, out, _ = self.compare(self.noisy(seed), self.noisy(100 + seed, state=1.04))
            self.assertEqual(status, 0, out)
            self.assertIn("\n40 equal; threshold 5 %, the chance of any false alarm", out)

    def test_slower(self):
        new = self.noisy(2)
        new[7] = self.noisy(3, factor=1.2)[7]
        status, rows = self.judged(self.noisy(1), new)
        self.assertEqual(status, 1)
        found = rows.pop("bench-7")
        self.assertEqual(found["verdict"], "worse")
        self.assertAlmostEqual(found["change"], 0.2, delta=0.06)
        self.assertLess(found["low"], found["change"])
        self.assertGreater(found["high"], found["change"])
        self.assertEqual({other["verdict"] for other in rows.values()}, {"equal"})
        out = self.compare(self.noisy(1), new)[1]
        self.assertRegex(out, r"worse \(1\):\n.*\n *bench-7 +8 bytes")

    def test_higher_is_better(self):
        def rows(value):
            return [row("rate", value, 10, better="higher", metric="rate", unit="Mmsg/s")]
        self.assertEqual(self.judged(rows(10), rows(8))[1]["rate"]["verdict"], "worse")
        self.assertEqual(self.judged(rows(10), rows(8))[0], 1)
        self.assertEqual(self.judged(rows(8), rows(10))[1]["rate"]["verdict"], "better")

    def test_threshold(self):
        old, new = [row("a", 100, 100)], [row("a", 108, 100)]
        self.assertEqual(self.judged(old, new)[0], 1)
        self.assertEqual(self.judged(new, old)[1]["a"]["verdict"], "better")
        self.assertEqual(self.judged(old, new, "--threshold", "10%")[0], 0)
        self.assertEqual(self.judged(old, new, "--threshold", "7")[0], 1)

    def test_not_certain(self):
        """A change of 20 % with equally large noise is reported as uncertain, but not as worse."""
        noise = [0.8, 1.2] * 5
        old, new = ([row("a", [size * x for x in noise], 100)] for size in (100, 120))
        status, rows = self.judged(old, new)
        self.assertEqual((status, rows["a"]["verdict"]), (0, "equal"))
        self.assertEqual(rows["a"]["notes"], ["not certain: the interval is too wide"])

    def test_ratio_not_value(self):
        """If both sides are half as fast, the row is equal, but worse with --absolute."""
        old, new = [row("a", 100, 50)], [row("a", 200, 100)]
        status, rows = self.judged(old, new)
        self.assertEqual((status, rows["a"]["verdict"]), (0, "equal"))
        self.assertEqual(rows["a"]["notes"], ["another machine state: raw +100.0 %"])
        self.assertIn("equal, but marked (1):", self.compare(old, new)[1])
        self.assertEqual(self.judged(old, new, "--absolute")[0], 1)
        self.assertEqual(self.judged(old, [row("a", 100, 54)])[1]["a"]["notes"], [])

    def test_pairs_of_blocks(self):
        """A disturbance that affects both sides of a block does not affect the ratio."""
        steps = [1, 9, 2, 8, 3, 7, 4, 6, 5, 10]
        old = [row("a", [120.0 * step for step in steps], [100.0 * step for step in steps])]
        new = [row("a", [144.0 * step for step in steps], [100.0 * step for step in steps])]
        self.assertEqual(self.judged(old, new)[1]["a"]["verdict"], "worse")

    def test_no_raw(self):
        old, new = [row("a", 100), row("b", 9, 9)], [row("a", 150), row("b", 9, 9)]
        status, rows = self.judged(old, new)
        self.assertEqual((status, rows["a"]["reason"]), (0, "no raw side"))
        self.assertIn("no raw side: a (1)", self.compare(old, new)[1])
        self.assertEqual(self.judged(old, new, "--absolute")[1]["a"]["verdict"], "worse")
        status, _, err = self.compare(old[:1], new[:1])
        self.assertEqual(status, 2)
        self.assertIn("no raw side; --absolute compares the values", err)

    def test_not_comparable(self):
        old = [row("few", [1, 2, 3], [1, 2, 3]), row("zero", [0] * 10, 1), row("b", 9, 9)]
        rows = self.judged(old, old)[1]
        self.assertEqual(rows["few"]["reason"], "too few blocks of samples: 3 and 3")
        self.assertEqual(rows["zero"]["reason"], "a value of 0")

    def test_identity(self):
        """Rows that differ in one part of the identity are different rows."""
        parts = {"bytes": 16, "parameter": "pairs", "value": 4, "from": 1, "to": 3, "pes": 8,
                 "thread_level": "multiple", "kind": "gpu", "context": "private"}
        for key, value in parts.items():
            rows = [row("a", 10, 10), row("a", 20, 10, **{key: value})]
            status, out, err = self.compare(rows, rows[::-1])
            self.assertEqual((status, err), (0, ""), key)
            self.assertIn("\n2 equal;", out, key)

    def test_one_identity_twice(self):
        rows = [row("a", 10, 10), row("a", 20, 10)]
        self.assertIn("\n2 equal;", self.compare(rows, rows)[1])

    def test_missing_rows(self):
        old = [row("a", 9, 9), row("gone", 9, 9, bytes=64), row("left-out", 9, 9)]
        skipped = {"bench": "left-out", "bytes": 8, "unit": "ns", "skipped": "no GPU"}
        out = self.compare(old, [row("a", 9, 9), row("added", 9, 9), skipped])[1]
        self.assertRegex(out, r"only in .*old.json:\n *gone +64 bytes, 2 PEs\n")
        self.assertRegex(out, r"left-out +8 bytes, 2 PEs +skipped in the other file: no GPU\n")
        self.assertRegex(out, r"only in .*new.json:\n *added +8 bytes, 2 PEs\n")

    def test_marks(self):
        old, new = [row("a", 9, 9)], [row("a", 9, 9, disturbed="steal 3 %")]
        new[0]["raw"]["noisy"] = True
        out = self.compare(report(old), report(new, disturbed="load", provider="tcp"))[1]
        self.assertIn("new disturbed: steal 3 %; new noisy", out)
        self.assertIn("new: disturbed: load\n", out)
        self.assertIn("differs: provider:  / tcp\n", out)

    def test_bad_files(self):
        good = self.save("good.json", report([row("a", 1, 1)]))
        no_median = row("a", 1, 1)
        del no_median["steppe"]["median"]
        no_better = row("a", 1, 1, better="small")
        for content, complaint in (
                ("not { json", "not JSON: "), ("", "empty"), ("[1]", "not from steppe-bench"),
                ({"results": []}, "before format version 2"),
                (report([], steppe_bench=3), "format version 3"),
                (report([{"x": 1}]), "row 1: the key \"bench\" is missing"),
                (report([no_median]), "row 1 (a): \"steppe\" has no number \"median\""),
                (report([row("a", 1, 1, unit=None)]), "row 1 (a): the key \"unit\" is missing"),
                (report([row("a", 1, 1, bytes=None)]), "row 1 (a): the key \"bytes\" is missing"),
                (report([no_better]), "\"better\" is 'small'"),
                (report([row("other", 1, 1)]), "no rows in common")):
            bad = self.save("bad.json", content)
            status, out, err = call("compare", good, bad)
            self.assertEqual((status, out), (2, ""), err)
            self.assertIn(complaint, err)
            self.assertIn(bad, err)
        self.assertIn("none.json: No such file", call("compare", good, self.path("none.json"))[2])

    def test_usage(self):
        for arguments, complaint in (
                (["a.json"], "give two files"), (["a", "b", "--threshold", "x"], "'x' must be"),
                (["a", "b", "--fast"], "--fast"), (["a", "b", "--save", "c", "d"], "only with --ab"),
                (["--ab", "a"], "--ab"), (["--ab", "a", "b", "c"], "takes no files: remove c"),
                (["--ab", "a", "b", "--runs", "0"], "'0' must be a number, 1 or more")):
            status, _, err = call("compare", *arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn(complaint, err)
        status, out, _ = call("compare", "--help")
        self.assertEqual(status, 0)
        self.assertIn("--threshold", out)


FAKE_OSHRUN = """#!/bin/sh
here=$(dirname "$0")
[ "$1" = --version ] && { echo "oshrun (Steppe) 0.1.0"; echo "launcher: fake"; exit 0; }
export FAKE_PES="$2"
echo "$(basename "$(dirname "$here")") $*" >>"$here/../../log"
shift 2
exec "$@"
"""
FAKE_BENCH = """#!/bin/sh
here=$(dirname "$0")
run=$(cat "$here/count" 2>/dev/null || echo 0)
echo $((run + 1)) >"$here/count"
exec cat "$here/run$run.json"
"""
FAKE_STARTUP = """#!/bin/sh
pe=0
while [ $pe -lt "$FAKE_PES" ]; do
    case $1 in
    --floor) echo "{\\"load_ns\\": $((2000 * (pe + 1))), \\"ask_ns\\": 700}" ;;
    *) echo "{\\"pe\\": $pe, \\"init_ns\\": $((1000 * (pe + 1))), \\"finalize_ns\\": 500}" ;;
    esac
    pe=$((pe + 1))
done
"""


class Builds(Folder):
    """Tests compare --ab with programs that print files that the test has written."""

    def build(self, name, seed, factor=1.0, runs=10, raw=True, count=12):
        """Create an installation whose runs vary by 4 %, and one in five by 30 %."""
        noise = random.Random(seed)
        for run in range(runs):
            rows = []
            for i in range(count):
                state = noise.gauss(100, 4) * (1.3 if raw and noise.random() < 0.2 else 1)
                own = state * (factor if i == 3 else 1) * noise.gauss(1, 0.02)
                own, state = ([0.9 * value] + [value] * 9 for value in (own, state))
                rows.append(row(f"bench-{i}", own, state if raw else None))
            self.save(f"{name}/bin/run{run}.json", report(rows))
        self.program(f"{name}/bin/oshrun", FAKE_OSHRUN)
        self.program(f"{name}/bin/steppe-bench", FAKE_BENCH)
        return self.path(name)

    def test_order(self):
        a, b = self.build("a", 1, runs=5, count=1), self.build("b", 2, runs=5, count=1)
        status, out, err = call("compare", "--ab", a, b, "-n", "3", "--runs", "5", "--", "--raw",
                                "p", "--sizes", "8")
        self.assertEqual(status, 0, err)
        runs = self.lines("log")
        self.assertEqual([line.split()[0] for line in runs], list("abbaabbaab"))
        self.assertEqual(runs[1], f"b -n 3 {b}/bin/steppe-bench --format json --raw p --sizes 8")
        self.assertIn("5 runs of each, in turn", out)
        self.assertIn(f"run 10 of 10: {b}\n", err)

    def test_equal(self):
        a, b = self.build("a", 1, raw=False), self.build("b", 2, raw=False)
        status, out, err = call("compare", "--ab", a, b)
        self.assertEqual(status, 0, out + err)
        self.assertIn("\n12 equal;", out)

    def test_planted(self):
        a, b = self.build("a", 1), self.build("b", 2, factor=1.2)
        saved = self.path("a.json"), self.path("b.json")
        status, out, err = call("compare", "--ab", a, b, "--format", "json", "--save", *saved)
        self.assertEqual(status, 1, err)
        worse = [found["bench"] for found in json.loads(out)["rows"] if found["verdict"] == "worse"]
        self.assertEqual(worse, ["bench-3"])
        again = json.loads(call("compare", *saved, "--format", "json")[1])
        self.assertEqual(again["rows"], json.loads(out)["rows"])
        medians = []
        for run in range(10):
            with open(self.path("a", "bin", f"run{run}.json"), encoding="utf-8") as file:
                medians.append(json.load(file)["results"][0]["raw"]["median"])
        with open(saved[0], encoding="utf-8") as file:
            content = json.load(file)
        self.assertEqual(content["results"][0]["raw"]["blocks"], medians)
        self.assertEqual((content["runs"], content["results"][0]["samples"]), (10, 10))

    def test_compilers(self):
        """A side can be a compiler and a launcher. A failed build reports its error."""
        b = self.build("b", 2)
        self.program("cc", '#!/bin/sh\nfor last; do :; done\necho "$*" >>"$(dirname "$0")/built"\n'
                           'printf "#!/bin/sh\\nexec cat %s/b/bin/run0.json" "$(dirname "$0")" >"$last"\n'
                           'chmod +x "$last"\n')
        self.program("run", '#!/bin/sh\nshift 2\nprogram=$1\n"$program"\nexit 139\n')
        for side, flag in (("", "-DBENCH_PORTABLE"), ("mpi:", "-DBENCH_MPI")):
            status, out, err = call("compare", "--ab", b, f"{side}{self.path('cc')} -x,{self.path('run')}")
            self.assertLessEqual(status, 1, err)
            self.assertIn("10 runs of each, in turn", out)
            self.assertIn("exit status is 139, but the results are complete", err)
            self.assertIn(f"-x -std=gnu11 -O2 -Wall -D_GNU_SOURCE {flag} ", self.lines("built")[-1])
            os.remove(self.path("b/bin/count"))
        self.program("cc", "#!/bin/sh\necho 'x.c: error: no shmem.h'\nexit 1\n")
        status, _, err = call("compare", "--ab", b, f"{self.path('cc')},run")
        self.assertEqual(status, 2)
        self.assertIn("cannot compile steppe-bench: x.c: error: no shmem.h", err)
        self.assertIn("/none: No such file", call("compare", "--ab", b, "/none,run")[2])
        self.assertIn("must be COMPILER,LAUNCHER", call("compare", "--ab", b, ",run")[2])

    def test_too_few_runs(self):
        a, b = self.build("a", 1), self.build("b", 2)
        status, _, err = call("compare", "--ab", a, b, "--runs", "5")
        self.assertEqual(status, 2)
        self.assertIn("with 12 rows, 5 runs of each program cannot distinguish a change from "
                      "chance: use --runs 6 or more", err)
        self.assertEqual(len(self.lines("log")), 1)

    def test_failures(self):
        a, b = self.build("a", 1), self.build("b", 2)
        self.program("b/bin/steppe-bench", "#!/bin/sh\necho out of order >&2\nexit 3\n")
        status, _, err = call("compare", "--ab", a, b)
        self.assertEqual(status, 2)
        self.assertIn("exit status 3\nout of order", err)
        self.program("b/bin/steppe-bench", "#!/bin/sh\necho no json\n")
        self.assertIn("not JSON", call("compare", "--ab", b, a)[2])
        os.remove(self.path("b/bin/oshrun"))
        self.assertIn("b/bin/oshrun is not a program", call("compare", "--ab", a, b)[2])


def picture_rows():
    """Return rows for one picture of each sort."""
    rows = []
    for size in (1, 8, 64, 512, 4096, 32768, 262144, 2097152):
        rows.append(row("put-latency", 100 + size / 8, 90 + size / 8, bytes=size))
        rows.append(row("get-latency", 200 + size / 8, 180 + size / 8, bytes=size))
        bandwidth = {"metric": "bandwidth", "unit": "MB/s", "better": "higher", "bytes": size}
        rows.append(row("put-bandwidth", size + 1, size + 2, **bandwidth))
        rows.append(row("overlap-put", 50, group="overlap", metric="share", unit="%",
                        better="higher", bytes=size))
    for n in (1, 2, 4):
        rows.append(row("put-rate", 10 * n, 12 * n, metric="rate", unit="Mmsg/s", better="higher",
                        parameter="pairs", value=n, pes=2 * n))
        rows.append(row("threads-put", 100 * n, 90, parameter="threads", value=n,
                        thread_level="multiple"))
        for size in (8, 4096):
            rows.append(row("broadcast", 2 * n, n, group="collectives", unit="us", bytes=size,
                            parameter="pes", value=2 * n, pes=2 * n))
        rows.append(row("launch", 1000 * n, 900 * n, group="launch", unit="us", bytes=0,
                        parameter="pes", value=n, pes=n))
    for name in ("fetch_add", "swap"):
        rows.append(row("atomics", 20, 19, parameter="operation", value=name))
        rows.append(row(name, 21, 20))
    rows.append(row("matrix-latency", 111, **{"from": 0, "to": 1}))  # in no picture
    return rows


ALL_PICTURES = {
    "rma-latency", "rma-bandwidth", "overlap-share", "rma-latency-operations", "rma-rate-by-pairs",
    "rma-latency-by-threads", "rma-latency-by-operation", "collectives-latency-by-pes",
    "collectives-latency", "launch-latency-by-pes"}
RATIOS = {f"ratio-{name}" for name in ALL_PICTURES - {"overlap-share"}}


class Plot(Folder):
    def plot(self, *arguments):
        """Call plot. Return the names of the pictures that it wrote."""
        status, out, err = call("plot", *arguments, "-o", self.path("out"))
        self.assertEqual((status, err), (0, ""))
        names = [os.path.basename(line) for line in out.splitlines()]
        self.assertEqual(sorted(names), sorted(os.listdir(self.path("out"))))
        self.assertIn("index.html", names)
        return [name for name in names if name.endswith(".svg")]

    def picture(self, name):
        """Return the root element of a picture, and its texts."""
        root = ElementTree.parse(self.path("out", name)).getroot()
        return root, [part.text for part in root.iter() if part.tag.endswith("}text")]

    def lines_of(self, name):
        """Return the points of each line of a picture, in pixels."""
        return [[tuple(map(float, point.split(","))) for point in part.get("points").split()]
                for part in self.picture(name)[0].iter() if part.tag.endswith("}polyline")]

    def test_pictures(self):
        """plot writes each picture for which there is data, with its labels and titles."""
        names = self.plot(self.save("a.json", report(picture_rows())))
        self.assertEqual({name.replace(".svg", "") for name in names}, ALL_PICTURES | RATIOS)
        expected_texts = {
            "rma-latency": ["put-latency", "put-latency, raw limit", "get-latency", "latency (µs)",
                            "bytes", "32K", "2M", "Steppe 0.1.0, node, 4 PEs"],
            "rma-bandwidth": ["put-bandwidth, raw limit", "bandwidth (MB/s)", "1000000"],
            "overlap-share": ["overlap-put", "share (%)", "50"],
            "rma-latency-operations": ["fetch_add", "swap", "library", "library, raw limit"],
            "rma-rate-by-pairs": ["put-rate", "rate (Mmsg/s)", "pairs of PEs", "1", "2", "4"],
            "collectives-latency-by-pes": ["8 bytes", "4K bytes, raw limit", "PEs", "latency (ns)"],
            "collectives-latency": ["2 PEs", "8 PEs, raw limit", "bytes"],
            "launch-latency-by-pes": ["launch", "launch, raw limit", "latency (µs)", "PEs"],
            "ratio-rma-latency": ["put-latency", "library / raw limit (lower is better)"]}
        for name, texts in expected_texts.items():
            shown = self.picture(f"{name}.svg")[1]
            for text in texts:
                self.assertIn(text, shown, name)

    def test_page(self):
        """The page contains every picture and refers to no other file."""
        names = self.plot(self.save("a.json", report(picture_rows())))
        with open(self.path("out", "index.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertEqual(page.count("<svg "), len(names))
        self.assertEqual(set(re.findall(r"\w+://[^\"]*", page)), {"http://www.w3.org/2000/svg"})
        self.assertNotIn("src=", page)

    def test_looks_differ(self):
        """Each curve has its own dash pattern and marker, for black and white."""
        rows = [row(f"bench-{i}", 10 * size, bytes=size) for i in range(6) for size in (8, 16)]
        self.plot(self.save("a.json", report(rows)))
        root = self.picture("rma-latency.svg")[0]
        for tag, key in (("polyline", "stroke-dasharray"), ("path", "d")):
            looks = {part.get(key) for part in root.iter() if part.tag.endswith("}" + tag)}
            self.assertEqual(len(looks), 6)

    def test_units_and_scale(self):
        """All times of a picture have one unit. Equal factors have equal distances."""
        rows = [row("a", 5e3, bytes=8), row("a", 50, bytes=64, unit="us"), row("a", 5e5, bytes=512)]
        self.plot(self.save("a.json", report(rows)))
        self.assertIn("latency (µs)", self.picture("rma-latency.svg")[1])
        (x1, y1), (x2, y2), (x3, y3) = self.lines_of("rma-latency.svg")[0]
        self.assertAlmostEqual(x2 - x1, x3 - x2, delta=0.2)
        self.assertAlmostEqual(y1 - y2, y2 - y3, delta=0.2)
        self.assertTrue(x1 < x2 and y1 > y2 > 0)

    def test_ratio(self):
        """A point as fast as raw is on the line of the raw limit. A slower point is above."""
        rows = [row("a", size, size if size < 100 else size / 2, bytes=size)
                for size in (8, 64, 512)]
        self.plot(self.save("a.json", report(rows)))
        root = self.picture("ratio-rma-latency.svg")[0]
        level = [float(part.get("y1")) for part in root.iter() if part.tag.endswith("}line")
                 and part.get("stroke") == "#000000"]
        points = self.lines_of("ratio-rma-latency.svg")[0]
        self.assertEqual([y for _, y in points[:2]], 2 * level)
        self.assertLess(points[2][1], level[0])

    def test_many_curves(self):
        rows = [row(f"bench-{i}", 10 * size, bytes=size) for i in range(8) for size in (8, 16)]
        names = self.plot(self.save("a.json", report(rows)))
        self.assertEqual(names, [f"rma-latency-bench-{i}.svg" for i in range(8)])
        shutil.rmtree(self.path("out"))
        rows = [row("a", size, parameter="pairs", value=n, bytes=size)
                for size in range(8, 96, 8) for n in (1, 2)]
        self.assertEqual(self.plot(self.save("a.json", report(rows))),
                         ["rma-latency-by-pairs.svg"])
        shown = self.picture("rma-latency-by-pairs.svg")[1]
        self.assertEqual(sum(text.endswith(" bytes") for text in shown), 6)
        self.assertIn("8 bytes", shown)
        self.assertIn("88 bytes", shown)

    def test_two_files(self):
        rows = [row("put-latency", size, size, bytes=size) for size in (8, 64)]
        a = self.save("a.json", report(rows))
        b = self.save("b.json", report(rows, all_path="fabric", provider="tcp"))
        self.plot(a, b)
        shown = self.picture("rma-latency.svg")[1]
        for text in ("Steppe 0.1.0 node", "Steppe 0.1.0 tcp, raw limit",
                     "Steppe 0.1.0 tcp: Steppe 0.1.0, tcp, 4 PEs"):
            self.assertIn(text, shown)
        shutil.rmtree(self.path("out"))
        self.plot(a, b, "--label", "before", "--label", "after's <1>")
        self.assertIn("after's <1>, raw limit", self.picture("rma-latency.svg")[1])

    def test_usage(self):
        file = self.save("a.json", report([row("a", 1)]))
        for arguments, complaint in (
                ([], "FILE.json"),
                ([file, "--label", "a", "--label", "b"], "here are 2 labels for 1 files"),
                ([file, "--png"], "--png"), ([file], "no row has numbers that can be drawn"),
                ([file, file], "give each file another --label"),
                ([self.save("b", "{}")], "not from steppe-bench")):
            status, _, err = call("plot", *arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn(complaint, err)
        self.assertIn("--label", call("plot", "--help")[1])


class Launch(Folder):
    def setUp(self):
        super().setUp()
        self.program("here/bin/oshrun", FAKE_OSHRUN)
        program = self.program("here/bin/steppe-bench", FAKE_STARTUP)
        os.environ["STEPPE_BENCH_PROGRAM"] = program
        self.addCleanup(os.environ.pop, "STEPPE_BENCH_PROGRAM", None)

    def test_rows(self):
        """launch runs jobs in turn after a warm-up of each kind. Other tools read its file."""
        file = self.path("launch.json")
        status, out, err = call("launch", "-n", "1,3", "--runs", "2", "--format", "json",
                                "-o", file)
        self.assertEqual((status, out), (0, ""), err)
        with open(file, encoding="utf-8") as opened:
            content = json.load(opened)
        self.assertEqual((content["steppe_bench"], content["library"], content["launcher"]),
                         (2, "Steppe 0.1.0", "fake"))
        rows = {(found["bench"], found["pes"]): found for found in content["results"]}
        self.assertEqual(len(rows), 6)
        self.assertEqual(rows["launch-init", 3]["steppe"]["blocks"], [3.0, 3.0])
        self.assertEqual(rows["launch-finalize", 1]["steppe"]["median"], 0.5)
        job = rows["launch", 3]
        self.assertGreater(job["steppe"]["median"], 100)
        self.assertAlmostEqual(job["ratio"], job["steppe"]["median"] / job["raw"]["median"])
        self.assertEqual((job["parameter"], job["value"], job["unit"]), ("pes", 3, "us"))
        kinds = ["L" if "--startup" in line else "r" for line in self.lines("log")]
        self.assertEqual("".join(kinds), "LrLrrL" * 2)
        self.assertEqual(call("compare", file, file, "--absolute")[0], 2)  # two runs are too few
        self.assertEqual(call("plot", file, "-o", self.folder)[0], 0)

    def test_floor(self):
        """With --floor, a third kind of job gives the time of loading and asking libfabric."""
        text = call("launch", "-n", "3", "--runs", "2", "--floor", "tcp", "--format", "json")[1]
        rows = {found["bench"]: found for found in json.loads(text)["results"]}
        self.assertEqual(rows["launch-load"]["steppe"]["blocks"], [6.0, 6.0])
        self.assertEqual(rows["launch-ask"]["steppe"]["median"], 0.7)
        self.assertEqual(rows["launch-floor"]["steppe"], rows["launch"]["steppe"])
        self.assertNotEqual(rows["launch-floor"]["raw"], rows["launch"]["raw"])
        kinds = ["L" if "--startup" in line else "F" if "--floor tcp" in line else "r"
                 for line in self.lines("log")]
        self.assertEqual("".join(kinds), "LrFLrFFrL")

    def test_formats(self):
        text = call("launch", "-n", "2", "--runs", "1")[1]
        self.assertRegex(text, r"launch-init +2 +0.00 ")

    def test_failures(self):
        self.program("here/bin/steppe-bench", "#!/bin/sh\necho '{\"pe\": 0}'\n")
        status, _, err = call("launch", "-n", "2", "--runs", "1")
        self.assertEqual(status, 2)
        self.assertIn("only 0 of 2 PEs reported their times", err)
        del os.environ["STEPPE_BENCH_PROGRAM"]
        self.assertIn("STEPPE_BENCH_PROGRAM is not set", call("launch")[2])

    def test_usage(self):
        for arguments, complaint in ((["-n", "4:x"], "'4:x'"), (["-n", "0"], "'0'"),
                                     (["-n", "4,2"], "'4,2'"), (["--fast"], "--fast"),
                                     (["--runs", "-1"], "-1")):
            status, _, err = call("launch", *arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn(complaint, err)
        self.assertEqual(options.counts("1:6"), [1, 2, 4, 6])
        self.assertEqual(options.counts("3"), [3])


class Command(Folder):
    def test_main(self):
        """main.py runs as a program, as steppe-bench starts it."""
        def run(*arguments):
            job = subprocess.run([sys.executable, os.path.join(HERE, "main.py")] + list(arguments),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            return job.returncode, job.stdout.decode(), job.stderr.decode()
        status, out, _ = run("compare", "--help")
        self.assertEqual(status, 0)
        self.assertIn("usage: steppe-bench compare [OPTION...] OLD.json NEW.json", out)
        self.assertEqual(run("compare", "a", "b")[::2],
                         (2, "steppe-bench compare: a: No such file or directory\n"))
        status, _, err = run("draw")
        self.assertEqual(status, 2)
        self.assertRegex(err, "steppe-bench: 'draw' is not a command: use one of compare.*\n")

    def test_input_of_jobs(self):
        """The standard input of a job stays open while the job runs."""
        self.assertEqual(options.run_job(["sh", "-c", "timeout 0.2 cat; echo $?"]), "124\n")
        with self.assertRaisesRegex(ToolError, "none: No such file"):
            options.run_job(["/none"])


if __name__ == "__main__":
    unittest.main()
