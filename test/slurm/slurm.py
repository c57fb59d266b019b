#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Test jobs of the library under Slurm's own daemons, in a cluster of cluster.py.

usage: slurm.py GROUP BUILD SOURCE [ROW]
  jobs     srun, oshrun and mpiexec.hydra, in salloc, in sbatch and alone; two steps at once; scancel
  shapes   distributions of PEs over one, two and three nodes
  status   what oshrun --status prints about a job of srun
  ends     the table of ends in docs/design/launch.md, row by row; ROW: this row only
"""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster  # pylint: disable=wrong-import-position

SRUN = ["srun", "--mpi=pmi2", "-Q"]
wrong = []


def check(good, what):
    if not good:
        wrong.append(what)
        print("slurm.py: FAIL: " + what, flush=True)


class Group:
    """Runs commands in a cluster. What each leaves behind is looked for after it."""

    def __init__(self, build, source, nodes):
        self.bin = os.path.join(os.path.abspath(build), "bin")
        self.source = source
        self.cluster = cluster.Cluster(nodes)
        # an input that does not end
        self.stdin = os.pipe()

    def program(self, name):
        return os.path.join(self.bin, name)

    def start(self, *command, **env):
        return subprocess.Popen(command, stdin=self.stdin[0], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace",
                                env=os.environ | env, cwd=cluster.DIR)

    def end(self, process, seconds=60):
        """Status and output; None in place of the status of what had to be killed."""
        try:
            out = process.communicate(timeout=seconds)[0]
            status = process.returncode
        except subprocess.TimeoutExpired:
            subprocess.run(["scancel", "--user=root", "--signal=KILL"], check=False)
            try:
                out = process.communicate(timeout=20)[0]
            except subprocess.TimeoutExpired:
                process.kill()
                out = process.communicate()[0]
            status = None
        return status, out

    def run(self, what, want, *command, seconds=60, say=None, **env):
        """One command: its status, a line, and nothing left."""
        began = time.monotonic()
        status, out = self.end(self.start(*command, **env), seconds)
        check(status in want, f"{what}: status {status}, expected one of {want}: {out}")
        check(say is None or re.search(say, out), f"{what}: no line matches {say}: {out}")
        self.check_left(what)
        print(f"{what}: {status}, {time.monotonic() - began:.1f} s", flush=True)
        return out

    def check_left(self, what):
        left = self.cluster.left()
        check(not left, f"{what}: the job left behind: {'; '.join(left)}")


# ---- jobs ----------------------------------------------------------------------------------------

def script(name, *lines):
    path = os.path.join(cluster.DIR, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + "\n".join(lines) + "\n")
    os.chmod(path, 0o755)
    return path


def jobs(group):
    rma, oshrun = group.program("pe_rma"), group.program("oshrun")
    ends = group.program("slurm_ends")

    group.run("srun, one node", [0], *SRUN, "-N1", "-n3", rma)
    group.run("srun, two nodes", [0], *SRUN, "-N2", "-n4", rma)
    group.run("srun, one PE", [0], *SRUN, "-n1", rma)
    group.run("srun, threads", [0], *SRUN, "-N2", "-n4", group.program("pe_threads"))
    group.run("srun, PMI of none", [1], "srun", "-Q", "--mpi=none", "-n4", rma,
              say=r"srun started this process as one of several .*: use srun --mpi=pmi2")
    group.run("oshrun in salloc", [0], "salloc", "-Q", "-N2", "-n4", oshrun, "-n", "4", rma)
    # oshrun's options reach srun; PE 1 of 2 with one a node is on the other node
    out = group.run("oshrun -N 1 -l", [0], "salloc", "-Q", "-N2", "-n4", oshrun, "-n", "2", "-N",
                    "1", "-l", "sh", "-c", f"hostname; exec {rma}")
    check(re.search(r"^0: h0$", out, re.M) and re.search(r"^1: h1$", out, re.M),
          f"oshrun -N 1 -l: expected PE 0 on h0 and PE 1 on h1: {out}")
    # PE 3 dies, the others would wait: oshrun has srun end them, unless told not to
    group.run("oshrun, a PE killed before init", [137, 143], "salloc", "-Q", "-N2", "-n4", oshrun,
              "-n", "4", ends, "kill-before-init")
    group.run("oshrun, SLURM_KILL_BAD_EXIT=0", [None], "salloc", "-Q", "-N1", "-n2", oshrun,
              "-n", "2", ends, "kill-before-init", seconds=4, SLURM_KILL_BAD_EXIT="0")
    group.run("mpiexec.hydra in salloc, a node", [0], "salloc", "-Q", "-N1", "-n3", *SRUN[:1], "-Q",
              "-N1", "-n1", "mpiexec.hydra", "-launcher", "fork", "-n", "3", rma)
    group.run("mpiexec.hydra in salloc, two nodes", [0], "salloc", "-Q", "-N2", "-n4",
              "mpiexec.hydra", "-bootstrap", "slurm", "-iface", "eth0", "-ppn", "2", "-n", "4", rma)
    out = group.run("salloc, a program bare", [3], "salloc", "-Q", "-N2", "-n4", ends, "return")
    check("pe 0 of 1 runs" in out, f"salloc, a program without a launcher must be one PE: {out}")
    batch(group)
    two_steps(group)
    cancel(group)


def batch(group):
    """sbatch: a program bare is one PE, srun and oshrun within are jobs of four."""
    ends = group.program("slurm_ends")
    output = os.path.join(cluster.DIR, "batch.out")
    path = script("batch.sh", f"{ends} none", f"srun --mpi=pmi2 {ends} none",
                  f"{group.program('oshrun')} -n 3 {ends} none", f"srun --mpi=none {ends} none",
                  'echo "status $?"')
    group.run("sbatch", [0], "sbatch", "-Q", "--wait", "-N2", "-n4", f"--output={output}", path)
    with open(output, encoding="utf-8") as file:
        text = file.read()
    for line, times in (("pe 0 of 1 runs", 1), ("pe 3 of 4 runs", 1), ("pe 2 of 3 runs", 1),
                        ("status 1", 1)):
        check(text.splitlines().count(line) == times,
              f"sbatch: expected {times} times the line '{line}': {text}")
    check("use srun --mpi=pmi2" in text,
          f"sbatch: srun --mpi=none must print 'use srun --mpi=pmi2': {text}")


def two_steps(group):
    """Two steps of one allocation at once, on the same nodes, and two jobs."""
    rma = group.program("pe_rma")
    step = f"srun --mpi=pmi2 --exact -N2 -n4 {rma} &"
    path = script("steps.sh", step, "a=$!", step, "b=$!", "wait $a && wait $b")
    group.run("two steps at once", [0], "salloc", "-Q", "-N2", "-n8", path)
    both = [group.start(*SRUN, "-N2", "-n4", rma) for _ in range(2)]
    for process in both:
        status, out = group.end(process)
        check(status == 0, f"two jobs at once: status {status}, expected 0: {out}")
    group.check_left("two jobs at once")


def cancel(group):
    """scancel ends the job, on all its nodes."""
    for options in (["-N1", "-n2"], ["-N2", "-n4"]):
        process = group.start(*SRUN, "--unbuffered", *options, group.program("slurm_ends"),
                              "compute")
        line = process.stdout.readline()
        check(line.startswith("pe "), f"scancel: the job does not start: {line}")
        began = time.monotonic()
        ids = [job.split()[0] for job in group.cluster.queued()]
        subprocess.run(["scancel", *ids], check=False)
        status, out = group.end(process, 30)
        check(status not in (0, None),
              f"scancel {options}: status {status}, expected a failure: {out}")
        check(time.monotonic() - began < 20, f"scancel {options}: the job took 20 s or more to end")
        group.check_left(f"scancel {options}")
        print(f"scancel {options}: {status}, {time.monotonic() - began:.1f} s", flush=True)


# ---- status --------------------------------------------------------------------------------------

def status(group):
    """
    oshrun, srun and half of the PEs on one host: the table is of these, which are no descendants of
    oshrun, and says where the others are. Ctrl-C prints it too; srun wants another one to end a job, and SIGTERM ends it.
    """
    oshrun = group.program("oshrun")
    output = os.path.join(cluster.DIR, "status.out")
    path = script("status.sh", f"{oshrun} -n 4 {group.program('pe_hang')} barrier &", "job=$!",
                  "for i in $(seq 100); do",
                  f"  {oshrun} --status $job > table && grep -q 'shmem_barrier_all' table && break",
                  "  sleep 0.1", "done", "cat table", "echo interrupt", "kill -INT $job", "sleep 2",
                  "kill -TERM $job", "wait $job",
                  'test $? -ne 0 && echo ended')
    group.run("oshrun --status under srun", [0], "sbatch", "-Q", "--wait", "-N2", "-n4",
              "--ntasks-per-node=2", f"--output={output}", path, HANG_LONG_US="60000000",
              SHMEM_HANG_REPORT="0")
    with open(output, encoding="utf-8") as file:
        text = file.read()
    table = (r"pe_hang, process \d+: 4 PEs, 2 of them on this host\n"
             r"  PE 0, 1: waiting for \d+ s in shmem_barrier_all, sync \d+ of SHMEM_TEAM_WORLD\n"
             r"(?:    nothing has arrived from PE .*\n)?"
             r"  2 PEs are on other hosts: h1 .*\n")
    check(re.search(table + "(?s:.*)^interrupt$(?s:.*)" + table + "(?s:.*)^ended$", text, re.M),
          f"oshrun --status under srun: the output lacks both tables or the end: {text}")


# ---- shapes --------------------------------------------------------------------------------------

def shapes(group):
    """Slurm packs nodes as far as its distribution allows; --exclusive gives it whole nodes."""
    for options, nodes in (
            (["-N2", "-n4"], "0001"),
            (["-N2", "-n4", "--ntasks-per-node=2"], "0011"),
            (["-N2", "-n3", "--ntasks-per-node=2"], "001"),
            (["-N2", "-n4", "--exclusive", "-m", "cyclic"], "0101"),
            (["-N2", "-n4", "-m", "cyclic"], "0100"),
            (["-N2", "-n7", "--exclusive", "-m", "plane=2"], "0011001"),
            (["-N3", "-n7", "--exclusive", "-m", "cyclic"], "0120120"),
            (["-N3", "-n8", "--exclusive", "-m", "plane=3"], "00011122"),
            (["-N3", "-n5"], "00012"),
            (["-N1", "-n8"], "00000000")):
        what = "srun " + " ".join(options)
        group.run(what, [0], *SRUN, *options, group.program("slurm_shape"), say=f"nodes {nodes}\\b")
        group.run(what + " pe_rules_teams", [0], *SRUN, *options, group.program("pe_rules_teams"))


# ---- ends ----------------------------------------------------------------------------------------

def rows(source):
    """The table: way, hydra, mpirun, srun that ends nobody, srun that ends all."""
    with open(os.path.join(source, "docs", "design", "launch.md"), encoding="utf-8") as file:
        text = file.read().partition("| `slurm_ends` |")[2]
    lines = text.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]


def ends(group):
    found = rows(group.source)
    check(len(found) > 8, "docs/design/launch.md: the table of ends has too few rows")
    found = [row for row in found if sys.argv[4:] in ([], row[:1])]
    for way, _, _, plain, killing in found:
        for cell, kill in ((plain, "0"), (killing, "1")):
            for options in (["-N1", "-n3"], ["-N2", "-n4"]):
                want = [None] if cell == "waits" else [int(n) for n in cell.split(" or ")]
                say = None
                if way.startswith("global_exit"):
                    pe = 2 if "-N1" in options else 3
                    say = (rf"steppe: pe {pe} .*: shmem_global_exit\({way[-1]}\): the launcher will "
                           "report an exit status of its own instead of this status")
                group.run(f"{way}, {' '.join(options)}, kill={kill}", want, *SRUN, *options,
                          f"--kill-on-bad-exit={kill}", group.program("slurm_ends"), way, say=say,
                          seconds=5 if want == [None] else 60)


def main():
    groups = {"jobs": (jobs, 2), "shapes": (shapes, 3), "ends": (ends, 2), "status": (status, 2)}
    if len(sys.argv) not in (4, 5) or sys.argv[1] not in groups:
        sys.exit(__doc__)
    cluster.go_inside(__file__)
    tests, nodes = groups[sys.argv[1]]
    group = Group(sys.argv[2], sys.argv[3], nodes)
    tests(group)
    if wrong:
        print("\n".join(group.cluster.logs()))
    sys.stdout.flush()
    os._exit(1 if wrong else 0) # the daemons end with this process, the first of their namespace


if __name__ == "__main__":
    main()
