#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check what oshrun reports about a job: --status, Ctrl-C, and source lines of PEs that crashed.

usage: check_status.py <oshrun> -n <number of PEs> <pe_status>

--status gets the process of oshrun, of a launcher that was started without oshrun, and of a PE. The
PEs compute, sleep, wait, are stopped, or do not come to init. Ctrl-C is also checked when nobody
reads the table, and --status with files that only look like those of a job. Needs 4 PEs or more.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

PATIENCE_S = 20
TELL_S = 0.9  # that oshrun waits for the table at Ctrl-C
oshrun, n, program = sys.argv[1], int(sys.argv[3]), sys.argv[4]
flat = os.environ.get("SHMEM_NODE") == "off"
env = {name: value for name, value in os.environ.items() if name != "SHMEM_LAUNCHER"}
env["SHMEM_HANG_REPORT"] = "0"  # it is shown all the same
wrong = []


def check(good, what):
    if not good:
        wrong.append(what)


def pes(first, end):
    return f"{first}" if first == end else f"{first}, {end}" if first + 1 == end else f"{first}-{end}"


FOR = r"waiting for \d+ s in"
WAITING = [rf"{os.path.basename(program)}, process \d+: {n} PEs",
           rf"  PE {pes(0, n - 4)}: {FOR} shmem_barrier_all, sync \d+ of SHMEM_TEAM_WORLD",
           *(["    nothing has arrived from PE .*"] if flat else []),
           f"    missing in this collective: PE {pes(n - 3, n - 1)}",
           f"  PE {n - 1}: {FOR} shmem_set_lock, lock status_lock, held by PE 0",
           f"  PE {n - 3}: in the program, running",
           f"  PE {n - 2}: in the program, asleep"]
STOPPED = [*WAITING, f"  PE {n - 1}: stopped by a signal or debugger"]
INIT = [rf"{n} PEs, started by process \d+ on host \S+",
        f"  PE {pes(0, n - 2)}: waiting in shmem_init",
        rf"    missing in shmem_init: PE {n - 1} \(process \d+\)"]


def status(pid):
    run = subprocess.run([oshrun, "--status", *([str(pid)] if pid else [])], env=env, text=True, capture_output=True,
                         check=False)
    return run.stdout.splitlines()


def is_as(lines, patterns):
    return len(lines) == len(patterns) and all(map(re.fullmatch, patterns, lines))


def becomes(pid, patterns):
    """The last answer, when it was right, or when it was not right in time."""
    end = time.monotonic() + PATIENCE_S
    lines = status(pid)
    while not is_as(lines, patterns) and time.monotonic() < end:
        time.sleep(0.1)
        lines = status(pid)
    check(is_as(lines, patterns), f"--status of process {pid} printed {lines}, expected {patterns}")
    return lines


