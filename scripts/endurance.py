#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random programs and stress programs for minutes or hours, path by path.

usage: endurance.sh --minutes M [--path PATH,...] [--programs KIND,...] [--leg S] [--grace S]
                    [--build FOLDER] [--seed S]
  --minutes M          so long on each path, of each kind of program; --seconds S: the same
  --path PATH,...      of node, tcp, shm, net (default: all)
  --programs KIND,...  of random, spaces, stress, ends (default: all)
  --leg S              seconds of one run (default: 120)
  --grace S            a run counts as hung so many seconds after its end (default: 180)
  --build FOLDER       run what is there, built where pe_random is missing (default: build, made up
                       to date)
  --seed S             the first seed on paths that FOLDER/endurance/runs.md has no run of (default: 1)

A run is one program for --seconds: random programs with three strands a PE, the same with spaces of
all kinds, GPUs played by test/fakecuda, the stress programs in turn, and jobs that end early or
cannot start (endurance_jobs.py); with 2, 3 and 5 PEs in turn, every second one with SHMEM_CHECK=1.
Each run that has ended is kept at once in FOLDER/endurance/runs.md, with sums, and the next call
continues after the last seed; so it may be stopped at any time, and what was under way then is not
counted. A failed or hung run leaves its seed, command line, output and stacks in FOLDER/endurance,
and the others go on. The exit status is 0 when all passed, 1 when some did not, 2 for wrong
arguments, 130 and 143 when stopped.
docs/design/testing.md says what it is for.
"""
import argparse
import collections
import ctypes
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

from full_matrix import ROOT, build_tree, commit, table

PATHS = {"node": {}}
PATHS.update({path: {"SHMEM_NODE": "off", "SHMEM_OFI_PROVIDER": path}
              for path in ("tcp", "shm", "net")})
PROGRAMS = {"random": ["random"],
            "spaces": ["random_spaces"],
            "stress": ["stress_early", "stress_lost", "stress_torn", "stress_visible", "stress_mix",
                       "passive", "flow", "many_ctx", "stress_fork", "stress_stacks"],
            "ends": ["endings", "launches"]}
EXECUTABLES = {"random_spaces": "random", "launches": "endings"}  # not pe_ and their name
WAYS = [(n_pes, check) for check in (False, True) for n_pes in (2, 3, 5)]
JOBS = os.path.join(ROOT, "scripts", "endurance_jobs.py")
STRANDS = 3
GOAL = 60  # minutes of each kind on each path

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LAST_WORDS_S = 10  # that a job has to end once it was told to
STACKS_S = 30  # that a debugger may take for a process


# ---- what is kept -------------------------------------------------------------------------------

Run = collections.namedtuple("Run", "path kind program pes check first last commit minutes result")
HEAD = ["path", "kind", "program", "PEs", "check", "first seed", "last seed", "commit", "minutes",
        "result"]


def read_runs(path):
    """All runs of a file; none where there is no file."""
    runs = []
    try:
        with open(path, encoding="utf-8") as kept:
            lines = kept.read().splitlines()
    except FileNotFoundError:
        return runs
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != len(HEAD) or cells[0] not in PATHS:
            continue
        runs.append(Run(*cells[:3], int(cells[3]), cells[4], int(cells[5]), int(cells[6]),
                        cells[7], float(cells[8]), cells[9]))
    return runs


def sums(runs):
    """What was reached on each path: minutes that passed, and how many runs did not."""
    rows = []
    for path in PATHS:
        row = [path]
        for kind in PROGRAMS:
            of = [run for run in runs if run.path == path and run.kind == kind]
            passed = [run for run in of if run.result == "passed"]
            row += [f"{sum(run.minutes for run in passed):.1f} of {GOAL}", len(of) - len(passed)]
        rows.append(row)
    head = [cell for kind in PROGRAMS for cell in (f"{kind}, minutes passed", "failures")]
    return table(["path"] + head, rows)


def write_runs(path, runs):
    rows = [[f"{cell:.1f}" if isinstance(cell, float) else cell for cell in run] for run in runs]
    text = "\n".join(["# Endurance", ""] + sums(runs) + table(HEAD, rows)).rstrip() + "\n"
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(path + ".new", path)


def keep(args, run):
    """Add a run to what other calls may have kept meanwhile."""
    with open(os.path.join(args.store, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_runs(args.results, read_runs(args.results) + [run])


# ---- processes ----------------------------------------------------------------------------------

def adopt():
    """What a job leaves behind becomes this script's child: nothing of it is lost sight of."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def with_parent():
    """In the child: end when this script is killed and can no longer see to it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def family():
    """All processes that stem from this one."""
    started = collections.defaultdict(list)
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            started[int(parent)].append(int(name))
    found = list(started[os.getpid()])
    for pid in found:
        found += started[pid]
    return found


def pes_of(program):
    """Those of them that are PEs."""
    def runs_it(pid):
        try:
            return os.path.samefile(f"/proc/{pid}/exe", program)
        except OSError:
            return False
    return [pid for pid in family() if runs_it(pid)]


def stacks(pids):
    """Of all threads of the processes, as text."""
    if not pids:
        return "No PE is left.\n"
    if shutil.which("gdb") is None:
        return "No stacks: gdb is not installed.\n"
    text = ""
    for pid in pids:
        command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt"]
        try:
            said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=STACKS_S, check=False).stdout
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"") + b"(gdb took too long)\n"
        text += f"---- process {pid}\n" + said.decode(errors="replace")
    return text


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def ended(job, seconds):
    """Has the job ended, or does it so soon?"""
    try:
        job.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def end_rest():
    while left := family():
        send(left, signal.SIGKILL)
        time.sleep(0.05)


def end(job):
    """End the job and whatever is left of it."""
    if not ended(job, 0):
        send([job.pid], signal.SIGTERM)
        ended(job, LAST_WORDS_S)
    end_rest()
    job.wait()


# ---- one run ------------------------------------------------------------------------------------

Leg = collections.namedtuple("Leg", "path kind program pes check seed seconds")


def leg_after(args, path, kind, seconds):
    """What comes next there: another program each time, each in all ways, behind the last seed."""
    runs = read_runs(args.results)
    before = [run for run in runs if run.path == path and run.kind == kind]
    turn, number = divmod(len(before), len(PROGRAMS[kind]))
    pes, check = WAYS[(turn + number) % len(WAYS)]
    seed = max((run.last for run in before), default=args.seed - 1) + 1
    return Leg(path, kind, PROGRAMS[kind][number], pes, check, seed, seconds)


def executable(args, leg):
    return os.path.join(args.build, "bin",
                        "pe_" + EXECUTABLES.get(leg.program, leg.program))


def spaces_of_all_kinds(args):
    """Variables: FAM in a directory, GPUs that the test double plays, HBM that hwloc is told of."""
    return {"SHMEM_FAM_PATH": args.store,
            "LD_LIBRARY_PATH": os.path.join(args.build, "lib", "fakecuda"),
            "HWLOC_XMLFILE": os.path.join(ROOT, "test", "topology", "here.xml"),
            "HWLOC_THISSYSTEM": "1"}


def command_of(args, leg, stall):
    """The program's command line, and the variables of the environment that belong to it."""
    words = ["--seed", str(leg.seed), "--seconds", str(leg.seconds)]
    command = [os.path.join(args.build, "bin", "oshrun"), "-n", str(leg.pes), executable(args, leg),
               *words, "--stall", str(stall)]
    if leg.kind == "ends":
        command = [sys.executable, "-B", JOBS, leg.program, "--build", args.build,
                   "--pes", str(leg.pes), *words]
    variables = dict(PATHS[leg.path], **({"SHMEM_CHECK": "1"} if leg.check else {}))
    if leg.kind in ("random", "spaces"):
        command += ["--threads", str(STRANDS), "--tell", "1"]
    if leg.kind == "spaces":
        command += ["--spaces", "1", "--gpu", "1"]
        variables.update(spaces_of_all_kinds(args))
    return command, variables


