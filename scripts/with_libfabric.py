#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Build a libfabric source tree, build Steppe with it, and run the tests that depend on libfabric.

usage: with-libfabric.sh DIR [--tests REGEX] [--full] [--report FILE]
  DIR            a source tree of libfabric, a folder into which libfabric is installed, or the word
                 "system" for the libfabric that pkg-config finds
  --tests REGEX  run only tests of the list whose names match REGEX
  --full         also run the tests of the list that only the full set has
  --report FILE  also write the table of results to FILE, in Markdown

The list of tests is the same for all versions. A test may be skipped only if libfabric is the reason:
the output of the test must name the function of libfabric and its source file, as in "TCP_INI in
prov/tcp/src/xnet_init.c". Any other skip counts as a failure.

Everything is built in the folder build-libfabric-VERSION. DIR itself changes only if it has no
"configure" yet, which its autogen.sh then makes. Exit status: 0 if no test failed, 1 if a test or a
build failed, 2 for wrong arguments. Environment: JOBS, parallel jobs (default: all processors).
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

from full_matrix import JOBS, ROOT, build_tree, results_of, said, table

# Tests whose result depends on the version of libfabric, and the column of the table to which each
# belongs. The first match counts.
GROUPS = [("module alone", r"^unit\.(ofi|provshim)"),
          ("tcp", r"^(fabric|gpu)\.tcp\."),
          ("net", r"^fabric\.net\."),
          ("shm", r"^fabric\.shm\."),
          ("simulated adapters", r"^provider\."),
          ("MPI in the same process", r"^mpich\..*\.quick$"),
          ("several hosts", r"^hosts\."),
          ("failures", r"^fault\."),
          ("commands", r"^tree\.(oshinfo|bench_tools)$|^pe\.bench")]
TESTS = "|".join(pattern for _, pattern in GROUPS)

# What the output of a skipped test must contain: a function of libfabric and its source file.
REASON = re.compile(r"\b\w+(\(\))? in (prov|src|include)/\S+\.[ch]\b")


def step(what, log, command, cwd, env=None):
    """Runs a command of the build. If it fails, ends the script with the end of its output."""
    print(f"== {what}", flush=True)
    with open(log, "w", encoding="utf-8") as out:
        done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out,
                              stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        with open(log, encoding="utf-8", errors="replace") as out:
            sys.stderr.write("".join(out.readlines()[-20:]))
        sys.exit(f"with-libfabric.sh: {what}: status {done.returncode}, output in {log}")


def version_of(folder):
    """The version of a source tree or of an installed libfabric, and whether it is installed."""
    for name, pattern in (("configure.ac", r"AC_INIT\(\[libfabric\], *\[([\w.]+)\]"),
                          ("lib/pkgconfig/libfabric.pc", r"^Version: *([\w.]+)")):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found = re.search(pattern, file.read(), re.M)
        except OSError:
            continue
        if found:
            return found[1], name.endswith(".pc")
    return None, False


def install_libfabric(source, build):
    """Builds and installs libfabric with the providers that this system can build."""
    prefix, objects = os.path.join(build, "libfabric"), os.path.join(build, "libfabric-objects")
    if os.path.exists(os.path.join(prefix, "lib", "pkgconfig", "libfabric.pc")):
        return prefix
    if not os.path.exists(os.path.join(source, "configure")):
        if shutil.which("libtoolize") is None:
            sys.exit(f"with-libfabric.sh: {source} has no configure script, and making it needs "
                     "autoconf, automake and libtool")
        step("autogen.sh", os.path.join(build, "autogen.log"), ["./autogen.sh"], source)
    os.makedirs(objects, exist_ok=True)
    configure = os.path.join(os.path.relpath(source, objects), "configure")
    step("configure libfabric", os.path.join(build, "configure.log"),
         [configure, "--prefix=" + prefix, "--disable-static", "CFLAGS=-O2"], objects)
    step("build libfabric", os.path.join(build, "make.log"), ["make", "-j", JOBS], objects)
    step("install libfabric", os.path.join(build, "install.log"), ["make", "install"], objects)
    return prefix


