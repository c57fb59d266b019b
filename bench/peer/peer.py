#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Build and run peer-bench with Steppe and with other implementations in turn, and compare.

Exit status: 0 measured, even where a peer failed some rows; 1 Steppe failed a row, or an
implementation gave no number at all; 2 wrong arguments.
"""
import argparse
import collections
import json
import os
import pathlib
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # in the source tree
import table  # noqa: E402  pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).resolve().parent
COMMON = ["main.c", "options.c", "measure.c", "stats.c", "place.c", "output.c"]
SHMEM = COMMON + ["shmem.c", "rma.c", "amo.c", "sync.c", "coll.c", "raw.c"]
MPI = COMMON + ["mpi.c"]
FLAGS = ["-std=gnu11", "-O2", "-D_GNU_SOURCE"]
MARK = "@peer "
MAX_FAILURES = 8  # of an implementation in a run, before it is given up


class Failure(Exception):
    """Why an implementation gives no numbers."""


class Implementation:
    """A compiler, a launcher, and what came of them."""

    def __init__(self, label, compiler, launcher, env, sources=None):
        self.label = label
        self.compiler = shlex.split(compiler)
        self.launcher = shlex.split(launcher)
        self.env = dict(os.environ, **env)
        self.sources = sources or SHMEM
        self.program = None
        self.arguments = []
        self.plan = {}  # number of a row: what it measures
        self.heading = {}
        self.results = collections.defaultdict(list)  # of the runs of a row
        self.failures = collections.defaultdict(list)  # likewise: reasons
        self.failed = ""  # why there is nothing at all
        self.notes = []

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)


def say(text):
    print(f"peer.py: {text}", file=sys.stderr, flush=True)


# ---- the command line ---------------------------------------------------------------------------

def parse_with(text):
    """[LABEL=]COMPILER,LAUNCHER [ARGUMENT...]"""
    match = re.match(r"(?:([^=/,]+)=)?([^,]+),(.+)$", text)
    if not match:
        raise argparse.ArgumentTypeError(
            f"{text!r}: want [LABEL=]COMPILER,LAUNCHER such as /opt/x/bin/oshcc,/opt/x/bin/oshrun")
    label, compiler, launcher = match.groups()
    return label, compiler, launcher


def parse_env(text):
    words = shlex.split(text)
    for word in words:
        if not re.match(r"[A-Za-z_][A-Za-z_0-9]*=", word):
            raise argparse.ArgumentTypeError(f"{word!r}: want NAME=VALUE")
    return dict(word.split("=", 1) for word in words)


def parse_count(text):
    if not re.match(r"[1-9][0-9]{0,5}$", text):
        raise argparse.ArgumentTypeError(f"{text!r}: want a number above 0")
    return int(text)


def parser():
    make = argparse.ArgumentParser(
        prog="bench/peer.sh", description="Measure Steppe and other implementations of OpenSHMEM "
        "side by side, by the same program.")
    make.add_argument("--with", dest="peers", action="append", default=[], type=parse_with,
                      metavar="[LABEL=]OSHCC,OSHRUN", help="another implementation; repeatable")
    make.add_argument("--prefix", type=pathlib.Path, metavar="DIR",
                      help="Steppe: bin/oshcc and bin/oshrun there (the folder build)")
    make.add_argument("--mpi", type=parse_with, metavar="MPICC,MPIEXEC",
                      help="counterparts in MPI (mpicc and mpiexec where they are found)")
    make.add_argument("--no-mpi", action="store_true", help="none of them")
    make.add_argument("-n", type=parse_count, default=2, metavar="N", help="PEs (2)")
    make.add_argument("--runs", type=parse_count, metavar="R",
                      help="runs of each, in turns (3, quick 1)")
    make.add_argument("--quick", action="store_true",
                      help="few samples and sizes: a smoke test, not a measurement")
    make.add_argument("--sizes", help="bytes: 8,512,4K (8 to 2M in steps of 8)")
    make.add_argument("--samples", help="samples a row, 10 to 256 (200, quick 20)")
    make.add_argument("--cores", help="that PEs are bound to, in turn: 0,2 (all)")
    make.add_argument("--no-bind", action="store_true", help="leave PEs where the launcher put them")
    make.add_argument("--no-raw", action="store_true", help="without the raw limit")
    make.add_argument("--env-peer", type=parse_env, default={}, metavar="'NAME=V ...'",
                      help="environment of the peers only")
    make.add_argument("--env-steppe", type=parse_env, default={}, metavar="'NAME=V ...'",
                      help="environment of Steppe only")
    make.add_argument("--timeout", type=parse_count, metavar="S",
                      help="seconds for a row, after which it failed (120, quick 30)")
    make.add_argument("--build", type=pathlib.Path, metavar="DIR",
                      help="programs go there and stay (a temporary folder)")
    make.add_argument("--format", choices=["text", "csv", "json"], default="text")
    make.add_argument("-o", dest="output", metavar="PREFIX",
                      help="write PREFIX.md, and PREFIX-LABEL.json for each implementation")
    make.add_argument("--list", action="store_true", help="list the benches")
    make.add_argument("benches", nargs="*", metavar="BENCH", help="benches or groups (all)")
    return make


def command_exists(words):
    return shutil.which(words[0]) is not None


def label_for(compiler, number):
    folder = pathlib.Path(shlex.split(compiler)[0]).resolve().parent.parent.name
    return f"peer{number}" if folder in ("", "usr", "local") else folder


def find_steppe(options, complain):
    prefix = options.prefix or HERE.parent.parent / "build"
    compiler, launcher = prefix / "bin" / "oshcc", prefix / "bin" / "oshrun"
    for path in (compiler, launcher):
        if not os.access(str(path), os.X_OK):
            complain(f"no {path}: build or install Steppe, or name its folder by --prefix")
    return Implementation("Steppe", shlex.quote(str(compiler)), shlex.quote(str(launcher)),
                          options.env_steppe)


def launcher_arguments(launcher):
    """What Open MPI's launcher needs to start more processes than cores, and as root."""
    try:
        told = subprocess.run([launcher, "--version"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20,
                              check=False).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if "Open MPI" not in told and "OpenRTE" not in told:
        return ""
    return " --oversubscribe" + (" --allow-run-as-root" if os.geteuid() == 0 else "")


def find_mpi(options):
    if options.no_mpi:
        return None
    if options.mpi:
        label, compiler, launcher = options.mpi
        return Implementation(label or "MPI", compiler, launcher, options.env_peer, MPI)
    compiler, launcher = shutil.which("mpicc"), shutil.which("mpiexec")
    if compiler is None or launcher is None:
        say("no counterparts in MPI: mpicc or mpiexec is not on PATH")
        return None
    return Implementation("MPI", shlex.quote(compiler),
                          shlex.quote(launcher) + launcher_arguments(launcher), options.env_peer,
                          MPI)


def find_all(options, complain):
    found = [find_steppe(options, complain)]
    for number, (label, compiler, launcher) in enumerate(options.peers, 1):
        found.append(Implementation(label or label_for(compiler, number), compiler, launcher,
                                    options.env_peer))
    mpi = find_mpi(options)
    if mpi:
        found.append(mpi)
    for one in found:
        for words in (one.compiler, one.launcher):
            if not command_exists(words):
                complain(f"{one.label}: {words[0]} is no program that can be run")
    labels = [file_name(one.label) for one in found]
    for label in set(labels):
        if labels.count(label) > 1:
            complain(f"two implementations are called {label}: give them labels, LABEL=...")
    return found


def program_arguments(options):
    """For peer-bench itself."""
    words = ["--quick"] if options.quick else []
    for name in ("sizes", "samples", "cores"):
        if getattr(options, name) is not None:
            words += ["--" + name, getattr(options, name)]
    if options.cores is None:
        words += ["--cores", ",".join(map(str, sorted(os.sched_getaffinity(0))))]
    for name in ("no_raw", "no_bind"):
        if getattr(options, name):
            words.append("--" + name.replace("_", "-"))
    return words


# ---- building -----------------------------------------------------------------------------------

def file_name(label):
    return re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-").lower() or "peer"


def compile_once(one, program, flags):
    command = one.compiler + FLAGS + flags + [str(HERE / name) for name in one.sources]
    return subprocess.run(command + ["-o", str(program)], env=one.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def build(one, folder):
    """With collectives over teams if the implementation says it has them, and if it really does."""
    program = folder / f"peer-bench-{file_name(one.label)}"
    done = compile_once(one, program, [])
    if done.returncode != 0 and one.sources is SHMEM:
        first = done
        done = compile_once(one, program, ["-DPEER_ACTIVE_SETS=1"])
        if done.returncode == 0:
            one.note("does not build with teams; collectives over active sets instead")
        else:
            done = first
    if done.returncode != 0:
        raise Failure("does not build: " + reason_in(done.stdout.decode(errors="replace")))
    one.program = str(program)


def ask(one, arguments):
    """Run the program without PEs, or where that does not work with one."""
    last = None
    for command in ([one.program], one.launcher + ["-n", "1", one.program]):
        last = subprocess.run(command + arguments, env=one.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              check=False)
        if last.returncode in (0, 2):
            break
    return last.returncode, last.stdout.decode(), last.stderr.decode(errors="replace")


def names_of(one):
    status, listed, told = ask(one, ["--list"])
    if status != 0:
        raise Failure("cannot list its benches: " + reason_in(told))
    return listed


def make_plan(one, options, complain):
    listed = names_of(one)
    known = {word for line in listed.splitlines() for word in line.split()[:2]}
    wanted = [name for name in options.benches if name in known]
    unknown = [name for name in options.benches if name not in known]
    if unknown and one.label == "Steppe":
        complain(f"no bench {unknown[0]}; --list names them")
    if options.benches and not wanted:
        raise Failure("has none of these benches")
    one.arguments = program_arguments(options) + wanted
    status, plan, told = ask(one, ["--plan", "--pes", str(options.n)] + one.arguments)
    if status == 2:
        complain(told.strip().splitlines()[-1])
    if status != 0:
        raise Failure("cannot tell its rows: " + reason_in(told))
    for line in plan.splitlines():
        if line.startswith(MARK):
            row = json.loads(line[len(MARK):])
            one.plan[row["plan"]] = row


# ---- running ------------------------------------------------------------------------------------

def plain(line):
    """Without what differs from run to run: where it was said, and addresses."""
    line = re.sub(r"^\[[^]]*:[^]]*\]\s*", "", line.strip())
    return re.sub(r"\s*(?:at address )?0x[0-9a-f]+", "", line)


def reason_in(text):
    """The line of an output that most likely says why."""
    lines = [plain(line) for line in text.splitlines() if re.search(r"\w", line)]
    for pattern in (r"(?i)segmentation|bus error|no memory|assert", r"(?i)signal|abort|fatal",
                    r"(?i)error|cannot|not found"):
        for line in lines:
            if re.search(pattern, line):
                return line[:160]
    return lines[-1][:160] if lines else "it says nothing"


class Job:
    """The processes of one run: lines of their output, as long as they come in time."""

    def __init__(self, command, env):
        # A pipe that stays open: some launchers end at the end of standard input.
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True)
        self.lines = queue.Queue()
        self.told = collections.deque(maxlen=200)
        self.threads = [threading.Thread(target=self.read_stdout, daemon=True),
                        threading.Thread(target=self.read_stderr, daemon=True)]
        for thread in self.threads:
            thread.start()

    def read_stdout(self):
        for line in self.process.stdout:
            self.lines.put(line.decode(errors="replace"))
        self.lines.put(None)

    def read_stderr(self):
        for line in self.process.stderr:
            self.told.append(line.decode(errors="replace"))

    def messages(self, timeout):
        """What the program says; raises queue.Empty when it says nothing for so long."""
        while True:
            line = self.lines.get(timeout=timeout)
            if line is None:
                return
            if MARK in line:
                yield json.loads(line[line.index(MARK) + len(MARK):])
            else:
                self.told.append(line)

    def stop(self, grace):
        """End it: first so that the launcher takes its processes along. Returns its status."""
        for number, seconds in ((None, grace), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            if number is not None:
                try:
                    os.killpg(self.process.pid, number)
                except ProcessLookupError:
                    pass
            try:
                self.process.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                continue
        for thread in self.threads:
            thread.join(1)
        self.process.stdin.close()
        return self.process.returncode

    def reason(self, status):
        how = f"exit status {status}" if status is not None and status >= 0 else f"signal {status}"
        return f"{how}: {reason_in(''.join(self.told))}"


def as_list(rows):
    """Numbers of rows for --skip, ranges together."""
    parts = []
    for row in sorted(rows):
        if parts and parts[-1][1] == row - 1:
            parts[-1][1] = row
        else:
            parts.append([row, row])
    return ",".join(f"{a}-{b}" if b > a else str(a) for a, b in parts)


def run_once(one, options, skip, done):
    """Start the program; adds to done what it measured. Returns None, or (row, reason)."""
    command = one.launcher + ["-n", str(options.n), one.program]
    command += (["--skip", as_list(skip)] if skip else []) + one.arguments
    job = Job(command, one.env)
    row, ended = None, False
    try:
        for message in job.messages(options.timeout):
            if "heading" in message:
                one.heading = message["heading"]
            elif "start" in message:
                row = message["start"]
            elif "wrong" in message:
                done.add(message["wrong"])
                one.failures[message["wrong"]].append("wrong result")
                row = None
            elif "row" in message:
                done.add(message["row"])
                one.results[message["row"]].append(message["result"])
                row = None
            elif "end" in message:
                ended = True
    except queue.Empty:
        job.stop(0)
        if ended:
            one.note(f"all rows were measured, then the job did not end in {options.timeout} s")
        return None if ended else (row, f"no answer in {options.timeout} s")
    except ValueError as error:
        job.stop(0)
        return (row, f"its output is garbled: {error}")
    except BaseException:
        job.stop(0)
        raise
    status = job.stop(10)
    if ended and status != 0:
        one.note(f"all rows were measured, then the end of the job failed: {job.reason(status)}")
    return None if ended else (row, job.reason(status))


def run(one, options):
    """All rows once; rows that failed in this run are left out and the rest is started again."""
    done = {row for row in one.failures if len(one.failures[row]) > 1}  # twice is enough
    for _ in range(MAX_FAILURES):
        failure = run_once(one, options, done, done)
        if failure is None:
            return
        row, reason = failure
        if row is None:
            break
        say(f"{one.label}: {table.row_name(one.plan[row])}: {reason}")
        one.failures[row].append(reason)
        done.add(row)
    for row in set(one.plan) - done:
        one.failures[row].append(reason)
    if not one.results:
        one.failed = reason
    one.note(f"a run was given up: {reason}")
    say(f"{one.label}: given up: {reason}")


def prepare(found, options, folder, complain):
    for one in found:
        try:
            build(one, folder)
            make_plan(one, options, complain)
        except (Failure, OSError, subprocess.TimeoutExpired) as error:
            one.failed = str(error)
            say(f"{one.label}: {error}")


def run_all(found, options):
    """Round after round, every other one backwards, so that noise meets all alike."""
    for turn in range(options.runs):
        for one in found if turn % 2 == 0 else found[::-1]:
            if one.failed or not one.plan:
                continue
            start = time.monotonic()
            run(one, options)
            say(f"run {turn + 1} of {options.runs}: {one.label}: "
                f"{time.monotonic() - start:.0f} s")


def measure(options, complain):
    found = find_all(options, complain)
    with tempfile.TemporaryDirectory(prefix="peer-bench-") as temporary:
        folder = options.build or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if options.list:
            build(found[0], folder)
            print(names_of(found[0]), end="")
            return 0
        before = table.cpu_times()
        prepare(found, options, folder, complain)
        found = [one for one in found if one.failed != "has none of these benches"]
        run_all(found, options)
    table.report(found, options, table.disturbance(before, options))
    empty = [one for one in found if not one.results]
    return 1 if empty or found[0].failures else 0


def main():
    make = parser()
    options = make.parse_args()
    options.runs = options.runs or (1 if options.quick else 3)
    options.timeout = options.timeout or (30 if options.quick else 120)
    try:
        return measure(options, make.error)
    except Failure as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