def begin(args, command, variables, out):
    """Start a job; nothing of this shell's SHMEM_ variables reaches it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("SHMEM_")}
    with open(os.path.join(args.store, "endless"), "r+b", 0) as stdin:
        return subprocess.Popen(command, env=dict(env, **variables), stdin=stdin, stdout=out,
                                stderr=subprocess.STDOUT, start_new_session=True,
                                preexec_fn=with_parent)


def explain_hang(args, leg, job):
    """Where all threads stand; then what the programs themselves say when their alarm comes."""
    pes = pes_of(executable(args, leg))
    text = stacks(pes)
    send(pes, signal.SIGALRM)
    ended(job, LAST_WORDS_S if pes else 0)
    return text


def last_seed(leg, text):
    """Of the programs that were begun. The stress programs have one seed a run."""
    told = [int(seed) for seed in re.findall(r"^\w+: seed (\d+)$", text, re.MULTILINE)]
    return max(told + [leg.seed])


def run_leg(args, leg):
    """
    Run it and wait for its end. Returns exit status, None for hung; seconds; output; stacks. Other
    calls may run other paths and kinds from the same folder meanwhile.
    """
    command, variables = command_of(args, leg, 2 * (leg.seconds + args.grace))
    name, where = os.path.join(args.store, f"output-{leg.path}-{leg.kind}"), ""
    start = time.monotonic()
    with open(name, "wb") as out:
        job = begin(args, command, variables, out)
        try:
            hung = not ended(job, leg.seconds + args.grace)
            if hung:
                where = explain_hang(args, leg, job)
        finally:
            end(job)
    with open(name, encoding="utf-8", errors="replace") as out:
        text = out.read()
    return None if hung else job.returncode, time.monotonic() - start, text, where


def keep_failure(args, leg, what, text, where):
    """All that is needed to see it again. Returns the file's name in the tree."""
    command, variables = command_of(args, leg, 2 * (leg.seconds + args.grace))
    words = [f"{name}={value}" for name, value in variables.items()]
    name = f"{leg.path}-{leg.program}-{leg.pes}-seed-{leg.seed}.txt"
    path = os.path.join(args.store, name)

    with open(path, "w", encoding="utf-8") as out:
        out.write(f"{what}, first seed {leg.seed}, last seed {last_seed(leg, text)}\n\n"
                  f"{' '.join(words)} {shlex.join(command)}\n\n")
        out.write(f"==== output\n{text}\n")
        if where:
            out.write(f"==== stacks\n{where}")
    return name


