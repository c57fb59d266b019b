#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The full matrix of tests, part by part, and a report of it in Markdown.

usage: full_matrix.py [--only PART,...] [--resume | --again] [--report FILE] [--list]
  --only PART,...  these parts alone; the report has what is known of the others
  --resume         leave out parts that this commit has a complete result of
  --again          only what failed in the parts, on the present commit; the report says so
  --report FILE    write the report there (default: to build/full/report.md alone)
  --list           name the parts and what is in them

What a part found is kept in build/full, so that an interrupted run may be resumed. The exit status
is 0 when every part of the report was run and nothing failed. Environment: JOBS, parallel jobs.
scripts/test.sh --full is this; docs/design/testing.md says what is run where and why.
"""
import argparse
import collections
import glob
import json
import os
import platform
import re
import subprocess
import sys
import textwrap
import time
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STORE = os.path.join(ROOT, "build", "full")
JOBS = os.environ.get("JOBS") or str(os.cpu_count())
GCC, CLANG = ("gcc", "g++"), ("clang", "clang++")


def lacks_fuzzer():
    """What clang needs for the fuzz targets and does not find, empty where all is there."""
    done = subprocess.run(["clang", "-fsanitize=fuzzer,address", "-x", "c", "-o", os.devnull, "-"],
                          input=b"int LLVMFuzzerTestOneInput(void) { return 0; }", check=False,
                          capture_output=True)
    return "" if done.returncode == 0 else ("clang has no libFuzzer here, on Debian package "
                                            "libclang-rt-dev: scripts/setup.sh --full")


# What a sanitized build cannot be asked: how much memory there is, what the driver is asked of a
# heap that is not malloc's, what a crash says, small stacks, programs of others, limits on
# addresses; and launchers and hosts, whose tests run the same code as those that are here.
NOT_ASAN = r"space_leaks|rules_init|space_driver_calls|space_buffers_refused"
NOT_ASAN += r"|^pe\.(status|hang\.all)"
NOT_ASAN += r"|^tree\.(install|exports|abi)|hosts\.differ\.version|^(fault|pmix|mpich)\."
# More than 7 windows do not fit beside that sanitizer's own memory. Through the fabric whatever
# thread polls copies what arrives: with several, that looks like a race (docs/design/testing.md).
THREADS = r"^pe\..*thread.*\.np[1-7]$|^gpu\.ipc\.space_gpu\.np2$|^(pe|fabric\.tcp)\."
THREADS += r"(many_ctx|stress_mix|passive|flow|nbi|signal|amo|order|reduce|coll_stress|contexts"
THREADS += r"|space_life_host|space_queued)\.np3$"

# Programs of which the quick set has fewer PE counts than another compiler or a sanitizer is worth.
NOT_MORE = "stress|passive|flow|space_leaks"
MORE_PES = ["-L", "full", "-E"]

# selects: the calls of ctest. targets: what is built, nothing: everything.
# lacks: names what the part needs and is not there. suite: the release of Debian or Ubuntu whose
# system scripts/in-debian.sh makes, and on which the part runs.
Part = collections.namedtuple("Part", "what build compilers options selects targets lacks suite",
                              defaults=[[], lambda: "", None])
PARTS = {
    "quick": Part("the quick set", "build", GCC, [], [["-LE", "full"]]),
    "full": Part("tests labelled full", "build", GCC, [], [["-L", "full"]]),
    "clang": Part("unit tests, one node and the installation, built by clang", "build-clang-full",
                  CLANG, ["-DSTEPPE_STATIC=ON", "-DSTEPPE_TEST_FLAGS="],
                  [["-L", "unit|pe|tree", "-LE", "full|fakecuda"],
                   ["-R", r"^pe\..*\.np2$", *MORE_PES, NOT_MORE]]),
    "asan": Part("the quick set, and 2 and 3 PEs of the rest, under AddressSanitizer, "
                 "UndefinedBehaviorSanitizer and LeakSanitizer", "build-asan", GCC,
                 ["-DSTEPPE_SANITIZE=address,undefined"],
                 [["-LE", "full", "-E", NOT_ASAN],
                  ["-R", r"^pe\..*\.np[23]$|^fabric\.tcp\..*\.np3$", *MORE_PES,
                   f"{NOT_MORE}|{NOT_ASAN}"]]),
    "tsan": Part("threads, and the progress thread, under ThreadSanitizer", "build-tsan", GCC,
                 ["-DSTEPPE_SANITIZE=thread"],
                 [["-R", THREADS, "-LE", "hosts"]]),
    "inline": Part("the quick set of one node and of tcp, its programs with SHMEMX_INLINE",
                   "build-inline", GCC, ["-DSTEPPE_TEST_INLINE=ON", "-DSTEPPE_TEST_FLAGS="],
                   # space_errors: a trap in the program's own code names no routine
                   [["-L", "pe", "-LE", "full|fakecuda", "-E", r"^pe\.space_errors"],
                    ["-R", r"^fabric\.tcp\.", "-LE", "full"]]),
    "fuzz": Part("fuzz targets, a minute each from where the last run stopped", "build-fuzz",
                 CLANG, ["-DSTEPPE_FUZZ=ON"], [["-L", "fuzz"]], ["fuzz_targets"], lacks_fuzzer),
    "debian13": Part("tests that depend on libfabric, on Debian 13 with its compiler and libfabric",
                     "build-trixie", GCC, [], [], suite="trixie"),
}


def run(*command, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, cwd=ROOT, check=False, **options)


def said(*command):
    """The first line that a command prints; empty where there is no such command."""
    try:
        done = run(*command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return (done.stdout.splitlines() or [""])[0].strip()


def commit():
    """What is tested: the commit, and whether files differ from it, results aside."""
    name = said("git", "rev-parse", "--short=12", "HEAD")
    return name + ("+" if said("git", "status", "--porcelain", "--untracked-files=no", "--", ".",
                               ":!docs/results") else "")


# ---- running a part ------------------------------------------------------------------------------

def build_tree(folder, options, targets, env, log_path):
    """Configure and build, with warnings as errors; what the tools say goes to a file."""
    only = ["--target", *targets] if targets else []
    with open(log_path, "w", encoding="utf-8") as log:
        for command in (["cmake", "-S", ".", "-B", folder, "-DSTEPPE_WERROR=ON",
                         "-DSTEPPE_QUICK_TESTS=OFF", "-UCMAKE_C_FLAGS_RELWITHDEBINFO", *options],
                        ["cmake", "--build", folder, "-j", JOBS, *only]):
            if run(*command, env=env, stdout=log, stderr=subprocess.STDOUT).returncode != 0:
                return False
    return True


def build(part):
    env = dict(os.environ, CC=part.compilers[0], CXX=part.compilers[1])
    return build_tree(part.build, part.options, part.targets, env,
                      os.path.join(STORE, part.build + ".log"))


def results_of(path):
    """From CTest's own account: name, passed, failed or skipped, seconds."""
    found = []
    for case in xml.parse(path).getroot().iter("testcase"):
        status = {"run": "passed", "fail": "failed"}.get(case.get("status"), "failed")
        skipped = case.find("skipped")
        if skipped is not None and "SKIP_RETURN_CODE" in skipped.get("message", ""):
            status = "skipped"
        found.append([case.get("name"), status, float(case.get("time") or 0)])
    return found


