#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of steppe-bench compare, on made-up results and made-up programs.

usage: test_tools.py [unittest arguments]
"""
import contextlib
import io
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import main  # noqa: E402
import options  # noqa: E402
import ranks  # noqa: E402
from results import ToolError  # noqa: E402


def call(*arguments):
    """(status, standard output, standard error) of main.py with these arguments."""
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
    """A row with these blocks; a number stands for ten blocks of it."""
    def blocks(values):
        return values if isinstance(values, list) else [values] * 10
    made = {"bench": bench, "group": "rma", "metric": "latency", "unit": "ns", "better": "lower",
            "bytes": 8, "pes": 2, "thread_level": "single", "steppe": side(blocks(steppe))}
    if raw is not None:
        made["raw"] = side(blocks(raw))
        made["ratio"] = made["steppe"]["median"] / made["raw"]["median"]
    made.update(more)
    return made


def report(rows, **heading):
    content = {"steppe_bench": 2, "library": "Steppe 0.1.0", "host": "a", "date": "2026-11-22",
               "all_path": "node", "provider": "", "pes": 4, "disturbed": "", "results": rows}
    content.update(heading)
    return content


class Folder(unittest.TestCase):
    """Tests with a folder of their own."""

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
        """Against all orders of small samples, and the printed table for ten and ten."""
        for n, m in ((1, 1), (2, 3), (4, 3), (4, 4)):
            counts = {}
            orders = list(itertools.combinations(range(n + m), n))
            for first in orders:
                u = sum(1 for a in first for b in range(n + m) if b not in first and b < a)
                counts[u] = counts.get(u, 0) + 1
            want, below = [], 0
            for u in range(n * m // 2 + 1):
                below += counts.get(u, 0)
                want.append(below / len(orders))
            self.assertEqual(ranks.cumulative(n, m), want)
        critical = max(u for u, p in enumerate(ranks.cumulative(10, 10)) if p <= 0.025)
        self.assertEqual(critical, 23)

    def test_interval(self):
        """Covers the shift as often as promised, whatever the noise, and not more often."""
        noise = random.Random(1)
        kinds = (lambda: noise.gauss(0, 1), lambda: noise.choice((0, 9)) + noise.gauss(0, 0.1),
                 lambda: noise.gauss(0, 1) + (noise.random() < 0.2) * 30)
        for kind in kinds:
            outside = 0
            for _ in range(400):
                old, new = ([kind() for _ in range(10)] for _ in range(2))
                _, low, high = ranks.shift(old, [value + 5 for value in new], 0.05)
                outside += not low <= 5 <= high
            self.assertTrue(7 < outside < 32, outside)  # 20 expected

    def test_few(self):
        self.assertEqual(ranks.shift([1, 2, 3], [2, 3, 4], 0.05), (1, None, None))
        self.assertEqual(ranks.least_runs(0.05), 4)
        self.assertEqual(ranks.least_runs(0.05 / 100), 8)


class Compare(Folder):
    def noisy(self, seed, factor=1.0, state=1.0, count=40):
        """Rows with noise of 3 % on either side and a state of the machine that both share."""
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
        """(status, {bench: row of the JSON})."""
        status, out, err = self.compare(old, new, "--format", "json", *more)
        self.assertEqual(err, "")
        return status, {found["bench"]: found for found in json.loads(out)["rows"]}

    def test_equal_is_equal(self):
        for seed in range(8):
            status, out, _ = self.compare(self.noisy(seed), self.noisy(100 + seed, state=1.04))
            self.assertEqual(status, 0, out)
            self.assertIn("\n40 equal; threshold 5 %, chance of a false alarm", out)

    def test_family(self):
        """Without a threshold, about 5 % of the files have a false alarm, not 40 rows times 5 %."""
        alarms = 0
        for seed in range(30):
            _, rows = self.judged(self.noisy(seed), self.noisy(900 + seed), "--threshold", "0")
            alarms += any(found["verdict"] != "equal" for found in rows.values())
        self.assertLessEqual(alarms, 4)

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

    def test_faster(self):
        new = self.noisy(2)
        new[7] = self.noisy(3, factor=0.8)[7]
        status, rows = self.judged(self.noisy(1), new)
        self.assertEqual(status, 0)
        self.assertEqual(rows["bench-7"]["verdict"], "better")

    def test_higher_is_better(self):
        def rows(value):
            return [row("rate", value, 10, better="higher", metric="rate", unit="Mmsg/s")]
        self.assertEqual(self.judged(rows(10), rows(8))[1]["rate"]["verdict"], "worse")
        self.assertEqual(self.judged(rows(10), rows(8))[0], 1)
        self.assertEqual(self.judged(rows(8), rows(10))[1]["rate"]["verdict"], "better")

    def test_threshold(self):
        old, new = [row("a", 100, 100)], [row("a", 108, 100)]
        self.assertEqual(self.judged(old, new)[0], 1)
        self.assertEqual(self.judged(old, new, "--threshold", "10%")[0], 0)
        self.assertEqual(self.judged(old, new, "--threshold", "7")[0], 1)

    def test_ratio_not_value(self):
        """Both sides twice as slow is no change, but marked; with --absolute it is one."""
        old, new = [row("a", 100, 50)], [row("a", 200, 100)]
        status, rows = self.judged(old, new)
        self.assertEqual((status, rows["a"]["verdict"]), (0, "equal"))
        self.assertEqual(rows["a"]["notes"], ["another machine state: raw +100.0 %"])
        self.assertIn("equal, but marked (1):", self.compare(old, new)[1])
        self.assertEqual(self.judged(old, new, "--absolute")[0], 1)
        self.assertEqual(self.judged(old, [row("a", 100, 54)])[1]["a"]["notes"], [])

    def test_pairs_of_blocks(self):
        """A disturbance that meets both sides of a block is none."""
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
        self.assertIn("no raw side; --absolute compares without", err)

    def test_not_comparable(self):
        old = [row("few", [1, 2, 3], [1, 2, 3]), row("zero", [0] * 10, 1), row("b", 9, 9)]
        rows = self.judged(old, old)[1]
        self.assertEqual(rows["few"]["reason"], "too few blocks: 3 and 3")
        self.assertEqual(rows["zero"]["reason"], "a value of 0")

    def test_identity(self):
        """Each part of the identity tells rows apart."""
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
        self.assertRegex(out, r"left-out +8 bytes, 2 PEs +skipped in the other: no GPU\n")
        self.assertRegex(out, r"only in .*new.json:\n *added +8 bytes, 2 PEs\n")

    def test_marks(self):
        old, new = [row("a", 9, 9)], [row("a", 9, 9, disturbed="steal 3 %")]
        new[0]["raw"]["noisy"] = True
        out = self.compare(report(old), report(new, disturbed="load", provider="tcp"))[1]
        self.assertIn("new disturbed: steal 3 %; new noisy", out)
        self.assertIn("new: disturbed: load\n", out)
        self.assertIn("differs: provider:  / tcp\n", out)

    def test_csv(self):
        status, out, _ = self.compare([row("a", 10, 10)], [row("a", 20, 10), row("b", 1, 1)],
                                      "--format", "csv")
        lines = out.splitlines()
        self.assertEqual(status, 1)
        self.assertTrue(lines[0].startswith("bench,bytes,parameter,value,from,to,pes,"))
        self.assertTrue(lines[1].startswith("a,8,,,,,2,single,,,worse,1.0,2.0,1.0"), lines[1])
        self.assertTrue(lines[2].startswith("b,8,,,,,2,single,,,only new,"), lines[2])

    def test_bad_files(self):
        good = self.save("good.json", report([row("a", 1, 1)]))
        no_median = row("a", 1, 1)
        del no_median["steppe"]["median"]
        no_better = row("a", 1, 1, better="small")
        for content, complaint in (
                ("not { json", "not JSON: "), ("", "empty"), ("[1]", "not of steppe-bench"),
                ({"results": []}, "before format version 2"),
                (report([], steppe_bench=3), "format version 3"),
                (report([{"x": 1}]), "row 1: no \"bench\""),
                (report([no_median]), "row 1 (a): no median in \"steppe\""),
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
                (["a.json"], "want two files"), (["a", "b", "--threshold", "x"], "'x' is not"),
                (["a", "b", "--fast"], "--fast"), (["a", "b", "--save", "c", "d"], "need --ab"),
                (["--ab", "a"], "--ab"), (["--ab", "a", "b", "c"], "takes no files: c"),
                (["--ab", "a", "b", "--runs", "0"], "'0' is not a number from 1 on")):
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


class Builds(Folder):
    """compare --ab, with programs that print what the test wrote."""

    def build(self, name, seed, factor=1.0, runs=10, raw=True, count=12):
        """An installation whose runs differ by 4 %, and by 30 % in one of five on both sides."""
        noise = random.Random(seed)
        for run in range(runs):
            rows = []
            for i in range(count):
                state = noise.gauss(100, 4) * (1.3 if raw and noise.random() < 0.2 else 1)
                own = state * (factor if i == 3 else 1) * noise.gauss(1, 0.02)
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
        for raw in (True, False):
            a, b = self.build("a", 1, raw=raw), self.build("b", 2, raw=raw)
            status, out, err = call("compare", "--ab", a, b)
            self.assertEqual(status, 0, out + err)
            self.assertIn("\n12 equal;", out)
            shutil.rmtree(a)
            shutil.rmtree(b)

    def test_planted(self):
        a, b = self.build("a", 1), self.build("b", 2, factor=1.2)
        saved = self.path("a.json"), self.path("b.json")
        status, out, err = call("compare", "--ab", a, b, "--format", "json", "--save", *saved)
        self.assertEqual(status, 1, err)
        worse = [found["bench"] for found in json.loads(out)["rows"] if found["verdict"] == "worse"]
        self.assertEqual(worse, ["bench-3"])
        again = json.loads(call("compare", *saved, "--format", "json")[1])
        self.assertEqual(again["rows"], json.loads(out)["rows"])

    def test_too_few_runs(self):
        a, b = self.build("a", 1), self.build("b", 2)
        status, _, err = call("compare", "--ab", a, b, "--runs", "5")
        self.assertEqual(status, 2)
        self.assertIn("5 runs of each cannot tell a change from chance with 12 rows; at least "
                      "--runs 6", err)
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
        self.assertIn("b/bin/oshrun: no such program", call("compare", "--ab", a, b)[2])


class Command(Folder):
    def test_main(self):
        """The program as steppe-bench starts it."""
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
        self.assertRegex(err, "steppe-bench: want one of compare.*, not 'draw'\n")

    def test_input_of_jobs(self):
        """A job's standard input is open as long as it runs."""
        self.assertEqual(options.run_job(["sh", "-c", "timeout 0.2 cat; echo $?"]), "124\n")
        with self.assertRaisesRegex(ToolError, "none: No such file"):
            options.run_job(["/none"])


if __name__ == "__main__":
    unittest.main()