def result_of(args, leg, status, text, where):
    if status == 0:
        return "passed"
    if status == 77:
        return "skipped"
    what = "hung" if status is None else f"failed with {status}"
    return f"{what}: {keep_failure(args, leg, what, text, where)}"


def run_and_keep(args, leg):
    print(f"== {leg.path}, pe_{leg.program}, {leg.pes} PEs, SHMEM_CHECK={int(leg.check)}, from "
          f"seed {leg.seed}: ", end="", flush=True)
    status, seconds, text, where = run_leg(args, leg)
    result = result_of(args, leg, status, text, where)
    run = Run(leg.path, leg.kind, leg.program, leg.pes, "on" if leg.check else "off", leg.seed,
              last_seed(leg, text), args.commit, seconds / 60, result)
    keep(args, run)
    print(result, flush=True)
    return result


# ---- all of them --------------------------------------------------------------------------------

def run_all(args):
    """A run of each path and kind in turn, so that whoever stops it has some of all."""
    left = {(path, kind): args.seconds for path in args.path for kind in args.programs}
    results = []

    while left:
        for path, kind in list(left):
            seconds = min(args.leg, left[path, kind])
            leg = leg_after(args, path, kind, seconds)
            results.append(run_and_keep(args, leg))
            left[path, kind] -= seconds
            if left[path, kind] <= 0:
                del left[path, kind]
    return results


def stopped(number, _frame):
    """Once: what must be done then takes seconds at most."""
    for each in STOPS:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def names_in(known):
    def names(text):
        found = text.split(",")
        if not all(name in known for name in found):
            raise argparse.ArgumentTypeError(f"{text}: the names must be among {', '.join(known)}")
        return found
    return names


def above_zero(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: the value must be a whole number above 0")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(
        prog="endurance.sh", add_help=False, allow_abbrev=False,
        usage=__doc__.split("\n\n")[1].replace("usage: ", "", 1))
    parser.add_argument("--help", action="store_true")
    parser.add_argument("--minutes", type=above_zero)
    parser.add_argument("--seconds", type=above_zero)
    parser.add_argument("--path", type=names_in(list(PATHS)), default=list(PATHS))
    parser.add_argument("--programs", type=names_in(list(PROGRAMS)), default=list(PROGRAMS))
    parser.add_argument("--leg", type=above_zero, default=120)
    parser.add_argument("--grace", type=above_zero, default=180)
    parser.add_argument("--build")
    parser.add_argument("--seed", type=above_zero, default=1)
    args = parser.parse_args()
    if args.help:
        print(__doc__.strip())
        sys.exit(0)
    if (args.minutes is None) == (args.seconds is None):
        parser.error("the duration is missing: use --minutes M or --seconds S")
    if args.minutes is not None:
        args.seconds = 60 * args.minutes
    args.given = args.build is not None
    args.build = os.path.abspath(args.build) if args.given else os.path.join(ROOT, "build")
    args.commit = commit()
    args.store = os.path.join(args.build, "endurance")
    args.results = os.path.join(args.store, "runs.md")
    return args


def prepare(args):
    """The folder for failures, an endless standard input, and something to run."""
    os.makedirs(args.store, exist_ok=True)
    if not os.path.exists(os.path.join(args.store, "endless")):
        os.mkfifo(os.path.join(args.store, "endless"))
    if args.given and os.path.exists(os.path.join(args.build, "bin", "pe_random")):
        return
    log = os.path.join(args.store, "build.log")
    print(f"== building in {args.build}", flush=True)
    if not build_tree(args.build, [], [], dict(os.environ), log):
        sys.exit(f"endurance.sh: the build has failed: see {log}")


def main():
    args = arguments()
    for number in STOPS:
        signal.signal(number, stopped)
    prepare(args)
    adopt()
    try:
        results = run_all(args)
    finally:
        end_rest()
    bad = [result for result in results if result not in ("passed", "skipped")]
    print(f"== {len(results)} runs, {len(bad)} of them neither passed nor skipped; "
          f"results: {args.results}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