def listed(build, args, env):
    """The names of the tests to run."""
    def names(*select):
        done = subprocess.run(["ctest", "--test-dir", build, "-N", *select], env=env, check=True,
                              capture_output=True, text=True)
        return re.findall(r"^ *Test +#\d+: (\S+)", done.stdout, re.M)
    # The full set also has the tests with MPICH, because they need its headers.
    found = names() if args.full else names("-LE", "full") + names("-L", "mpi")
    return [name for name in found if re.search(TESTS, name) and re.search(args.tests, name)]


def outputs_of(path):
    """The output of each test, from CTest's JUnit file."""
    return {case.get("name"): case.findtext("system-out") or ""
            for case in xml.parse(path).getroot().iter("testcase")}


def judged(tests, outputs):
    """Each test with its group and status. A skip for another reason than libfabric has failed."""
    rows, skips, bad = {}, [], []
    for name, status, _ in tests:
        group = next((group for group, pattern in GROUPS if re.search(pattern, name)), None)
        if group is None:
            continue  # a fixture, which runs before or after all tests
        if status == "skipped":
            reason = REASON.search(outputs[name])
            if reason:
                skips.append(f"- `{name}`: {reason[0]}")
            else:
                status = "failed"
                bad.append(f"- `{name}`: skipped without a reason in libfabric")
        elif status == "failed":
            bad.append(f"- `{name}`")
        counts = rows.setdefault(group, {"passed": 0, "failed": 0, "skipped": 0})
        counts[status] += 1
    return rows, skips, bad


def report(version, tests, outputs):
    rows, skips, bad = judged(tests, outputs)
    lines = table(["libfabric " + version, "passed", "failed", "skipped"],
                  [[group, *rows[group].values()] for group, _ in GROUPS if group in rows])
    for what, names in (("Failed", bad), ("Skipped", skips)):
        if names:
            lines += [f"{what}:", "", *names, ""]
    return "\n".join(lines).rstrip() + "\n", bad


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n", 1)[1].replace("usage: ", "", 1),
                                     add_help=False)
    parser.add_argument("--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument("dir", help=argparse.SUPPRESS)
    parser.add_argument("--tests", default=".", help=argparse.SUPPRESS)
    parser.add_argument("--full", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--report", help=argparse.SUPPRESS)
    args = parser.parse_args()
    source = os.path.abspath(args.dir)
    version, installed = version_of(source)
    if args.dir == "system":
        version, installed = said("pkg-config", "--modversion", "libfabric") or None, True
    if version is None:
        parser.error(f"{args.dir} is no source tree of libfabric (it has no configure.ac of "
                     "libfabric), and libfabric is not installed in it either")
    build = os.path.join(ROOT, "build-libfabric-" + version)
    os.makedirs(build, exist_ok=True)
    prefix = source if installed else install_libfabric(source, build)

    env = dict(os.environ, CC="gcc", CXX="g++")
    if args.dir != "system":
        lib = os.path.join(prefix, "lib")
        env["PKG_CONFIG_PATH"] = os.path.join(lib, "pkgconfig")
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [lib, env.get("LD_LIBRARY_PATH")]))
    print(f"== build Steppe with libfabric {version}", flush=True)
    log = os.path.join(build, "steppe.log")
    if not build_tree(build, ["-DSTEPPE_QUICK_TESTS=" + ("OFF" if args.full else "ON")], [], env,
                      log):
        sys.exit(f"with-libfabric.sh: the build of Steppe failed, output in {log}")
    results = os.path.join(build, "results.xml")
    if os.path.exists(results):
        os.remove(results)  # results of an earlier run
    print("== run the tests", flush=True)
    names = listed(build, args, env)
    with open(os.path.join(build, "test", "endless"), "r+b", 0) as stdin:
        subprocess.run(["ctest", "--test-dir", build, "-j", JOBS, "--output-on-failure",
                        "--output-junit", results, "-R", f"^({'|'.join(map(re.escape, names))})$"],
                       env=env, stdin=stdin, check=False)
    tests = results_of(results)
    text, bad = report(version, tests, outputs_of(results))
    for name in filter(None, [os.path.join(build, "report.md"), args.report]):
        with open(name, "w", encoding="utf-8") as out:
            out.write(text)
    print(text, end="")
    return 1 if bad or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