def tests_of(part, select, account):
    """Run the tests that one call of ctest selects. What it says of each."""
    env = dict(os.environ, CC=part.compilers[0], CXX=part.compilers[1])

    if os.path.exists(account):
        os.remove(account)
    with open(os.path.join(ROOT, part.build, "test", "endless"), "r+b", 0) as stdin:
        run("ctest", "--test-dir", part.build, "-j", JOBS, "--output-on-failure",
            "--output-junit", account, *select, env=env, stdin=stdin)
    return results_of(account) if os.path.exists(account) else [["ctest", "failed", 0.0]]


def build_and_test(name, selects, result):
    """Fill in the times and the tests of a result, those selected."""
    part = PARTS[name]

    print(f"== {name}: building in {part.build}", flush=True)
    start = time.monotonic()
    built = build(part)
    result["build_seconds"] = time.monotonic() - start
    start = time.monotonic()
    if built:
        print(f"== {name}: {part.what}", flush=True)
        found = {}
        for i, select in enumerate(selects):
            for test in tests_of(part, select, os.path.join(STORE, f"{name}-{i}.xml")):
                found.setdefault(test[0], test) # what stands around all tests runs each time
                if test[1] == "failed":
                    found[test[0]] = test
        result["tests"] = list(found.values())
    else:
        result["tests"] = [["build", "failed", 0.0]]
        print(f"== {name}: see build/full/{part.build}.log", flush=True)
    result["test_seconds"] = time.monotonic() - start