def start(command, *words):
    return subprocess.Popen([*command, "-n", str(n), program, *words], env=env, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def end(job):
    job.terminate()
    job.stderr.read()
    job.wait(PATIENCE_S)
    job.stdin.close()


def check_waits():
    job = start([oshrun])
    first = int(becomes(job.pid, WAITING)[0].split()[2].strip(":"))
    lines = status(first)
    check(is_as(lines, WAITING), f"--status of a PE's process printed {lines}, expected {WAITING}")
    last = None
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as f:
                words = f.read().split("\0")
        except OSError:
            continue
        if f"PMI_RANK={n - 1}" in words and \
                any(re.fullmatch(rf"OSHRUN_JOB=.*\.{job.pid}", word) for word in words):
            last = pid
    check(last is not None, "no process in /proc has the PMI_RANK of the last PE")
    os.kill(last, signal.SIGSTOP)
    becomes(job.pid, STOPPED)
    os.kill(last, signal.SIGCONT)
    check_interrupt(job)


def check_interrupt(job):
    """The table, then the launcher ends the job."""
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    lines = []
    while len(lines) < len(WAITING):
        lines.append(job.stderr.readline().rstrip("\n"))
    took = time.monotonic() - begin
    check(is_as(lines, WAITING), f"Ctrl-C: oshrun printed {lines}, expected {WAITING}")
    check(took < 5, f"Ctrl-C: the table took {took} s, expected less than 5 s")
    job.stderr.read()
    job.wait(PATIENCE_S)  # Hydra's status is 0 once in 24 times: its proxies get the signal, too
    job.stdin.close()


def full_pipe():
    """Its ends; whoever writes to it waits for ever."""
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    try:
        while True:
            os.write(ends[1], b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(ends[1], True)
    return ends


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return f.read().split()


def end_of_blocked(interrupts):
    """
    How long a job lives after Ctrl-C, while the table of which nobody reads: how long oshrun waits
    for it, and somewhat more. With which status is the launcher's: it can write no more than oshrun.
    """
    ends = full_pipe()
    job = subprocess.Popen([oshrun, "-n", str(n), program], env=env, stdin=subprocess.PIPE,
                           stdout=subprocess.DEVNULL, stderr=ends[1])
    becomes(job.pid, WAITING)
    begin = time.monotonic()
    job.send_signal(signal.SIGINT)
    while len(children_of(job.pid)) < 2 and time.monotonic() < begin + PATIENCE_S:
        time.sleep(0.001)  # until a child of oshrun makes the table
    for _ in range(1, interrupts):
        job.send_signal(signal.SIGINT)
    job.wait(PATIENCE_S)
    job.stdin.close()
    for end in ends:
        os.close(end)
    return time.monotonic() - begin


def check_blocked():
    """After a while the table is given up, and at a second Ctrl-C at once."""
    took = end_of_blocked(1)
    check(took >= TELL_S, f"Ctrl-C, nobody reads: the job ended after {took} s, expected at least {TELL_S} s")
    for _ in range(3):  # the machine may be slow
        took = end_of_blocked(2)
        if took < TELL_S:
            return
    check(False, f"two Ctrl-C: the job ended after {took} s, expected less than {TELL_S} s")


def check_others():
    job = start([oshrun], "init")
    becomes(job.pid, INIT)
    end(job)
    if shutil.which("mpiexec.hydra"):
        job = start(["mpiexec.hydra"])
        becomes(job.pid, WAITING)
        end(job)
    alone = subprocess.run([oshrun, "--status", str(os.getpid())], env=env, text=True,
                           capture_output=True, check=False)
    check(alone.returncode == 1 and "no PE" in alone.stderr, f"--status of a process without PEs: expected 1 and 'no PE': {alone}")
    for word in ("x", "0", "999999999"):
        alone = subprocess.run([oshrun, "--status", word], env=env, text=True, capture_output=True,
                               check=False)
        check(alone.returncode == 2 and alone.stderr.startswith("oshrun: "), f"--status {word}: expected status 2 and a line of oshrun: {alone}")


def check_stranger():
    """A process of another user, whose files may not be looked at: it is not said that it has no PE."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return
    setpriv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*setpriv, oshrun, "--version"], capture_output=True, check=False).returncode:
        return  # it may not even be started
    alone = subprocess.run([*setpriv, oshrun, "--status", str(os.getpid())], env=env, text=True,
                           capture_output=True, check=False)
    check(alone.returncode == 2 and "another user" in alone.stderr, f"--status of a stranger: expected 'another user': {alone}")


def forge(user, mode):
    """A process that holds a forged node file open."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forge_node.py")
    forger = subprocess.Popen([sys.executable, path, str(user), mode], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    check(forger.stdout.readline() == "ready\n", f"forge_node.py {user} {mode} did not start")
    return forger


def check_forged():
    """Memory files that only look like those of a job: --status neither dies nor prints raw bytes."""
    shown = [r"forged, process \d+: 2 PEs", f"  PE 0: {FOR} a forged wait",
             "    missing in this collective: PE 1", r"  PE 1: ended"]
    escaped = [re.escape(r"\x1b]0;title\x07\x1b[31m\x0asteppe: line") + r", process \d+: 2 PEs",
               f"  PE 0: {FOR} " + re.escape(r"\x1b]0;title\x07\x1b[31m\x0asteppe: line"), *shown[2:]]
    wanted = {"plain": shown, "zero": [], "small": [], "huge": [], "escape": escaped,
              "numbers": [*shown[:2], shown[3]], "cut": None}
    for mode, lines in wanted.items():
        forger = forge(os.getuid(), mode)
        for _ in range(5 if mode == "cut" else 1):
            run = subprocess.run([oshrun, "--status", str(forger.pid)], env=env, capture_output=True,
                                 check=False)
            got = run.stdout.decode().splitlines()
            check(run.returncode in (0, 1) and (lines is None or is_as(got, lines)),
                  f"--status of the forged file '{mode}': expected {lines}: {run}")
        forger.communicate("")
    if os.getuid() == 0:
        forger = forge(65534, "plain")
        check("forged" not in "".join(status(None)), "--status shows the file of another user")
        check(is_as([line for line in status("all") if "forged" in line], shown[:2]),
              f"--status all: expected the job of user 65534: {status('all')}")
        check(is_as(status(forger.pid), shown),
              f"--status of user 65534's process: expected {shown}: {status(forger.pid)}")
        forger.communicate("")


def check_crash():
    """Behind all that the PEs and the launcher say, which is what they say without oshrun."""
    run = subprocess.run([oshrun, "-n", str(n), program, "crash", "1", "2"], env=env, text=True,
                         capture_output=True, check=False, timeout=60)
    lines = run.stderr.splitlines()
    ours = [line for line in lines if line.startswith("oshrun: ")]
    check(any("#0 " in line for line in lines if line.startswith("steppe: pe ")),
          f"crash: the library printed no frame #0: {run}")
    check(lines[-len(ours):] == ours and len(ours) > 1 and
          re.fullmatch("oshrun: stack frames of PE [12](, 2)? with their source lines:", ours[0]) and
          re.fullmatch(r"oshrun:   #0 main(, | at .*/status\.c:\d+).*", ours[1]),
          f"crash: the source lines of oshrun are missing or not last: {run}")


check_waits()
check_blocked()
check_others()
check_stranger()
check_forged()
if shutil.which("addr2line"):
    check_crash()
print("\n".join(wrong + [f"{len(wrong)} faults"]))
sys.exit(1 if wrong else 0)