def test_on_suite(name, result):
    """Run a part on the system of another release, and fill in its result."""
    part = PARTS[name]
    start = time.monotonic()
    log = os.path.join(STORE, name + ".log")

    print(f"== {name}: {part.what}", flush=True)
    with open(log, "w", encoding="utf-8") as out:
        done = run("scripts/in-debian.sh", part.suite, stdout=out, stderr=subprocess.STDOUT)
    result["test_seconds"] = time.monotonic() - start
    with open(log, encoding="utf-8", errors="replace") as out:
        lines = out.read().splitlines() or [""]
    if done.returncode == 77:
        result["left_out"] = lines[-1]
        return
    for account in glob.glob(os.path.join(ROOT, part.build, "root", "steppe", "build-libfabric-*",
                                          "results.xml")):
        result["tests"] += results_of(account)
    if done.returncode != 0 and not count(result["tests"], "failed"):
        result["tests"].append([f"see build/full/{name}.log", "failed", 0.0])


def keep(name, result):
    path = os.path.join(STORE, name + ".json")
    with open(path + ".new", "w", encoding="utf-8") as out:
        json.dump(result, out)
    os.replace(path + ".new", path)


def run_part(name):
    kept = os.path.join(STORE, name + ".json")
    compiler = PARTS[name].compilers[0]
    result = {"commit": commit(), "compiler": said(compiler, "--version"), "tests": []}

    if os.path.exists(kept):
        os.remove(kept)
    if not result["compiler"]:
        result["left_out"] = f"{compiler} is not installed"
    elif PARTS[name].lacks():
        result["left_out"] = PARTS[name].lacks()
    elif PARTS[name].suite:
        test_on_suite(name, result)
    else:
        build_and_test(name, PARTS[name].selects, result)
    keep(name, result)


def run_failed(name):
    """What failed in a part, on the present commit; the report tells both."""
    result = known(name)
    failed = [test[0] for test in result["tests"] if test[1] == "failed"] if result else []
    again = {"commit": commit(), "tests": []}

    if not failed:
        return
    names = "^(" + "|".join(re.escape(test) for test in failed) + ")$"
    if PARTS[name].suite:
        test_on_suite(name, again)
    else:
        build_and_test(name, [["-R", names]], again)
    now = {test[0]: test for test in again["tests"]}
    result["tests"] = [now.get(test[0], test) for test in result["tests"]]
    for test in failed:
        result.setdefault("again", []).append([test, again["commit"]])
    keep(name, result)


def known(name):
    """What is kept of a part, None where there is nothing."""
    try:
        with open(os.path.join(STORE, name + ".json"), encoding="utf-8") as kept:
            return json.load(kept)
    except FileNotFoundError:
        return None


# ---- the report ----------------------------------------------------------------------------------

def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def count(tests, status):
    return sum(1 for test in tests if test[1] == status)


def group(name):
    """Where a test runs, by its name."""
    words = name.split(".")
    if words[0] == "fabric":
        return "fabric, " + words[1]
    return {"pe": "one node, load and store", "unit": "unit", "tree": "source tree, installation",
            "hosts": "several hosts", "gpu": "GPU memory, on the stand-in for the driver",
            "provider": "providers that are not here", "fault": "faults", "pmix": "launchers, MPI",
            "mpich": "launchers, MPI", "slurm": "launchers, MPI", "fuzz": "bytes of others, drawn or kept"}.get(words[0], words[0])


def report_groups(done):
    """Passed tests by where they run and by part; of how many where some did not pass."""
    cells = collections.defaultdict(list)
    for name, result in done.items():
        for test in result["tests"]:
            cells[group(test[0]), name].append(test)
    rows = []
    for where in sorted({where for where, _ in cells}):
        row = [where]
        for name in done:
            passed, ran = count(cells[where, name], "passed"), len(cells[where, name])
            row.append("" if ran == 0 else f"{passed}" if passed == ran else f"{passed} of {ran}")
        rows.append(row)
    return table(["passed"] + list(done), rows) if rows else []


def report_names(name, result):
    """The tests of a part that failed, were run again or were skipped, and why a part is missing."""
    if "left_out" in result:
        return [f"- {name} was left out: {result['left_out']}"]
    lines = []
    if "again" in result:
        lines.append(f"- {name}, failed at first, and run again: " + ", ".join(
            f"`{test}` on {at}" for test, at in sorted(result["again"])))
    for status in ("failed", "skipped"):
        names = sorted(test[0] for test in result["tests"] if test[1] == status)
        if names:
            lines.append(f"- {name}, {status}: " + ", ".join(f"`{each}`" for each in names))
    return [part for line in lines
            for part in textwrap.wrap(line, 110, subsequent_indent="  ", break_on_hyphens=False)]


def report(results):
    """The whole report: no paths, no host names."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)
    done = {name: result for name, result in results.items() if result is not None}
    rows = []

    for name, result in done.items():
        tests = result["tests"]
        rows.append([name, PARTS[name].what, result["compiler"],
                     minutes(result.get("build_seconds", 0)),
                     minutes(result.get("test_seconds", 0)), count(tests, "passed"),
                     count(tests, "failed"), count(tests, "skipped"), result["commit"]])
    lines = ["<!-- SPDX-License-Identifier: BSD-3-Clause -->", "# The full matrix of tests", "",
             "Written by `scripts/test.sh --full`. What each part is for: "
             "[testing](../design/testing.md).", ""]
    lines += table(["", ""], [
        ["cores, memory", f"{os.cpu_count()}, {memory:.0f} GiB"],
        ["system", f"{platform.system()} {platform.release().split('-')[0]}, {platform.machine()}"],
        ["libfabric", said("pkg-config", "--modversion", "libfabric")],
        ["launcher", (re.search(r"[\d.]+", said("sh", "-c", "mpiexec.hydra --version | "
                                                "grep -i version:")) or [""])[0] + " (Hydra)"],
        ["CMake", said("cmake", "--version").split()[-1]]])
    lines += table(["part", "what", "compiler", "built in", "run in", "passed", "failed", "skipped",
                    "commit"], rows)
    lines += report_groups(done)
    missing = [name for name, result in results.items() if result is None]
    if missing:
        lines += ["Not run: " + ", ".join(missing) + ".", ""]
    for name, result in done.items():
        lines += report_names(name, result)
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].replace("usage: ", "", 1))
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    wanted = args.only.split(",")

    if any(name not in PARTS for name in wanted):
        parser.error(f"PART must be one of {', '.join(PARTS)}")
    if args.list:
        for name, part in PARTS.items():
            calls = "; ".join("ctest " + " ".join(select) for select in part.selects) or \
                f"scripts/in-debian.sh {part.suite}"
            print(f"{name:6} {part.what} (in {part.build}; {calls})")
        return 0
    os.makedirs(STORE, exist_ok=True)
    for name in wanted:
        kept = known(name)
        if args.again:
            run_failed(name)
            continue
        if args.resume and kept is not None and kept["commit"] == commit():
            print(f"== {name}: has results already and is skipped")
            continue
        run_part(name)
    results = {name: known(name) for name in PARTS}
    text = report(results)
    for path in [os.path.join(STORE, "report.md")] + ([args.report] if args.report else []):
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    print(text)
    bad = [name for name in wanted if results[name] and count(results[name]["tests"], "failed")]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
